package controllerutil

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// AlreadyOwnedError is the error of [SetControllerReference] for an object that already has another controlling owner.
type AlreadyOwnedError struct {
	// Object is the object that was passed to SetControllerReference. It is unchanged.
	Object metav1.Object
	// Owner is the reference to its current controlling owner.
	Owner metav1.OwnerReference
}

// Error returns a message with both objects.
func (e *AlreadyOwnedError) Error() string {
	return fmt.Sprintf("%s is controlled by %s %s (UID %s)", object.KeyOf(e.Object), e.Owner.Kind, e.Owner.Name,
		e.Owner.UID)
}

// OwnerReferenceOption configures an owner reference.
type OwnerReferenceOption func(*metav1.OwnerReference)

// WithBlockOwnerDeletion sets whether a foreground deletion of the owner waits for the deletion of the object. The
// default is true for [SetControllerReference], and unset for [SetOwnerReference]. Some API servers require permission
// to update the finalizers of the owner if the value is true.
func WithBlockOwnerDeletion(block bool) OwnerReferenceOption {
	return func(ref *metav1.OwnerReference) { ref.BlockOwnerDeletion = &block }
}

// SetControllerReference makes owner the controlling owner of o: the garbage collector deletes o after owner, and a
// controller that Owns the kind of o reconciles owner when o changes. It fails with an unwrapped [*AlreadyOwnedError]
// if another object controls o, even if that object has the name of owner and only another UID. It also fails if owner
// is namespaced and o is not in the same namespace. If owner already controls o, only the API version and
// blockOwnerDeletion of the reference change; blockOwnerDeletion becomes true unless opts set it.
func SetControllerReference(owner, o metav1.Object, scheme *runtime.Scheme, opts ...OwnerReferenceOption) error {
	gvk, err := ownerKind(owner, o, scheme)
	if err != nil {
		return err
	}
	if old := metav1.GetControllerOf(o); old != nil && old.UID != owner.GetUID() {
		return &AlreadyOwnedError{Object: o, Owner: *old}
	}
	setReference(o, *metav1.NewControllerRef(owner, gvk), opts)
	return nil
}

// SetOwnerReference makes owner an owner of o: the garbage collector deletes o after the last of its owners. It fails
// if owner is in another namespace. If owner already is an owner of o, only the API version and the settings of opts
// change; a controlling owner stays the controlling owner. A reference to an earlier object with the kind and name of
// owner is replaced, unless that object controls o.
func SetOwnerReference(owner, o metav1.Object, scheme *runtime.Scheme, opts ...OwnerReferenceOption) error {
	gvk, err := ownerKind(owner, o, scheme)
	if err != nil {
		return err
	}
	ref := metav1.OwnerReference{Name: owner.GetName(), UID: owner.GetUID()}
	ref.APIVersion, ref.Kind = gvk.ToAPIVersionAndKind()
	refs := slices.DeleteFunc(slices.Clone(o.GetOwnerReferences()), func(old metav1.OwnerReference) bool {
		return old.UID != ref.UID && !controls(old) && old.Name == ref.Name && kindOf(old) == gvk.GroupKind()
	})
	if same := slices.IndexFunc(refs, func(old metav1.OwnerReference) bool { return old.UID == ref.UID }); same >= 0 {
		ref.Controller, ref.BlockOwnerDeletion = refs[same].Controller, refs[same].BlockOwnerDeletion
	}
	o.SetOwnerReferences(refs)
	setReference(o, ref, opts)
	return nil
}

// ownerKind returns the kind of owner, or an error if owner cannot own o.
func ownerKind(owner, o metav1.Object, scheme *runtime.Scheme) (schema.GroupVersionKind, error) {
	gvk, err := gvkOf(owner, scheme)
	if err != nil {
		return gvk, fmt.Errorf("set owner: %w", err)
	}
	switch in := owner.GetNamespace(); {
	case in == "" || in == o.GetNamespace():
		return gvk, nil
	case o.GetNamespace() == "":
		return gvk, fmt.Errorf("set owner: %s %s cannot own %s, which has no namespace: "+
			"set its namespace to %s, or choose a cluster-scoped owner", gvk.Kind, object.KeyOf(owner), o.GetName(), in)
	}
	return gvk, fmt.Errorf("set owner: %s %s cannot own %s in another namespace",
		gvk.Kind, object.KeyOf(owner), object.KeyOf(o))
}

// gvkOf returns the kind of an owner. It fails for values that are not API objects.
func gvkOf(owner metav1.Object, scheme *runtime.Scheme) (schema.GroupVersionKind, error) {
	o, ok := owner.(runtime.Object)
	if !ok {
		return schema.GroupVersionKind{}, fmt.Errorf("%T is not an API object, and cannot own one", owner)
	}
	return object.GVK(o, scheme)
}

// setReference adds ref, or replaces the reference to the same object.
func setReference(o metav1.Object, ref metav1.OwnerReference, opts []OwnerReferenceOption) {
	for _, opt := range opts {
		opt(&ref)
	}
	refs := slices.Clone(o.GetOwnerReferences())
	if i := slices.IndexFunc(refs, func(old metav1.OwnerReference) bool { return old.UID == ref.UID }); i >= 0 {
		refs[i] = ref
	} else {
		refs = append(refs, ref)
	}
	o.SetOwnerReferences(refs)
}

func controls(ref metav1.OwnerReference) bool { return ref.Controller != nil && *ref.Controller }

// kindOf returns the group and kind of ref, without its version.
func kindOf(ref metav1.OwnerReference) schema.GroupKind {
	return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
}

// RemoveOwnerReference removes owner from the owners of o. It fails if owner is not an owner.
func RemoveOwnerReference(owner, o metav1.Object, scheme *runtime.Scheme) error {
	return removeReference(owner, o, scheme, func(metav1.OwnerReference) bool { return true })
}

// RemoveControllerReference removes owner from the owners of o. It fails if owner does not control o.
func RemoveControllerReference(owner, o metav1.Object, scheme *runtime.Scheme) error {
	return removeReference(owner, o, scheme, controls)
}

func removeReference(owner, o metav1.Object, scheme *runtime.Scheme, accept func(metav1.OwnerReference) bool) error {
	gvk, err := gvkOf(owner, scheme)
	if err != nil {
		return fmt.Errorf("remove owner: %w", err)
	}
	refs := o.GetOwnerReferences()
	kept := slices.DeleteFunc(slices.Clone(refs), func(ref metav1.OwnerReference) bool {
		return names(ref, owner, gvk) && accept(ref)
	})
	if len(kept) == len(refs) {
		return fmt.Errorf("remove owner: %s has no such reference to %s %s", object.KeyOf(o), gvk.Kind, object.KeyOf(owner))
	}
	o.SetOwnerReferences(kept)
	return nil
}

// names reports whether ref refers to owner: by its UID, or by kind and name if owner has no UID.
func names(ref metav1.OwnerReference, owner metav1.Object, gvk schema.GroupVersionKind) bool {
	if owner.GetUID() != "" {
		return ref.UID == owner.GetUID()
	}
	return ref.Name == owner.GetName() && kindOf(ref) == gvk.GroupKind()
}

// HasControllerReference reports whether o has a controlling owner.
func HasControllerReference(o metav1.Object) bool { return metav1.GetControllerOfNoCopy(o) != nil }

// HasOwnerReference reports whether one of refs refers to owner: by its UID, or by kind and name if owner has no UID.
// It fails if scheme does not have the kind of owner.
func HasOwnerReference(refs []metav1.OwnerReference, owner object.Object, scheme *runtime.Scheme) (bool, error) {
	gvk, err := object.GVK(owner, scheme)
	if err != nil {
		return false, fmt.Errorf("look for owner: %w", err)
	}
	return slices.ContainsFunc(refs, func(ref metav1.OwnerReference) bool { return names(ref, owner, gvk) }), nil
}
