package store

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ErrCompacted says that a revision is before all that the history of a table has.
var ErrCompacted = errors.New("the revision is compacted")

// Store holds the objects of all resources. A write has a revision, the resourceVersion of what it wrote, that is greater
// than all before; each table keeps its last changes, so that it knows how it was and what has happened since then. Safe
// for concurrent use; nothing in it blocks, but for the disk where writes are kept there.
type Store struct {
	length int   // how many changes a table keeps
	counts bool  // each object counts its own writes, from 1 or what it begins with, and that is its resourceVersion; there is no log
	oldest int64 // the revision that a file had, or up to which all was forgotten; nothing is known of how it was before

	// writing is held by a write while it is decided about, and, without a log, until it is done. It is taken before mu. Readers do
	// not wait for it, and nobody waits for the disk with it.
	writing sync.Mutex
	decided int64 // the revision of the last write that was decided about
	log     *wal  // nil when nothing is kept

	mu       sync.Mutex
	revision int64         // of the last write that is done
	advanced chan struct{} // closed by the next write; nil when nobody waits for one
	tables   map[schema.GroupResource]*Table
}

// New makes an empty store whose tables keep so many changes. With counts each object counts its own writes.
func New(length int, counts bool) *Store {
	return &Store{length: length, counts: counts, decided: 1, revision: 1, tables: map[schema.GroupResource]*Table{}}
}

// Change is a write: a creation has no previous record, a deletion no current one.
type Change struct {
	Revision int64
	Key      string
	Previous *Record
	Current  *Record
}

// Table holds the objects of one resource. Its fields are guarded by the store's mu.
type Table struct {
	Store    *Store
	resource schema.GroupResource
	codec    runtime.Codec     // of objects of Go types, for the log; nil for custom resources; guarded by writing
	underway map[string]*batch // writes that are decided about and not done, by key; guarded by writing

	keys    []string // of records, sorted
	records map[string]*Record
	history []Change      // the last changes, oldest first
	oldest  int64         // history has all changes after this revision
	changed chan struct{} // closed by the next change; nil when nobody waits for one
}

// Table is the one of a resource, which is made when it is first asked for.
func (s *Store) Table(resource schema.GroupResource) *Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tables[resource]
	if t == nil {
		t = &Table{Store: s, resource: resource, underway: map[string]*batch{}, records: map[string]*Record{}, oldest: s.oldest}
		s.tables[resource] = t
	}
	return t
}

// HasAny reports whether one of some tables has an object.
func (s *Store) HasAny(tables []*Table) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(tables, func(t *Table) bool { return len(t.records) > 0 })
}

// Current is the revision of the last write, of any resource.
func (s *Store) Current() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// Reached is closed when the store may have come to a revision; nil when it has.
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

// Put writes a record, which is the table's from then on, in place of was, or as a new one. It writes nothing and reports
// false when another write was faster. An error says that the write could not be kept.
func (t *Table) Put(key string, was, now *Record) (bool, error) {
	return t.commit(key, was, func(revision int64) Change {
		now.Key = key
		now.setRevision(revision, t.Store.version(revision, was, now))
		return Change{Revision: revision, Key: key, Previous: was, Current: now}
	})
}

// version is the resourceVersion of what is written in place of was, which is nil for a new record.
func (s *Store) version(revision int64, was, now *Record) int64 {
	switch {
	case !s.counts:
		return revision
	case was != nil:
		return was.Version + 1
	}
	return max(now.Version, 1)
}

// LastVersion is the resourceVersion of what was deleted.
func (s *Store) LastVersion(revision int64, was *Record) int64 {
	if s.counts {
		return was.Version
	}
	return revision
}

// Remove deletes was and returns it in the revision of the deletion, or nil when another write was faster. An error says that
// the deletion could not be kept.
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

// commit makes a change of what is at a key, if that is was. It returns when the change is kept, and done: then all see it.
func (t *Table) commit(key string, was *Record, decide func(revision int64) Change) (bool, error) {
	s := t.Store
	s.writing.Lock()
	for t.underway[key] != nil { // whose end decides what was there
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

// do makes a change that was decided about, after those before it.
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
	if len(t.history) >= 2*t.Store.length { // half of it goes at once, so that a write costs the same whatever there is
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

// compactLocked forgets the changes up to a revision.
func (t *Table) compactLocked(revision int64) {
	first, _ := slices.BinarySearchFunc(t.history, revision+1, func(c Change, r int64) int { return int(c.Revision - r) })
	t.history = slices.Clone(t.history[first:])
	t.oldest = max(t.oldest, revision)
}

// Compact forgets all changes up to the last one, of all resources.
func (s *Store) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.oldest = s.revision
	for _, t := range s.tables {
		t.compactLocked(s.revision)
	}
}

// List is what the table has, or had at a revision other than 0, with keys that have the prefix and are not before from. It
// returns the revision that the list is of.
func (t *Table) List(prefix, from string, at int64) ([]*Record, int64, error) {
	t.Store.mu.Lock()
	defer t.Store.mu.Unlock()
	if at == 0 || at == t.Store.revision {
		return t.allLocked(prefix, from), t.Store.revision, nil
	}
	if at < t.oldest {
		return nil, 0, ErrCompacted
	}
	was := map[string]*Record{} // what has changed since then, as it was
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

// All is what the table has now with keys that have the prefix.
func (t *Table) All(prefix string) []*Record {
	t.Store.mu.Lock()
	defer t.Store.mu.Unlock()
	return t.allLocked(prefix, prefix)
}

// allLocked is what the table has with keys that have the prefix and are not before from.
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

// Since returns the changes after a revision, and a channel that is closed by the next change when there are none.
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

// Compacted is the revision up to which the history is forgotten.
func (t *Table) Compacted() int64 {
	t.Store.mu.Lock()
	defer t.Store.mu.Unlock()
	return t.oldest
}
