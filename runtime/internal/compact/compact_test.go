package compact

import (
	"fmt"
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// edge consists of a letter, its key, and one digit for each edge folded into it. "-" is a mark and "|" a barrier.
type edge string

func (e edge) slot() (object.Key, Slot) {
	switch e {
	case "-":
		return object.Key{}, Mark
	case "|":
		return object.Key{}, Barrier
	}
	return object.Key{Name: string(e[:1])}, Key
}

// fold makes a 0 and a following 9 cancel each other out, keeps a 9 and the edge after it apart, and merges all other
// edges.
func (e edge) fold(next edge) (edge, Folding) {
	switch {
	case e[1:] == "0" && next[1:] == "9":
		return "", None
	case e[1:] == "9":
		return "", Both
	}
	return e + next[1:], Merged
}

func TestFoldKeepsTheOrderAndStopsAtBarriers(t *testing.T) {
	for _, r := range []struct {
		pending []edge
		want    string
	}{
		{nil, "[]"},
		{[]edge{"a1", "b1", "a2", "b2", "a3"}, "[a123 b12]"},
		{[]edge{"a1", "-", "a2"}, "[a12 -]"},
		{[]edge{"a1", "|", "a2", "a3"}, "[a1 | a23]"},
		{[]edge{"a9", "a1", "a2"}, "[a9 a12]"},
		{[]edge{"b1", "a0", "a9", "b2"}, "[b12]"},
	} {
		given := fmt.Sprint(r.pending)
		if got := fmt.Sprint(Fold(r.pending, edge.slot, edge.fold)); got != r.want {
			t.Errorf("%s: got %s, want %s", given, got, r.want)
		}
	}
}

func TestBoundIsTwiceWhatAFoldingLeaves(t *testing.T) {
	var b Bound
	if b.IsPassed(256) || !b.IsPassed(257) {
		t.Error("a new bound is not 256")
	}
	if b.Leave(1000, 0); b.IsPassed(2000) || !b.IsPassed(2001) {
		t.Error("the bound is not twice what was left")
	}
	if b.Grow(100); b.IsPassed(2000) {
		t.Error("Grow has made the bound smaller")
	}
	if b.Leave(1, 0); b.IsPassed(256) || !b.IsPassed(257) {
		t.Error("the bound is less than 256")
	}
}

func TestBoundOfBytesIsTwiceWhatAFoldingLeaves(t *testing.T) {
	var b Bound
	if b.Add(4 << 20); b.IsPassed(1) {
		t.Error("a new bound is less than 4 MiB")
	}
	if b.Add(1); !b.IsPassed(1) {
		t.Error("a new bound is more than 4 MiB")
	}
	b.Leave(1, 3<<20)
	if b.Add(3 << 20); b.IsPassed(1) {
		t.Error("the bound is less than twice what was left")
	}
	if b.Add(1); !b.IsPassed(1) {
		t.Error("the bound is more than twice what was left")
	}
	if b.Add(-1); b.IsPassed(1) {
		t.Error("what was taken counts")
	}
}
