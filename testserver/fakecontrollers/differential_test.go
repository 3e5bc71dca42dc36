package fakecontrollers_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
	"github.com/kctrl-dev/kctrl/testserver/fakecontrollers"
	"github.com/kctrl-dev/kctrl/testserver/inmemory"
)

// recording is the file with the objects after each step of each scenario under kube-controller-manager.
const recording = "testdata/scenarios.json.gz"

// recordVariable names the environment variable that makes TestAsTheRealControllers write the recording if it is
// "record".
const recordVariable = "KCTRL_TEST_FIDELITY"

// outcomeOfPods makes the pods of some workloads fail, and the pods of other workloads never become ready.
func outcomeOfPods() fakecontrollers.Controller {
	return fakecontrollers.Pods(func(pod *corev1.Pod) fakecontrollers.Outcome {
		switch pod.Labels["app"] {
		case "fails":
			return fakecontrollers.Outcome{Phase: corev1.PodFailed}
		case "unready":
			return fakecontrollers.Outcome{NotReady: true}
		}
		return fakecontrollers.Outcome{}
	})
}

// TestAsTheRealControllersDid runs the scenarios in virtual time and compares the objects after each step with the
// recording.
func TestAsTheRealControllersDid(t *testing.T) {
	recorded := load(t)
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			states := recorded[s.name]
			if len(states) != len(s.steps) {
				t.Fatalf("%s has %d steps, want %d: record it again", recording, len(states), len(s.steps))
			}
			inBubble(t, func(stage *stage) {
				ctx, cancel := context.WithTimeout(stage.Context(), 2*time.Minute)
				defer cancel()
				w := newWorld(ctx, stage.T, stage.REST, s)
				for i, step := range s.steps {
					w.do(ctx, stage.T, step)
					await(ctx, stage.T, func() error { return step.done(ctx, w) })
					await(ctx, stage.T, func() error { return compare(i, states[i], w.state(stage.Context(), stage.T)) })
				}
			}, outcomeOfPods())
		})
	}
}

// TestAsTheRealControllers runs the scenarios in parallel with kube-controller-manager and compares the objects after
// each step. With KCTRL_TEST_SERVER=real, both use real servers, one of them without kube-controller-manager.
func TestAsTheRealControllers(t *testing.T) {
	outcome := outcomeOfPods()
	reference := testenv.Start(t, testenv.WithControllerManager("*,-node-lifecycle-controller"))
	fakecontrollers.Start(t, reference.Config, outcome)
	inProcess := inmemory.Start(t)
	fakecontrollers.Start(t, inProcess.Config, append(fakecontrollers.All(), outcome)...)
	real, ours := newClient(t, reference), newClient(t, inProcess)
	recorded := map[string][]string{}
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			worlds := []*world{newWorld(ctx, t, real, s), newWorld(ctx, t, ours, s)}
			for i, step := range s.steps {
				for _, w := range worlds {
					w.do(ctx, t, step)
				}
				for _, w := range worlds {
					await(ctx, t, func() error { return step.done(ctx, w) })
				}
				var want string
				await(ctx, t, func() error {
					want = worlds[0].state(t.Context(), t)
					return compare(i, want, worlds[1].state(t.Context(), t))
				})
				recorded[s.name] = append(recorded[s.name], want)
			}
		})
	}
	if os.Getenv(recordVariable) == "record" && !t.Failed() {
		store(t, recorded)
	}
}

// compare returns an error with the difference between the objects after a step.
func compare(step int, want, got string) error {
	if want == got {
		return nil
	}
	diff := gocmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n"))
	return fmt.Errorf("step %d: kube-controller-manager's are -, fake controllers' +\n%s", step+1, diff)
}

func load(t *testing.T) (recorded map[string][]string) {
	t.Helper()
	file, err := os.Open(recording)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err == nil {
		err = json.NewDecoder(unzipped).Decode(&recorded)
	}
	if err != nil {
		t.Fatalf("read %s: %v", recording, err)
	}
	return recorded
}

func store(t *testing.T, recorded map[string][]string) {
	t.Helper()
	var data bytes.Buffer
	zipped := gzip.NewWriter(&data)
	err := errors.Join(json.NewEncoder(zipped).Encode(recorded), zipped.Close())
	if err == nil {
		err = os.WriteFile(recording, data.Bytes(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// await calls try until it returns nil.
func await(ctx context.Context, t *testing.T, try func() error) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for err := try(); err != nil; err = try() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%v: %v", context.Cause(ctx), err)
		}
	}
}

// world is a namespace on one of the servers.
type world struct {
	client.Client
	all       *client.REST
	namespace string
}

// newWorld creates a namespace for a scenario, and returns it once its default service account exists.
func newWorld(ctx context.Context, t *testing.T, c *client.REST, s scenario) *world {
	t.Helper()
	namespace := strings.ToLower(s.name)
	w := &world{client.NewNamespacedClient(c, namespace), c, namespace}
	if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	await(ctx, t, func() error {
		return w.Get(ctx, object.Key{Namespace: namespace, Name: "default"}, &corev1.ServiceAccount{})
	})
	return w
}

// do repeats a step until it succeeds without a conflict.
func (w *world) do(ctx context.Context, t *testing.T, s step) {
	t.Helper()
	await(ctx, t, func() error {
		err := s.do(ctx, w)
		if err != nil && !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
		return err
	})
}

// scenario is a sequence of steps.
type scenario struct {
	name  string
	steps []step
}

type step struct {
	do   func(ctx context.Context, w *world) error
	done func(ctx context.Context, w *world) error // returns nil when the step has reached its goal
}

func create(all ...object.Object) func(context.Context, *world) error {
	return func(ctx context.Context, w *world) error {
		for _, o := range all {
			o = o.DeepCopyObject().(object.Object)
			if o.GetNamespace() != "" {
				o.SetNamespace(w.namespace)
			}
			if err := client.IgnoreAlreadyExists(w.all.Create(ctx, o)); err != nil {
				return err
			}
		}
		return nil
	}
}

// change updates an object.
func change[T any, P interface {
	*T
	object.Object
}](name string, f func(P)) func(context.Context, *world) error {
	return func(ctx context.Context, w *world) error {
		o := P(new(T))
		if err := w.Get(ctx, object.Key{Name: name}, o); err != nil {
			return err
		}
		f(o)
		return w.Update(ctx, o)
	}
}

func remove(o object.Object) func(context.Context, *world) error {
	return func(ctx context.Context, w *world) error {
		o := o.DeepCopyObject().(object.Object)
		o.SetNamespace(w.namespace)
		return client.IgnoreNotFound(w.all.Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	}
}

// is returns a function that waits until f is true for an object.
func is[T any, P interface {
	*T
	object.Object
}](name string, f func(P) bool) func(context.Context, *world) error {
	return func(ctx context.Context, w *world) error {
		o := P(new(T))
		if err := w.Get(ctx, object.Key{Name: name}, o); err != nil {
			return err
		}
		if !f(o) {
			return errors.New(text(o))
		}
		return nil
	}
}

// empty returns nil once the namespace contains no pods and no workloads.
func empty(ctx context.Context, w *world) error {
	for _, list := range []object.List{&corev1.PodList{}, &appsv1.ReplicaSetList{}, &appsv1.ControllerRevisionList{},
		&batchv1.JobList{}} {
		if err := w.List(ctx, list); err != nil {
			return err
		}
		if content := text(list); strings.Contains(content, `"uid"`) {
			return fmt.Errorf("left: %s", content)
		}
	}
	return nil
}

func rolledOut(replicas int32) func(*appsv1.Deployment) bool {
	return func(d *appsv1.Deployment) bool {
		s := d.Status
		return s.ObservedGeneration == d.Generation && s.UpdatedReplicas == replicas && s.Replicas == replicas &&
			s.AvailableReplicas == replicas &&
			(s.TerminatingReplicas == nil || *s.TerminatingReplicas == 0)
	}
}

func scenarios() []scenario {
	replicas := func(n int32) *int32 { return &n }
	again := func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = "example.com/two" }
	deployments := func(name string, change1 func(*appsv1.Deployment)) *appsv1.Deployment {
		d := deployment(name, 3)
		change1(d)
		return d
	}
	set := &appsv1.ReplicaSet{ObjectMeta: meta("set"), Spec: appsv1.ReplicaSetSpec{Replicas: replicas(2),
		Selector: selector("set"), Template: template("set", "")}}
	stateful := &appsv1.StatefulSet{ObjectMeta: meta("db"), Spec: appsv1.StatefulSetSpec{Replicas: replicas(3),
		ServiceName: "db", Selector: selector("db"), Template: template("db", "")}}
	statefulReady := func(n int32) func(*appsv1.StatefulSet) bool {
		return func(s *appsv1.StatefulSet) bool {
			return s.Status.ObservedGeneration == s.Generation && s.Status.ReadyReplicas == n && s.Status.Replicas == n &&
				s.Status.UpdatedReplicas == n && s.Status.CurrentRevision == s.Status.UpdateRevision
		}
	}
	daemon := &appsv1.DaemonSet{ObjectMeta: meta("agent"), Spec: appsv1.DaemonSetSpec{Selector: selector("agent"),
		Template: template("agent", "")}}
	daemonReady := func(d *appsv1.DaemonSet) bool {
		s := d.Status
		return s.ObservedGeneration == d.Generation && s.DesiredNumberScheduled == 1 && s.UpdatedNumberScheduled == 1 &&
			s.NumberAvailable == 1
	}
	finished := func(kind batchv1.JobConditionType) func(*batchv1.Job) bool {
		return func(j *batchv1.Job) bool {
			return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
				return c.Type == kind &&
					c.Status == corev1.ConditionTrue
			})
		}
	}
	jobs := func(name string, change func(*batchv1.JobSpec)) *batchv1.Job {
		j := job(name)
		change(&j.Spec)
		return j
	}
	indexed, suspended := batchv1.IndexedCompletion, true
	cron := &batchv1.CronJob{ObjectMeta: meta("minutely"), Spec: batchv1.CronJobSpec{
		Schedule: "0 0 1 1 *", Suspend: &suspended, JobTemplate: batchv1.JobTemplateSpec{Spec: job("minutely").Spec},
	}}
	class := ""
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta("data"), Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class, VolumeName: "one", AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(
			"1Gi")}},
	}}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: corev1.PersistentVolumeSpec{
		Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")},
		AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		PersistentVolumeSource: corev1.PersistentVolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/one"},
		},
	}}
	service := &corev1.Service{ObjectMeta: meta("web"), Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"},
		Ports: []corev1.ServicePort{
			{Name: "named", Port: 80, TargetPort: intstr.FromString("http")},
			{Name: "number", Port: 443, TargetPort: intstr.FromInt32(8443)},
		}}}
	headless := service.DeepCopy()
	headless.Name, headless.Spec.ClusterIP = "headless", corev1.ClusterIPNone
	return []scenario{
		{"Deployment", []step{
			{create(deployments("web",
				func(d *appsv1.Deployment) { d.Annotations = map[string]string{"example.com/note": "one"} })),
				is("web", rolledOut(3))},
			{change("web", func(d *appsv1.Deployment) { d.Spec.Replicas = replicas(5) }), is("web", rolledOut(5))},
			{change("web", func(d *appsv1.Deployment) { again(&d.Spec.Template) }), is("web", rolledOut(5))},
			{change("web", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "example.com/one" }),
				is("web", rolledOut(5))},
			{change("web", func(d *appsv1.Deployment) { d.Spec.Paused = true; d.Spec.Replicas = replicas(2) }),
				is("web", rolledOut(2))},
			{change("web", func(d *appsv1.Deployment) { d.Spec.Paused = false; d.Spec.RevisionHistoryLimit = replicas(0) }),
				is("web", rolledOut(2))},
			{change("web", func(d *appsv1.Deployment) { d.Spec.Replicas = replicas(0) }), is("web", rolledOut(0))},
			{remove(deployment("web", 0)), empty},
		}},
		{"Recreate", []step{
			{create(deployments("web",
				func(d *appsv1.Deployment) { d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType })),
				is("web", rolledOut(3))},
			{change("web", func(d *appsv1.Deployment) { again(&d.Spec.Template) }), is("web", rolledOut(3))},
			{remove(deployment("web", 0)), empty},
		}},
		{"UnreadyDeployment", []step{{
			create(deployment("unready", 2)),
			is("unready", func(d *appsv1.Deployment) bool {
				return d.Status.Replicas == 2 &&
					d.Status.UnavailableReplicas == 2
			}),
		}}},
		{"ReplicaSet", []step{
			{create(set), is("set", func(s *appsv1.ReplicaSet) bool { return s.Status.AvailableReplicas == 2 })},
			{change("set", func(s *appsv1.ReplicaSet) { s.Spec.Replicas = replicas(1) }),
				is("set", func(s *appsv1.ReplicaSet) bool {
					return s.Status.Replicas == 1 && (s.Status.TerminatingReplicas == nil || *s.Status.TerminatingReplicas == 0)
				})},
			{remove(set), empty},
		}},
		{"StatefulSet", []step{
			{create(stateful), is("db", statefulReady(3))},
			{change("db", func(s *appsv1.StatefulSet) { again(&s.Spec.Template) }), is("db", statefulReady(3))},
			{change("db", func(s *appsv1.StatefulSet) { s.Spec.Replicas = replicas(1) }), is("db", statefulReady(1))},
			{remove(stateful), empty},
		}},
		{"DaemonSet", []step{
			{create(daemon), is("agent", daemonReady)},
			{change("agent", func(d *appsv1.DaemonSet) { again(&d.Spec.Template) }), is("agent", daemonReady)},
			{remove(daemon), empty},
		}},
		{"Job", []step{
			{create(jobs("good", func(s *batchv1.JobSpec) { s.Completions, s.Parallelism = replicas(3), replicas(2) })),
				is("good", finished(batchv1.JobComplete))},
			{create(jobs("indexed", func(s *batchv1.JobSpec) { s.CompletionMode, s.Completions = &indexed, replicas(2) })),
				is("indexed", finished(batchv1.JobComplete))},
			{create(jobs("fails", func(s *batchv1.JobSpec) { s.BackoffLimit = replicas(0) })),
				is("fails", finished(batchv1.JobFailed))},
			{create(jobs("rests", func(s *batchv1.JobSpec) { s.Suspend = &suspended })),
				is("rests", func(j *batchv1.Job) bool { return len(j.Status.Conditions) > 0 })},
			{change("rests", func(j *batchv1.Job) { *j.Spec.Suspend = false }), is("rests", finished(batchv1.JobComplete))},
			{func(ctx context.Context, w *world) error {
				return errors.Join(remove(job("good"))(ctx, w), remove(job("indexed"))(ctx, w), remove(job("fails"))(ctx, w),
					remove(job("rests"))(ctx, w))
			}, empty},
		}},
		{"CronJob", []step{
			{create(cron), is("minutely", func(*batchv1.CronJob) bool { return true })},
			{func(ctx context.Context, w *world) error { // its scheduled time was at the beginning of the year
				c := &batchv1.CronJob{}
				if err := w.Get(ctx, object.Key{Name: "minutely"}, c); err != nil {
					return err
				}
				c.Status.LastScheduleTime = &metav1.Time{Time: time.Now().AddDate(-1, 0, 0)}
				if err := w.Status().Update(ctx, c); err != nil {
					return err
				}
				*c.Spec.Suspend = false
				return w.Update(ctx, c)
			}, is("minutely", func(c *batchv1.CronJob) bool {
				return c.Status.LastSuccessfulTime != nil &&
					len(c.Status.Active) == 0
			})},
			{remove(cron), empty},
		}},
		{"Claim", []step{
			{create(volume, claim),
				is("data", func(c *corev1.PersistentVolumeClaim) bool { return c.Status.Phase == corev1.ClaimBound })},
			{remove(claim), func(ctx context.Context, w *world) error {
				v := &corev1.PersistentVolume{}
				if err := w.all.Get(ctx, object.Key{Name: "one"}, v); err != nil || v.Status.Phase != corev1.VolumeReleased {
					return fmt.Errorf("%v: %s", err, text(v))
				}
				return nil
			}},
		}},
		{"Service", []step{
			{create(service, headless, deployment("web", 2)), is("web", rolledOut(2))},
			{change("web", func(d *appsv1.Deployment) { d.Spec.Replicas = replicas(0) }), is("web", rolledOut(0))},
		}},
	}
}

// kinds contains the kinds whose objects are compared.
var kinds = []schema.GroupVersionKind{
	{Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "PersistentVolumeClaim"},
	{Version: "v1", Kind: "PersistentVolume"}, {Version: "v1", Kind: "ServiceAccount"},
	{Version: "v1", Kind: "Service"}, {Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"}, {Group: "apps", Version: "v1", Kind: "DaemonSet"},
	{Group: "apps", Version: "v1", Kind: "ControllerRevision"},
	{Group: "batch", Version: "v1", Kind: "Job"}, {Group: "batch", Version: "v1", Kind: "CronJob"},
	{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"},
}

// jobOfATime matches the name of a CronJob's Job, which ends with the minute of its scheduled time.
var jobOfATime = regexp.MustCompile(`minutely-\d+`)

var timestamp = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"`)

// state returns all objects of the namespace, without random values and times.
func (w *world) state(ctx context.Context, t *testing.T) string {
	t.Helper()
	var texts, replace []string
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		opts := []client.ListOption{client.InNamespace(w.namespace)}
		if kind.Kind == "PersistentVolume" {
			opts = nil
		}
		if err := w.all.List(ctx, list, opts...); err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			if bound, _, _ := unstructured.NestedString(o.Object, "spec", "claimRef",
				"namespace"); kind.Kind == "PersistentVolume" && bound != w.namespace {
				continue
			}
			replace = append(replace, string(o.GetUID()), "<uid>")
			if o.GetGenerateName() != "" && o.GetLabels()[appsv1.StatefulSetPodNameLabel] == "" {
				replace = append(replace, o.GetName(), o.GetGenerateName()+"<random>")
			}
			for _, path := range [][]string{{"status", "podIP"}, {"spec", "clusterIP"}} {
				if address, _, _ := unstructured.NestedString(o.Object, path...); address != "" && address != "None" {
					replace = append(replace, `"`+address+`"`, `"<address>"`)
				}
			}
			mask(o)
			content, err := json.MarshalIndent(o.Object, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(content))
		}
	}
	replacer := strings.NewReplacer(replace...)
	for i := range texts {
		texts[i] = timestamp.ReplaceAllString(replacer.Replace(texts[i]), `"<time>"`)
		texts[i] = jobOfATime.ReplaceAllString(texts[i], "minutely-<minute>")
	}
	slices.Sort(texts)
	return strings.Join(texts, "\n")
}

// mask removes fields that have no meaning for the comparison, and fields that controllers do not write.
func mask(o *unstructured.Unstructured) {
	for _, path := range [][]string{{"metadata", "managedFields"}, {"metadata", "resourceVersion"},
		{"metadata", "creationTimestamp"}} {
		unstructured.RemoveNestedField(o.Object, path...)
	}
	if o.GetKind() == "Pod" { // only one of the servers has the service account admission plugin, which adds these fields
		for _, field := range []string{"serviceAccount", "serviceAccountName", "volumes"} {
			unstructured.RemoveNestedField(o.Object, "spec", field)
		}
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "containers")
		for _, c := range containers {
			delete(c.(map[string]any), "volumeMounts")
		}
		_ = unstructured.SetNestedSlice(o.Object, containers, "spec", "containers")
	}
	if o.GetKind() == "ReplicaSet" ||
		o.GetKind() == "EndpointSlice" { // the number of writes depends on the order of the pods
		unstructured.RemoveNestedField(o.Object, "metadata", "generation")
		unstructured.RemoveNestedField(o.Object, "status", "observedGeneration")
	}
	unstructured.RemoveNestedField(o.Object, "spec", "claimRef", "uid") // the claim may already be deleted
	forget(o.Object, "resourceVersion")
	if conditions, ok, _ := unstructured.NestedSlice(o.Object, "status", "conditions"); ok {
		slices.SortFunc(conditions, func(a, b any) int {
			return cmp.Compare(fmt.Sprint(a.(map[string]any)["type"]), fmt.Sprint(b.(map[string]any)["type"]))
		})
		_ = unstructured.SetNestedSlice(o.Object, conditions, "status", "conditions")
	}
}

// forget removes a field from all objects in a value.
func forget(value any, field string) {
	switch value := value.(type) {
	case map[string]any:
		delete(value, field)
		for _, part := range value {
			forget(part, field)
		}
	case []any:
		for _, part := range value {
			forget(part, field)
		}
	}
}
