// Package partial notes on objects that they are not whole, but have only the fields that a mask names. [Of] tells whoever
// would write one. The note stays with the object: through deep copies, conversions and JSON.
package partial

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// manager begins the manager of the entry of managedFields that is the note. The rest of it is the mask. The note is kept there
// because managedFields survive a deep copy, a conversion to another Go type and a round trip through JSON, and because the API
// server takes nothing from an entry that is not its own. No real manager has a colon behind a domain.
const manager = "kctrl.dev/mask:"

// Mark is the note of one mask. The zero value is that of whole objects.
type Mark struct {
	manager string
	// shared is the mark as all have it that share it.
	shared []metav1.ManagedFieldsEntry
}

// New returns the mark of objects that have only the fields that mask names, such as "metadata" and "status.conditions".
// Without a mask it is that of whole objects.
func New(mask []string) Mark {
	if len(mask) == 0 {
		return Mark{}
	}
	m := Mark{manager: manager + strings.Join(mask, ",")}
	m.shared = []metav1.ManagedFieldsEntry{{Manager: m.manager}}
	return m
}

// Put makes m the mark of o, in place of any other. It modifies o and nothing that o shares with others.
func (m Mark) Put(o metav1.Object) {
	if u, ok := o.(*unstructured.Unstructured); ok && m.manager != "" {
		metadata, ok := u.Object["metadata"].(map[string]any)
		if ok && metadata["managedFields"] == nil { // which costs a tenth of what follows
			metadata["managedFields"] = []any{map[string]any{"manager": m.manager}}
			return
		}
	}
	var entries []metav1.ManagedFieldsEntry // exactly as long as it must be: masked objects are many
	if old := o.GetManagedFields(); len(old) > 0 {
		entries = slices.DeleteFunc(slices.Clone(old), isMark)
	}
	if m.manager != "" {
		entries = append(entries, metav1.ManagedFieldsEntry{Manager: m.manager})
	}
	if len(entries) == 0 {
		entries = nil
	}
	o.SetManagedFields(entries)
}

// Share is Put for an object that is only read from then on, as those of a cache are: if it has no entry but a mark, it shares
// the entry with all objects that m is shared by. Masked objects are small and many, and the entry is 96 bytes.
func (m Mark) Share(o metav1.Object) {
	old := o.GetManagedFields()
	if _, untyped := o.(*unstructured.Unstructured); untyped || m.shared == nil || len(old) > 1 || len(old) == 1 && !isMark(old[0]) {
		m.Put(o)
		return
	}
	o.SetManagedFields(m.shared)
}

// Of returns the fields that o has if it was marked as less than the whole object, and nil otherwise.
func Of(o metav1.Object) []string {
	for _, entry := range o.GetManagedFields() {
		if mask, ok := strings.CutPrefix(entry.Manager, manager); ok {
			return strings.Split(mask, ",")
		}
	}
	return nil
}

func isMark(entry metav1.ManagedFieldsEntry) bool {
	return strings.HasPrefix(entry.Manager, manager)
}
