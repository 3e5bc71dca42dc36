package controllerutil_test

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/testserver/inmemory"
)

// counting is a client that counts its writes.
type counting struct {
	client.Client
	*testing.T
	namespace string
	writes    *int
}

// wrote fails the test unless exactly want writes were made since the last call.
func (c counting) wrote(what string, want int) {
	c.Helper()
	if *c.writes != want {
		c.Errorf("%s: %d writes, want %d", what, *c.writes, want)
	}
	*c.writes = 0
}

func (c counting) was(what string, got controllerutil.OperationResult, err error, want controllerutil.OperationResult) {
	c.Helper()
	if err != nil || got != want {
		c.Fatalf("%s: got %s, %v; want %s", what, got, err, want)
	}
}

func TestOnAServer(t *testing.T) {
	scheme := newScheme(t)
	if err := appsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	live, err := client.New(inmemory.Start(t).Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]func(counting){
		"create-or-update": testCreateOrUpdate,
		"create-or-patch":  testCreateOrPatch,
		"apply":            testApplyIfDifferent,
		"apply-status":     testApplyStatus,
		"apply-at-random":  testApplyAtRandom,
		"apply-rewritten":  testApplierRemembers,
		"delete":           testDeleteWithUID,
	} {
		t.Run(name, func(t *testing.T) {
			if err := live.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
				t.Fatal(err)
			}
			test(newCounting(t, live, name))
		})
	}
}

func newCounting(t *testing.T, live client.Client, namespace string) counting {
	writes := 0
	return counting{namespace: namespace, T: t, writes: &writes, Client: client.Intercept(live, client.Interceptor{
		Create: func(ctx context.Context, c client.Client, o object.Object, opts ...client.CreateOption) error {
			writes++
			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.Client, o object.Object, opts ...client.UpdateOption) error {
			writes++
			return c.Update(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.Client, o object.Object, patch client.Patch,
			opts ...client.PatchOption) error {
			writes++
			return c.Patch(ctx, o, patch, opts...)
		},
		Apply: func(ctx context.Context, c client.Client, o object.Object, opts ...client.ApplyOption) error {
			writes++
			return c.Apply(ctx, o, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, o object.Object, patch client.Patch,
			opts ...client.PatchOption) error {
			writes++
			return c.SubResource(name).Patch(ctx, o, patch, opts...)
		},
		SubResourceApply: func(ctx context.Context, c client.Client, name string, o object.Object,
			opts ...client.ApplyOption) error {
			writes++
			return c.SubResource(name).Apply(ctx, o, opts...)
		},
	})}
}

func testCreateOrUpdate(c counting) {
	ctx, o := c.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "a"}}
	set := func(value string) controllerutil.MutateFn {
		return func() error {
			o.Data = map[string]string{"key": value}
			return nil
		}
	}
	for _, step := range []struct {
		value  string
		want   controllerutil.OperationResult
		writes int
	}{{"1", controllerutil.OperationResultCreated, 1}, {"1", controllerutil.OperationResultNone, 0},
		{"2", controllerutil.OperationResultUpdated, 1}} {
		got, err := controllerutil.CreateOrUpdate(ctx, c, o, set(step.value))
		c.was(step.value, got, err, step.want)
		c.wrote(step.value, step.writes)
	}
	if _, err := controllerutil.CreateOrUpdate(ctx, c, o, func() error { o.Name = "b"; return nil }); err == nil {
		c.Error("the function has changed the name")
	}
	c.wrote("another name", 0)
}

func testCreateOrPatch(c counting) {
	ctx, pod := c.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "p"}}
	set := func(label, message string) controllerutil.MutateFn {
		return func() error {
			pod.Labels = map[string]string{"label": label}
			pod.Status.Message = message
			if pod.Spec.Containers == nil {
				pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
			}
			return nil
		}
	}
	for _, step := range []struct {
		label, message string
		want           controllerutil.OperationResult
		writes         int
	}{
		{"1", "", controllerutil.OperationResultCreated, 1},
		{"1", "", controllerutil.OperationResultNone, 0},
		{"2", "", controllerutil.OperationResultUpdated, 1},
		{"2", "x", controllerutil.OperationResultUpdatedStatusOnly, 1},
		{"3", "y", controllerutil.OperationResultUpdatedStatus, 2},
		{"3", "y", controllerutil.OperationResultNone, 0},
	} {
		got, err := controllerutil.CreateOrPatch(ctx, c, pod, set(step.label, step.message))
		c.was(step.label+step.message, got, err, step.want)
		c.wrote(step.label+step.message, step.writes)
		if pod.Labels["label"] != step.label || pod.Status.Message != step.message || pod.UID == "" {
			c.Errorf("got %v, %q", pod.Labels, pod.Status.Message)
		}
	}
}

func testApplyIfDifferent(c counting) {
	ctx := c.Context()
	service := func(change func(*corev1.Service)) *corev1.Service {
		s := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "s", Labels: map[string]string{"a": "1"},
				Finalizers: []string{"x.io/a", "x.io/b"}},
			Spec: corev1.ServiceSpec{
				Selector: map[string]string{"app": "x"},
				Ports: []corev1.ServicePort{{Name: "one", Port: 80},
					{Name: "two", Port: 443, TargetPort: intstr.FromString("tls")}},
			},
		}
		if change != nil {
			change(s)
		}
		return s
	}
	owner := client.FieldOwner("tester")
	for _, step := range []struct {
		what   string
		change func(*corev1.Service)
		want   controllerutil.OperationResult
		writes int
	}{
		{"first", nil, controllerutil.OperationResultCreated, 1},
		{"the same", nil, controllerutil.OperationResultNone, 0},
		{"a label more", func(s *corev1.Service) { s.Labels["b"] = "" }, controllerutil.OperationResultUpdated, 1},
		{"without it", nil, controllerutil.OperationResultUpdated, 1},
		{"the same again", nil, controllerutil.OperationResultNone, 0},
		{"a port less", func(s *corev1.Service) { s.Spec.Ports = s.Spec.Ports[:1] }, controllerutil.OperationResultUpdated,
			1},
		{"a port again", nil, controllerutil.OperationResultUpdated, 1},
		{"a default said aloud", func(s *corev1.Service) { s.Spec.Ports[0].Protocol = corev1.ProtocolTCP },
			controllerutil.OperationResultUpdated, 1},
		{"a finalizer less", func(s *corev1.Service) { s.Finalizers = s.Finalizers[:1] },
			controllerutil.OperationResultUpdated, 1},
		{"all again", nil, controllerutil.OperationResultUpdated, 1},
		{"still the same", nil, controllerutil.OperationResultNone, 0},
	} {
		s := service(step.change)
		got, err := controllerutil.ApplyIfDifferent(ctx, c, s, owner)
		c.was(step.what, got, err, step.want)
		c.wrote(step.what, step.writes)
		if s.UID == "" || s.Spec.ClusterIP == "" || s.Kind != "" {
			c.Errorf("%s: got %v", step.what, s)
		}
	}
	others := service(nil)
	others.Labels["c"] = "theirs"
	if err := c.Client.Apply(ctx, others, client.FieldOwner("other"), client.ForceOwnership); err != nil {
		c.Fatal(err)
	}
	*c.writes = 0
	got, err := controllerutil.ApplyIfDifferent(ctx, c, service(nil), owner)
	c.was("beside another owner", got, err, controllerutil.OperationResultNone)
	c.wrote("beside another owner", 0)

	theirs := &unstructured.Unstructured{}
	theirs.SetAPIVersion("v1")
	theirs.SetKind("Service")
	theirs.SetNamespace(c.namespace)
	theirs.SetName("s")
	theirs.SetLabels(map[string]string{"a": "2"})
	if err := c.Client.Apply(ctx, theirs, client.FieldOwner("third"), client.ForceOwnership); err != nil {
		c.Fatal(err)
	}
	got, err = controllerutil.ApplyIfDifferent(ctx, c, service(nil), owner, client.ForceOwnership)
	c.was("a label that another changed", got, err, controllerutil.OperationResultUpdated)
	if _, err := controllerutil.ApplyIfDifferent(ctx, c, service(nil)); err == nil {
		c.Error("no field owner, and no error")
	}
}

func testApplyStatus(c counting) {
	ctx, owner := c.Context(), client.FieldOwner("tester")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	if err := c.Create(ctx, pod); err != nil {
		c.Fatal(err)
	}
	*c.writes = 0
	for _, step := range []struct {
		message string
		want    controllerutil.OperationResult
		writes  int
	}{{"a", controllerutil.OperationResultUpdatedStatusOnly, 1}, {"a", controllerutil.OperationResultNone, 0},
		{"b", controllerutil.OperationResultUpdatedStatusOnly, 1}} {
		wanted := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "p"}, Status: corev1.PodStatus{
			Conditions: []corev1.PodCondition{{Type: "x.io/Known", Status: corev1.ConditionTrue, Message: step.message}},
		}}
		got, err := controllerutil.ApplyStatusIfDifferent(ctx, c, wanted, owner)
		c.was(step.message, got, err, step.want)
		c.wrote(step.message, step.writes)
	}
}

func testDeleteWithUID(c counting) {
	ctx := c.Context()
	first := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "a"}}
	if err := c.Create(ctx, first); err != nil {
		c.Fatal(err)
	}
	for range 2 {
		if err := controllerutil.DeleteWithUID(ctx, c, first); err != nil {
			c.Fatal(err)
		}
	}
	second := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "a"}}
	if err := c.Create(ctx, second); err != nil {
		c.Fatal(err)
	}
	if err := controllerutil.DeleteWithUID(ctx, c, first); !apierrors.IsConflict(err) {
		c.Errorf("got %v", err)
	}
	if err := c.Get(ctx, object.KeyOf(second), second); err != nil {
		c.Error(err)
	}
	if err := controllerutil.DeleteWithUID(ctx, c, configMap(c.namespace, "")); err == nil {
		c.Error("an object without a name was deleted")
	}
}
