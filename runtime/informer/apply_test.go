package informer

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func node(name string, version int) meta {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: fmt.Sprint(version)}}
}

func nodeDelta(kind EventType, name string, version int) Delta[meta] {
	o := node(name, version)
	return Delta[meta]{Type: kind, Key: Event[meta]{Object: o}.Key(), Object: o, ResourceVersion: fmt.Sprint(version)}
}

// P02
//
// Stronger: the events that come of a batch start from what the store had, so nothing is told twice.
func TestBatchIsAppliedInOneStep(t *testing.T) {
	c := newContents[meta](nil, nil)
	watched := NewIndex(func(o meta) []string {
		if c.mu.TryRLock() {
			c.mu.RUnlock()
			if o.ResourceVersion != "1" { // that one is indexed before the index is in the store
				t.Errorf("a reader can see the store between %s and the rest of its batch", o.Name)
			}
		}
		return []string{o.Name}
	})
	c.apply(Deltas[meta]{nodeDelta(Added, "old", 1)})
	c.addIndex(watched)
	events := c.apply(Deltas[meta]{
		nodeDelta(Added, "a", 2), nodeDelta(Added, "b", 3), nodeDelta(Updated, "b", 3), nodeDelta(Updated, "old", 1),
		nodeDelta(Deleted, "a", 5), {Type: Bookmark, ResourceVersion: "9"},
	})
	var got []string
	for _, e := range events {
		got = append(got, fmt.Sprint(e.Type, " ", e.Object.Name, " ", e.Object.ResourceVersion))
	}
	if want := "[Added a 2 Added b 3 Deleted a 5]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if c.has(nodeDelta(Added, "a", 0).Key) || c.len() != 2 || c.version != "9" {
		t.Errorf("%d objects at %s", c.len(), c.version)
	}
}
