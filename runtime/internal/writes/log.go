// Package writes records the writes of a process. Clients record each write in a [Log], cached reads wait for recorded
// writes, and controllers check whether a change was a write of this process.
package writes

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"weak"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Write is a change that the API server made, or may have made, for a client of this process, except dry runs.
type Write struct {
	// GVK is the kind of the changed object, in the version of the request.
	GVK schema.GroupVersionKind
	// Key and UID identify the changed object. UID is empty if the server did not return it.
	Key object.Key
	UID types.UID
	// ResourceVersion is the version after the change. It is empty if the server returned none, as for deletions.
	ResourceVersion string
	// Before is a version at which an object that is Gone or Ending existed. It is empty if it is unknown.
	Before string
	// Unknown means that the outcome is unknown: the object may have changed, or may no longer exist. This is the case
	// after a binding or an eviction of a pod, and after a lost answer.
	Unknown bool
	// Gone means that the object no longer exists.
	Gone bool
	// Ending means that the object either no longer exists or has a deletion timestamp. The server did not return which.
	Ending bool
	// Changed means that this write created ResourceVersion. It is false if the write may have changed nothing, because
	// the version may then come from a foreign write.
	Changed bool
	// Object is the object after the change, as the caller receives it, or nil. Subscribers may read it until they return.
	Object object.Object
}

// Journal wraps a [Log] without its methods, so that package client can export it.
type Journal struct{ log Log }

// LogOf returns the log behind j, which must not be nil.
func LogOf(j *Journal) *Log { return &j.log }

// JournalOf returns the journal of the writes that can cause the events of source, which is the result of source's
// method Journal. It returns nil if source has no such method.
func JournalOf(source any) *Journal {
	if has, ok := source.(interface{ Journal() *Journal }); ok {
		return has.Journal()
	}
	return nil
}

// Log passes the writes of all clients that share it to caches. It keeps the latest writes for controllers, see
// [Log.Mine]. The zero value is ready for use, and all methods are safe for concurrent use.
type Log struct {
	own own

	mu          sync.Mutex
	subscribers []*subscriber                // in the order of their addition; replaced, never modified
	histories   map[schema.GroupKind]history // keys are results of StoredAs
}

// subscriber is a function that a log calls for each write.
type subscriber func(ctx context.Context, w Write)

// Subscribe calls written for each write until cancel is called. The call happens before the write returns, and has the
// context of the write. written must not block. Calls may be concurrent, and a call that is running may end after
// cancel has returned. The log keeps written in memory until then. A second call of cancel does nothing.
func (l *Log) Subscribe(written func(ctx context.Context, w Write)) (cancel func()) {
	added := new(subscriber(written))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subscribers = append(slices.Clip(l.subscribers), added)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.subscribers = slices.DeleteFunc(slices.Clone(l.subscribers), func(s *subscriber) bool { return s == added })
	}
}

// SubscribeFor is [Log.Subscribe] for as long as owner is reachable. The log does not keep owner in memory. written
// receives the owner as a parameter, and must not refer to it in any other way.
func SubscribeFor[T any](l *Log, owner *T, written func(owner *T, ctx context.Context, w Write)) {
	reference := weak.Make(owner)
	cancel := l.Subscribe(func(ctx context.Context, w Write) {
		if owner := reference.Value(); owner != nil {
			written(owner, ctx, w)
		}
	})
	runtime.AddCleanup(owner, func(cancel func()) { cancel() }, cancel)
}

// Record records w and passes it to the subscribers, with the writing call's context, before that call returns.
func (l *Log) Record(ctx context.Context, w Write) {
	l.own.record(ctx, w)
	l.mu.Lock()
	l.addToHistoryLocked(w) // first, so that a tracker receives w from Seed, from a subscriber, or from both
	subscribers := l.subscribers
	l.mu.Unlock()
	for _, written := range subscribers {
		(*written)(ctx, w)
	}
}

// maxUnresolved is the maximum number of writes without a version that a log keeps for each kind.
const maxUnresolved = 1024

// history is a summary of the writes of a kind, for trackers of caches that start later.
type history struct {
	version uint64 // of the last write
	// unresolved are writes without a version. full means that some of them were dropped.
	unresolved []Write
	full       bool
}

// StoredAs returns the kind under which the server stores objects of kind. A kind may be available in two groups.
func StoredAs(kind schema.GroupKind) schema.GroupKind {
	if kind == (schema.GroupKind{Group: "events.k8s.io", Kind: "Event"}) {
		kind.Group = ""
	}
	return kind
}

func (l *Log) addToHistoryLocked(w Write) {
	if l.histories == nil {
		l.histories = map[schema.GroupKind]history{}
	}
	kind := StoredAs(w.GVK.GroupKind())
	of := l.histories[kind]
	of.version = max(of.version, VersionOf(w.ResourceVersion))
	switch {
	case of.full || !w.Unknown && !w.Gone && !w.Ending:
	case len(of.unresolved) == maxUnresolved:
		of.unresolved, of.full = nil, true
	default:
		w.Object, w.ResourceVersion = nil, "" // the object may be up to a megabyte
		of.unresolved = append(of.unresolved, w)
	}
	l.histories[kind] = of
}

// Seed records the past writes of a kind in a tracker. Duplicate writes do no harm.
func (l *Log) Seed(kind schema.GroupKind, t *Tracker) {
	l.mu.Lock()
	of := l.histories[StoredAs(kind)]
	of.unresolved = slices.Clone(of.unresolved)
	l.mu.Unlock()
	t.seed(of)
}
