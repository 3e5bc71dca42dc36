package informer_test

import (
	"context"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// journal is a handler that replays what it is told and checks that it is a possible history of each object: an Added
// only of what is not there, an Updated or Deleted only of what is, another UID only after a Deleted, and versions that
// ascend, also from one life of a name to the next.
type journal[T object.Object] struct {
	t    *testing.T
	pace func() // called before each event; nil is nothing
	told chan struct{}

	mu     sync.Mutex
	states map[object.Key]T
	last   map[object.Key]lastSeen
	events int
}

// lastSeen is the last state in which a journal was told of an object.
type lastSeen struct {
	uid     types.UID
	version string
}

func newJournal[T object.Object](t *testing.T, pace func()) *journal[T] {
	return &journal[T]{
		t: t, pace: pace, told: make(chan struct{}, 1), states: make(map[object.Key]T), last: make(map[object.Key]lastSeen),
	}
}

func (j *journal[T]) handle(e informer.Event[T]) {
	if j.pace != nil {
		j.pace()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events++
	j.check(e)
	j.last[e.Key()] = lastSeen{e.Object.GetUID(), e.Object.GetResourceVersion()}
	j.states[e.Key()] = e.Object
	if e.Type == informer.Deleted {
		delete(j.states, e.Key())
	}
	select {
	case j.told <- struct{}{}:
	default:
	}
}

func (j *journal[T]) check(e informer.Event[T]) {
	_, has := j.states[e.Key()]
	last, known := j.last[e.Key()]
	if has == (e.Type == informer.Added) {
		j.t.Errorf("%v of %s, which is there: %v", e.Type, e.Key(), has)
	}
	if !known {
		return
	}
	sameLife := last.uid == e.Object.GetUID()
	if has && !sameLife {
		j.t.Errorf("%v: %s became another object without a deletion", e.Type, e.Key())
	}
	if !has && sameLife {
		j.t.Errorf("%s came back with the UID that it had before its deletion", e.Key())
	}
	order, err := resourceversion.CompareResourceVersion(last.version, e.Object.GetResourceVersion())
	if err != nil || order > 0 || order == 0 && !e.FinalStateUnknown {
		j.t.Errorf("%v: %s went from %s to %s, %v", e.Type, e.Key(), last.version, e.Object.GetResourceVersion(), err)
	}
	if e.Type == informer.Updated && e.Old.GetResourceVersion() != last.version {
		j.t.Errorf("%s was updated from %s, and %s was the last that was told", e.Key(), e.Old.GetResourceVersion(), last.version)
	}
}

// await returns when the replayed state is as wanted.
func (j *journal[T]) await(ctx context.Context, wanted func(map[object.Key]T) bool) {
	j.t.Helper()
	for {
		j.mu.Lock()
		ok := wanted(j.states)
		j.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-j.told:
		case <-ctx.Done():
			j.t.Fatalf("%v: a handler was not told what it waits for; it has %d objects", context.Cause(ctx), len(j.states))
		}
	}
}
