package writes

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// state is the state of an entry.
type state int

const (
	// pending: the store will show the object at the entry's version.
	pending state = iota
	// tombstone: the store must not show the object as it was before the write. It need not show the object at all.
	tombstone
	// unknown: the outcome of the write must be requested from the server.
	unknown
	// confirmed: the store has caught up with the write. The state is final.
	confirmed
)

// input is a fact that changes the state of entries.
type input int

const (
	reached input = iota // the store has reached the entry's version, and shows no older object
	shown                // the store shows the object as the write left it, or a later state
	removed              // the store has removed the object, which cannot return
	left                 // the store has removed the object, which may return, because only selected objects are stored
	found                // the server has the object at a version that the store will show
	absent               // the server has no such object that belongs in the store
)

// transitions maps a state and an input to the next state. All other inputs do not change the state.
var transitions = map[state]map[input]state{
	pending:   {reached: confirmed, left: unknown},
	tombstone: {reached: confirmed, shown: confirmed, removed: confirmed},
	unknown:   {found: pending, absent: tombstone},
}

// Entry is a write that a store does not have yet. The tracker's mutex guards its fields.
type Entry struct {
	state state
	key   object.Key // zero means all objects
	// version is the version of a pending write. For a tombstone, objects with a lower version precede the write.
	version uint64
	// until is the version at which a store without an older object has caught up. It is 0 if unknown.
	until  uint64
	uid    types.UID  // the deleted object of a tombstone
	ending bool       // a deletion timestamp also confirms the tombstone
	labels labels.Set // of the object after the write; nil if unknown
	last   uint64     // number of the entry's last write

	current     bool   // the entry is in byKey
	next        *Entry // the entry that replaced this one, or nil
	confirmedAt uint64 // number of confirmations up to and including this one
	waiters     map[*waiter]struct{}
}

// waiter is woken once, when the store has caught up with an entry or has changed the object of the entry.
type waiter struct{ wake func() }

// Key returns the key of the object. It is zero for an entry about all objects.
func (e *Entry) Key() object.Key { return e.key }

// isOlder reports whether obj, which has the key of e, is older than the write, or may be older.
func (e *Entry) isOlder(obj object.Object) bool {
	version := VersionOf(obj.GetResourceVersion())
	switch {
	case e.key == object.Key{}:
		return false
	case e.state == unknown:
		return true
	case e.uid != "" && obj.GetUID() == e.uid:
		return !e.ending || obj.GetDeletionTimestamp() == nil
	}
	return version > 0 && version < e.version
}

// latest returns the entry that has replaced e, or e if there is none.
func (e *Entry) latest() *Entry {
	for e.next != nil {
		e = e.next
	}
	return e
}

// Store is the store of a tracker.
type Store interface {
	Get(key object.Key) (object.Object, bool)
	Has(key object.Key) bool
	Len() int
}

// Limits limits the memory of a tracker. The zero value means the defaults.
type Limits struct {
	// Entries is the number of deletions and unknown outcomes that a tracker keeps in addition to the number of objects in
	// its store. If there are more, reads wait until the store reaches the server's version. The default is 8192.
	Entries int
	// Past is the number of past deletions in the store that a tracker keeps for late answers. The default is 1024.
	Past int
}

// Tracker holds the writes of this process that one store does not have yet. It is safe for concurrent use. Its memory
// is bounded by the number of objects and by [Limits].
type Tracker struct {
	store     Store
	namespace string
	selects   func(object.Object) (selected, certain bool)
	limits    Limits
	open      atomic.Int64 // entries in byKey; reads load it without mu

	mu       sync.Mutex
	reached  uint64 // the version of the store
	recorded uint64 // the number of writes so far
	confirms uint64 // the number of confirmations so far
	bound    uint64 // version in the last call of boundLocked
	extra    int    // entries in byKey that are not pending

	// byKey contains the entries that the store has not caught up with. For each key, there is at most one pending entry,
	// one unknown entry, and one tombstone for each UID.
	byKey map[object.Key][]*Entry
	// versions contains the entries with until in order: the entries of byKey and replaced pending entries with waiters.
	versions []*Entry
	past     recent[types.UID, struct{}] // the last objects that the store has removed
	woken    []*waiter                   // to be woken after mu is unlocked
}

// NewTracker returns a tracker for a store with the objects of a namespace, or of all namespaces if it is empty.
// selects reports whether the store should have an object, and whether that is certain. If selects is nil, the store
// has all objects.
func NewTracker(
	store Store, namespace string, selects func(object.Object) (selected, certain bool), limits Limits,
) *Tracker {
	limits.Entries, limits.Past = cmp.Or(limits.Entries, 8192), cmp.Or(limits.Past, 1024)
	return &Tracker{
		store: store, namespace: namespace, selects: selects, limits: limits,
		byKey: map[object.Key][]*Entry{},
	}
}

// VersionOf returns a resource version as a number, or 0 if it cannot be compared.
func VersionOf(text string) uint64 {
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return version
}

// Open returns the number of writes that the store does not have yet.
func (t *Tracker) Open() int64 { return t.open.Load() }

// unlockAndWake unlocks mu and then wakes the waiters, which may call the tracker.
func (t *Tracker) unlockAndWake() {
	woken := t.woken
	t.woken = nil
	t.mu.Unlock()
	for _, w := range woken {
		w.wake()
	}
}

func (t *Tracker) wakeLocked(e *Entry) {
	t.woken = slices.AppendSeq(t.woken, maps.Keys(e.waiters))
	e.waiters = nil
}

// findLocked returns the entry of a key with that state and, for tombstones, that UID, or nil.
func (t *Tracker) findLocked(key object.Key, s state, uid types.UID) *Entry {
	for _, e := range t.byKey[key] {
		if e.state == s && e.uid == uid {
			return e
		}
	}
	return nil
}

// Record adds a write, and returns the entries to wait for: none if the store has caught up or the outcome is unknown.
func (t *Tracker) Record(w Write) (open []*Entry) {
	if t.namespace != "" && w.Key.Namespace != t.namespace && w.Key != (object.Key{}) {
		return nil
	}
	t.mu.Lock()
	defer t.unlockAndWake()
	t.recorded++
	isHeld := t.store.Has(w.Key)
	if w.Unknown {
		t.addUnknownLocked(w.Key)
	}
	// The store has all versions up to reached. A lower version means that the event arrived before the answer.
	if version := VersionOf(w.ResourceVersion); version > t.reached {
		e := &Entry{key: w.Key, version: version, until: version}
		switch e.state, e.labels = t.outcomeLocked(w, isHeld); e.state {
		case pending:
			open = append(open, t.addPendingLocked(e))
		case tombstone:
			t.addTombstoneLocked(e)
		default:
			t.addUnknownLocked(w.Key)
		}
	}
	if w.UID != "" && (w.Gone || w.Ending) {
		if e := t.recordDeletionLocked(w); e != nil {
			open = append(open, e)
		}
	}
	return open
}

// outcomeLocked returns the first state of a write with a version, and the labels of an object that the store will
// have.
func (t *Tracker) outcomeLocked(w Write, isHeld bool) (state, labels.Set) {
	selected, certain := true, t.selects == nil || w.Key == (object.Key{})
	if !certain && w.Object != nil {
		selected, certain = t.selects(w.Object)
	}
	switch {
	case certain && !selected:
		return tombstone, nil
	case certain && w.Object != nil:
		return pending, labels.Merge(w.Object.GetLabels(), nil) // a copy that is not nil
	// The watch shows the write, even if the write removes the object from the store.
	case certain || isHeld || t.findLocked(w.Key, pending, "") != nil:
		return pending, nil
	}
	return unknown, nil
}

// recordDeletionLocked returns the entry to wait for, or nil.
func (t *Tracker) recordDeletionLocked(w Write) *Entry {
	held, isHeld := t.store.Get(w.Key)
	if e := t.findLocked(w.Key, tombstone, w.UID); e != nil {
		// A deletion timestamp does not suffice once the object is gone, nor does a version before this write.
		if e.last, e.ending = t.recorded, e.ending && w.Ending; e.version == 0 {
			t.unlistLocked(e)
			e.until = 0
		}
		return e
	}
	before := VersionOf(w.Before)
	e := &Entry{state: tombstone, key: w.Key, uid: w.UID, ending: w.Ending}
	_, isPast := t.past.values[w.UID]
	switch complete := t.selects == nil; {
	case complete && isPast:
		return nil // UIDs are not reused
	case isHeld && held.GetUID() == w.UID:
		if !e.isOlder(held) {
			return nil
		}
	case complete && before > 0 && before <= t.reached:
		return nil // the store has seen the object and its end
	case complete && before > 0:
		e.version, e.until = before, before
	default:
		t.addUnknownLocked(w.Key) // the object may still enter the store
		return nil
	}
	return t.addTombstoneLocked(e)
}

// addPendingLocked adds e in place of an earlier pending entry, or returns the pending entry of a later version.
func (t *Tracker) addPendingLocked(e *Entry) *Entry {
	if old := t.findLocked(e.key, pending, ""); old != nil {
		if old.version >= e.version {
			return old
		}
		t.dropLocked(old)
		if len(old.waiters) == 0 {
			t.unlistLocked(old) // reads that wait for old need not wait for later writes
		}
	}
	return t.addLocked(e)
}

// addTombstoneLocked adds e, or merges it with the tombstone of the same object.
func (t *Tracker) addTombstoneLocked(e *Entry) *Entry {
	if old := t.findLocked(e.key, tombstone, e.uid); old != nil {
		t.unlistLocked(old)
		old.version, old.until, old.last = max(old.version, e.version), max(old.until, e.until), t.recorded
		t.listLocked(old)
		return old
	}
	return t.addLocked(e)
}

// addUnknownLocked adds an unknown outcome. One later question resolves all unknown outcomes of a key.
func (t *Tracker) addUnknownLocked(key object.Key) *Entry {
	if old := t.findLocked(key, unknown, ""); old != nil {
		old.last = t.recorded
		return old
	}
	return t.addLocked(&Entry{state: unknown, key: key})
}

func (t *Tracker) addLocked(e *Entry) *Entry {
	e.current, e.last = true, t.recorded
	t.byKey[e.key] = append(t.byKey[e.key], e)
	t.open.Add(1)
	t.listLocked(e)
	if e.state != pending {
		if t.extra++; t.extra > t.limits.Entries+t.store.Len() {
			t.overflowLocked()
		}
	}
	return e
}

func (t *Tracker) dropLocked(e *Entry) {
	if !e.current {
		return
	}
	e.current = false
	t.open.Add(-1)
	if e.state != pending {
		t.extra--
	}
	rest := slices.DeleteFunc(t.byKey[e.key], func(other *Entry) bool { return other == e })
	if t.byKey[e.key] = rest; len(rest) == 0 {
		delete(t.byKey, e.key)
	}
}

// endLocked removes e, and wakes its waiters.
func (t *Tracker) endLocked(e *Entry) {
	t.dropLocked(e)
	t.unlistLocked(e)
	t.wakeLocked(e)
}

// overflowLocked replaces all deletions and unknown outcomes with one unknown outcome that concerns all objects.
func (t *Tracker) overflowLocked() {
	all := &Entry{state: unknown}
	for _, e := range slices.Concat(slices.Collect(maps.Values(t.byKey))...) {
		if e.state != pending {
			t.endLocked(e)
			e.next = all
		}
	}
	t.addLocked(all)
}

// searchLocked returns the first index in versions with that version or a higher one.
func (t *Tracker) searchLocked(version uint64) int {
	until := func(e *Entry, version uint64) int { return cmp.Compare(e.until, version) }
	at, _ := slices.BinarySearchFunc(t.versions, version, until)
	return at
}

// listLocked adds e to versions if it has until and is not in versions.
func (t *Tracker) listLocked(e *Entry) {
	if e.until > 0 {
		t.unlistLocked(e)
		t.versions = slices.Insert(t.versions, t.searchLocked(e.until), e)
	}
}

func (t *Tracker) unlistLocked(e *Entry) {
	for at := t.searchLocked(e.until); at < len(t.versions) && t.versions[at].until == e.until; at++ {
		if t.versions[at] == e {
			t.versions = slices.Delete(t.versions, at, at+1)
			return
		}
	}
}

// moveLocked changes the state of e by an input. a has the version and labels for found and absent.
func (t *Tracker) moveLocked(e *Entry, in input, a Answer) {
	to, changes := transitions[e.state][in]
	if !changes {
		if in == left || in == removed {
			t.wakeLocked(e) // so that the waiters check the object again
		}
		return
	}
	if to == confirmed {
		t.confirmLocked(e)
		return
	}
	t.endLocked(e)
	switch to {
	case unknown:
		e.next = t.addUnknownLocked(e.key)
	case pending:
		e.next = t.addPendingLocked(&Entry{key: e.key, version: a.Version, until: a.Version, labels: a.Labels})
	default:
		e.next = t.addTombstoneLocked(&Entry{state: tombstone, key: e.key, version: a.Version, until: a.Version})
	}
}

// Applied records that the store has reached version through changes, which has each changed object and reports whether
// it was removed. It must be called after each change of the store, in order. The version decreases only if the server
// was restored from a backup. In that case, earlier writes no longer count.
func (t *Tracker) Applied(version string, changes iter.Seq2[object.Object, bool]) {
	t.mu.Lock()
	defer t.unlockAndWake()
	t.appliedLocked(version)
	for obj, isRemoved := range changes {
		t.changedLocked(obj, isRemoved)
	}
}

// Listed is Applied for the first list of the store. It does not iterate over the objects if no write is open.
func (t *Tracker) Listed(version string, objects iter.Seq[object.Object]) {
	t.mu.Lock()
	defer t.unlockAndWake()
	t.appliedLocked(version)
	if t.open.Load() == 0 {
		return
	}
	for obj := range objects {
		t.changedLocked(obj, false)
	}
}

// appliedLocked records the version that the store has reached.
func (t *Tracker) appliedLocked(version string) {
	switch reached := VersionOf(version); {
	case reached >= t.reached:
		t.reached = reached
		t.reachLocked(reached)
	case reached > 0:
		t.reached = reached
		t.past = recent[types.UID, struct{}]{}
		for _, e := range slices.Concat(append(slices.Collect(maps.Values(t.byKey)), t.versions)...) {
			t.confirmLocked(e)
		}
	}
}

// confirmLocked ends an entry, in any state.
func (t *Tracker) confirmLocked(e *Entry) {
	if e.state == confirmed {
		return
	}
	t.endLocked(e)
	t.confirms++
	e.state, e.confirmedAt = confirmed, t.confirms
}

// reachLocked updates the entries whose version the store has reached.
func (t *Tracker) reachLocked(version uint64) {
	n := t.searchLocked(version + 1)
	for _, e := range slices.Clone(t.versions[:n]) {
		if e.state == tombstone && t.showsOlder(e) {
			t.unlistLocked(e)
			e.until = 0 // because the end of the object confirms it
			continue
		}
		t.moveLocked(e, reached, Answer{})
	}
}

// showsOlder reports whether the store has the object in a state from before the write.
func (t *Tracker) showsOlder(e *Entry) bool {
	obj, ok := t.store.Get(e.key)
	return ok && e.isOlder(obj)
}

// changedLocked updates the entries of an object that the store has changed or removed.
func (t *Tracker) changedLocked(obj object.Object, isRemoved bool) {
	uid := obj.GetUID()
	if isRemoved {
		t.past.set(uid, struct{}{}, t.limits.Past)
	}
	if t.open.Load() == 0 {
		return
	}
	for _, e := range slices.Clone(t.byKey[object.KeyOf(obj)]) {
		isItself := e.uid != "" && e.uid == uid
		switch {
		case isRemoved && isItself && t.selects == nil:
			t.moveLocked(e, removed, Answer{})
		case isRemoved && t.selects != nil:
			t.moveLocked(e, left, Answer{})
		case !isRemoved && (isItself || e.uid == "") && !e.isOlder(obj):
			t.moveLocked(e, shown, Answer{})
		case e.state == tombstone:
			t.wakeLocked(e) // so that the waiters check the object again
		}
	}
}

// Await calls wake once, when the store has caught up with e or may have caught up with it. The caller then reads
// again. Await reports false, and does nothing, if the store has caught up or has no older object. leave ends the wait,
// but wake may still be called.
func (t *Tracker) Await(e *Entry, wake func()) (leave func(), waits bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e = e.latest()
	switch {
	case e.state == confirmed || e.state == pending && e.version <= t.reached:
		return nil, false
	case e.state == tombstone && !t.showsOlder(e):
		return nil, false
	}
	t.listLocked(e)
	if e.waiters == nil {
		e.waiters = map[*waiter]struct{}{}
	}
	w := &waiter{wake}
	e.waiters[w] = struct{}{}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if delete(e.waiters, w); len(e.waiters) == 0 && !e.current {
			t.unlistLocked(e)
		}
	}, true
}

// Snapshot describes the writes before a read of a store. The zero value contains no writes.
type Snapshot struct {
	tracker *Tracker
	// First contains the entries to wait for before the store is read.
	First   []*Entry
	entries map[object.Key][]*Entry
	// confirms and reached are the values of the tracker when the store was read.
	confirms, reached uint64
}

// IsEmpty reports whether the store already had all writes.
func (s *Snapshot) IsEmpty() bool { return s.tracker == nil }

// Before returns the writes before a read of one object.
func (t *Tracker) Before(key object.Key) Snapshot {
	// If no write is open, a read costs only one atomic load.
	if t.open.Load() == 0 {
		return Snapshot{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := Snapshot{tracker: t, entries: map[object.Key][]*Entry{key: slices.Clone(t.byKey[key])}}
	for _, e := range slices.Concat(t.byKey[object.Key{}], t.byKey[key]) {
		if e.state != tombstone {
			s.First = append(s.First, e)
		}
	}
	return s
}

// BeforeList returns the writes before a read of objects. The objects are those whose keys selects accepts and whose
// labels match selector. Nil matches all objects.
func (t *Tracker) BeforeList(selects func(object.Key) bool, selector labels.Selector) Snapshot {
	if t.open.Load() == 0 {
		return Snapshot{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := Snapshot{tracker: t, entries: map[object.Key][]*Entry{}}
	for key, entries := range t.byKey {
		if key != (object.Key{}) && !selects(key) {
			continue
		}
		s.entries[key] = slices.Clone(entries)
		for _, e := range entries {
			matches := selector == nil || e.labels == nil || selector.Matches(e.labels)
			if e.state == unknown || e.state == pending && matches {
				s.First = append(s.First, e)
			}
		}
	}
	// The latest version comes first: when the store has reached it, it has reached the other versions as well.
	slices.SortFunc(s.First, func(a, b *Entry) int { return cmp.Compare(b.version, a.version) })
	return s
}

// Look must be called before each read of the store.
func (s *Snapshot) Look() {
	if s.tracker == nil {
		return
	}
	s.tracker.mu.Lock()
	defer s.tracker.mu.Unlock()
	s.confirms, s.reached = s.tracker.confirms, s.tracker.reached
}

// Older returns the entries of the snapshot later than objects, read since Look. If any, the store must be read again.
func (s *Snapshot) Older(objects []object.Object) (older []*Entry) {
	if s.tracker == nil {
		return nil
	}
	s.tracker.mu.Lock()
	defer s.tracker.mu.Unlock()
	for _, obj := range objects {
		for _, e := range s.entries[object.KeyOf(obj)] {
			for e.state == unknown && e.next != nil {
				e = e.next
			}
			if !s.hadSeenLocked(e) && e.isOlder(obj) {
				older = append(older, e)
			}
		}
	}
	return older
}

// hadSeenLocked reports whether the store had caught up with e at the last Look.
func (s *Snapshot) hadSeenLocked(e *Entry) bool {
	return e.state == confirmed && e.confirmedAt <= s.confirms || e.state == pending && e.version <= s.reached
}

// Question is a request for the outcome of a write, or for the server's version.
type Question struct {
	// Entry is the entry with the unknown outcome, or nil if only the server's version is needed.
	Entry *Entry
	last  uint64
}

// Answer is the server's answer about an object.
type Answer struct {
	Found   bool   // the server has the object, and the store should have it
	Version uint64 // of the object, or of the server if the object was not found
	Labels  labels.Set
}

// Current returns the entry that has replaced e, or nil if the store has caught up with it. ask means that the outcome
// is unknown: the caller must pass the answer to q to Answered.
func (t *Tracker) Current(e *Entry) (now *Entry, q Question, ask bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e = e.latest(); e.state == confirmed {
		return nil, Question{}, false
	}
	return e, Question{Entry: e, last: t.recorded}, e.state == unknown
}

// Full reports whether the server must be asked for its version, which happens before there are too many entries.
func (t *Tracker) Full() (q Question, full bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Question{last: t.recorded}, t.bound <= t.reached && t.extra > t.limits.Entries/2+t.store.Len()
}

// Answered records the answer to a question. It has no effect if the entry has received another write in the meantime.
func (t *Tracker) Answered(q Question, a Answer) {
	t.mu.Lock()
	defer t.unlockAndWake()
	if q.Entry == nil {
		t.boundLocked(q, a.Version)
		return
	}
	e := q.Entry
	if e.state != unknown || e.next != nil || e.last > q.last {
		return
	}
	switch {
	case a.Version <= t.reached:
		t.confirmLocked(e)
	case a.Found:
		t.moveLocked(e, found, a)
	default:
		t.moveLocked(e, absent, a)
	}
}

// boundLocked records that the server was at version after the writes before q.
func (t *Tracker) boundLocked(q Question, version uint64) {
	t.bound = version
	for _, entries := range t.byKey {
		for _, e := range entries {
			if e.state == tombstone && e.until == 0 && e.last <= q.last {
				e.until = version
				t.listLocked(e)
			}
		}
	}
	t.reachLocked(t.reached)
}

func (t *Tracker) seed(h history) {
	for _, w := range h.unresolved {
		t.Record(w)
	}
	t.mu.Lock()
	defer t.unlockAndWake()
	if h.version > t.reached {
		t.addPendingLocked(&Entry{version: h.version, until: h.version})
	}
	if h.full {
		t.addUnknownLocked(object.Key{})
	}
}
