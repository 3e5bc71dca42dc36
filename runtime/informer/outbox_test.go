package informer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/internal/compact"
	"github.com/kctrl-dev/kctrl/runtime/reflector"
)

type meta = *metav1.PartialObjectMetadata

// notices returns the events of one key from a word such as "a1 u2 d2 A3": added, updated, deleted. The digit is the
// state, and a capital letter begins a new incarnation.
func notices(word string) []notice[meta] {
	var out []notice[meta]
	var last meta
	uid := 0
	for _, w := range strings.Fields(word) {
		if w == "sync" {
			out = append(out, notice[meta]{synced: true})
			continue
		}
		if w[0] == 'A' {
			uid++
		}
		o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "x", UID: types.UID(fmt.Sprint(uid)),
			ResourceVersion: w[1:]}}
		switch w[0] {
		case 'a', 'A':
			out = append(out, notice[meta]{event: Event[meta]{Type: Added, Object: o}})
		case 'u':
			out = append(out, notice[meta]{event: Event[meta]{Type: Updated, Object: o, Old: last}})
		case 'd':
			out = append(out, notice[meta]{event: Event[meta]{Type: Deleted, Object: o}})
		}
		last = o
	}
	return out
}

func word(ns []notice[meta]) string {
	var out []string
	for _, n := range ns {
		if n.synced {
			out = append(out, "sync")
			continue
		}
		w := strings.ToLower(n.event.Type.String()[:1]) + n.event.Object.ResourceVersion
		if n.event.Old != nil {
			w += "<" + n.event.Old.ResourceVersion
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

func folded(pending []notice[meta]) []notice[meta] {
	return compact.Fold(pending, notice[meta].slot, notice[meta].fold)
}

func TestCompactFoldsTheEventsOfAKey(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"", ""},
		{"a1", "a1"},
		{"a1 u2 u3", "a3"},
		{"a1 d1", ""},
		{"a1 u2 d3", ""},
		{"a1 sync u2", "a2 sync"},
		{"a1 sync d2", "sync"},
		{"a1 d1 A2", "a2"},
		{"a0 d1 A2 u3", "a3"},
	} {
		if got := word(folded(notices(test.in))); got != test.want {
			t.Errorf("%s: got %q, want %q", test.in, got, test.want)
		}
	}
}

func TestCompactKeepsWhatTheReceiverHas(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"u2 u3", "u3<1"},
		{"u2 d3", "d3"},
		{"d2 A3", "d2 a3"},
		{"d2 A3 u4 u5", "d2 a5"},
		{"u2 d3 A4 d5", "d3"},
		{"u2 d3 A4 d5 A6", "d3 a6"},
		{"d2 A3 sync u4", "d2 a4 sync"},
	} {
		all := notices("A1 " + test.in)
		if got := word(folded(all[1:])); got != test.want {
			t.Errorf("%s: got %q, want %q", test.in, got, test.want)
		}
	}
}

// Replaying the events from compact must lead to the same state as replaying its input, and the Old of every update
// must be the state that the receiver had before.
func TestCompactedEventsLeadToTheSameState(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		state := map[string]string{}
		keys := []string{"k", "l", "m"}
		for _, k := range keys {
			if random.IntN(2) == 0 {
				state[k] = k + "/0"
			}
		}
		var pending []notice[meta]
		now := make(map[string]string, len(state))
		for k, v := range state {
			now[k] = v
		}
		for step := range random.IntN(30) {
			k := keys[random.IntN(len(keys))]
			n := notice[meta]{event: Event[meta]{Object: &metav1.PartialObjectMetadata{}}}
			n.event.Object.Name, n.event.Object.ResourceVersion = k, fmt.Sprint(k, "/", step+1)
			old, exists := now[k]
			switch {
			case !exists:
				n.event.Type = Added
			case random.IntN(3) == 0:
				n.event.Type = Deleted
			default:
				n.event.Type = Updated
				n.event.Old = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: old}}
			}
			pending = append(pending, n)
			replay(t, now, pending[len(pending)-1:])
		}
		compacted := folded(slices.Clone(pending))
		replay(t, state, compacted)
		checkMerged(t, pending, compacted)
		if fmt.Sprint(state) != fmt.Sprint(now) || len(compacted) > 2*len(keys) {
			t.Fatalf("%s became %s: %v, want %v", word(pending), word(compacted), state, now)
		}
	}
}

func replay(t *testing.T, state map[string]string, events []notice[meta]) {
	t.Helper()
	for _, n := range events {
		key := n.event.Object.Name
		old, exists := state[key]
		if exists == (n.event.Type == Added) {
			t.Fatalf("%v of %s, which exists: %v", n.event.Type, key, exists)
		}
		if n.event.Type == Updated && n.event.Old.ResourceVersion != old {
			t.Fatalf("update from %s, but the receiver has %s", n.event.Old.ResourceVersion, old)
		}
		state[key] = n.event.Object.ResourceVersion
		if n.event.Type == Deleted {
			delete(state, key)
		}
	}
}

// checkMerged tests that an event that is not marked as merged equals an event of the input, because handlers use such
// events to find the author of a change.
func checkMerged(t *testing.T, all, compacted []notice[meta]) {
	t.Helper()
	for _, n := range compacted {
		is := slices.ContainsFunc(all, func(m notice[meta]) bool {
			return m.synced == n.synced && m.event.Type == n.event.Type && m.event.Object == n.event.Object &&
				m.event.Old == n.event.Old
		})
		if !is && !n.event.Merged {
			t.Fatalf("%s became %s, where %s has merged %v", word(all), word(compacted), word([]notice[meta]{n}), n.event.Merged)
		}
	}
}

func TestFoldedEventsAndThoseOfARelistAreMarkedAsMerged(t *testing.T) {
	for word, want := range map[string]string{
		"a1 u2": "true", "u2 u3": "true", "u2 d3": "true", "u2 d3 A4": "true false", "d2 A3": "false false",
		"d2 A3 u4": "false true",
		"a1 d2 A3": "false", "u2": "false",
	} {
		var marks []string
		all := notices("A1 " + word)[1:]
		for _, n := range folded(slices.Clone(all)) {
			marks = append(marks, fmt.Sprint(n.event.Merged))
		}
		if got := strings.Join(marks, " "); got != want {
			t.Errorf("%s: merged %s, want %s", word, got, want)
		}
	}
	c := newContents[meta](nil, nil)
	c.advance(reflector.Deltas[meta]{nodeDelta(reflector.Added, "changed", 1), nodeDelta(reflector.Added, "gone", 1),
		nodeDelta(reflector.Added, "same", 1)})
	relisted := c.replace(list(c, "9", node("changed", 2), node("same", 1), node("new", 2))).events
	for _, e := range relisted {
		if !e.Merged && !e.FinalStateUnknown {
			t.Errorf("%v %s of a relist is not merged", e.Type, e.Object.Name)
		}
	}
	if len(relisted) != 3 {
		t.Errorf("%d events of a relist", len(relisted))
	}
}

func TestWaitingEventsAreBoundedInBytes(t *testing.T) {
	const size = 64 << 10
	c := newContents[meta](nil, nil)
	var o outbox[meta]
	for version := range 1000 {
		d := nodeDelta(reflector.Updated, fmt.Sprint("n", version%4), version+1)
		d.Bytes = size
		o.push(c.advance(reflector.Deltas[meta]{d}), false)
		if o.events > 4<<20/size+4 {
			t.Fatalf("%d events of 64 KiB wait", o.events)
		}
	}
	var last Event[meta]
	for len(o.batches) > 0 {
		events, _ := o.take()
		last = events[len(events)-1]
	}
	if last.Object.ResourceVersion != "1000" {
		t.Errorf("the last event is of version %s", last.Object.ResourceVersion)
	}
}
