// Package replicaset implements the ReplicaSet controller of Kubernetes on kctrl: it keeps the number of pods that a
// ReplicaSet requests.
//
// The controller in kube-controller-manager keeps expectations: for each ReplicaSet, it counts the creations and
// deletions of pods that its cache does not show yet, so that it does not create a pod twice. This controller needs no
// expectations. A read from the cache includes all earlier writes, and a ReplicaSet is not reconciled until the cache
// has the writes of its last reconcile.
package replicaset

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/events"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// Name is the name of the controller in kube-controller-manager.
const Name = "replicaset-controller"

// burst is the largest number of pods that one reconcile creates or deletes.
const burst = 500

// Reconciler keeps the pods of ReplicaSets. SetupWithManager sets all fields except the options.
type Reconciler struct {
	// CountTerminating adds the number of terminating pods to the status.
	CountTerminating bool

	client.Client
	recorder *events.Recorder
	podsOf   *cache.Index[*corev1.Pod, types.UID] // by the UID of their controller; "" for pods without a controller
}

// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=replicasets/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=replicasets/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager connects the reconciler to m and adds a controller. The controller reconciles a ReplicaSet when it
// or one of its pods changes, and when it could adopt a pod.
func (r *Reconciler) SetupWithManager(m controller.Manager) error {
	r.Client, r.recorder = m.Client(), m.EventRecorder(Name)
	var err error
	if r.podsOf, err = cache.NewIndex(m.Cache(), &corev1.Pod{}, controllerUID); err != nil {
		return err
	}
	return controller.For[*appsv1.ReplicaSet](m).Named(Name).
		Owns(&corev1.Pod{}).
		Watches(handler.For(r.adopters)).
		Complete(r)
}

func controllerUID(pod *corev1.Pod) []types.UID {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return []types.UID{owner.UID}
	}
	return []types.UID{""}
}

// adopters returns the ReplicaSets that may adopt a pod without a controller.
func (r *Reconciler) adopters(ctx context.Context, pod *corev1.Pod) (requests []reconcile.Request) {
	if metav1.GetControllerOfNoCopy(pod) != nil {
		return nil
	}
	var all appsv1.ReplicaSetList
	if err := r.List(ctx, &all, client.InNamespace(pod.Namespace)); err != nil {
		return nil // the context has ended, or the cache is not readable yet, after which all ReplicaSets are reconciled
	}
	for i := range all.Items {
		set := &all.Items[i]
		selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
		if err == nil && !selector.Empty() && selector.Matches(labels.Set(pod.Labels)) {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: set.Namespace,
				Name: set.Name}})
		}
	}
	return requests
}

// Reconcile creates or deletes pods to reach the size of the ReplicaSet, and reports the counts in its status.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	set := &appsv1.ReplicaSet{}
	if err := r.Get(ctx, req.NamespacedName, set); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	pods, err := r.claim(ctx, set)
	if err != nil {
		return reconcile.Result{}, err
	}
	active := slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return !isActive(pod) })
	var failure error
	if set.DeletionTimestamp == nil {
		failure = r.resize(ctx, set, active)
	}
	status := r.status(set, pods, active, failure)
	if !equality.Semantic.DeepEqual(status, set.Status) {
		base := set.DeepCopy()
		base.UID = "" // includes the UID in the patch, so that it fails for a new ReplicaSet with the same name
		set.Status = status
		err = client.IgnoreNotFound(r.Status().Patch(ctx, set, client.MergeFrom(base)))
	}
	if apierrors.HasStatusCause(failure, corev1.NamespaceTerminatingCause) {
		failure = nil
	}
	return reconcile.Result{RequeueAfter: untilAvailable(set, active)}, errors.Join(failure, err)
}

// claim returns the pods of the ReplicaSet. It adopts a pod that matches the selector and has no controller. It
// releases a pod that the ReplicaSet controls and the selector no longer matches.
func (r *Reconciler) claim(ctx context.Context, set *appsv1.ReplicaSet) (claimed []*corev1.Pod, err error) {
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return nil, reconcile.TerminalError(err)
	}
	for _, owner := range []types.UID{set.UID, ""} {
		for pod, err := range r.podsOf.Get(ctx, owner, client.InNamespace(set.Namespace)) {
			if err != nil {
				return nil, err
			}
			matches := selector.Matches(labels.Set(pod.Labels))
			if owner != "" && matches {
				claimed = append(claimed, pod)
				continue
			}
			if set.DeletionTimestamp != nil || owner == "" && (!matches || !isActive(pod)) {
				continue
			}
			mine := pod.DeepCopy() // copy the pod, because objects from an index belong to the cache
			if owner != "" {
				err = controllerutil.RemoveControllerReference(set, mine, r.Scheme())
			} else if err = r.exists(ctx, set); err == nil {
				err = controllerutil.SetControllerReference(set, mine, r.Scheme())
			}
			if err == nil {
				err = client.IgnoreNotFound(r.Patch(ctx, mine, client.StrategicMergeFromWithOptimisticLock(pod)))
			}
			if err != nil {
				return nil, err
			}
			if owner == "" {
				claimed = append(claimed, mine)
			}
		}
	}
	return claimed, nil
}

// exists returns an error unless set exists on the API server and is not being deleted. It does not use the cache,
// which may lag, because pods that a deleted ReplicaSet adopts are deleted with it.
func (r *Reconciler) exists(ctx context.Context, set *appsv1.ReplicaSet) error {
	var now appsv1.ReplicaSet
	if err := r.Get(ctx, object.KeyOf(set), &now, client.Live); err != nil {
		return err
	}
	if now.UID != set.UID || now.DeletionTimestamp != nil {
		return errors.New("the ReplicaSet is not there any more")
	}
	return nil
}

// isActive reports whether a pod runs or will run.
func isActive(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
}

// resize creates missing pods or deletes surplus pods.
func (r *Reconciler) resize(ctx context.Context, set *appsv1.ReplicaSet, active []*corev1.Pod) error {
	more := int(*set.Spec.Replicas) - len(active)
	if more >= 0 {
		return slowly(min(more, burst), func(int) error { return r.create(ctx, set) })
	}
	slices.SortFunc(active, firstToGo)
	return slowly(min(-more, burst), func(i int) error {
		pod := active[i].DeepCopy()
		err := controllerutil.DeleteWithUID(ctx, r.Client, pod)
		if err != nil {
			r.recorder.Eventf(set, pod, corev1.EventTypeWarning, "FailedDelete", "Delete", "Error deleting: %v", err)
			return err
		}
		r.recorder.Eventf(set, pod, corev1.EventTypeNormal, "SuccessfulDelete", "Delete", "Deleted pod: %s", pod.Name)
		return nil
	})
}

func (r *Reconciler) create(ctx context.Context, set *appsv1.ReplicaSet) error {
	template := set.Spec.Template.DeepCopy()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, GenerateName: prefix(set.Name), Finalizers: template.Finalizers, Labels: template.Labels,
			Annotations: template.Annotations,
		},
		Spec: template.Spec,
	}
	if err := controllerutil.SetControllerReference(set, pod, r.Scheme()); err != nil {
		return err
	}
	if err := r.Create(ctx, pod); err != nil {
		if !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			r.recorder.Eventf(set, nil, corev1.EventTypeWarning, "FailedCreate", "Create", "Error creating: %v", err)
		}
		return err
	}
	r.recorder.Eventf(set, pod, corev1.EventTypeNormal, "SuccessfulCreate", "Create", "Created pod: %s", pod.Name)
	return nil
}

// prefix shortens a name to leave room for the suffix that the API server generates.
func prefix(name string) string {
	const room = 253 - len("-12345")
	return name[:min(len(name), room)] + "-"
}

// slowly calls do n times, in batches of 1, 2, 4 and so on. It stops after a batch with an error, so that an exhausted
// quota or a broken webhook causes only a few failing requests.
func slowly(n int, do func(i int) error) error {
	for done, batch := 0, 1; done < n; batch *= 2 {
		batch = min(batch, n-done)
		errs := make([]error, batch)
		var running sync.WaitGroup
		for i := range batch {
			running.Go(func() { errs[i] = do(done + i) })
		}
		running.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		done += batch
	}
	return nil
}

// untilAvailable returns the delay until the next pod has been ready for minReadySeconds, or zero.
func untilAvailable(set *appsv1.ReplicaSet, active []*corev1.Pod) time.Duration {
	var next time.Duration
	for _, pod := range active {
		if since, ok := readySince(pod); ok && !isAvailable(set, pod) {
			left := max(time.Until(since.Add(minReady(set))), time.Millisecond)
			if next == 0 || left < next {
				next = left
			}
		}
	}
	return next
}

func minReady(set *appsv1.ReplicaSet) time.Duration {
	return time.Duration(set.Spec.MinReadySeconds) * time.Second
}

func isAvailable(set *appsv1.ReplicaSet, pod *corev1.Pod) bool {
	since, ok := readySince(pod)
	return ok && (set.Spec.MinReadySeconds == 0 || time.Since(since) >= minReady(set))
}

func readySince(pod *corev1.Pod) (time.Time, bool) {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time, true
		}
	}
	return time.Time{}, false
}
