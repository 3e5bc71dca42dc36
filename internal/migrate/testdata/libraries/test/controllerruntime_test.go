package controllerruntime

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	crhandler "sigs.k8s.io/controller-runtime/pkg/handler"
	crmanager "sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	crreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"
	crsource "sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
	kctrlworkqueue "github.com/kctrl-dev/kctrl/runtime/workqueue"
)

// library is a client whose type nobody knows: only its methods are there.
type library struct{ crclient.WithWatch }

// program is a client whose type nobody knows.
type program struct{ client.WithWatch }

// clients are a client of controller-runtime, and one of the runtime that sends by it: each call of that is converted twice.
func clients(t *testing.T) (crclient.WithWatch, client.WithWatch) {
	t.Helper()
	live, err := client.New(testenv.Start(t).Config, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	c := ToWithWatch(program{live})
	return c, FromWithWatch(library{c})
}

func configMap(name string, labels map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: labels}}
}

func succeeds(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func refuses(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("got error %v, want %q in it", err, text)
	}
}

func owners(o object.Object) (names []string) {
	for _, entry := range o.GetManagedFields() {
		names = append(names, entry.Manager+" "+string(entry.Operation))
	}
	return names
}

func TestClientOfControllerRuntime(t *testing.T) {
	c, _ := clients(t)
	ctx := t.Context()
	for _, name := range []string{"a", "b", "c"} {
		succeeds(t, c.Create(ctx, configMap(name, map[string]string{"name": name, "some": "yes"}), crclient.FieldOwner("tester")))
	}
	var list corev1.ConfigMapList
	in := crclient.InNamespace("default")
	succeeds(t, c.List(ctx, &list, in, crclient.MatchingLabels{"some": "yes"}, crclient.Limit(2)))
	if len(list.Items) != 2 || list.Continue == "" {
		t.Errorf("a page has %d objects, continue %q", len(list.Items), list.Continue)
	}
	succeeds(t, c.List(ctx, &list, in, crclient.MatchingLabels{"some": "yes"}, crclient.Limit(2), crclient.Continue(list.Continue)))
	if len(list.Items) != 1 {
		t.Errorf("the last page has %d objects", len(list.Items))
	}
	succeeds(t, c.List(ctx, &list, in, crclient.MatchingFields{"metadata.name": "b"}, crclient.HasLabels{"some"}))
	if len(list.Items) != 1 || list.Items[0].Name != "b" {
		t.Errorf("got %v", list.Items)
	}
	succeeds(t, c.List(ctx, &list, &crclient.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}}))
	refuses(t, c.List(ctx, &list, &crclient.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "1", ResourceVersionMatch: metav1.ResourceVersionMatchExact}}), "Exact")
	refuses(t, c.List(ctx, &list, &crclient.ListOptions{Raw: &metav1.ListOptions{TimeoutSeconds: new(int64)}}), "TimeoutSeconds")
	refuses(t, c.Create(ctx, configMap("d", nil), &crclient.CreateOptions{Raw: &metav1.CreateOptions{FieldManager: "x"}}), "create")
	refuses(t, c.Create(ctx, configMap("d", nil), &crclient.CreateOptions{DryRun: []string{"Some"}}), "Some")

	var a corev1.ConfigMap
	succeeds(t, c.Get(ctx, crclient.ObjectKey{Namespace: "default", Name: "a"}, &a, &crclient.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: "0"}}))
	succeeds(t, c.Get(ctx, crclient.ObjectKey{Namespace: "default", Name: "a"}, &a))
	if got := owners(&a); len(got) != 1 || got[0] != "tester Update" {
		t.Errorf("owners are %v", got)
	}
	succeeds(t, c.Create(ctx, configMap("dry", nil), crclient.DryRunAll))
	if err := c.Get(ctx, crclient.ObjectKey{Namespace: "default", Name: "dry"}, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		t.Errorf("a dry run made an object: %v", err)
	}
	stale := a.DeepCopy()
	a.Data = map[string]string{"x": "1"}
	succeeds(t, c.Update(ctx, &a, crclient.FieldOwner("updater")))
	if err := c.Update(ctx, stale); !apierrors.IsConflict(err) {
		t.Errorf("a stale update gives %v", err)
	}
	before := a.DeepCopy()
	a.Data["y"] = "2"
	succeeds(t, c.Patch(ctx, &a, crclient.MergeFromWithOptions(before, crclient.MergeFromWithOptimisticLock{}), crclient.FieldOwner("patcher")))
	if a.Data["y"] != "2" || !strings.Contains(strings.Join(owners(&a), ","), "patcher Update") {
		t.Errorf("patched to %v by %v", a.Data, owners(&a))
	}
	succeeds(t, c.Patch(ctx, &a, crclient.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/data/y"}]`)), crclient.DryRunAll))
	applied := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}, Data: map[string]string{"x": "9"}}
	if err := c.Patch(ctx, applied.DeepCopy(), crclient.Apply, crclient.FieldOwner("applier")); !apierrors.IsConflict(err) { //nolint:staticcheck // libraries do so
		t.Errorf("an apply of what another one owns gives %v", err)
	}
	succeeds(t, c.Patch(ctx, applied, crclient.Apply, crclient.FieldOwner("applier"), crclient.ForceOwnership)) //nolint:staticcheck // libraries do so
	if applied.Data["x"] != "9" || applied.UID != a.UID {
		t.Errorf("applied to %v", applied)
	}

	wrong := types.UID("other")
	if err := c.Delete(ctx, &a, crclient.Preconditions{UID: &wrong}); !apierrors.IsConflict(err) {
		t.Errorf("a delete of another object gives %v", err)
	}
	succeeds(t, c.Delete(ctx, &a, crclient.DryRunAll))
	succeeds(t, c.Delete(ctx, &a, crclient.Preconditions{UID: &a.UID}, crclient.GracePeriodSeconds(0), crclient.PropagationPolicy(metav1.DeletePropagationBackground)))
	if err := c.Delete(ctx, &a); !apierrors.IsNotFound(err) || crclient.IgnoreNotFound(err) != nil {
		t.Errorf("a second delete gives %v", err)
	}
	succeeds(t, c.DeleteAllOf(ctx, &corev1.ConfigMap{}, crclient.InNamespace("default"), crclient.MatchingLabels{"name": "b"}, crclient.GracePeriodSeconds(0)))
	succeeds(t, c.List(ctx, &list, in, crclient.HasLabels{"some"}))
	if len(list.Items) != 1 || list.Items[0].Name != "c" {
		t.Errorf("left are %v", list.Items)
	}
}

func TestConfigurationsAreApplied(t *testing.T) {
	c, _ := clients(t)
	ctx := t.Context()
	configuration := applycorev1.ConfigMap("a", "default").WithData(map[string]string{"x": "1"})
	succeeds(t, c.Apply(ctx, configuration, crclient.FieldOwner("applier")))
	if configuration.UID == nil {
		t.Error("a configuration is not set to the answer")
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "b", "namespace": "default"}, "data": map[string]any{"x": "1"}}}
	succeeds(t, c.Apply(ctx, crclient.ApplyConfigurationFromUnstructured(u), crclient.FieldOwner("applier")))
	if u.GetUID() == "" {
		t.Error("an object without a type is not set to the answer")
	}
	other := applycorev1.ConfigMap("a", "default").WithData(map[string]string{"x": "2"})
	if err := c.Apply(ctx, other, crclient.FieldOwner("other")); !apierrors.IsConflict(err) {
		t.Errorf("an apply of what another one owns gives %v", err)
	}
	succeeds(t, c.Apply(ctx, other, crclient.FieldOwner("other"), crclient.ForceOwnership, crclient.DryRunAll))
	var a corev1.ConfigMap
	succeeds(t, c.Get(ctx, crclient.ObjectKey{Namespace: "default", Name: "a"}, &a))
	if a.Data["x"] != "1" {
		t.Errorf("a dry run has changed %v", a.Data)
	}
}

func TestSubresources(t *testing.T) {
	c, back := clients(t)
	ctx := t.Context()
	replicas := int32(1)
	labels := map[string]string{"a": "b"}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}},
	}}
	succeeds(t, c.Create(ctx, deployment))
	deployment.Status.ObservedGeneration, deployment.Status.Replicas = 1, 1
	succeeds(t, c.Status().Update(ctx, deployment, crclient.FieldOwner("status")))
	before := deployment.DeepCopy()
	deployment.Status.ReadyReplicas = 1
	succeeds(t, c.Status().Patch(ctx, deployment, crclient.MergeFrom(before)))
	scale := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale"}}
	succeeds(t, c.SubResource("scale").Get(ctx, deployment, scale))
	succeeds(t, unstructured.SetNestedField(scale.Object, int64(3), "spec", "replicas"))
	succeeds(t, c.SubResource("scale").Update(ctx, deployment, crclient.WithSubResourceBody(scale)))
	succeeds(t, back.Get(ctx, object.KeyOf(deployment), deployment))
	if *deployment.Spec.Replicas != 3 || deployment.Status.ReadyReplicas != 1 {
		t.Errorf("got %d replicas, %d ready", *deployment.Spec.Replicas, deployment.Status.ReadyReplicas)
	}
	succeeds(t, back.SubResource("scale").Get(ctx, deployment, scale))
	succeeds(t, unstructured.SetNestedField(scale.Object, int64(4), "spec", "replicas"))
	succeeds(t, back.SubResource("scale").Update(ctx, deployment, client.WithSubResourceBody(scale), client.FieldOwner("scaler")))
	succeeds(t, back.Status().Apply(ctx, &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"},
		Spec: deployment.Spec, Status: appsv1.DeploymentStatus{Replicas: 2},
	}, client.FieldOwner("applier"), client.ForceOwnership))
	succeeds(t, back.Get(ctx, object.KeyOf(deployment), deployment))
	if *deployment.Spec.Replicas != 4 || deployment.Status.Replicas != 2 {
		t.Errorf("got %d replicas, %d of them there", *deployment.Spec.Replicas, deployment.Status.Replicas)
	}
	sub := ToSubResourceWriter(struct{ client.SubResourceWriter }{back.Status()})
	refuses(t, sub.Create(ctx, deployment, deployment), "neither gets nor creates")
}

func TestClientOfTheRuntime(t *testing.T) {
	_, c := clients(t)
	ctx := t.Context()
	for _, name := range []string{"a", "b"} {
		succeeds(t, c.Create(ctx, configMap(name, map[string]string{"name": name, "some": "yes"}), client.FieldOwner("tester"), client.FieldValidation("Strict")))
	}
	var list corev1.ConfigMapList
	succeeds(t, c.List(ctx, &list, client.InNamespace("default"), client.HasLabels{"some"}, client.MatchingLabels{"name": "b"}, client.NotOlderThan("0")))
	if len(list.Items) != 1 || list.Items[0].Name != "b" {
		t.Errorf("got %v", list.Items)
	}
	refuses(t, c.List(ctx, &list, client.Live), "Live")
	refuses(t, c.List(ctx, &list, client.InNamespace("a"), client.InNamespace("b")), "InNamespace")
	var a corev1.ConfigMap
	succeeds(t, c.Get(ctx, object.Key{Namespace: "default", Name: "a"}, &a, client.NotOlderThan("0"), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency))
	before := a.DeepCopy()
	a.Data = map[string]string{"x": "1"}
	succeeds(t, c.Patch(ctx, &a, client.MergeFromWithOptimisticLock(before), client.FieldOwner("patcher")))
	applied := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}, Data: map[string]string{"x": "2"}}
	if err := c.Apply(ctx, applied.DeepCopy(), client.FieldOwner("applier")); !apierrors.IsConflict(err) {
		t.Errorf("an apply of what another one owns gives %v", err)
	}
	succeeds(t, c.Apply(ctx, applied, client.FieldOwner("applier"), client.ForceOwnership))
	succeeds(t, c.Update(ctx, applied, client.DryRunAll))
	wrong := types.UID("other")
	if err := c.Delete(ctx, applied, client.Preconditions{UID: &wrong}); !apierrors.IsConflict(err) {
		t.Errorf("a delete of another object gives %v", err)
	}
	succeeds(t, c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace("default"), client.MatchingLabels{"name": "b"}, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	succeeds(t, c.Delete(ctx, applied, client.GracePeriodSeconds(0)))
	if err := c.Get(ctx, object.KeyOf(applied), &a); !apierrors.IsNotFound(err) {
		t.Errorf("a deleted object gives %v", err)
	}
	gvk, err := c.GroupVersionKindFor(applied)
	namespaced, err2 := c.IsObjectNamespaced(&corev1.Node{})
	if err != nil || err2 != nil || gvk.Kind != "ConfigMap" || namespaced {
		t.Errorf("got %v, %v, %v, %v", gvk, err, namespaced, err2)
	}
}

func TestWatches(t *testing.T) {
	c, back := clients(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	succeeds(t, c.Create(ctx, configMap("a", nil)))
	var list corev1.ConfigMapList
	succeeds(t, c.List(ctx, &list, crclient.InNamespace("default")))
	events, err := c.Watch(ctx, &list, crclient.InNamespace("default"), crclient.MatchingFields{"metadata.name": "a"})
	succeeds(t, err)
	if e := <-events.ResultChan(); e.Type != watch.Added {
		t.Errorf("got %v: the resourceVersion of the list counts", e.Type)
	}
	events.Stop()
	stream, err := back.Watch(ctx, &list, client.InNamespace("default"))
	succeeds(t, err)
	succeeds(t, back.Create(ctx, configMap("b", nil)))
	e, err := stream.Next()
	succeeds(t, err)
	if e.Type != watch.Added || e.Object.GetName() != "b" || e.ResourceVersion == "" {
		t.Errorf("got %v of %v", e.Type, e.Object)
	}
	succeeds(t, stream.Close())
	for err == nil {
		_, err = stream.Next()
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("a closed stream gives %v", err)
	}
}

func TestOptionsAlone(t *testing.T) {
	o := (&crclient.ListOptions{}).ApplyOptions([]crclient.ListOption{
		ToListOption(client.MatchingLabels{"a": "b"}), crclient.MatchingLabels{"c": "d"}, ToListOption(client.HasLabels{"e"}),
		ToListOption(client.MatchingFields{"f": "g"}), ToListOption(client.MatchingFields{"h": "i"}), ToListOption(client.InNamespace("n")),
	})
	if got := o.LabelSelector.String() + ";" + o.FieldSelector.String() + ";" + o.Namespace; got != "a=b,c=d,e;f=g,h=i;n" {
		t.Errorf("got %s", got)
	}
	all := (&crclient.DeleteAllOfOptions{}).ApplyOptions([]crclient.DeleteAllOfOption{ToDeleteAllOfOption(client.MatchingLabels{"a": "b"}), ToDeleteAllOfOption(client.HasLabels{"e"})})
	if got := all.LabelSelector.String(); got != "a=b,e" {
		t.Errorf("got %s", got)
	}
	back, err := client.ListOptionsOf(Each(FromListOption)([]crclient.ListOption{crclient.InNamespace("n"), crclient.MatchingLabels{"a": "b"}, crclient.HasLabels{"e"}})...)
	if err != nil || back.Namespace != "n" || back.LabelSelector.String() != "a=b,e" {
		t.Errorf("got %v, %v", back, err)
	}
	defer func() {
		if recover() == nil {
			t.Error("an option that controller-runtime does not have is converted")
		}
	}()
	ToListOption(client.Live)
}

func TestThereAndBack(t *testing.T) {
	live, err := client.New(testenv.Start(t).Config, client.Options{Scheme: clientgoscheme.Scheme})
	succeeds(t, err)
	if FromClient(ToClient(live)) != client.Client(live) || FromReader(ToReader(live)) != client.Reader(live) || FromWriter(ToWriter(live)) != client.Writer(live) {
		t.Error("a client is another one after it was converted there and back")
	}
	if ToClient(nil) != nil || FromClient(nil) != nil || ToReader(nil) != nil || FromPatch(nil) != nil || ToPredicate(nil) != nil || FromPredicate(nil) != nil || ToListOption(nil) != nil || Each(ToListOption)(nil) != nil {
		t.Error("nil is something after it was converted")
	}
	if _, watches := ToClient(struct{ client.Client }{live}).(crclient.WithWatch); watches {
		t.Error("a client that does not watch is one that does")
	}
	if _, err := First[error](FromClient)(nil, io.EOF); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}

func TestPredicates(t *testing.T) {
	var told []informer.Event[object.Object]
	p := ToPredicate(func(e informer.Event[object.Object]) bool {
		told = append(told, e)
		return e.Type == informer.Updated
	})
	o := configMap("a", nil)
	if p.Create(event.CreateEvent{Object: o}) || !p.Update(event.UpdateEvent{ObjectOld: o, ObjectNew: o}) || p.Delete(event.DeleteEvent{Object: o, DeleteStateUnknown: true}) || p.Generic(event.GenericEvent{Object: o}) {
		t.Error("a predicate is asked about another event")
	}
	if len(told) != 4 || told[1].Old != object.Object(o) || !told[2].FinalStateUnknown {
		t.Errorf("told %v", told)
	}
	back := FromPredicate(p)
	for _, e := range []informer.Event[object.Object]{{Type: informer.Added, Object: o}, {Type: informer.Updated, Object: o, Old: o}, {Type: informer.Deleted, Object: o, FinalStateUnknown: true}, {Object: o}} {
		if back(e) != (e.Type == informer.Updated) || told[len(told)-1] != e {
			t.Errorf("%v is told as %v", e, told[len(told)-1])
		}
	}
}

func TestHandlersOfLibrariesRequestByTheQueueOfTheRuntime(t *testing.T) {
	var told []string
	tell := func(what string, o crclient.Object, q workqueue.TypedRateLimitingInterface[crreconcile.Request]) {
		told = append(told, what)
		request := crreconcile.Request{NamespacedName: crclient.ObjectKeyFromObject(o)}
		switch what {
		case "create":
			q.Add(request)
		case "update":
			q.AddAfter(request, time.Hour)
		default:
			q.AddRateLimited(request)
		}
		if _, shutdown := q.Get(); !shutdown || q.Len() != 0 {
			t.Error("the queue gives requests")
		}
	}
	h := FromEventHandler(crhandler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[crreconcile.Request]) {
			tell("create", e.Object, q)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[crreconcile.Request]) {
			tell("update", e.ObjectOld, q)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[crreconcile.Request]) {
			if e.DeleteStateUnknown {
				tell("delete", e.Object, q)
			}
		},
		GenericFunc: func(_ context.Context, e event.GenericEvent, q workqueue.TypedRateLimitingInterface[crreconcile.Request]) {
			tell("generic", e.Object, q)
		},
	})
	queue := kctrlworkqueue.New[reconcile.Request](kctrlworkqueue.Options{})
	o := configMap("a", nil)
	for _, e := range []informer.Event[object.Object]{{Type: informer.Updated, Object: o, Old: o}, {Type: informer.Added, Object: o}, {Type: informer.Deleted, Object: o, FinalStateUnknown: true}, {Object: o}} {
		h(t.Context(), e, queue)
	}
	if want := "update create delete generic"; strings.Join(told, " ") != want {
		t.Errorf("told %v, want %s", told, want)
	}
	if r, ok := queue.Get(t.Context()); !ok || r.Name != "a" || r.Namespace != "default" {
		t.Errorf("requested %v", r)
	}
	if FromEventHandler(nil) != nil {
		t.Error("no handler is one")
	}
}

func TestSourcesOfLibrariesRequestByTheQueueOfTheRuntime(t *testing.T) {
	queue := kctrlworkqueue.New[reconcile.Request](kctrlworkqueue.Options{})
	synced, failure := false, errors.New("failure")
	s := FromSource(crsource.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[crreconcile.Request]) error {
		q.Add(crreconcile.Request{NamespacedName: types.NamespacedName{Name: "a"}})
		return nil
	}))
	ctx, cancel := context.WithCancel(t.Context())
	if err := s.Run(ctx, queue, func() { synced = true; cancel() }); err != nil && !errors.Is(err, context.Canceled) || !synced {
		t.Errorf("ended with %v, synced %t", err, synced)
	}
	if r, ok := queue.Get(t.Context()); !ok || r.Name != "a" {
		t.Errorf("requested %v", r)
	}
	if err := FromSource(failing{failure}).Run(t.Context(), queue, func() { t.Error("has synced") }); !errors.Is(err, failure) {
		t.Errorf("a source that does not sync ended with %v", err)
	}
	if FromSource(nil) != nil {
		t.Error("no source is one")
	}
}

// failing is a source that starts and does not sync.
type failing struct{ err error }

func (failing) Start(context.Context, workqueue.TypedRateLimitingInterface[crreconcile.Request]) error {
	return nil
}
func (f failing) WaitForSync(context.Context) error { return f.err }

func TestReconcilers(t *testing.T) {
	failure := errors.New("failure")
	own := reconcile.Func[reconcile.Request](func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
		if r.Name == "terminal" {
			return reconcile.Result{}, reconcile.TerminalError(failure)
		}
		return reconcile.Result{RequeueAfter: time.Minute}, nil
	})
	r := ToReconciler(own)
	result, err := r.Reconcile(t.Context(), crreconcile.Request{NamespacedName: types.NamespacedName{Name: "a"}})
	if err != nil || result.RequeueAfter != time.Minute {
		t.Errorf("got %v, %v", result, err)
	}
	_, err = r.Reconcile(t.Context(), crreconcile.Request{NamespacedName: types.NamespacedName{Name: "terminal"}})
	if !errors.Is(err, crreconcile.TerminalError(nil)) || !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	_, err = FromReconciler(r).Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "terminal"}})
	if !errors.Is(err, reconcile.ErrTerminal) || !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	if got := FromResult(crreconcile.Result{Requeue: true}); got.RequeueAfter <= 0 { //nolint:staticcheck // libraries do so
		t.Errorf("got %v", got)
	}
}

func TestRateLimiters(t *testing.T) {
	l := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute)
	request := crreconcile.Request{NamespacedName: types.NamespacedName{Name: "a"}}
	to := ToRateLimiter(l)
	if first, second := to.When(request), to.When(request); first != time.Second || second != 2*time.Second || to.NumRequeues(request) != 2 {
		t.Errorf("got %v, %v, %d", first, second, to.NumRequeues(request))
	}
	back := FromRateLimiter(to)
	back.Forget(FromRequest(request))
	if l.NumRequeues(FromRequest(request)) != 0 || FromRateLimiter(nil) != nil || ToRateLimiter(nil) != nil {
		t.Error("a request is not forgotten")
	}
}

func TestManagers(t *testing.T) {
	m, err := manager.New(testenv.Start(t).Config, manager.Options{Scheme: clientgoscheme.Scheme})
	succeeds(t, err)
	mgr := ToManager(m)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	ran := make(chan struct{})
	succeeds(t, mgr.Add(crmanager.RunnableFunc(func(ctx context.Context) error {
		close(ran)
		<-ctx.Done()
		return nil
	})))
	succeeds(t, mgr.AddHealthzCheck("a", func(*http.Request) error { return nil }))
	succeeds(t, mgr.AddReadyzCheck("a", func(*http.Request) error { return nil }))
	succeeds(t, mgr.AddMetricsServerExtraHandler("/a", http.NotFoundHandler()))
	succeeds(t, mgr.GetFieldIndexer().IndexField(ctx, &corev1.ConfigMap{}, "x", func(o crclient.Object) []string { return []string{o.(*corev1.ConfigMap).Data["x"]} }))
	done := make(chan error)
	go func() { done <- mgr.Start(ctx) }()
	<-ran
	<-mgr.Elected()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		t.Error("the cache does not sync")
	}
	a := configMap("a", nil)
	a.Data = map[string]string{"x": "1"}
	succeeds(t, mgr.GetClient().Create(ctx, a))
	for _, r := range []crclient.Reader{mgr.GetClient(), mgr.GetCache()} {
		var list corev1.ConfigMapList
		succeeds(t, r.List(ctx, &list, crclient.MatchingFields{"x": "1"}))
		if len(list.Items) != 1 {
			t.Errorf("an index has %d objects", len(list.Items))
		}
	}
	succeeds(t, mgr.GetAPIReader().Get(ctx, crclient.ObjectKeyFromObject(a), a))
	_, err = mgr.GetCache().GetInformer(ctx, a)
	refuses(t, err, "no informers")
	mgr.GetEventRecorderFor("tester").Eventf(a, "Normal", "Tested", "by %s", "a test")
	mgr.GetEventRecorder("tester").Eventf(a, nil, "Normal", "Tested", "Test", "by %s", "a test")
	if mgr.GetScheme() != m.Scheme() || mgr.GetConfig() != m.Config() || mgr.GetHTTPClient() != m.HTTPClient() || mgr.GetLogger().GetSink() == nil || ToManager(nil) != nil {
		t.Error("a manager has something else than the one behind it")
	}
	stop()
	succeeds(t, <-done)
	defer func() {
		if recover() == nil {
			t.Error("there is a server of webhooks")
		}
	}()
	mgr.GetWebhookServer()
}

func TestManagersOfLibrariesRunOnesOfTheRuntime(t *testing.T) {
	mgr, err := crmanager.New(testenv.Start(t).Config, crmanager.Options{Scheme: clientgoscheme.Scheme, Metrics: server.Options{BindAddress: "0"}})
	succeeds(t, err)
	m := FromManager(mgr)
	if FromManager(mgr) != m || FromManager(ToManager(m)) != m || FromManager(nil) != nil || m.Scheme() != mgr.GetScheme() {
		t.Error("a manager runs another one each time")
	}
	asked := make(chan reconcile.Request, 1)
	succeeds(t, controller.For[*corev1.ConfigMap](m).Named("asked").Complete(reconcile.Func[reconcile.Request](func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
		if r.Name == "a" {
			select {
			case asked <- r:
			default:
			}
		}
		return reconcile.Result{}, nil
	})))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	done := make(chan error)
	go func() { done <- mgr.Start(ctx) }()
	succeeds(t, m.Client().Create(ctx, configMap("a", nil)))
	select {
	case <-asked:
	case <-ctx.Done():
		t.Error("the controller does not run")
	}
	stop()
	succeeds(t, <-done)
}

func TestMetricsOptions(t *testing.T) {
	for _, test := range []struct {
		from     *server.Options
		address  string
		insecure bool
	}{
		{nil, ":8080", true}, {&server.Options{}, ":8080", true}, {&server.Options{BindAddress: "0"}, "", true}, {&server.Options{BindAddress: ":1", SecureServing: true}, ":1", false},
	} {
		if got := FromMetricsOptions(test.from); got.BindAddress != test.address || got.Insecure != test.insecure {
			t.Errorf("%v: got %q, insecure %v", test.from, got.BindAddress, got.Insecure)
		}
	}
}
