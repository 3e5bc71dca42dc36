package controllerruntime_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// toUnstructured converts an object.
func toUnstructured(t *testing.T, o client.Object) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: content}
}

// newCache returns a cache that runs until the end of the test.
func newCache(t *testing.T, o cache.Options) cache.Cache {
	t.Helper()
	c, err := cache.New(environment.Config, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.Start(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	if !c.WaitForCacheSync(ctx) {
		t.Fatal("the cache has not started")
	}
	return c
}

// TestSelectorsOfDefaultNamespacesApplyToKinds lists a kind whose own namespaces have no selectors.
func TestSelectorsOfDefaultNamespacesApplyToKinds(t *testing.T) {
	live, err := client.New(environment.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "selectors-"}}
	if err := live.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]map[string]string{"selected": {"a": "b"}, "other": nil} {
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: name, Labels: of}}
		if err := live.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	c := newCache(t, cache.Options{
		DefaultNamespaces: map[string]cache.Config{
			namespace.Name: {LabelSelector: labels.SelectorFromSet(labels.Set{"a": "b"})},
		},
		ByObject: map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}: {Namespaces: map[string]cache.Config{namespace.Name: {}}},
		},
	})
	list := &corev1.ConfigMapList{}
	if err := c.List(t.Context(), list); err != nil || len(list.Items) != 1 {
		t.Errorf("%d objects, want 1; %v", len(list.Items), err)
	}
}

// TestCacheKnowsOnlyItsNamespaces reads outside the namespaces of a cache, objects that do not exist, and by a field
// without an index.
func TestCacheKnowsOnlyItsNamespaces(t *testing.T) {
	c := newCache(t, cache.Options{DefaultNamespaces: map[string]cache.Config{"default": {}}})
	const unknown = "because of unknown namespace for the cache"
	err := c.Get(t.Context(), client.ObjectKey{Namespace: "kube-system", Name: "a"}, &corev1.Secret{})
	if err == nil || !strings.Contains(err.Error(), unknown) {
		t.Errorf("Get in another namespace: %v", err)
	}
	err = c.List(t.Context(), &corev1.SecretList{}, client.InNamespace("kube-system"))
	if err == nil || !strings.Contains(err.Error(), unknown) {
		t.Errorf("List of another namespace: %v", err)
	}
	if err := c.List(t.Context(), &corev1.SecretList{}); err != nil {
		t.Errorf("List of all cached namespaces: %v", err)
	}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default"}, &corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Errorf("Get without a name: %v", err)
	}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "none"}, &corev1.Node{}); !apierrors.IsNotFound(err) {
		t.Errorf("Get of a kind without namespaces: %v", err)
	}
	err = c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "none"}, &corev1.Secret{})
	if !apierrors.IsNotFound(err) || err.Error() != `Secret "none" not found` {
		t.Errorf("Get of an object that does not exist: %v", err)
	}
	err = c.List(t.Context(), &corev1.SecretList{}, client.MatchingFields{"type": "a"})
	if err == nil || !strings.Contains(err.Error(), "Index with name field:type does not exist") {
		t.Errorf("List by a field without an index: %v", err)
	}
	all := newCache(t, cache.Options{})
	if err := all.Get(t.Context(), client.ObjectKey{Name: "a"}, &corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Errorf("Get without a namespace: %v", err)
	}
}

func TestRegistryHasTheMetricsOfGo(t *testing.T) {
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, f := range families {
		found[f.GetName()] = true
	}
	for _, name := range []string{"go_goroutines", "go_sched_latencies_seconds", "go_gc_heap_allocs_bytes_total"} {
		if !found[name] {
			t.Errorf("there is no metric %s", name)
		}
	}
}

// TestFakeApplyOwnsTheAppliedFields applies different fields of an object with two owners. In the other order, the
// second apply conflicts, as with controller-runtime's fake client: it applies to the typed object, where the selector
// of a Deployment is null.
func TestFakeApplyOwnsTheAppliedFields(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build()
	deployment := func(spec appsv1.DeploymentSpec) *appsv1.Deployment {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Spec: spec}
		d.APIVersion, d.Kind = "apps/v1", "Deployment"
		return d
	}
	fields := func(spec map[string]any) client.Object {
		u := toUnstructured(t, deployment(appsv1.DeploymentSpec{}))
		u.Object["spec"] = spec
		delete(u.Object, "status")
		return u
	}
	for _, apply := range []struct {
		owner string
		spec  map[string]any
	}{
		{"one", map[string]any{"replicas": int64(2)}},
		{"two", map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"a": "b"}}}},
	} {
		if err := c.Patch(t.Context(), fields(apply.spec), client.Apply, client.FieldOwner(apply.owner)); err != nil {
			t.Errorf("%s: %v", apply.owner, err)
		}
	}
	got := &appsv1.Deployment{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "a"}, got); err != nil {
		t.Fatal(err)
	}
	if ptr.Deref(got.Spec.Replicas, 0) != 2 || got.Spec.Selector == nil {
		t.Errorf("applied: %+v", got.Spec)
	}
	untyped := deployment(appsv1.DeploymentSpec{})
	untyped.TypeMeta = metav1.TypeMeta{}
	err := c.Patch(t.Context(), untyped, client.Apply, client.FieldOwner("one"))
	if err == nil || !strings.Contains(err.Error(), "Object 'Kind' is missing") {
		t.Errorf("without a kind: %v", err)
	}
}

// TestCacheKnowsTheKindsOfItsOptions creates caches with options for kinds that cannot have them.
func TestCacheKnowsTheKindsOfItsOptions(t *testing.T) {
	absent := &unstructured.Unstructured{}
	absent.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Absent"})
	for _, test := range []struct {
		obj   client.Object
		of    cache.ByObject
		wants string
		is    func(error) bool
	}{
		{&corev1.Node{}, cache.ByObject{}, "", nil},
		{absent, cache.ByObject{}, "failed to determine if *unstructured.Unstructured is namespaced", meta.IsNoMatchError},
		{&autoscalingv1.Scale{}, cache.ByObject{}, "failed to determine if *v1.Scale is namespaced", meta.IsNoMatchError},
		{&metav1.PartialObjectMetadata{}, cache.ByObject{}, "Object 'Kind' is missing", nil},
		{&corev1.Node{}, cache.ByObject{Namespaces: map[string]cache.Config{}}, "type *v1.Node is not namespaced", nil},
	} {
		_, err := cache.New(environment.Config, cache.Options{ByObject: map[client.Object]cache.ByObject{test.obj: test.of}})
		if (err != nil) != (test.wants != "") || err != nil && !strings.Contains(err.Error(), test.wants) {
			t.Errorf("%T: %v, want %q", test.obj, err, test.wants)
		}
		if test.is != nil && !test.is(err) {
			t.Errorf("%T: %v has another type", test.obj, err)
		}
	}
}
