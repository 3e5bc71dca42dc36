// Package world supports tests of workload controllers: it creates a namespace with Deployments, ReplicaSets and pods,
// runs a fake kubelet, and waits until the controllers are idle.
package world

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// patience limits the wait for an expected event.
const patience = 2 * time.Minute

// Run runs a function until the test ends, and fails the test with its error.
func Run(t testing.TB, run func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// View is a cache of the workloads on an API server. Its reads always include the test's own writes.
type View struct {
	client.Client

	mu      sync.Mutex
	changed map[string]chan struct{} // by namespace; a message means a change since the previous message was received
}

// NewView returns a view that follows the API server until the test ends.
func NewView(t testing.TB, config *rest.Config) *View {
	t.Helper()
	scheme := runtime.NewScheme()
	err := errors.Join(appsv1.AddToScheme(scheme), batchv1.AddToScheme(scheme), corev1.AddToScheme(scheme))
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	live, err := client.New(config, client.Options{Scheme: scheme, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	all := cache.New(live, cache.Options{Logger: log})
	v := &View{Client: client.NewClient(cache.Reader{Cache: all, Live: live}, live), changed: map[string]chan struct{}{}}
	for _, o := range []object.Object{&appsv1.Deployment{}, &appsv1.ReplicaSet{}, &corev1.Pod{}} {
		informer, err := all.Informer(o)
		if err != nil {
			t.Fatal(err)
		}
		informer.AddHandler(v.notify)
	}
	all.Begin()
	Run(t, all.Run)
	return v
}

func (v *View) notify(e informer.Event[object.Object]) {
	v.mu.Lock()
	defer v.mu.Unlock()
	select {
	case v.changed[e.Object.GetNamespace()] <- struct{}{}:
	default: // no subscriber, or it already has a notification
	}
}

// World is one namespace. Only one goroutine at a time may call its methods.
type World struct {
	// Quota is the number of pods per image that may be ready. Pods of other images are never ready.
	Quota map[string]int
	// Pace is the number of pods that become ready at once.
	Pace int

	view      *View
	namespace string
	changed   chan struct{}
	marks     int

	// The state at the last call of look.
	bystander   appsv1.Deployment
	deployments []appsv1.Deployment
	sets        []appsv1.ReplicaSet
	pods        []corev1.Pod
}

// New creates a namespace in which pods can be created.
func New(ctx context.Context, v *View, namespace string) (*World, error) {
	w := &World{Quota: map[string]int{}, Pace: math.MaxInt, view: v, namespace: namespace, changed: make(chan struct{}, 1)}
	v.mu.Lock()
	v.changed[namespace] = w.changed
	v.mu.Unlock()
	if err := v.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return nil, err
	}
	// Pods need a service account, and no other controller creates it here.
	return w, errors.Join(w.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}),
		w.Create(ctx, newBystander()))
}

// Close unsubscribes the world from changes.
func (w *World) Close() {
	w.view.mu.Lock()
	defer w.view.mu.Unlock()
	delete(w.view.changed, w.namespace)
}

// Create creates o in the namespace.
func (w *World) Create(ctx context.Context, o object.Object) error {
	o.SetNamespace(w.namespace)
	return w.view.Create(ctx, o)
}

// Delete deletes o. A missing object is not an error.
func (w *World) Delete(ctx context.Context, o object.Object, opts ...client.DeleteOption) error {
	return client.IgnoreNotFound(w.view.Delete(ctx, o, opts...))
}

// Edit changes an object of the namespace, if it exists.
func Edit[T any, P interface {
	*T
	object.Object
}](ctx context.Context, w *World, name string, change func(P)) error {
	return edit(ctx, w, name, change, func(o P) error { return w.view.Update(ctx, o) })
}

// EditStatus changes the status of an object, if it exists.
func EditStatus[T any, P interface {
	*T
	object.Object
}](ctx context.Context, w *World, name string, change func(P)) error {
	return edit(ctx, w, name, change, func(o P) error { return w.view.Status().Update(ctx, o) })
}

func edit[T any, P interface {
	*T
	object.Object
}](ctx context.Context, w *World, name string, change func(P), write func(P) error) error {
	for {
		o := P(new(T))
		if err := w.view.Get(ctx, object.Key{Namespace: w.namespace, Name: name}, o, client.Live); err != nil {
			return client.IgnoreNotFound(err)
		}
		change(o)
		if err := write(o); !apierrors.IsConflict(err) {
			return client.IgnoreNotFound(err)
		}
	}
}

// DeleteDeployment deletes a Deployment. It waits until its dependents are gone, unless they are orphaned.
func (w *World) DeleteDeployment(ctx context.Context, name string, policy metav1.DeletionPropagation) error {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	if err := w.Delete(ctx, d, client.PropagationPolicy(policy)); err != nil {
		return err
	}
	return w.Await(ctx, func() string {
		if len(w.deployments) > 0 {
			return "the Deployment still exists"
		}
		for _, set := range w.sets {
			if metav1.GetControllerOf(&set) != nil {
				return fmt.Sprintf("ReplicaSet %s is owned still", set.Name)
			}
		}
		return ""
	})
}

// ReplicaSetsOf returns the ReplicaSets whose pods have the image.
func (w *World) ReplicaSetsOf(image string) (sets []*appsv1.ReplicaSet) {
	for i := range w.sets {
		if w.sets[i].Spec.Template.Spec.Containers[0].Image == image {
			sets = append(sets, &w.sets[i])
		}
	}
	return sets
}

// look reads the objects of the namespace.
func (w *World) look(ctx context.Context) error {
	var deployments appsv1.DeploymentList
	var sets appsv1.ReplicaSetList
	var pods corev1.PodList
	in := client.InNamespace(w.namespace)
	err := errors.Join(w.view.List(ctx, &deployments, in), w.view.List(ctx, &sets, in), w.view.List(ctx, &pods, in))
	w.deployments, w.sets, w.pods = nil, nil, pods.Items
	for _, d := range deployments.Items {
		if d.Name == bystander {
			w.bystander = d
		} else {
			w.deployments = append(w.deployments, d)
		}
	}
	w.sets = slices.DeleteFunc(sets.Items, func(set appsv1.ReplicaSet) bool { return set.Labels["app"] == bystander })
	return err
}

// Await calls missing after every change until it returns "". After a timeout, Await returns an error with the last
// result of missing.
func (w *World) Await(ctx context.Context, missing func() string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if err := w.look(ctx); err != nil {
			return err
		}
		what := missing()
		if what == "" {
			return nil
		}
		select {
		case <-w.changed:
		case <-ctx.Done():
			return fmt.Errorf("%w: %s, in\n%s", ctx.Err(), what, w.State())
		}
	}
}

// NextSecond waits until the creation timestamps of new ReplicaSets are later than the timestamps of existing
// ReplicaSets.
func (w *World) NextSecond(ctx context.Context) error {
	var newest time.Time
	for _, set := range w.sets {
		if at := set.CreationTimestamp.Time; at.After(newest) {
			newest = at
		}
	}
	select {
	case <-time.After(time.Until(newest.Add(time.Second))):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Settle returns when the controllers are idle. Pods must not change in the meantime. First it triggers three
// reconciles of a bystander until nothing else changes. Then it triggers a reconcile of each Deployment with an
// irrelevant change. This is the last step, because the change can cause a conflict in a busy controller, and some
// controllers do not recover from a conflict correctly.
func (w *World) Settle(ctx context.Context) error {
	for range 100 {
		state, err := w.reconciled(ctx, bystander, bystander, bystander)
		if err != nil {
			return err
		}
		var names []string
		for _, d := range w.deployments {
			names = append(names, d.Name)
		}
		now, err := w.reconciled(ctx, names...)
		if err != nil || now == state {
			return err
		}
	}
	return fmt.Errorf("it goes round in circles: %s", w.State())
}

// reconciled triggers a reconcile of each named Deployment in turn, until no reconcile changes the state. It returns
// the state.
func (w *World) reconciled(ctx context.Context, names ...string) (state string, err error) {
	for i := 0; i < len(names); i++ {
		if err := w.mark(ctx, names[i]); err != nil {
			return "", err
		}
		if err := w.Await(ctx, w.unsettled); err != nil {
			return "", err
		}
		now := w.State()
		if i > 0 && now != state {
			i = 0
		}
		state = now
	}
	return state, nil
}

// bystander is the name of a Deployment without pods. The state of the world does not include it.
const bystander = "bystander"

func newBystander() *appsv1.Deployment {
	labels := map[string]string{"app": bystander}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: bystander, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none"}}},
			},
		},
	}
}

// mark changes an annotation that no controller copies. The change increases the generation, which controllers report
// as observed.
func (w *World) mark(ctx context.Context, name string) error {
	w.marks++
	text := fmt.Sprint(w.marks)
	return Edit(ctx, w, name, func(d *appsv1.Deployment) {
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, corev1.LastAppliedConfigAnnotation, text)
	})
}

// unsettled returns a reason why a controller is not idle, or "".
func (w *World) unsettled() string {
	for _, d := range append(w.deployments, w.bystander) {
		if d.DeletionTimestamp != nil || d.Status.ObservedGeneration < d.Generation {
			return fmt.Sprintf("Deployment %s: its generation %d was not observed, or it is being deleted", d.Name, d.Generation)
		}
	}
	for _, pod := range w.pods {
		if pod.DeletionTimestamp != nil {
			return fmt.Sprintf("pod %s is being deleted", pod.Name)
		}
	}
	for _, set := range w.sets {
		status := set.Status
		has, ready, available := w.count(&set)
		switch {
		case set.DeletionTimestamp != nil:
			return fmt.Sprintf("ReplicaSet %s is being deleted", set.Name)
		case status.ObservedGeneration < set.Generation:
			return fmt.Sprintf("ReplicaSet %s: its generation %d was not observed", set.Name, set.Generation)
		case *set.Spec.Replicas != has:
			return fmt.Sprintf("ReplicaSet %s: %d pods are %d", set.Name, *set.Spec.Replicas, has)
		case status.Replicas != has || status.ReadyReplicas != ready || status.AvailableReplicas != available ||
			status.TerminatingReplicas != nil && *status.TerminatingReplicas > 0:
			return fmt.Sprintf("ReplicaSet %s: it has %d pods, %d ready, %d available, and reports %+v", set.Name, has, ready,
				available, status)
		}
	}
	return ""
}

func (w *World) count(set *appsv1.ReplicaSet) (has, isReady, available int32) {
	for _, pod := range w.pods {
		if !metav1.IsControlledBy(&pod, set) || hasEnded(&pod) {
			continue
		}
		has++
		if since, ok := ready(&pod); ok {
			isReady++
			if time.Since(since) >= time.Duration(set.Spec.MinReadySeconds)*time.Second {
				available++
			}
		}
	}
	return has, isReady, available
}

func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

func ready(pod *corev1.Pod) (since time.Time, ok bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time, true
		}
	}
	return time.Time{}, false
}

// PlayPods makes pods within the quota ready, and other pods not ready. It reports whether it changed any pod.
func (w *World) PlayPods(ctx context.Context) (played bool, err error) {
	byImage := map[string][]corev1.Pod{}
	for _, pod := range w.pods {
		if image := pod.Spec.Containers[0].Image; !hasEnded(&pod) {
			byImage[image] = append(byImage[image], pod)
		}
	}
	for _, image := range slices.Sorted(maps.Keys(byImage)) {
		pods := byImage[image]
		slices.SortFunc(pods, readyFirst)
		for i := range pods {
			_, is := ready(&pods[i])
			may := i < w.Quota[image]
			if may == is || may && w.pacing(i, pods) {
				continue
			}
			if err := w.setReady(ctx, &pods[i], may); err != nil {
				return false, err
			}
			played = true
		}
	}
	return played, nil
}

func readyFirst(a, b corev1.Pod) int {
	_, first := ready(&a)
	_, second := ready(&b)
	switch {
	case first && !second:
		return -1
	case second && !first:
		return 1
	}
	return strings.Compare(a.Name, b.Name)
}

// pacing reports whether a pod must wait because pods before it are not ready yet.
func (w *World) pacing(i int, pods []corev1.Pod) bool {
	n := 0
	for j := range i {
		if _, is := ready(&pods[j]); !is {
			n++
		}
	}
	return n >= w.Pace
}

func (w *World) setReady(ctx context.Context, pod *corev1.Pod, is bool) error {
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
	}
	return EditStatus(ctx, w, pod.Name, func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status,
			LastTransitionTime: metav1.Now()}}
	})
}

// DeletePods deletes n pods of an image, ready ones first.
func (w *World) DeletePods(ctx context.Context, image string, n int) error {
	return w.eachPod(image, n, func(pod *corev1.Pod) error { return w.Delete(ctx, pod) })
}

// FailPods makes n pods of an image fail, ready ones first.
func (w *World) FailPods(ctx context.Context, image string, n int) error {
	return w.eachPod(image, n, func(pod *corev1.Pod) error {
		return EditStatus(ctx, w, pod.Name, func(pod *corev1.Pod) {
			pod.Status.Phase,
				pod.Status.Conditions = corev1.PodFailed, nil
		})
	})
}

func (w *World) eachPod(image string, n int, do func(*corev1.Pod) error) error {
	slices.SortFunc(w.pods, readyFirst)
	for i := range w.pods {
		pod := &w.pods[i]
		if n == 0 || pod.Spec.Containers[0].Image != image || hasEnded(pod) {
			continue
		}
		n--
		if err := do(pod); err != nil {
			return err
		}
	}
	return nil
}

// State describes the part of the state that must be the same with every controller. It excludes names of pods, UIDs,
// times, and the number of writes.
func (w *World) State() string {
	var b strings.Builder
	owners := map[types.UID]string{}
	for _, d := range w.deployments {
		owners[d.UID] = d.Name
		fmt.Fprintf(&b, "  Deployment %s: %d of %s paused=%t %s\n", d.Name, *d.Spec.Replicas,
			d.Spec.Template.Spec.Containers[0].Image, d.Spec.Paused, annotations(d.Annotations))
		s := d.Status
		fmt.Fprintf(&b,
			"    %d replicas, %d updated, %d ready, %d available, %d unavailable, %s terminating, %s collisions\n",
			s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas, s.UnavailableReplicas,
			number(s.TerminatingReplicas), number(s.CollisionCount))
		slices.SortFunc(s.Conditions, func(a, b appsv1.DeploymentCondition) int {
			return strings.Compare(string(a.Type),
				string(b.Type))
		})
		for _, c := range s.Conditions {
			fmt.Fprintf(&b, "    %s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	for _, set := range w.sets {
		owner := ""
		for _, ref := range set.OwnerReferences {
			owner += fmt.Sprintf(" of %s %s", ref.Kind, owners[ref.UID])
		}
		fmt.Fprintf(&b, "  ReplicaSet %s%s: %d of %s, %d ready, %d available, minReadySeconds %d %s %s\n", set.Name, owner,
			*set.Spec.Replicas,
			set.Spec.Template.Spec.Containers[0].Image, set.Status.ReadyReplicas, set.Status.AvailableReplicas,
			set.Spec.MinReadySeconds, annotations(set.Annotations), annotations(set.Labels))
	}
	return b.String()
}

func number(n *int32) string {
	if n == nil {
		return "unknown"
	}
	return fmt.Sprint(*n)
}

func annotations(m map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if key != corev1.LastAppliedConfigAnnotation { // mark changes this annotation
			all = append(all, strings.TrimPrefix(key, "deployment.kubernetes.io/")+"="+m[key])
		}
	}
	return fmt.Sprint(all)
}
