// Package partial marks objects that have only the fields of a mask. Code that is about to write an object calls [Of]
// to get its mask. The mark survives deep copies, conversions and JSON.
package partial

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// manager is the prefix of the manager of the managedFields entry that is the mark. The mask follows the prefix.
// managedFields survive a deep copy, a conversion to another Go type and a round trip through JSON, and the API server
// ignores entries that are not its own. No real manager has a colon after a domain.
const manager = "kctrl.dev/mask:"

// Mark is the mark for one mask. The zero value marks complete objects.
type Mark struct {
	manager string
	// shared is the entry that all marked objects share.
	shared []metav1.ManagedFieldsEntry
}

// New returns the mark for objects that have only the fields in mask, such as "metadata" and "status.conditions". If
// mask is empty, it returns the mark for complete objects.
func New(mask []string) Mark {
	if len(mask) == 0 {
		return Mark{}
	}
	m := Mark{manager: manager + strings.Join(mask, ",")}
	m.shared = []metav1.ManagedFieldsEntry{{Manager: m.manager}}
	return m
}

// Put replaces the mark of o with m. It does not modify data that o shares with other objects.
func (m Mark) Put(o metav1.Object) {
	if u, ok := o.(*unstructured.Unstructured); ok && m.manager != "" {
		metadata, ok := u.Object["metadata"].(map[string]any)
		if ok && metadata["managedFields"] == nil { // ten times as fast as the code below
			metadata["managedFields"] = []any{map[string]any{"manager": m.manager}}
			return
		}
	}
	var entries []metav1.ManagedFieldsEntry // in the exact size, because masked objects are numerous
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

// Share is like Put, but is for an object that is only read from then on, such as a cached object. If o has no other
// entries, it shares the entry with all objects of m. Masked objects are small and numerous, and an entry takes 96
// bytes.
func (m Mark) Share(o metav1.Object) {
	old := o.GetManagedFields()
	if _, untyped := o.(*unstructured.Unstructured); untyped || m.shared == nil || len(old) > 1 || len(old) == 1 &&
		!isMark(old[0]) {
		m.Put(o)
		return
	}
	o.SetManagedFields(m.shared)
}

// Of returns the mask of o, or nil if o is not marked.
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
