// Package controllerutil contains helpers for reconcilers: owner references, finalizers, and writes that skip unchanged
// objects.
package controllerutil

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kcontrollerutil "github.com/kctrl-dev/kctrl/runtime/controllerutil"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// AlreadyOwnedError reports that another object controls the object.
type AlreadyOwnedError struct {
	// Object is the controlled object.
	Object metav1.Object
	// Owner is the reference to its controlling owner.
	Owner metav1.OwnerReference
}

// Error returns the names of the object and its owner.
func (e *AlreadyOwnedError) Error() string {
	return fmt.Sprintf("Object %s/%s is already owned by another %s controller %s",
		e.Object.GetNamespace(), e.Object.GetName(), e.Owner.Kind, e.Owner.Name)
}

// OwnerReferenceOption changes the owner reference.
type OwnerReferenceOption func(*metav1.OwnerReference)

// WithBlockOwnerDeletion sets whether a foreground deletion of the owner waits until the object is deleted.
func WithBlockOwnerDeletion(blockOwnerDeletion bool) OwnerReferenceOption {
	return func(ref *metav1.OwnerReference) { ref.BlockOwnerDeletion = &blockOwnerDeletion }
}

// SetControllerReference makes owner the controlling owner of controlled. It fails with an [*AlreadyOwnedError] if
// another object already controls it. It also fails if owner is in another namespace.
func SetControllerReference(
	owner, controlled metav1.Object, scheme *runtime.Scheme, opts ...OwnerReferenceOption,
) error {
	ref, err := newReference(owner, controlled, scheme)
	if err != nil {
		return err
	}
	ref.Controller, ref.BlockOwnerDeletion = new(true), new(true)
	for _, opt := range opts {
		opt(&ref)
	}
	if existing := metav1.GetControllerOf(controlled); existing != nil && !isSame(*existing, ref) {
		return &AlreadyOwnedError{Object: controlled, Owner: *existing}
	}
	put(controlled, ref)
	return nil
}

// SetOwnerReference makes owner an owner of object. It fails if owner is in another namespace.
func SetOwnerReference(owner, object metav1.Object, scheme *runtime.Scheme, opts ...OwnerReferenceOption) error {
	ref, err := newReference(owner, object, scheme)
	if err != nil {
		return err
	}
	for _, opt := range opts {
		opt(&ref)
	}
	put(object, ref)
	return nil
}

// newReference returns a reference to owner, or an error if owner cannot own object.
func newReference(owner, object metav1.Object, scheme *runtime.Scheme) (ref metav1.OwnerReference, err error) {
	switch in := owner.GetNamespace(); {
	case in == "" || in == object.GetNamespace():
	case object.GetNamespace() == "":
		return ref, fmt.Errorf("cluster-scoped resource must not have a namespace-scoped owner, owner's namespace %s", in)
	default:
		return ref, fmt.Errorf("cross-namespace owner references are disallowed, owner's namespace %s, obj's namespace %s",
			in, object.GetNamespace())
	}
	ref, err = nameOf(owner, scheme)
	ref.UID = owner.GetUID()
	return ref, err
}

// nameOf returns a reference to owner without its UID.
func nameOf(owner any, scheme *runtime.Scheme) (ref metav1.OwnerReference, err error) {
	obj, ok := owner.(runtime.Object)
	if !ok {
		return ref, fmt.Errorf("%T is not a runtime.Object and cannot be an owner", owner)
	}
	gvk, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		return ref, err
	}
	ref.APIVersion, ref.Kind = gvk.ToAPIVersionAndKind()
	if named, ok := owner.(metav1.Object); ok {
		ref.Name = named.GetName()
	}
	return ref, nil
}

// isSame reports whether two references refer to the same object, in any version of its kind.
func isSame(a, b metav1.OwnerReference) bool {
	first, err := schema.ParseGroupVersion(a.APIVersion)
	if err != nil {
		return false
	}
	second, err := schema.ParseGroupVersion(b.APIVersion)
	return err == nil && first.Group == second.Group && a.Kind == b.Kind && a.Name == b.Name
}

func indexOf(refs []metav1.OwnerReference, ref metav1.OwnerReference) int {
	return slices.IndexFunc(refs, func(other metav1.OwnerReference) bool { return isSame(other, ref) })
}

// put adds ref to the owners of object, or replaces a reference to the same object.
func put(object metav1.Object, ref metav1.OwnerReference) {
	refs := object.GetOwnerReferences()
	if i := indexOf(refs, ref); i >= 0 {
		refs[i] = ref
	} else {
		refs = append(refs, ref)
	}
	object.SetOwnerReferences(refs)
}

// RemoveOwnerReference removes owner from the owners of object. It fails if owner is not one of them.
func RemoveOwnerReference(owner, object metav1.Object, scheme *runtime.Scheme) error {
	return remove(owner, object, scheme, false)
}

// RemoveControllerReference removes owner from the owners of object. It fails if owner does not control object.
func RemoveControllerReference(owner, object metav1.Object, scheme *runtime.Scheme) error {
	if !HasControllerReference(object) {
		return fmt.Errorf("%T does not have a owner reference with controller equals true", object)
	}
	return remove(owner, object, scheme, true)
}

func remove(owner, object metav1.Object, scheme *runtime.Scheme, controllerOnly bool) error {
	refs := object.GetOwnerReferences()
	if len(refs) == 0 {
		return fmt.Errorf("%T does not have any owner references", object)
	}
	ref, err := nameOf(owner, scheme)
	if err != nil {
		return err
	}
	i := indexOf(refs, ref)
	if i < 0 {
		return fmt.Errorf("%T does not have an owner reference for %T", object, owner)
	}
	if controllerOnly && (refs[i].Controller == nil || !*refs[i].Controller) {
		return fmt.Errorf("%T owner is not the controller reference for %T", owner, object)
	}
	object.SetOwnerReferences(slices.Delete(refs, i, i+1))
	return nil
}

// HasControllerReference reports whether object has a controlling owner.
func HasControllerReference(object metav1.Object) bool {
	return metav1.GetControllerOfNoCopy(object) != nil
}

// HasOwnerReference reports whether ownerRefs refer to obj, in any version of its kind.
func HasOwnerReference(ownerRefs []metav1.OwnerReference, obj client.Object, scheme *runtime.Scheme) (bool, error) {
	ref, err := nameOf(obj, scheme)
	if err != nil {
		return false, err
	}
	return indexOf(ownerRefs, ref) >= 0, nil
}

// OperationResult is the effect of a write on an object.
type OperationResult = kcontrollerutil.OperationResult

const (
	// OperationResultNone means that nothing changed.
	OperationResultNone OperationResult = kcontrollerutil.OperationResultNone
	// OperationResultCreated means that the object was created.
	OperationResultCreated OperationResult = kcontrollerutil.OperationResultCreated
	// OperationResultUpdated means that the object was changed, without its status.
	OperationResultUpdated OperationResult = kcontrollerutil.OperationResultUpdated
	// OperationResultUpdatedStatus means that the object and its status were changed.
	OperationResultUpdatedStatus OperationResult = kcontrollerutil.OperationResultUpdatedStatus
	// OperationResultUpdatedStatusOnly means that only the status was changed.
	OperationResultUpdatedStatusOnly OperationResult = kcontrollerutil.OperationResultUpdatedStatusOnly
)

// MutateFn sets the desired state of an object.
type MutateFn func() error

// CreateOrUpdate creates obj, or updates it if f changes it. It ignores status changes.
func CreateOrUpdate(ctx context.Context, c client.Client, obj client.Object, f MutateFn) (OperationResult, error) {
	exists, err := read(ctx, c, obj)
	if err != nil {
		return OperationResultNone, err
	}
	before := obj.DeepCopyObject()
	if err := mutate(f, obj); err != nil {
		return OperationResultNone, err
	}
	switch {
	case !exists:
		if err := c.Create(ctx, obj); err != nil {
			return OperationResultNone, err
		}
		return OperationResultCreated, nil
	case equality.Semantic.DeepEqual(before, obj):
		return OperationResultNone, nil
	}
	if err := c.Update(ctx, obj); err != nil {
		return OperationResultNone, err
	}
	return OperationResultUpdated, nil
}

// CreateOrPatch creates obj, or patches the object and its status if f changes them.
func CreateOrPatch(ctx context.Context, c client.Client, obj client.Object, f MutateFn) (OperationResult, error) {
	exists, err := read(ctx, c, obj)
	if err != nil {
		return OperationResultNone, err
	}
	base := obj.DeepCopyObject().(client.Object)
	if err := mutate(f, obj); err != nil {
		return OperationResultNone, err
	}
	if !exists {
		if err := c.Create(ctx, obj); err != nil {
			return OperationResultNone, err
		}
		return OperationResultCreated, nil
	}
	before, beforeStatus, err := split(base)
	if err != nil {
		return OperationResultNone, err
	}
	after, afterStatus, err := split(obj)
	if err != nil {
		return OperationResultNone, err
	}
	result := OperationResultNone
	if !reflect.DeepEqual(before, after) {
		if err := c.Patch(ctx, obj, client.MergeFrom(base)); err != nil {
			return result, err
		}
		result = OperationResultUpdated
	}
	if reflect.DeepEqual(beforeStatus, afterStatus) {
		return result, nil
	}
	updatedStatus := OperationResultUpdatedStatusOnly
	if result == OperationResultUpdated {
		// The response to the patch contains the old status.
		if err := setStatus(obj, afterStatus); err != nil {
			return result, err
		}
		updatedStatus = OperationResultUpdatedStatus
	}
	if err := c.Status().Patch(ctx, obj, client.MergeFrom(base)); err != nil {
		return result, err
	}
	return updatedStatus, nil
}

// read reads obj and reports whether it exists.
func read(ctx context.Context, c client.Client, obj client.Object) (bool, error) {
	err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

func mutate(f MutateFn, obj client.Object) error {
	if f == nil {
		return nil
	}
	key := client.ObjectKeyFromObject(obj)
	if err := f(); err != nil {
		return err
	}
	if client.ObjectKeyFromObject(obj) != key {
		return errors.New("MutateFn cannot mutate object name and/or object namespace")
	}
	return nil
}

// split returns the fields of obj without its status, and the status.
func split(obj client.Object) (fields map[string]any, status any, err error) {
	fields, err = runtime.DefaultUnstructuredConverter.ToUnstructured(obj.DeepCopyObject())
	if err != nil {
		return nil, nil, err
	}
	status = fields["status"]
	delete(fields, "status")
	return fields, status, nil
}

// setStatus sets the status of obj.
func setStatus(obj client.Object, status any) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return err
	}
	if status == nil {
		delete(fields, "status")
	} else if err := unstructured.SetNestedField(fields, status, "status"); err != nil {
		return err
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(fields, obj)
}

// AddFinalizer adds a finalizer and reports whether it was missing.
func AddFinalizer(o client.Object, finalizer string) (finalizersUpdated bool) {
	if ContainsFinalizer(o, finalizer) {
		return false
	}
	o.SetFinalizers(append(o.GetFinalizers(), finalizer))
	return true
}

// RemoveFinalizer removes a finalizer and reports whether the object had it.
func RemoveFinalizer(o client.Object, finalizer string) (finalizersUpdated bool) {
	all := o.GetFinalizers()
	kept := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == finalizer })
	o.SetFinalizers(kept)
	return len(kept) != len(all)
}

// ContainsFinalizer reports whether o has a finalizer.
func ContainsFinalizer(o client.Object, finalizer string) bool {
	return slices.Contains(o.GetFinalizers(), finalizer)
}
