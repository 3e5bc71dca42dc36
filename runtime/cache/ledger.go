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
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// bounds are how much a ledger remembers besides what it has for the objects in its store.
type bounds struct {
	// unheld is for how many objects that the store does not have a write is remembered. Of more than that it is only
	// remembered that there were some: see forgotten.
	unheld int
	// past is how many deletions that the store has seen are remembered, and how many writes.
	past int
}

var defaultBounds = bounds{unheld: 8192, past: 1024}

// ledger knows the writes of this process that one store has not caught up with. A read looks at it twice. Before it reads,
// there may be writes that the store has to reach first; and what it then has found may be older than a write, or be gone.
// Memory is bounded by the number of objects in the store, and by bounds.
type ledger struct {
	store store
	scope client.Scope // of the store
	// partial is that the store selects: an object that it does not have may come into it, although it is older.
	partial bool
	bounds  bounds
	// open is how many writes the store has not caught up with. It is read without mu: a write is counted before the call
	// that wrote returns.
	open atomic.Int64

	mu sync.Mutex
	// reached is the version of the store in the last call of applied. The store may be ahead of it for as long as it
	// takes to make the next call, which then finds what was noted meanwhile.
	reached uint64
	noted   uint64 // how many writes were noted so far
	seen    uint64 // how many of them the store has caught up with

	// versions and outsides are ordered by version: of what the store must reach, those of latest, and older ones with
	// waiters; and those of outside.
	versions, outsides []*write
	// What was seen stays in these maps as long as it is in recent. latest has the last write of each key that the store
	// must reach; that of the zero key concerns all objects. outside has the writes after which the object is not for the
	// store. deleted has the objects that were deleted, and vacated the last of these with a key. unknown has the keys of
	// which the server did not say what has become.
	latest, outside, vacated, unknown map[object.Key]*write
	deleted                           map[types.UID]*write
	recent                            ring[*write]
	// past are the last objects that the store has seen to be deleted.
	past     map[types.UID]struct{}
	pastRing ring[types.UID]

	// unheld are those of deleted, outside and unknown whose object the store did not have, and some that were seen since, in
	// the order in which they were noted; unheldOpen of them are open.
	unheld     []*write
	unheldOpen int
	// arriving are those of unheld that the store has caught up with when it has reached their before and does not have the
	// object, by before.
	arriving []*write
	// bound is the upper of some of unheld, 0 if there are none.
	bound uint64
	// forgotten stands for what was in unheld when that became too much. It is nil if there is none.
	forgotten *write

	woken []*waiter // to be woken when mu is unlocked

	asking chan struct{} // holds a token while somebody asks the server
}

// unlockAndWake unlocks mu and wakes whoever was to be woken meanwhile.
func (l *ledger) unlockAndWake() {
	woken := l.woken
	l.woken = nil
	l.mu.Unlock()
	// A waiter may ask the ledger, so it is woken without the lock.
	for _, waiting := range woken {
		waiting.wake()
	}
}

// write is a change that a store has to catch up with.
type write struct {
	kind writeKind
	key  object.Key
	// number is how many writes were noted before, and with, this one.
	number uint64
	// version is what the store has to reach, 0 if nobody knows.
	version uint64
	// uid is the object that was deleted. When ending is set, a deletion timestamp is as good.
	uid    types.UID
	ending bool
	// before is a version at which the deleted object was there, or 0.
	before uint64
	// since is where the store was: of what it did not have then, all that comes is newer.
	since uint64
	// hides is that, of what is forgotten, some was unknown: what the store does not have may be there.
	hides bool
	// upper is a version after the write, or 0.
	upper uint64
	// unheld is that it is in unheld of the ledger.
	unheld bool

	// labels are those of the object after the write, or nil if that is not known.
	labels labels.Set

	// last is the number of the last write that was noted as this one: of one that is unknown, and of a deletion.
	last uint64

	// newer took the place of this write. The store has caught up with this one when it has with that.
	newer   *write
	seen    bool
	seenAt  uint64 // how many were seen before, and with, this one
	waiters map[*waiter]struct{}
}

type writeKind int

const (
	// reaching: the store will be told of the object at version, and shows it only then.
	reaching writeKind = iota
	// outside: the object is not for the store at version, which therefore may not be told of it. It must not show an older one.
	outside
	// deletion: the store must not show the object uid.
	deletion
	// unknown: the server has to be asked what has become of the object.
	unknown
	// forgotten: the store must not show what has come into it after since, before it has reached version.
	forgotten
)

// waiter is told once when the store has caught up with a write, or has changed the object. It must not block.
type waiter struct{ wake func() }

// ring is the last values that were pushed.
type ring[V comparable] struct {
	values []V
	next   int
}

// push returns the value that has to go for v.
func (r *ring[V]) push(v V, size int) (gone V) {
	if len(r.values) < size {
		r.values = append(r.values, v)
		return gone
	}
	gone, r.values[r.next] = r.values[r.next], v
	r.next = (r.next + 1) % size
	return gone
}

func newLedger(s client.Scope, b bounds) *ledger {
	return &ledger{
		scope: s, partial: s.Labels != nil || s.Fields != nil, bounds: b, asking: make(chan struct{}, 1),
		latest: map[object.Key]*write{}, outside: map[object.Key]*write{}, vacated: map[object.Key]*write{}, unknown: map[object.Key]*write{},
		deleted: map[types.UID]*write{}, past: map[types.UID]struct{}{},
	}
}

// isOpen reports whether the store has yet to catch up with w, which may be nil, and nothing has taken its place.
func (w *write) isOpen() bool { return w != nil && !w.seen && w.newer == nil }

// versionOf returns a resource version as a number. It is 0 when it is none, and cannot be compared then.
func versionOf(text string) uint64 {
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return version
}

// note adds a write, and returns what the store has to catch up with: nothing if it has already,
// or if the write says too little to tell.
func (l *ledger) note(w writes.Write) (unseen []*write) {
	l.mu.Lock()
	defer l.unlockAndWake()
	l.noted++
	held, isHeld := l.store.Get(w.Key)
	if w.Unknown {
		l.noteUnknownLocked(w.Key, l.noted)
	}
	// What the store has passed it has seen; the event was faster than the answer.
	if version := versionOf(w.ResourceVersion); version > l.reached {
		selected, certain := l.selects(w)
		switch {
		case selected && certain:
			unseen = append(unseen, l.noteVersionLocked(&write{key: w.Key, number: l.noted, version: version, labels: labelsOf(w)}))
		case certain:
			l.noteOutsideLocked(&write{kind: outside, key: w.Key, number: l.noted, version: version, since: l.reached}, isHeld)
		// The store follows the object, so it hears of this write even if that takes the object out of it.
		case isHeld || l.latest[w.Key].isOpen():
			unseen = append(unseen, l.noteVersionLocked(&write{key: w.Key, number: l.noted, version: version}))
		default:
			// Whether it is one for the store only the server can tell.
			l.noteUnknownLocked(w.Key, l.noted)
		}
	}
	if w.UID != "" && (w.Gone || w.Ending) {
		if noted := l.noteDeletionLocked(w, held, isHeld); noted != nil {
			unseen = append(unseen, noted)
		}
	}
	return unseen
}

// selects reports whether the object after w is one for the store, and whether that is certain.
func (l *ledger) selects(w writes.Write) (selected, certain bool) {
	switch {
	case !l.partial || w.Key == (object.Key{}):
		return true, true
	case w.Object == nil:
		return false, false
	}
	return selects(l.scope, w.Object)
}

// labelsOf returns a copy of the labels of the object after w, or nil if they are not known.
func labelsOf(w writes.Write) labels.Set {
	if w.Object == nil {
		return nil
	}
	if set := w.Object.GetLabels(); len(set) > 0 {
		return maps.Clone(set)
	}
	return labels.Set{}
}

func (l *ledger) noteVersionLocked(w *write) *write {
	if last := l.latest[w.key]; last.isOpen() {
		if last.version >= w.version {
			return last
		}
		// Who waits for the earlier version must not be held up by the writes that come after it.
		if len(last.waiters) == 0 {
			l.replaceLocked(last, w)
		}
	}
	l.versions = insert(l.versions, w, byVersion)
	l.latest[w.key] = w
	l.open.Add(1)
	return w
}

func (l *ledger) noteOutsideLocked(w *write, isHeld bool) {
	if last := l.outside[w.key]; last.isOpen() {
		if last.version >= w.version {
			return
		}
		l.replaceLocked(last, w)
	}
	l.outsides = insert(l.outsides, w, byVersion)
	l.outside[w.key] = w
	l.open.Add(1)
	if !isHeld {
		l.noteUnheldLocked(w)
	}
}

func (l *ledger) noteUnknownLocked(key object.Key, number uint64) {
	if last := l.unknown[key]; last.isOpen() {
		// One question answers for both, if it is asked after the later.
		last.number, last.last = min(last.number, number), l.noted
		last.upper = 0 // of what was before
		return
	}
	w := &write{kind: unknown, key: key, number: number, last: l.noted}
	l.unknown[key] = w
	l.open.Add(1)
	l.noteUnheldLocked(w)
}

// noteDeletionLocked returns nil when there is nothing to catch up with.
func (l *ledger) noteDeletionLocked(w writes.Write, held object.Object, isHeld bool) *write {
	if last := l.deleted[w.UID]; last.isOpen() {
		// Once the object is known to be gone, its deletion timestamp is not enough any more.
		last.ending = last.ending && w.Ending
		last.upper, last.last = 0, l.noted // what the server said before this says nothing of it
		return last
	}
	if _, isPast := l.past[w.UID]; isPast && !l.partial {
		// A UID does not come back; to a store with selectors the object may.
		return nil
	}
	d := &write{kind: deletion, key: w.Key, number: l.noted, uid: w.UID, ending: w.Ending, before: versionOf(w.Before), since: l.reached}
	switch {
	case isHeld && held.GetUID() == w.UID:
		if !d.isAfter(held) {
			return nil
		}
	case d.hasPassed(l):
		return nil
	default:
		if isHeld && !l.deleted[held.GetUID()].isOpen() {
			l.noteUnknownLocked(w.Key, l.noted) // held came before the one that was deleted, or after it
		}
		l.noteUnheldLocked(d)
		l.vacated[w.Key] = d
		if d.before > 0 && !l.partial {
			l.arriving = insert(l.arriving, d, byBefore)
		}
	}
	l.deleted[w.UID] = d
	l.open.Add(1)
	return d
}

// hasPassed reports whether a store that does not have the object is past its deletion: it was, when the object was there.
func (w *write) hasPassed(l *ledger) bool { return w.before > 0 && w.before <= l.reached && !l.partial }

// noteUnheldLocked adds a write to unheld, which is made forgotten when it has become too much.
func (l *ledger) noteUnheldLocked(w *write) {
	w.unheld = true
	l.unheld = append(l.unheld, w)
	l.unheldOpen++
	if len(l.unheld) > 2*l.unheldOpen+16 {
		// Half of it was seen since: so the list stays short at O(1) a write.
		l.unheld = slices.DeleteFunc(l.unheld, func(w *write) bool { return !w.isOpen() })
	}
	if l.unheldOpen > l.bounds.unheld {
		l.forgetLocked()
	}
}

// forgetLocked makes unheld one write, which says less: that among all that comes into the store from where that was at the
// first of them there may be something that is older than a write. Of what has become unknown, that may be there already.
func (l *ledger) forgetLocked() {
	f := &write{kind: forgotten, number: l.noted, since: ^uint64(0)}
	known := true
	for _, w := range append(l.unheld, l.forgotten) {
		if !w.isOpen() {
			continue
		}
		f.since, f.version = min(f.since, w.since), max(f.version, w.version)
		known = known && w.version > 0
		f.hides = f.hides || w.hides || w.kind == unknown
		l.wakeLocked(w) // somebody has to ask what f comes to
		l.replaceLocked(w, f)
		l.unmapLocked(w)
	}
	if !known {
		// One whose version nobody knows may come after all versions that are known.
		f.version = 0
	}
	l.unheld, l.arriving, l.bound = nil, nil, 0
	l.forgotten = f
	l.open.Add(1)
}

// forgetAll makes the ledger one that remembers no more than that there were writes.
func (l *ledger) forgetAll() {
	l.mu.Lock()
	defer l.unlockAndWake()
	l.noteUnknownLocked(object.Key{}, l.noted)
	l.forgetLocked()
}

// replaceLocked lets newer stand for w, and those who wait for w wait for it.
func (l *ledger) replaceLocked(w, newer *write) {
	l.closeLocked(w)
	w.newer = newer
	// They are not woken for nothing: what they wait for is said by newer now.
	for waiting := range w.waiters {
		newer.wait(waiting)
	}
	w.waiters = nil
}

// closeLocked counts w as one that is not open any more. It stays in the maps.
func (l *ledger) closeLocked(w *write) {
	l.open.Add(-1)
	if w.unheld {
		l.unheldOpen--
	}
	switch w.kind {
	case reaching:
		l.versions = cut(l.versions, w)
	case outside:
		l.outsides = cut(l.outsides, w)
	}
}

// unmapLocked takes w out of the maps.
func (l *ledger) unmapLocked(w *write) {
	var byKey map[object.Key]*write
	switch w.kind {
	case reaching:
		byKey = l.latest
	case outside:
		byKey = l.outside
	case unknown:
		byKey = l.unknown
	case deletion:
		byKey = l.vacated
		if l.deleted[w.uid] == w {
			delete(l.deleted, w.uid)
		}
	}
	if byKey[w.key] == w {
		delete(byKey, w.key)
	}
}

// seeLocked notes that the store has caught up with w.
func (l *ledger) seeLocked(w *write) {
	l.closeLocked(w)
	l.seen++
	w.seen, w.seenAt = true, l.seen
	// Reads that began before may still ask whether w was seen, so it stays in the maps for a while.
	if old := l.recent.push(w, l.bounds.past); old != nil {
		l.unmapLocked(old)
	}
	l.wakeLocked(w)
}

// wakeLocked lets those who wait for w be woken.
func (l *ledger) wakeLocked(w *write) {
	l.woken = slices.AppendSeq(l.woken, maps.Keys(w.waiters))
	w.waiters = nil
}

func byVersion(w *write) uint64 { return w.version }

func byBefore(w *write) uint64 { return w.before }

// search returns where in list, which is ordered by what of returns, those with that value begin.
func search(list []*write, value uint64, of func(*write) uint64) int {
	at, _ := slices.BinarySearchFunc(list, value, func(w *write, value uint64) int { return cmp.Compare(of(w), value) })
	return at
}

func insert(list []*write, w *write, of func(*write) uint64) []*write {
	return slices.Insert(list, search(list, of(w), of), w)
}

// cut removes w from list, which is ordered by version, if it is there.
func cut(list []*write, w *write) []*write {
	for at := search(list, w.version, byVersion); at < len(list) && list[at].version == w.version; at++ {
		if list[at] == w {
			return slices.Delete(list, at, at+1)
		}
	}
	return list
}

// split returns what of list, which is ordered by what of returns, is not after version, and removes it from there.
func split(list *[]*write, version uint64, of func(*write) uint64) (notAfter []*write) {
	n := len(*list)
	if version < all {
		n = search(*list, version+1, of)
	}
	notAfter = slices.Clone((*list)[:n])
	*list = slices.Delete(*list, 0, n)
	return notAfter
}

// all is a version after all others.
const all = ^uint64(0)

// applied notes that the store has come to version, by events. Versions only go back when the past of the server was
// taken back, as from a backup: then no version that was written before is to be waited for.
func (l *ledger) applied(version string, events []informer.Event[object.Object]) {
	l.mu.Lock()
	defer l.unlockAndWake()
	for _, e := range events {
		l.applyLocked(e)
	}
	reached, last := versionOf(version), l.reached
	if reached == 0 {
		return
	}
	l.reached = reached
	if reached < last {
		// The version of a write from before the restore may never be reached, and what was deleted may be back.
		reached = all
		clear(l.past)
		l.pastRing = ring[types.UID]{}
	}
	l.seeUpToLocked(reached)
}

// seeUpToLocked notes that the store has caught up with all that it has when it is at version.
func (l *ledger) seeUpToLocked(version uint64) {
	for _, w := range append(split(&l.versions, version, byVersion), split(&l.outsides, version, byVersion)...) {
		l.seeLocked(w)
	}
	for _, w := range split(&l.arriving, version, byBefore) {
		// At a version at which the object was there the store does not have it: it is past the deletion.
		if w.isOpen() && !l.holds(w) {
			l.seeLocked(w)
		}
	}
	if l.bound > 0 && l.bound <= version {
		l.bound = 0
		for _, w := range l.unheld {
			if w.isOpen() && w.upper > 0 && w.upper <= version {
				l.seeLocked(w)
			}
		}
	}
	if f := l.forgotten; f.isOpen() && f.version > 0 && f.version <= version {
		l.seeLocked(f)
	}
}

// applyLocked notes that e has changed the store.
func (l *ledger) applyLocked(e informer.Event[object.Object]) {
	key, uid := object.KeyOf(e.Object), e.Object.GetUID()
	if e.Type == informer.Deleted {
		if old := l.pastRing.push(uid, l.bounds.past); old != uid {
			delete(l.past, old)
		}
		l.past[uid] = struct{}{}
	}
	// What follows is only for what is open, and this is in the way of every event.
	if l.open.Load() == 0 {
		return
	}
	switch w := l.deleted[uid]; {
	case !w.isOpen():
	case e.Type == informer.Deleted && l.partial:
		l.leftLocked(w)
	case e.Type == informer.Deleted || !w.isAfter(e.Object):
		l.seeLocked(w)
	}
	if w := l.outside[key]; w.isOpen() {
		l.wakeLocked(w) // to look at the object again
	}
	if w := l.vacated[key]; w.isOpen() && e.Type != informer.Deleted && w.uid != uid && w.mayFollow(e.Object) {
		// The new object took the key of one that is deleted: it may itself be the older of the two.
		l.noteUnknownLocked(key, w.number)
	}
}

// leftLocked notes that the object of w has left a store that selects: it was deleted, or it is not selected any more, and may
// come back before it is deleted.
func (l *ledger) leftLocked(w *write) {
	l.wakeLocked(w)
	if !w.unheld {
		w.since = l.reached
		l.noteUnheldLocked(w)
	}
}

// mayFollow reports whether w may have deleted the object that followed obj under its key, and not the one before that.
func (w *write) mayFollow(obj object.Object) bool {
	return w.before == 0 || versionOf(obj.GetResourceVersion()) < w.before
}

func (w *write) wait(waiting *waiter) {
	if w.waiters == nil {
		w.waiters = map[*waiter]struct{}{}
	}
	w.waiters[waiting] = struct{}{}
}

// current returns the write that took the place of w, or w.
func (w *write) current() *write {
	for w.newer != nil {
		w = w.newer
	}
	return w
}

// current returns the write that stands for w by now, or nil when the store has caught up with that; and whether it is vague:
// the server has to be asked before it is known what the store has to catch up with.
func (l *ledger) current(w *write) (now *write, vague bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w = w.current(); w.seen {
		return nil, false
	}
	return w, w.kind == unknown || w.kind == forgotten && w.version == 0
}

// await lets waiting be woken when the store has caught up with w, or may have. It reports false, and does nothing, when
// it has, or has nothing that is older than w.
func (l *ledger) await(w *write, waiting *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	w = w.current()
	if w.seen || (w.kind == deletion || w.kind == outside) && !l.holds(w) {
		return false
	}
	w.wait(waiting)
	return true
}

// leave ends await before its time. The waiter may still be woken.
func (l *ledger) leave(w *write, waiting *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w = w.current()
	if w.seen {
		return
	}
	delete(w.waiters, waiting)
	// Nobody waits for it any more, so it need not be kept beside the newer one.
	if newer := l.latest[w.key]; w.kind == reaching && len(w.waiters) == 0 && newer != w {
		l.replaceLocked(w, newer)
	}
}

// holds reports whether the store has an object that is older than w. One that it does not have may still come; until then
// there is nothing stale to read.
func (l *ledger) holds(w *write) bool {
	obj, ok := l.store.Get(w.key)
	return ok && w.isAfter(obj)
}

// isAfter reports whether obj, which has the key of w if that has one, is older than w, or may be.
func (w *write) isAfter(obj object.Object) bool {
	switch w.kind {
	case deletion:
		return obj.GetUID() == w.uid && (!w.ending || obj.GetDeletionTimestamp() == nil)
	case unknown:
		return true
	}
	version := versionOf(obj.GetResourceVersion())
	if w.kind == forgotten {
		return version == 0 || version > w.since
	}
	return version > 0 && version < w.version
}

// mark is where a ledger was when a read began. The zero value is of a ledger in which nothing was open.
type mark struct {
	open        bool
	noted, seen uint64
}

// begin returns what the store has to catch up with before the object with that key is read, and where the ledger was.
func (l *ledger) begin(key object.Key) (first []*write, m mark) {
	// The price of a read when nothing is open: one atomic load and no lock.
	if l.open.Load() == 0 {
		return nil, mark{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range []*write{l.latest[object.Key{}], l.latest[key], l.unknown[key]} {
		if w.isOpen() {
			first = append(first, w)
		}
	}
	if l.forgotten.isOpen() && l.forgotten.hides {
		first = append(first, l.forgotten)
	}
	return first, mark{open: true, noted: l.noted}
}

// beginList is begin for a List. Of the writes after which the object matches, the last says it all.
func (l *ledger) beginList(q *query) (first []*write, m mark) {
	if l.open.Load() == 0 {
		return nil, mark{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// By version: when the store has reached the last of them it has reached all.
	for _, w := range slices.Backward(l.versions) {
		if w.leadsTo(q) {
			first = append(first, w)
			break
		}
	}
	for key, w := range l.unknown {
		if w.isOpen() && q.selectsKey(key) {
			first = append(first, w)
		}
	}
	if l.forgotten.isOpen() && l.forgotten.hides {
		first = append(first, l.forgotten)
	}
	return first, mark{open: true, noted: l.noted}
}

// leadsTo reports whether the object may be one that q asks for after w.
func (w *write) leadsTo(q *query) bool {
	if w.key == (object.Key{}) {
		return true
	}
	return q.selectsKey(w.key) && (q.LabelSelector == nil || w.labels == nil || q.LabelSelector.Matches(w.labels))
}

// look is called before the store is read for a read that began at m.
func (l *ledger) look(m *mark) {
	if !m.open {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	m.seen = l.seen
}

// older returns the writes before m than which the objects are older that were read since the last look. again is that the
// store must be read again, as it has caught up with some meanwhile.
func (l *ledger) older(m *mark, objects []object.Object) (older []*write, again bool) {
	if !m.open {
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen-m.seen > uint64(l.bounds.past) {
		return nil, true // some of them are not in the maps any more
	}
	for _, obj := range objects {
		key := object.KeyOf(obj)
		for _, w := range [...]*write{l.latest[key], l.outside[key], l.unknown[key], l.deleted[obj.GetUID()], l.forgotten} {
			// Writes after the mark are not the business of this read, unless they stand for earlier ones.
			switch {
			case w == nil || w.newer != nil || w.number > m.noted && w.kind != forgotten || !w.isAfter(obj):
			case !w.seen:
				older = append(older, w)
			case w.seenAt > m.seen:
				again = true
			}
		}
	}
	return older, again
}

// crowded reports whether it is time to ask the server how far it is, so that writes need not be forgotten.
func (l *ledger) crowded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bound == 0 && l.unheldOpen > l.bounds.unheld/2
}

// numberNow returns how many writes were noted.
func (l *ledger) numberNow() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.noted
}

// bounded notes that the server was at version after the writes that were noted up to number.
func (l *ledger) bounded(version, number uint64) {
	l.mu.Lock()
	defer l.unlockAndWake()
	for _, w := range l.unheld {
		if w.isOpen() && w.upper == 0 && max(w.number, w.last) <= number {
			w.upper, l.bound = version, version
		}
	}
	if f := l.forgotten; f.isOpen() && f.version == 0 && f.number <= number {
		f.version = version
	}
	l.seeUpToLocked(l.reached)
}

// answer is what the server says of an object.
type answer struct {
	found   bool   // it is there, and one for the store
	version uint64 // of the object, or of the server when it was not found
	labels  labels.Set
}

// answered notes what the server says of the object of w, which was asked for after number writes were noted. What the
// store has to reach for that takes the place of w.
func (l *ledger) answered(w *write, number uint64, a answer) {
	l.mu.Lock()
	defer l.unlockAndWake()
	if !w.isOpen() || w.last > number {
		return
	}
	l.seeLocked(w)
	switch {
	case a.version <= l.reached:
	case a.found:
		w.seen = false
		w.newer = l.noteVersionLocked(&write{key: w.key, number: w.number, version: a.version, labels: a.labels})
	default:
		_, isHeld := l.store.Get(w.key)
		l.noteOutsideLocked(&write{kind: outside, key: w.key, number: w.number, version: a.version, since: l.reached}, isHeld)
	}
}
