package fake

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kclient "github.com/kctrl-dev/kctrl/runtime/client"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// checked refuses the objects that controller-runtime's fake client refuses, with its errors, and clears the kind of
// typed objects that were written.
type checked struct{ client.WithWatch }

// Kctrl returns the client without the checks.
func (c checked) Kctrl() kclient.WithWatch {
	return c.WithWatch.(interface{ Kctrl() kclient.WithWatch }).Kctrl()
}

func (c checked) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if obj.GetResourceVersion() != "" {
		return apierrors.NewBadRequest("resourceVersion can not be set for Create requests")
	}
	if obj.GetGenerateName() == "" {
		if err := c.named(obj); err != nil {
			return err
		}
	}
	return written(obj, c.WithWatch.Create(ctx, obj, opts...))
}

func (c checked) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	if err := c.named(obj); err != nil {
		return err
	}
	return written(obj, c.WithWatch.Update(ctx, obj, opts...))
}

func (c checked) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return written(obj, c.WithWatch.Patch(ctx, obj, patch, opts...))
}

// named returns an error if obj has no name.
func (c checked) named(obj client.Object) error {
	if obj.GetName() != "" {
		return nil
	}
	kind, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return err
	}
	return apierrors.NewInvalid(kind.GroupKind(), "",
		field.ErrorList{field.Required(field.NewPath("metadata.name"), "name is required")})
}

// written clears the kind of a typed object if there was no error.
func written(obj client.Object, err error) error {
	if err == nil && typed(obj) {
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return err
}

func typed(obj runtime.Object) bool {
	switch obj.(type) {
	case runtime.Unstructured, *metav1.PartialObjectMetadata:
		return false
	}
	return true
}

// deleted panics for objects that an API server would have deleted: with deletionTimestamp and without finalizers.
func deleted(objs []runtime.Object) {
	for _, obj := range objs {
		if meta.IsListType(obj) {
			items, err := meta.ExtractList(obj)
			if err != nil {
				panic(fmt.Errorf("extract items of %T: %w", obj, err))
			}
			deleted(items)
			continue
		}
		o, err := meta.Accessor(obj)
		if err != nil || o.GetDeletionTimestamp() == nil || len(o.GetFinalizers()) > 0 {
			continue
		}
		panic(fmt.Errorf("refusing to create obj %s with metadata.deletionTimestamp but no finalizers", o.GetName()))
	}
}
