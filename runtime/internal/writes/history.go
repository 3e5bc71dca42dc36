package writes

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

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
