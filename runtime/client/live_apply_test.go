package client_test

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// configuration has the shape of a generated apply configuration.
type configuration struct {
	metav1.TypeMeta `json:",inline"`
	*MetadataPart   `json:"metadata,omitempty"`
	Data            map[string]string `json:"data,omitempty"`
}

// MetadataPart is embedded as generated ones are.
type MetadataPart struct {
	Name      *string           `json:"name,omitempty"`
	Namespace *string           `json:"namespace,omitempty"`
	UID       *string           `json:"uid,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
}

func testApplyConfigurations(t *testing.T, c live) {
	configured := &configuration{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Data: map[string]string{"a": "1"}}
	if err := client.ApplyConfiguration(t.Context(), c, configured); err == nil {
		t.Error("no name, and no error")
	}
	configured.MetadataPart = &MetadataPart{Name: new("a"), Namespace: &c.namespace}
	ok(t, client.ApplyConfiguration(t.Context(), c, configured))
	if configured.UID == nil || *configured.UID == "" {
		t.Errorf("got %+v", configured.MetadataPart)
	}
	other := &configuration{TypeMeta: configured.TypeMeta, MetadataPart: &MetadataPart{Name: new("a"), Namespace: &c.namespace}, Data: map[string]string{"a": "2"}}
	if err := client.ApplyConfiguration(t.Context(), c, other, client.FieldOwner("other")); !apierrors.IsConflict(err) || other.UID != nil {
		t.Errorf("got %v, %+v", err, other)
	}
	if err := client.ApplyConfiguration(t.Context(), c, configuration{}); err == nil {
		t.Error("no pointer, and no error")
	}
}

func testStrategicPatch(t *testing.T, c live) {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "d"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "1"}, {Name: "b", Image: "1"}}},
			},
		},
	}
	ok(t, c.Create(t.Context(), d))
	mine, theirs := d.DeepCopy(), d.DeepCopy()
	theirs.Spec.Template.Spec.Containers[1].Image = "theirs"
	ok(t, c.Patch(t.Context(), theirs, client.StrategicMergeFrom(d)))
	mine.Spec.Template.Spec.Containers[0].Image = "mine"
	mine.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	ok(t, c.Patch(t.Context(), mine, client.StrategicMergeFrom(d)))
	if got := mine.Spec.Template.Spec.Containers; got[0].Image != "mine" || got[1].Image != "theirs" || mine.Spec.Strategy.Type != "Recreate" {
		t.Errorf("got %v, %v", got, mine.Spec.Strategy)
	}
	late := d.DeepCopy()
	late.Labels = map[string]string{"late": ""}
	if err := c.Patch(t.Context(), late, client.StrategicMergeFromWithOptimisticLock(d)); !apierrors.IsConflict(err) {
		t.Errorf("got %v", err)
	}
}

func testWatchOfAClient(t *testing.T, c live) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c.create(t, "a")
	metas := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}}
	plain := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMapList"}}
	named := client.MatchingLabels{"name": "a"}
	for _, list := range []object.List{&corev1.ConfigMapList{}, metas, plain} {
		events, err := c.Watch(ctx, list, client.InNamespace(c.namespace), named)
		ok(t, err)
		if got := next(t, events); got != "ADDED a" {
			t.Errorf("%T: got %q", list, got)
		}
		ok(t, events.Close())
	}
	var list corev1.ConfigMapList
	ok(t, c.List(ctx, &list, client.InNamespace(c.namespace)))
	events, err := c.Watch(ctx, &list, client.InNamespace(c.namespace))
	ok(t, err)
	c.create(t, "b")
	if got := next(t, events); got != "ADDED b" {
		t.Errorf("got %q", got)
	}
	ok(t, events.Close())
	if _, err := c.Watch(ctx, &list, client.Limit(1)); err == nil {
		t.Error("a limit, and no error")
	}
}

func testScopeOfKinds(t *testing.T, c live) {
	for o, want := range map[object.Object]bool{&corev1.ConfigMap{}: true, &corev1.Namespace{}: false, metadataOf(""): true} {
		if got, err := c.IsObjectNamespaced(o); err != nil || got != want {
			t.Errorf("%T: got %t, %v", o, got, err)
		}
	}
	if got, err := c.IsObjectNamespaced(&corev1.NamespaceList{}); err != nil || got {
		t.Errorf("a list: got %t, %v", got, err)
	}
	if gvk, err := c.GroupVersionKindFor(&appsv1.Deployment{}); err != nil || gvk.String() != "apps/v1, Kind=Deployment" {
		t.Errorf("got %s, %v", gvk, err)
	}
	if _, err := c.GroupVersionKindFor(&unstructured.Unstructured{}); err == nil {
		t.Error("no kind, and no error")
	}
}
