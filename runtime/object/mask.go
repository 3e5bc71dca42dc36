package object

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// maskManager begins the manager of the entry of managedFields that marks a masked object. The rest of it is the mask.
// The mark is kept there because managedFields survive a deep copy, a conversion to another Go type and a round trip
// through JSON, and because the API server takes nothing from an entry that is not its own. No real manager has a colon
// behind a domain.
const maskManager = "kctrl.dev/mask:"

// Mark notes on o that it is not the whole object: it has only the fields that mask names, such as "metadata" and
// "status.conditions". An o that is marked is marked anew; without a mask it is taken for whole. It modifies o and nothing
// that o shares with others.
func Mark(o metav1.Object, mask []string) {
	entries := slices.DeleteFunc(slices.Clone(o.GetManagedFields()), isMark)
	if len(mask) > 0 {
		entries = append(entries, metav1.ManagedFieldsEntry{Manager: maskManager + strings.Join(mask, ",")})
	}
	if u, ok := o.(*unstructured.Unstructured); ok && len(entries) == 1 && len(mask) > 0 {
		if metadata, ok := u.Object["metadata"].(map[string]any); ok { // which costs a tenth of what follows
			metadata["managedFields"] = []any{map[string]any{"manager": entries[0].Manager}}
			return
		}
	}
	if len(entries) == 0 {
		entries = nil
	}
	o.SetManagedFields(entries)
}

// Mask returns the fields that o has if it was marked as less than the whole object, see [Mark], and nil otherwise.
func Mask(o metav1.Object) []string {
	for _, entry := range o.GetManagedFields() {
		if mask, ok := strings.CutPrefix(entry.Manager, maskManager); ok {
			return strings.Split(mask, ",")
		}
	}
	return nil
}

func isMark(entry metav1.ManagedFieldsEntry) bool {
	return strings.HasPrefix(entry.Manager, maskManager)
}
