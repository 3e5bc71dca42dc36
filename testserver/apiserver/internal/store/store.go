package store

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ErrCompacted reports that a revision precedes the history of a table.
var ErrCompacted = errors.New("the revision is compacted")

// Store contains the objects of all resources. Each write has a revision that is greater than all earlier ones and
// becomes the resourceVersion of the written object. Each table keeps its last changes, so that it can return earlier
// states and the changes since then. A Store is safe for concurrent use. Its methods do not block, except on the disk
// if writes are persisted.
type Store struct {
	length int   // number of changes that each table keeps
	oldest int64 // states before this revision are unknown, because of a compaction or a loaded file

	// writing is held while a write is decided and, without a log, until the write is complete. It is acquired before mu.
	// Readers do not acquire it, and it is not held while a write waits for the disk.
	writing sync.Mutex
	decided int64 // revision of the last write that was decided
	log     *wal  // nil if writes are not persisted

	mu       sync.Mutex
	revision int64         // revision of the last completed write
	advanced chan struct{} // closed by the next write; nil if nothing waits
	tables   map[schema.GroupResource]*Table
}

// New returns an empty store whose tables keep length changes.
func New(length int) *Store {
	return &Store{length: length, decided: 1, revision: 1, tables: map[schema.GroupResource]*Table{}}
}

// Fork returns a store with the objects and the history of s. The two stores share the records, but later writes to one
// of them do not affect the other. s must have no log and no write in progress.
func (s *Store) Fork() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := New(s.length)
	f.oldest, f.decided, f.revision = s.oldest, s.revision, s.revision
	for resource, t := range s.tables {
		f.tables[resource] = &Table{
			Store: f, resource: resource, codec: t.codec, underway: map[string]*batch{},
			keys: slices.Clone(t.keys), records: maps.Clone(t.records), history: slices.Clone(t.history), oldest: t.oldest,
		}
	}
	return f
}

// Change is a write. A creation has no previous record, and a deletion has no current record.
type Change struct {
	Revision int64
	Key      string
	Previous *Record
	Current  *Record
}

// Table contains the objects of one resource. The store's mu guards its fields.
type Table struct {
	Store    *Store
	resource schema.GroupResource
	codec    runtime.Codec     // encodes objects of Go types for the log; nil for custom resources; guarded by writing
	underway map[string]*batch // by key, writes that are decided but not complete; guarded by writing

	keys    []string // sorted keys of the records
	records map[string]*Record
	history []Change      // last changes, oldest first
	oldest  int64         // history contains all changes after this revision
	changed chan struct{} // closed by the next change; nil if nothing waits
}

// Table returns the table of a resource. It creates the table if necessary.
func (s *Store) Table(resource schema.GroupResource) *Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tables[resource]
	if t == nil {
		t = &Table{Store: s, resource: resource, underway: map[string]*batch{}, records: map[string]*Record{},
			oldest: s.oldest}
		s.tables[resource] = t
	}
	return t
}

// HasAny reports whether any of the tables contains an object.
func (s *Store) HasAny(tables []*Table) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(tables, func(t *Table) bool { return len(t.records) > 0 })
}

// Current returns the revision of the last completed write of any resource.
func (s *Store) Current() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// Reached returns a channel that is closed when the store may have reached a revision. It returns nil if the store has
// already reached it.
func (s *Store) Reached(revision int64) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revision >= revision {
		return nil
	}
	if s.advanced == nil {
		s.advanced = make(chan struct{})
	}
	return s.advanced
}

func (t *Table) Get(key string) *Record {
	t.Store.mu.Lock()
	defer t.Store.mu.Unlock()
	return t.records[key]
}

// Put replaces was with the record now, or adds now if was is nil. The table then owns now. If another write came
// first, Put writes nothing and returns false. An error means that the write could not be persisted.
func (t *Table) Put(key string, was, now *Record) (bool, error) {
	return t.commit(key, was, func(revision int64) Change {
		now.Key = key
		now.setRevision(revision)
		return Change{Revision: revision, Key: key, Previous: was, Current: now}
	})
}

// Remove deletes was and returns it at the revision of the deletion. It returns nil if another write came first. An
// error means that the deletion could not be persisted.
func (t *Table) Remove(was *Record) (last *Record, err error) {
	removed, err := t.commit(was.Key, was, func(revision int64) Change {
		last = was.At(revision)
		return Change{Revision: revision, Key: was.Key, Previous: was}
	})
	if !removed {
		return nil, err
	}
	return last, nil
}

// commit changes the record of a key if that record is was. It returns when the change is persisted, complete and
// visible.
func (t *Table) commit(key string, was *Record, decide func(revision int64) Change) (bool, error) {
	s := t.Store
	s.writing.Lock()
	for t.underway[key] != nil { // the outcome of that write determines the current record
		done := t.underway[key].done
		s.writing.Unlock()
		<-done
		s.writing.Lock()
	}
	if t.Get(key) != was {
		s.writing.Unlock()
		return false, nil
	}
	c := decide(s.decided + 1)
	if s.log == nil {
		defer s.writing.Unlock()
		s.decided++
		s.do(t, c)
		return true, nil
	}
	b, first, err := s.join(t, c)
	s.writing.Unlock()
	switch {
	case err != nil:
		return false, err
	case first:
		s.keep(b)
	default:
		<-b.done
	}
	return b.err == nil, b.err
}

// do applies a decided change. All earlier changes must already be applied.
func (s *Store) do(t *Table, c Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.Current == nil:
		at, _ := slices.BinarySearch(t.keys, c.Key)
		t.keys = slices.Delete(t.keys, at, at+1)
		delete(t.records, c.Key)
	case c.Previous == nil:
		at, _ := slices.BinarySearch(t.keys, c.Key)
		t.keys = slices.Insert(t.keys, at, c.Key)
		t.records[c.Key] = c.Current
	default:
		t.records[c.Key] = c.Current
	}
	t.noteLocked(c)
}

func (t *Table) noteLocked(c Change) {
	t.Store.revision = c.Revision
	if len(t.history) >= 2*t.Store.length { // dropping half of the history at a time keeps the cost of a write constant
		t.compactLocked(t.history[len(t.history)-t.Store.length-1].Revision)
	}
	t.history = append(t.history, c)
	wake(&t.changed)
	wake(&t.Store.advanced)
}

func wake(waiting *chan struct{}) {
	if *waiting != nil {
		close(*waiting)
		*waiting = nil
	}
}

// compactLocked drops the changes up to and including a revision.
func (t *Table) compactLocked(revision int64) {
	first, _ := slices.BinarySearchFunc(t.history, revision+1, func(c Change, r int64) int { return int(c.Revision - r) })
	t.history = slices.Clone(t.history[first:])
	t.oldest = max(t.oldest, revision)
}

// Compact drops the history of all resources.
func (s *Store) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.oldest = s.revision
	for _, t := range s.tables {
		t.compactLocked(s.revision)
	}
}

// List returns the records whose keys have the prefix and are not less than from, and the revision of the list. If at
// is not 0, it returns the records as of that revision.
func (t *Table) List(prefix, from string, at int64) ([]*Record, int64, error) {
	t.Store.mu.Lock()
	defer t.Store.mu.Unlock()
	if at == 0 || at == t.Store.revision {
		return t.allLocked(prefix, from), t.Store.revision, nil
	}
	if at < t.oldest {
		return nil, 0, ErrCompacted
	}
	was := map[string]*Record{} // by key, the state at that revision of records that have changed since
	for _, c := range slices.Backward(t.history) {
		if c.Revision <= at {
			break
		}
		was[c.Key] = c.Previous
	}
	var found []*Record
	for key, r := range t.records {
		if _, changed := was[key]; !changed {
			was[key] = r
		}
	}
	for key, r := range was {
		if r != nil && strings.HasPrefix(key, prefix) && key >= from {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *Record) int { return strings.Compare(a.Key, b.Key) })
	return found, at, nil
}

// All returns the current records whose keys have the prefix.
func (t *Table) All(prefix string) []*Record {
	t.Store.mu.Lock()
	defer t.Store.mu.Unlock()
	return t.allLocked(prefix, prefix)
}

// allLocked returns the records whose keys have the prefix and are not less than from.
func (t *Table) allLocked(prefix, from string) (found []*Record) {
	first, _ := slices.BinarySearch(t.keys, max(prefix, from))
	for _, key := range t.keys[first:] {
		if !strings.HasPrefix(key, prefix) {
			break
		}
		found = append(found, t.records[key])
	}
	return found
}

// Since returns the changes after a revision. If there are none, it returns a channel that the next change closes.
func (t *Table) Since(revision int64) ([]Change, <-chan struct{}, error) {
	t.Store.mu.Lock()
	defer t.Store.mu.Unlock()
	if revision < t.oldest {
		return nil, nil, ErrCompacted
	}
	first, _ := slices.BinarySearchFunc(t.history, revision+1, func(c Change, r int64) int { return int(c.Revision - r) })
	if first < len(t.history) {
		return slices.Clone(t.history[first:]), nil, nil
	}
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return nil, t.changed, nil
}

// Compacted returns the revision up to which the history was dropped.
func (t *Table) Compacted() int64 {
	t.Store.mu.Lock()
	defer t.Store.mu.Unlock()
	return t.oldest
}
