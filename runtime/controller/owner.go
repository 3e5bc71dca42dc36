package controller

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// SetControllerReference makes owner the controlling owner of o: o is deleted after owner, and a change of o reconciles
// owner in a controller that [Builder.Owns] the kind of o. It fails when o is controlled by another object, and when
// owner is in another namespace. Setting the same owner again changes nothing but the API version.
func SetControllerReference(owner, o object.Object, scheme *runtime.Scheme) error {
	gvk, err := object.GVK(owner, scheme)
	if err != nil {
		return fmt.Errorf("set owner: %w", err)
	}
	if owner.GetNamespace() != "" && owner.GetNamespace() != o.GetNamespace() {
		return fmt.Errorf("set owner: %s %s cannot own %s in another namespace", gvk.Kind, object.KeyOf(owner), object.KeyOf(o))
	}
	if old := metav1.GetControllerOf(o); old != nil && old.UID != owner.GetUID() {
		return fmt.Errorf("set owner: %s is controlled by %s %s (UID %s)", object.KeyOf(o), old.Kind, old.Name, old.UID)
	}
	ref := *metav1.NewControllerRef(owner, gvk)
	refs := o.GetOwnerReferences()
	for i := range refs {
		if refs[i].UID == ref.UID {
			refs[i] = ref
			o.SetOwnerReferences(refs)
			return nil
		}
	}
	o.SetOwnerReferences(append(refs, ref))
	return nil
}
