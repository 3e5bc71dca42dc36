package testenv_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

// coreScheme returns a scheme with the core group.
func coreScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// gadget returns an object of a kind that has no definition.
func gadget(version, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/" + version, "kind": "Gadget",
		"metadata": map[string]any{"namespace": "made", "name": name}, "status": map[string]any{"ready": true},
	}}
}

func TestBuiltClientChecksWhatItWrites(t *testing.T) {
	c := testenv.NewClientBuilder().WithScheme(coreScheme(t)).WithObjects(gadget("v1", "a")).Build()
	if err := c.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "made",
		Name: "bare"}}); !apierrors.IsInvalid(err) {
		t.Errorf("a pod without containers: %v", err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "made", Name: "pod"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	if err := c.Create(t.Context(), pod); err != nil || pod.UID == "" || pod.Spec.DNSPolicy != corev1.DNSClusterFirst {
		t.Errorf("%v %v", pod, err)
	}
}

func TestBuiltClientCreatesNamespaces(t *testing.T) {
	c := testenv.NewClientBuilder().WithScheme(coreScheme(t)).Build()
	named := func(namespace string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
	}
	if err := c.Create(t.Context(), named("created")); err != nil {
		t.Error(err)
	}
	if err := c.Apply(t.Context(), named("applied"), client.FieldOwner("test")); err != nil {
		t.Error(err)
	}
	for _, namespace := range []string{"created", "applied"} {
		if err := c.Get(t.Context(), object.Key{Name: namespace}, &corev1.Namespace{}); err != nil {
			t.Error(err)
		}
	}
	if err := c.Update(t.Context(), named("updated")); !apierrors.IsNotFound(err) {
		t.Errorf("an update of a missing object: %v", err)
	}
	if err := c.Patch(t.Context(), named("patched"), client.RawPatch("application/merge-patch+json",
		[]byte("{}"))); !apierrors.IsNotFound(err) {
		t.Errorf("a patch of a missing object: %v", err)
	}
}

// TestBuiltClientBeginsWithGivenObjects also uses an object that is already being deleted, and removes its finalizer.
func TestBuiltClientBeginsWithGivenObjects(t *testing.T) {
	now := metav1.Now()
	given := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "n", Name: "going", UID: "mine", Finalizers: []string{"example.com/keep"}, DeletionTimestamp: &now,
	}}
	before := given.DeepCopy()
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Status: corev1.NodeStatus{Phase: corev1.NodeRunning}}
	c := testenv.NewClientBuilder().WithScheme(coreScheme(t)).WithObjects(given).WithLists(
		&corev1.NodeList{Items: []corev1.Node{node}}).Build()
	if given.String() != before.String() {
		t.Errorf("the object was changed: %v", given)
	}
	got := &corev1.ConfigMap{}
	if err := c.Get(t.Context(), object.KeyOf(given), got); err != nil || got.UID != "mine" ||
		got.DeletionTimestamp == nil {
		t.Fatalf("got %v, %v", got, err)
	}
	if err := c.Get(t.Context(), object.Key{Name: "node"}, &node); err != nil || node.Status.Phase != corev1.NodeRunning {
		t.Errorf("got %v, %v", node.Status, err)
	}
	controllerutil.RemoveFinalizer(got, "example.com/keep")
	if err := c.Update(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), object.KeyOf(given), got); !apierrors.IsNotFound(err) {
		t.Errorf("the last finalizer is gone, and the object is not: %v", err)
	}
}

func TestStatusSubresourceOfAKindHoldsForAllItsVersions(t *testing.T) {
	c := testenv.NewClientBuilder().WithStatusSubresource(gadget("v1", "")).Build()
	for _, version := range []string{"v1", "v2"} {
		u := gadget(version, version)
		if err := c.Create(t.Context(), u); err != nil || u.Object["status"] != nil {
			t.Errorf("%s: a creation wrote %v: %v", version, u.Object["status"], err)
		}
		u.Object["status"] = map[string]any{"ready": false}
		if err := c.Status().Update(t.Context(), u); err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}
}

func TestMapperOfABuilderHasScopes(t *testing.T) {
	mapper, version := meta.NewDefaultRESTMapper(nil), schema.GroupVersion{Group: "example.com", Version: "v1"}
	mapper.AddSpecific(version.WithKind("Gadget"), version.WithResource("gadgetries"), version.WithResource("gadgetry"),
		meta.RESTScopeRoot)
	c := testenv.NewClientBuilder().WithRESTMapper(mapper).Build()
	u := gadget("v1", "a")
	if err := c.Create(t.Context(), u); err != nil || u.GetNamespace() != "" {
		t.Errorf("got namespace %q, %v", u.GetNamespace(), err)
	}
	if c.RESTMapper() != meta.RESTMapper(mapper) {
		t.Error("the client returns another mapper")
	}
}

func TestListsOfABuiltClientSelectByIndexes(t *testing.T) {
	boom := errors.New("boom")
	c := testenv.NewClientBuilder().WithScheme(coreScheme(t)).
		WithObjects(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}, Type: "x"},
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "b"}, Type: "y"}).
		WithIndex(&corev1.Secret{}, "kind", func(o object.Object) []string {
			return []string{string(
				o.(*corev1.Secret).Type)}
		}).
		WithInterceptorFuncs(client.Interceptor{Update: func(context.Context, client.Client, object.Object,
			...client.UpdateOption) error {
			return boom
		}}).
		Build()
	secrets := &corev1.SecretList{}
	if err := c.List(t.Context(), secrets, client.MatchingFields{"kind": "y"}); err != nil || len(secrets.Items) != 1 ||
		secrets.Items[0].Name != "b" {
		t.Fatalf("got %v, %v", secrets.Items, err)
	}
	if err := c.Update(t.Context(), &secrets.Items[0]); !errors.Is(err, boom) {
		t.Errorf("the interceptor was not called: %v", err)
	}
}

func TestCRDsOfABuilderCheckObjects(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "guestbooks.yaml"), []byte(crd), 0o600); err != nil {
		t.Fatal(err)
	}
	c := testenv.NewClientBuilder().WithCRDs(dir).Build()
	guestbook := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "webapp.example.com/v1", "kind": "Guestbook",
		"metadata": map[string]any{"namespace": "n", "name": "welcome"}, "spec": map[string]any{"size": "large"},
	}}
	if err := c.Create(t.Context(), guestbook); !apierrors.IsInvalid(err) {
		t.Errorf("a size that is no integer: %v", err)
	}
}

func TestBuilderPanicsWithTheReason(t *testing.T) {
	bare := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "bare"}}
	for name, test := range map[string]struct {
		command string
		builder *testenv.ClientBuilder
		want    []string
	}{
		"kctrl is not installed": {
			filepath.Join(t.TempDir(), "kctrl"), testenv.NewClientBuilder(),
			[]string{"build a client: start an API server: ", "no such file", "; install kctrl, or set KCTRL to its path"},
		},
		"the process dies": {
			script(t, "echo '{}'; read -r start; echo 'panic: x' >&2; exit 2"), testenv.NewClientBuilder(),
			[]string{"build a client: start an API server: the process of the API servers ended: exit status 2\npanic: x"},
		},
		"the server refuses an object": {
			os.Getenv(testenv.CommandVariable), testenv.NewClientBuilder().WithScheme(coreScheme(t)).WithObjects(bare),
			[]string{`build a client: Pod n/bare: Pod "bare" is invalid: spec.containers: Required value`},
		},
		"the scheme lacks a kind": {
			os.Getenv(testenv.CommandVariable), testenv.NewClientBuilder().WithObjects(bare),
			[]string{"build a client: no kind is registered for the type v1.Pod in scheme"},
		},
		"a CRD is missing": {
			os.Getenv(testenv.CommandVariable), testenv.NewClientBuilder().WithCRDs("no/such/directory"),
			[]string{"build a client: install CRDs: no/such/directory: ", "no such file"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(testenv.CommandVariable, test.command)
			defer func() { contains(t, fmt.Sprint(recover()), test.want...) }()
			test.builder.Build()
		})
	}
}

// TestBuiltClientsHaveServersOfTheirOwn builds clients while $KCTRL_TEST_SERVER and $KCTRL_TEST_KUBECONFIG are set to
// other servers.
func TestBuiltClientsHaveServersOfTheirOwn(t *testing.T) {
	t.Setenv(testenv.ServerVariable, "real")
	t.Setenv(testenv.KubeconfigVariable, filepath.Join(t.TempDir(), "missing"))
	builder := testenv.NewClientBuilder().WithScheme(coreScheme(t)).WithObjects(
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}})
	one, other := builder.Build(), builder.Build()
	key, got := object.Key{Namespace: "n", Name: "a"}, &corev1.ConfigMap{}
	if err := one.Get(t.Context(), key, got); err != nil {
		t.Fatal(err)
	}
	if err := one.Delete(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	if err := other.Get(t.Context(), key, got); err != nil {
		t.Error(err)
	}
}

// TestFakeControllersLeaveOneOut runs without the fake kubelet, which would make the pods ready, and sets the status of
// the pod in its place.
func TestFakeControllersLeaveOneOut(t *testing.T) {
	t.Setenv(testenv.ServerVariable, "in-memory")
	env := testenv.Start(t, testenv.WithFakeControllers("kubelet"))
	live, err := client.New(env.Config, client.Options{Scheme: coreScheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	set := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": map[string]any{"namespace": "default", "name": "web"},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "main", "image": "nginx"}}},
			},
		},
	}}
	if err := live.Create(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-0"}}
	pod = testenv.Await(t.Context(), t, live, pod, func(*corev1.Pod) bool { return true })
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if err := live.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	testenv.Await(t.Context(), t, live, set, func(set *unstructured.Unstructured) bool {
		ready, _, _ := unstructured.NestedInt64(set.Object, "status", "readyReplicas")
		return ready == 1
	})
	if err := live.Get(t.Context(), object.KeyOf(pod), pod); err != nil || pod.Spec.NodeName != "" {
		t.Errorf("a kubelet has the pod: %q, %v", pod.Spec.NodeName, err)
	}
}

func TestUnknownFakeControllerIsExplained(t *testing.T) {
	t.Setenv(testenv.ServerVariable, "in-memory")
	failures := record(func(t testing.TB) { testenv.Start(t, testenv.WithFakeControllers("kublet")) })
	contains(t, failures, `start an API server: no fake controller "kublet"; use cronjob-controller, `, ", kubelet, ")
	if strings.Contains(failures, "\n") {
		t.Errorf("more than a line: %s", failures)
	}
}
