package partial

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestMarkIsSharedByWhatHasNoOtherEntry(t *testing.T) {
	m := New([]string{"metadata", "status"})
	fields := []string{"metadata", "status"}
	a, b := &corev1.Pod{}, &corev1.Pod{}
	New([]string{"spec"}).Put(b)
	m.Share(a)
	m.Share(b)
	if &a.ManagedFields[0] != &b.ManagedFields[0] {
		t.Error("two objects have an entry each")
	}
	if own := a.DeepCopy(); &own.ManagedFields[0] == &a.ManagedFields[0] {
		t.Error("a copy shares the entry")
	}
	managed := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "someone"}}}}
	untyped := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{}}}
	m.Share(managed)
	m.Share(untyped)
	for _, o := range []metav1.Object{a, b, managed, untyped} {
		if !slices.Equal(Of(o), fields) {
			t.Errorf("%T has the mark of %q", o, Of(o))
		}
	}
	if len(managed.ManagedFields) != 2 || len(a.ManagedFields) != 1 {
		t.Errorf("entries of others: %v, %v", managed.ManagedFields, a.ManagedFields)
	}
	whole := New(nil)
	whole.Share(a)
	if Of(a) != nil || len(a.ManagedFields) != 0 || Of(b) == nil {
		t.Errorf("whole: %v, the other: %v", a.ManagedFields, Of(b))
	}
}
