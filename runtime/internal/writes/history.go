package writes

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxUnresolved is the maximum number of writes without a version that a log keeps for each kind.
const maxUnresolved = 1024

// histories holds the past writes of each kind, for trackers of caches that start later. The zero value is empty.
type histories struct {
	mu    sync.Mutex
	kinds map[schema.GroupKind]history // keys are results of StoredAs
}

// history is a summary of the writes of a kind.
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

func (h *histories) record(w Write) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.kinds == nil {
		h.kinds = map[schema.GroupKind]history{}
	}
	kind := StoredAs(w.GVK.GroupKind())
	of := h.kinds[kind]
	of.version = max(of.version, VersionOf(w.ResourceVersion))
	switch {
	case of.full || !w.Unknown && !w.Gone && !w.Ending:
	case len(of.unresolved) == maxUnresolved:
		of.unresolved, of.full = nil, true
	default:
		w.Object, w.ResourceVersion = nil, "" // the object may be up to a megabyte
		of.unresolved = append(of.unresolved, w)
	}
	h.kinds[kind] = of
}

// Seed records the past writes of a kind in a tracker. Duplicate writes do no harm.
func (l *Log) Seed(kind schema.GroupKind, t *Tracker) {
	l.histories.mu.Lock()
	of := l.histories.kinds[StoredAs(kind)]
	of.unresolved = slices.Clone(of.unresolved)
	l.histories.mu.Unlock()
	t.seed(of)
}
