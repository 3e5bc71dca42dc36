package controllerutil_test

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// testApplierRemembers applies quantities that the server stores in another notation.
func testApplierRemembers(c counting) {
	ctx, owner := c.Context(), client.FieldOwner("tester")
	limits := func(cpu string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "LimitRange",
			"metadata": map[string]any{"namespace": c.namespace, "name": "l", "labels": map[string]any{"a": "b"}},
			"spec": map[string]any{"limits": []any{map[string]any{
				"type": "Container", "default": map[string]any{"cpu": cpu}, "defaultRequest": map[string]any{"cpu": "1"},
			}}},
		}}
	}
	for what, want := range map[string]int{"without a memory": 1, "with one": 0} {
		applier := controllerutil.NewApplier(c)
		apply := applier.Apply
		if want > 0 {
			apply = applyWithoutMemory(c)
		}
		if _, err := apply(ctx, limits("2000m"), owner); err != nil {
			c.Fatal(err)
		}
		*c.writes = 0
		o := limits("2000m")
		got, err := apply(ctx, o, owner)
		c.was(what, got, err, controllerutil.OperationResultNone)
		c.wrote(what, want)
		if o.GetUID() == "" {
			c.Errorf("%s: the object is not that of the server", what)
		}
	}
	applier := controllerutil.NewApplier(c)
	apply := func(what, cpu string, want controllerutil.OperationResult, writes int) {
		c.Helper()
		got, err := applier.Apply(ctx, limits(cpu), owner)
		c.was(what, got, err, want)
		c.wrote(what, writes)
	}
	apply("after a restart", "2000m", controllerutil.OperationResultNone, 1)
	apply("the same", "2000m", controllerutil.OperationResultNone, 0)
	apply("another value", "3000m", controllerutil.OperationResultUpdated, 1)
	apply("the same as that", "3000m", controllerutil.OperationResultNone, 0)
	apply("another spelling of it", "3", controllerutil.OperationResultNone, 0)

	live := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "l"}}
	patch := func(text string) {
		c.Helper()
		if err := c.Client.Patch(ctx, live, client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
			c.Fatal(err)
		}
		*c.writes = 0
	}
	patch(`{"metadata":{"annotations":{"of":"another"}}}`)
	apply("beside a change by another", "3000m", controllerutil.OperationResultNone, 0)
	patch(`{"metadata":{"labels":{"a":"theirs"}}}`)
	if _, err := applier.Apply(ctx, limits("3000m"), owner, client.ForceOwnership); err != nil {
		c.Fatal(err)
	}
	c.wrote("after a change of its field by another", 1)
	apply("as it should be again", "3000m", controllerutil.OperationResultNone, 0)

	if err := c.Delete(ctx, live); err != nil {
		c.Fatal(err)
	}
	*c.writes = 0
	apply("after a deletion", "3000m", controllerutil.OperationResultCreated, 1)
	apply("the new one", "3000m", controllerutil.OperationResultNone, 0)

	status, err := applier.ApplyStatus(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": c.namespace},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "x.io/Known", "status": "True"}}},
	}}, owner)
	c.was("status", status, err, controllerutil.OperationResultUpdatedStatusOnly)
	c.wrote("status", 1)
}

// applyWithoutMemory returns ApplyIfDifferent with c as its client.
func applyWithoutMemory(c counting) func(ctx context.Context, o object.Object,
	opts ...client.ApplyOption) (controllerutil.OperationResult, error) {
	return func(ctx context.Context, o object.Object, opts ...client.ApplyOption) (controllerutil.OperationResult, error) {
		return controllerutil.ApplyIfDifferent(ctx, c, o, opts...)
	}
}
