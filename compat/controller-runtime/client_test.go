package controllerruntime_test

import (
	"net/http"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// newClient returns a client that reads from the server.
func newClient(t *testing.T) client.Client {
	t.Helper()
	c, err := client.New(environment.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newDeployment creates a Deployment.
func newDeployment(t *testing.T, c client.Client) *appsv1.Deployment {
	t.Helper()
	labels := map[string]string{"a": "b"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "client-"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}},
			},
		},
	}
	if err := c.Create(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestKindsOfTypedObjects calls the client with an object that has an apiVersion and a kind. As in controller-runtime,
// objects that the client reads or creates lose both, and objects that it changes keep both.
func TestKindsOfTypedObjects(t *testing.T) {
	ctx, c := t.Context(), newClient(t)
	d, patch := newDeployment(t, c), client.RawPatch(types.MergePatchType, []byte("{}"))
	scale := &autoscalingv1.Scale{}
	ofDeployment := appsv1.SchemeGroupVersion.WithKind("Deployment")
	ofScale := autoscalingv1.SchemeGroupVersion.WithKind("Scale")
	for _, call := range []struct {
		name string
		obj  client.Object
		gvk  schema.GroupVersionKind
		keep bool
		call func() error
	}{
		{"create", d, ofDeployment, false, func() error {
			d.Name, d.ResourceVersion = "", ""
			return c.Create(ctx, d)
		}},
		{"get", d, ofDeployment, false, func() error { return c.Get(ctx, client.ObjectKeyFromObject(d), d) }},
		{"update", d, ofDeployment, true, func() error { return c.Update(ctx, d) }},
		{"patch", d, ofDeployment, true, func() error { return c.Patch(ctx, d, patch) }},
		{"update of the status", d, ofDeployment, true, func() error { return c.Status().Update(ctx, d) }},
		{"patch of the status", d, ofDeployment, true, func() error { return c.Status().Patch(ctx, d, patch) }},
		{"get of a scale", scale, ofScale, false, func() error { return c.SubResource("scale").Get(ctx, d, scale) }},
		{"update of a scale", scale, ofScale, false, func() error {
			return c.SubResource("scale").Update(ctx, d, client.WithSubResourceBody(scale))
		}},
		{"patch of a scale", d, ofDeployment, true, func() error { return c.SubResource("scale").Patch(ctx, d, patch) }},
		{"delete", d, ofDeployment, true, func() error { return c.Delete(ctx, d) }},
	} {
		kind := call.obj.GetObjectKind()
		kind.SetGroupVersionKind(call.gvk)
		if err := call.call(); err != nil {
			t.Errorf("%s: %v", call.name, err)
		}
		if got := kind.GroupVersionKind(); (got == call.gvk) != call.keep || (got == schema.GroupVersionKind{}) == call.keep {
			t.Errorf("%s: kind %q", call.name, got)
		}
	}
	list := &appsv1.DeploymentList{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DeploymentList"}}
	if err := c.List(ctx, list); err != nil || list.Kind != "" || len(list.Items) == 0 || list.Items[0].Kind != "" {
		t.Errorf("list: kind %q, %v", list.Kind, err)
	}
	metadata := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}}
	err := c.List(ctx, metadata)
	if err != nil || metadata.Kind != "Deployment" || metadata.Items[0].Kind != "Deployment" {
		t.Errorf("list of metadata: kind %q, %v", metadata.Kind, err)
	}
}

// TestErrorsHaveTheTypesThatProgramsCheck calls the client with objects that cannot exist.
func TestErrorsHaveTheTypesThatProgramsCheck(t *testing.T) {
	ctx, c := t.Context(), newClient(t)
	absent := &unstructured.Unstructured{}
	absent.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Absent"})
	absent.SetName("a")
	absent.SetNamespace("default")
	configuration, owner := client.ApplyConfigurationFromUnstructured, client.FieldOwner("a")
	unscoped := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	scaled := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	for name, err := range map[string]error{
		"get": c.Get(ctx, client.ObjectKeyFromObject(absent), absent), "create": c.Create(ctx, absent),
		"delete": c.DeleteAllOf(ctx, absent), "apply": c.Apply(ctx, configuration(absent), owner),
		"patch": c.Patch(ctx, absent, client.Merge),
	} {
		if unknown, ok := err.(*meta.NoKindMatchError); !ok || unknown.GroupKind.Kind != "Absent" {
			t.Errorf("%s of an unknown kind: %v", name, err)
		}
	}
	for _, test := range []struct {
		name string
		err  error
		code int32
		is   func(error) bool
	}{
		{"delete without a namespace", c.DeleteAllOf(ctx, unscoped), http.StatusMethodNotAllowed,
			apierrors.IsMethodNotSupported},
		{"patch without a namespace", c.Patch(ctx, unscoped, client.Merge), http.StatusNotFound, apierrors.IsNotFound},
		{"patch of a status without a namespace", c.Status().Patch(ctx, scaled, client.Merge), http.StatusNotFound,
			apierrors.IsNotFound},
		{"apply without a namespace", c.Apply(ctx, coreapply.ConfigMap("a", ""), owner), http.StatusNotFound,
			apierrors.IsNotFound},
		{"apply without an owner", c.Apply(ctx, coreapply.ConfigMap("a", "default")), http.StatusUnprocessableEntity,
			apierrors.IsInvalid},
		{"apply of a status without an owner", c.Status().Apply(ctx, appsapply.Deployment("a", "default")),
			http.StatusUnprocessableEntity, apierrors.IsInvalid},
	} {
		status, ok := test.err.(apierrors.APIStatus)
		if !ok || status.Status().Code != test.code || !test.is(test.err) {
			t.Errorf("%s: %v", test.name, test.err)
		}
	}
	if err := c.Patch(ctx, &corev1.ConfigMap{}, client.Merge); err == nil || apierrors.IsNotFound(err) {
		t.Errorf("patch without a name: %v", err)
	}
	if err := c.Apply(ctx, configuration(&unstructured.Unstructured{}), owner); !runtime.IsMissingKind(err) {
		t.Errorf("apply without a kind: %v", err)
	}
}
