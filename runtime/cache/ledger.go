package cache

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// maxDeletions is how many deletions a ledger remembers whose events have not come, and how many whose events have.
const maxDeletions = 1024

// ledger knows the writes of this process that one store has not caught up with. For each key it has the last version
// and the last deletion, and besides these what somebody waits for: so it is bounded by the number of objects.
type ledger struct {
	store informer.Store[object.Object]
	// open is the length of versions and deletions. It is read without mu: a write is counted before the call that wrote
	// returns.
	open atomic.Int64

	mu sync.Mutex
	// reached is the version of the store in the last call of applied. The store may be ahead of it for as long as it
	// takes to make the next call, which then finds what was noted meanwhile.
	reached uint64
	// versions has the writes that wait for a version, ordered by it: those of latest, and older ones with waiters.
	versions []*write
	// latest has the last write of each key. That of the zero key concerns all objects.
	latest map[object.Key]*write
	// deletions has the writes of deleted, in the order in which they were noted.
	deletions []*write
	deleted   map[object.Key]*write
	// past are the last objects that were seen to be deleted, next is where the one after goes.
	past [maxDeletions]types.UID
	next int
}

// write is a change that a store has to catch up with: it has to reach a version, or must not have an object.
type write struct {
	key     object.Key
	version uint64
	// deleted is the object that was deleted. When ending is set, a deletion timestamp is as good.
	deleted types.UID
	ending  bool

	// labels are those of the object after the write, or nil if that is not known.
	labels labels.Set

	// newer took the place of this write. The store has caught up with this one when it has with that.
	newer   *write
	seen    bool
	waiters map[*waiter]struct{}
}

// waiter is told once when the store has caught up with a write. It must not block.
type waiter struct{ wake func() }

func newLedger() *ledger {
	return &ledger{latest: map[object.Key]*write{}, deleted: map[object.Key]*write{}}
}

// note adds a write and returns what the store has to catch up with: nothing if it has already, or if the write says too
// little to tell.
func (l *ledger) note(w client.Write) (unseen []*write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if version, err := strconv.ParseUint(w.ResourceVersion, 10, 64); err == nil && version > l.reached {
		unseen = append(unseen, l.noteVersionLocked(&write{key: w.Key, version: version, labels: labelsOf(w)}))
	}
	if w.UID != "" && (w.Gone || w.Ending) && !l.isPastLocked(w) {
		unseen = append(unseen, l.noteDeletionLocked(&write{key: w.Key, deleted: w.UID, ending: w.Ending}))
	}
	return unseen
}

// labelsOf returns a copy of the labels of the object after w, or nil if they are not known.
func labelsOf(w client.Write) labels.Set {
	if w.Object == nil {
		return nil
	}
	if set := w.Object.GetLabels(); len(set) > 0 {
		return maps.Clone(set)
	}
	return labels.Set{}
}

func (l *ledger) noteVersionLocked(w *write) *write {
	if last := l.latest[w.key]; last != nil {
		if last.version >= w.version {
			return last
		}
		if len(last.waiters) == 0 {
			l.replaceVersionLocked(last, w)
		}
	}
	at, _ := slices.BinarySearchFunc(l.versions, w.version, compareVersion)
	l.versions = slices.Insert(l.versions, at, w)
	l.latest[w.key] = w
	l.open.Add(1)
	return w
}

func compareVersion(w *write, version uint64) int { return cmp.Compare(w.version, version) }

// replaceVersionLocked removes a write for which nobody waits: newer says it all.
func (l *ledger) replaceVersionLocked(w, newer *write) {
	l.versions = slices.DeleteFunc(l.versions, func(v *write) bool { return v == w })
	w.newer = newer
	l.open.Add(-1)
}

func (l *ledger) noteDeletionLocked(w *write) *write {
	if last := l.deleted[w.key]; last != nil {
		if last.deleted == w.deleted {
			last.ending = last.ending && w.ending
			return last
		}
		l.replaceDeletionLocked(last, w) // w.deleted took the name since, so the store gets there later
	}
	if len(l.deletions) == maxDeletions {
		l.replaceDeletionLocked(l.deletions[0], w)
	}
	l.deletions = append(l.deletions, w)
	l.deleted[w.key] = w
	l.open.Add(1)
	return w
}

// replaceDeletionLocked removes a deletion, and lets those who wait for it wait for newer.
func (l *ledger) replaceDeletionLocked(w, newer *write) {
	l.removeDeletionLocked(w)
	w.newer = newer
	for waiting := range w.waiters {
		newer.wait(waiting)
	}
	w.waiters = nil
}

func (l *ledger) removeDeletionLocked(w *write) {
	l.deletions = slices.DeleteFunc(l.deletions, func(d *write) bool { return d == w })
	delete(l.deleted, w.key)
	l.open.Add(-1)
}

// applied notes that the store has come to version, by events. Versions only go back when the past of the server was
// taken back, as from a backup: then nothing that was written before is to be waited for.
func (l *ledger) applied(version string, events []informer.Event[object.Object]) {
	for _, w := range l.advance(version, events) {
		for waiting := range w.waiters {
			waiting.wake()
		}
	}
}

// advance returns the writes that the store has caught up with. They are no longer changed.
func (l *ledger) advance(version string, events []informer.Event[object.Object]) (seen []*write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range events {
		if e.Type == informer.Deleted {
			l.past[l.next] = e.Object.GetUID()
			l.next = (l.next + 1) % maxDeletions
		}
		if w := l.deleted[object.KeyOf(e.Object)]; w != nil && w.isSeenIn(e) {
			l.removeDeletionLocked(w)
			w.seen = true
			seen = append(seen, w)
		}
	}
	reached, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return seen
	}
	n := len(l.versions)
	if reached >= l.reached {
		n, _ = slices.BinarySearchFunc(l.versions, reached+1, compareVersion)
	}
	l.reached = reached
	for _, w := range l.versions[:n] {
		if l.latest[w.key] == w {
			delete(l.latest, w.key)
		}
		w.seen = true
		seen = append(seen, w)
	}
	l.versions = slices.Delete(l.versions, 0, n)
	l.open.Add(-int64(n))
	return seen
}

// isSeenIn reports whether the store has caught up with the deletion after e.
func (w *write) isSeenIn(e informer.Event[object.Object]) bool {
	if e.Object.GetUID() != w.deleted {
		return false
	}
	return e.Type == informer.Deleted || w.ending && e.Object.GetDeletionTimestamp() != nil
}

func (w *write) wait(waiting *waiter) {
	if w.waiters == nil {
		w.waiters = map[*waiter]struct{}{}
	}
	w.waiters[waiting] = struct{}{}
}

// last returns the write that took the place of w, or w.
func (w *write) last() *write {
	for w.newer != nil {
		w = w.newer
	}
	return w
}

// await lets waiting be woken when the store has caught up with w. It reports false, and does nothing, when it has.
func (l *ledger) await(w *write, waiting *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	w = w.last()
	if w.seen || w.deleted != "" && !l.holds(w) {
		return false
	}
	w.wait(waiting)
	return true
}

// leave ends await before its time. The waiter may still be woken.
func (l *ledger) leave(w *write, waiting *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w = w.last()
	if w.seen {
		return
	}
	delete(w.waiters, waiting)
	if newer := l.latest[w.key]; w.version != 0 && len(w.waiters) == 0 && newer != w {
		l.replaceVersionLocked(w, newer)
	}
}

// unseen returns what the store has to catch up with before the object with that key is read, and what else was written
// to it that may matter.
func (l *ledger) unseen(key object.Key) (first, others []*write) {
	if l.open.Load() == 0 {
		return nil, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range []*write{l.latest[object.Key{}], l.latest[key]} {
		if w != nil {
			first = append(first, w)
		}
	}
	if w := l.deleted[key]; w != nil {
		others = append(others, w)
	}
	return first, others
}

// unseenIn is unseen for a List. Of the writes after which the object matches, the last says it all.
func (l *ledger) unseenIn(o client.ListOptions) (first, others []*write) {
	if l.open.Load() == 0 {
		return nil, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range slices.Backward(l.versions) {
		if w.leadsTo(o) {
			first = append(first, w)
			break
		}
		if selectsKey(o, w.key) {
			others = append(others, w)
		}
	}
	for _, w := range l.deletions {
		if selectsKey(o, w.key) {
			others = append(others, w)
		}
	}
	return first, others
}

// leadsTo reports whether the object may be one that o asks for after w.
func (w *write) leadsTo(o client.ListOptions) bool {
	if w.key == (object.Key{}) {
		return true
	}
	return selectsKey(o, w.key) && (o.LabelSelector == nil || w.labels == nil || o.LabelSelector.Matches(w.labels))
}

// isAfter reports whether obj, which has the key of w, is older than w.
func (w *write) isAfter(obj object.Object) bool {
	if w.deleted != "" {
		return obj.GetUID() == w.deleted && (!w.ending || obj.GetDeletionTimestamp() == nil)
	}
	version, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	return err == nil && version < w.version
}

// holds reports whether the store has an object that is older than its deletion w. One that it does not have may still
// come; until then there is nothing stale to read.
func (l *ledger) holds(w *write) bool {
	obj, ok := l.store.Get(w.key)
	return ok && w.isAfter(obj)
}
