package writes

import (
	"fmt"
	"iter"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// fakeStore is a store that a test fills.
type fakeStore map[object.Key]object.Object

func (s fakeStore) Get(key object.Key) (object.Object, bool) {
	obj, ok := s[key]
	return obj, ok
}

func (s fakeStore) Has(key object.Key) bool { return s[key] != nil }

func (s fakeStore) Len() int { return len(s) }

func key(name string) object.Key { return object.Key{Namespace: "ns", Name: name} }

func objectAt(name, uid, version string) object.Object {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID(uid), ResourceVersion: version,
	}}
}

func changed(obj object.Object, removed bool) iter.Seq2[object.Object, bool] {
	return func(yield func(object.Object, bool) bool) { yield(obj, removed) }
}

func listed(objects ...object.Object) iter.Seq[object.Object] { return slices.Values(objects) }

func nothing(func(object.Object, bool) bool) {}

// everything is a selector that is not nil and selects all objects.
func everything(object.Object) (selected, certain bool) { return true, true }

func TestOnlyAnAnswerMakesAnEntryPendingOrATombstone(t *testing.T) {
	for from, inputs := range transitions {
		for in, to := range inputs {
			isAnswer := in == found || in == absent
			if from == confirmed || (to == pending || to == tombstone) != isAnswer {
				t.Errorf("state %d becomes %d by input %d", from, to, in)
			}
		}
	}
}

// TestTransitionsOfAnEntry records a write and then gives the tracker one input.
func TestTransitionsOfAnEntry(t *testing.T) {
	update := Write{Key: key("a"), UID: "1", ResourceVersion: "7"}
	deletion := Write{Key: key("a"), UID: "1", Gone: true}
	lost := Write{Key: key("a"), Unknown: true}
	old, now := objectAt("a", "1", "5"), objectAt("a", "1", "7")
	leaves := func(t *Tracker) { t.Applied("6", changed(old, true)) }
	for name, c := range map[string]struct {
		selects  func(object.Object) (bool, bool)
		write    Write
		input    func(t *Tracker)
		open     int64
		isAsking bool
	}{
		"update, version reached": {nil, update, func(t *Tracker) { t.Applied("7", changed(now, false)) }, 0, false},
		"update, version listed":  {nil, update, func(t *Tracker) { t.Listed("7", listed()) }, 0, false},
		"lost, not found, listed later": {nil, lost, func(t *Tracker) {
			_, q, _ := t.Current(t.byKey[key("a")][0])
			t.Answered(q, Answer{Version: 8})
			t.Listed("6", listed(objectAt("a", "2", "9")))
		}, 0, false},
		"update, version is ahead": {nil, update, func(t *Tracker) { t.Applied("6", nothing) }, 1, false},
		"update, left before":      {everything, update, leaves, 1, true},
		"update, server restored":  {nil, update, func(t *Tracker) { t.Applied("2", nothing) }, 0, false},
		"deletion, removed":        {nil, deletion, leaves, 0, false},
		"deletion, may come back":  {everything, deletion, leaves, 1, false},
		"deletion, others change":  {nil, deletion, func(t *Tracker) { t.Applied("9", nothing) }, 1, false},
		"lost, others change":      {nil, lost, func(t *Tracker) { t.Applied("9", nothing) }, 1, true},
		"lost, found": {nil, lost, func(t *Tracker) {
			_, q, _ := t.Current(t.byKey[key("a")][0])
			t.Answered(q, Answer{Found: true, Version: 8})
		}, 1, false},
		"lost, found in the store": {nil, lost, func(t *Tracker) {
			_, q, _ := t.Current(t.byKey[key("a")][0])
			t.Answered(q, Answer{Found: true, Version: 5})
		}, 0, false},
		"lost, answer to an earlier write": {nil, lost, func(t *Tracker) {
			_, q, _ := t.Current(t.byKey[key("a")][0])
			t.Record(lost)
			t.Answered(q, Answer{Version: 8})
		}, 1, true},
	} {
		s := fakeStore{key("a"): old}
		tracker := NewTracker(s, "", c.selects, Limits{})
		tracker.Applied("5", nothing)
		tracker.Record(c.write)
		entry := tracker.byKey[key("a")][0]
		c.input(tracker)
		if tracker.Open() != c.open {
			t.Errorf("%s: %d entries are open, want %d", name, tracker.Open(), c.open)
		}
		if _, _, asking := tracker.Current(entry); asking != c.isAsking {
			t.Errorf("%s: the server has to be asked: %v", name, asking)
		}
	}
}

func TestSupersededWriteIsAwaitedAtItsOwnVersion(t *testing.T) {
	tracker := NewTracker(fakeStore{}, "", nil, Limits{})
	tracker.Record(Write{Key: key("a"), UID: "1", ResourceVersion: "7"})
	before := tracker.Before(key("a"))
	tracker.Record(Write{Key: key("a"), UID: "1", ResourceVersion: "9"})
	woken := false
	if _, waits := tracker.Await(before.First[0], func() { woken = true }); !waits {
		t.Fatal("the store has not reached the version")
	}
	tracker.Applied("7", nothing)
	if !woken {
		t.Error("the read waits for the later write")
	}
	leave, waits := tracker.Await(tracker.Before(key("a")).First[0], func() {})
	if !waits {
		t.Fatal("the later write is not awaited")
	}
	leave()
	if tracker.Applied("9", nothing); tracker.Open() != 0 || len(tracker.versions) != 0 {
		t.Errorf("%d entries are open, %d listed", tracker.Open(), len(tracker.versions))
	}
}

func TestTooManyEntriesBecomeOneForAllObjects(t *testing.T) {
	tracker := NewTracker(fakeStore{}, "", nil, Limits{Entries: 3})
	for n := range 4 {
		tracker.Record(Write{Key: key(fmt.Sprint(n)), Unknown: true})
	}
	before := tracker.Before(key("other"))
	if tracker.Open() != 1 || len(before.First) != 1 || before.First[0].Key() != (object.Key{}) {
		t.Fatalf("%d entries are open, a read waits for %d", tracker.Open(), len(before.First))
	}
	_, q, ask := tracker.Current(before.First[0])
	tracker.Answered(q, Answer{Found: true, Version: 8})
	if tracker.Applied("8", nothing); !ask || tracker.Open() != 0 {
		t.Errorf("the server has to be asked: %v; %d entries are open", ask, tracker.Open())
	}
}

func TestLaterTrackerGetsTheHistoryOfItsKind(t *testing.T) {
	kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	log := &Log{}
	log.Record(t.Context(), Write{GVK: kind, Key: key("a"), ResourceVersion: "7"})
	log.Record(t.Context(), Write{GVK: kind, Key: key("lost"), Unknown: true})
	log.Record(t.Context(), Write{GVK: kind, Key: object.Key{Namespace: "other", Name: "a"}, Unknown: true})
	tracker := NewTracker(fakeStore{}, "ns", nil, Limits{})
	for range 2 {
		log.Seed(kind.GroupKind(), tracker)
	}
	if tracker.Open() != 2 {
		t.Errorf("%d entries are open, want the version and the lost write", tracker.Open())
	}
	for n := range maxUnresolved {
		log.Record(t.Context(), Write{GVK: kind, Key: key(fmt.Sprint(n)), Unknown: true})
	}
	full := NewTracker(fakeStore{}, "ns", nil, Limits{})
	if log.Seed(kind.GroupKind(), full); full.Open() != 2 {
		t.Errorf("%d entries are open, want the version and one for all objects", full.Open())
	}
}
