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

// Store has the objects of all resources. A write has a revision, which is the resourceVersion of the written object,
// and is greater than all before. Each table keeps its last changes, so that it can return earlier states and the
// changes since then. A Store is safe for concurrent use. Nothing in it blocks, except for the disk if writes are
// persisted.
type Store struct {
	length int // number of changes per table
	// each object counts its own writes, from 1 or its initial version, as its resourceVersion; there is no log
	counts bool
	oldest int64 // the revision of a loaded file, or up to which the history was compacted; earlier states are unknown

	// writing is held by a write while it is decided and, without a log, until it is done. It is acquired before mu.
	// Readers do not wait for it, and it is not held during a wait for the disk.
	writing sync.Mutex
	decided int64 // the revision of the last decided write
	log     *wal  // nil without persistence

	mu       sync.Mutex
	revision int64         // of the last completed write
	advanced chan struct{} // closed by the next write; nil without waiters
	tables   map[schema.GroupResource]*Table
}

// New returns an empty store whose tables keep length changes. With counts each object counts its own writes.
func New(length int, counts bool) *Store {
	return &Store{length: length, counts: counts, decided: 1, revision: 1, tables: map[schema.GroupResource]*Table{}}
}

// Fork returns a store with the objects and the history of s. They share the records. s must have no log, and no write
// in progress. Later writes of one of them do not affect the other.
func (s *Store) Fork() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := New(s.length, s.counts)
	f.oldest, f.decided, f.revision = s.oldest, s.revision, s.revision
	for resource, t := range s.tables {
		f.tables[resource] = &Table{
			Store: f, resource: resource, codec: t.codec, underway: map[string]*batch{},
			keys: slices.Clone(t.keys), records: maps.Clone(t.records), history: slices.Clone(t.history), oldest: t.oldest,
		}
	}
	return f
}

// Change is a write: a creation has no previous record, a deletion no current one.
type Change struct {
	Revision int64
	Key      string
	Previous *Record
	Current  *Record
}

// Table has the objects of one resource. The store's mu guards its fields.
type Table struct {
	Store    *Store
	resource schema.GroupResource
	codec    runtime.Codec     // of objects of Go types, for the log; nil for custom resources; guarded by writing
	underway map[string]*batch // decided but incomplete writes, by key; guarded by writing

	keys    []string // of records, sorted
	records map[string]*Record
	history []Change      // the last changes, oldest first
	oldest  int64         // history has all changes after this revision
	changed chan struct{} // closed by the next change; nil without waiters
}

// Table returns the table of a resource, and creates it if needed.
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

// HasAny reports whether any of tables has an object.
func (s *Store) HasAny(tables []*Table) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(tables, func(t *Table) bool { return len(t.records) > 0 })
}

// Current returns the revision of the last write of any resource.
func (s *Store) Current() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// Reached returns a channel that is closed when the store may have reached a revision, or nil if it has.
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

// Put writes a record, which the table owns from then on, in place of was, or as a new one. If another write was first,
// it writes nothing and reports false. An error means that the write could not be persisted.
func (t *Table) Put(key string, was, now *Record) (bool, error) {
	return t.commit(key, was, func(revision int64) Change {
		now.Key = key
		now.setRevision(revision, t.Store.version(revision, was, now))
		return Change{Revision: revision, Key: key, Previous: was, Current: now}
	})
}

// version returns the resourceVersion of a write in place of was, which is nil for a new record.
func (s *Store) version(revision int64, was, now *Record) int64 {
	switch {
	case !s.counts:
		return revision
	case was != nil:
		return was.Version + 1
	}
	return max(now.Version, 1)
}

// LastVersion returns the resourceVersion of a deleted record.
func (s *Store) LastVersion(revision int64, was *Record) int64 {
	if s.counts {
		return was.Version
	}
	return revision
}

// Remove deletes was and returns it in the revision of the deletion, or nil if another write was first. An error means
// that the deletion could not be persisted.
func (t *Table) Remove(was *Record) (last *Record, err error) {
	removed, err := t.commit(was.Key, was, func(revision int64) Change {
		last = was.At(revision, t.Store.LastVersion(revision, was))
		return Change{Revision: revision, Key: was.Key, Previous: was}
	})
	if !removed {
		return nil, err
	}
	return last, nil
}

// commit makes a change of the record of a key, if that is was. It returns when the change is persisted, complete and
// visible.
func (t *Table) commit(key string, was *Record, decide func(revision int64) Change) (bool, error) {
	s := t.Store
	s.writing.Lock()
	for t.underway[key] != nil { // its outcome determines the current record
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

// do applies a decided change, after those before it.
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
	if len(t.history) >= 2*t.Store.length { // dropping half at once keeps the cost of a write constant
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

// compactLocked drops the changes up to a revision.
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

// List returns the records of the table, now or at a revision other than 0, with keys that have the prefix and are not
// less than from. It returns the revision of the list.
func (t *Table) List(prefix, from string, at int64) ([]*Record, int64, error) {
	t.Store.mu.Lock()
	defer t.Store.mu.Unlock()
	if at == 0 || at == t.Store.revision {
		return t.allLocked(prefix, from), t.Store.revision, nil
	}
	if at < t.oldest {
		return nil, 0, ErrCompacted
	}
	was := map[string]*Record{} // earlier states of records that have changed since
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

// All returns the current records with keys that have the prefix.
func (t *Table) All(prefix string) []*Record {
	t.Store.mu.Lock()
	defer t.Store.mu.Unlock()
	return t.allLocked(prefix, prefix)
}

// allLocked returns the records with keys that have the prefix and are not less than from.
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

// Since returns the changes after a revision, and, if there are none, a channel that the next change closes.
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
