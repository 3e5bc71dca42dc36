package apiserver

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"weak"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// errCompacted says that a revision is before all that the history of a table has.
var errCompacted = errors.New("the revision is compacted")

// store holds the objects of all resources. A write has a revision, the resourceVersion of what it wrote, that is greater
// than all before; each table keeps its last changes, so that it knows how it was and what has happened since then. Safe
// for concurrent use; nothing in it blocks, but for the disk where writes are kept there.
type store struct {
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
	tables   map[schema.GroupResource]*table
}

func newStore(length int) *store {
	return &store{length: length, decided: 1, revision: 1, tables: map[schema.GroupResource]*table{}}
}

// record is an object in one revision: either of a Go type, or a custom resource, which is kept as its document and read when
// somebody needs more than that. Nobody changes it.
type record struct {
	key      string
	revision int64
	version  int64          // the resourceVersion, which is the revision, or what the store counts
	object   runtime.Object // of a Go type
	sum      string         // of the object as it was written, which may be less than what a reader finds; nothing if that is not known
	document document       // of a custom resource, as it is read
	written  []byte         // the document as it was written, without the defaults that a reader finds; nil when that is the same
	schema   any            // under which schema it was written
	labels   labels.Set     // of a custom resource

	// What was made of it before, to be used again.
	read    atomic.Pointer[weak.Pointer[unstructured.Unstructured]] // the custom resource, while somebody has it
	answers atomic.Pointer[answer]                                  // documents of an object of a Go type
}

// at is the record in another revision.
func (r *record) at(revision, version int64) *record {
	other := &record{key: r.key, revision: revision, version: version, document: r.document, written: r.written, schema: r.schema, labels: r.labels}
	if r.object != nil {
		other.object = r.object.DeepCopyObject()
		setRevision(other.object, version)
		other.sum = r.sum
	}
	return other
}

// custom is the custom resource. Nobody may change it.
func (r *record) custom() (*unstructured.Unstructured, error) {
	if u := r.current(); u != nil {
		return u, nil
	}
	u, err := r.document.decode(r.version)
	if err == nil {
		r.keep(u)
	}
	return u, err
}

// current is the custom resource if somebody has it, else nil.
func (r *record) current() *unstructured.Unstructured {
	if pointer := r.read.Load(); pointer != nil {
		return pointer.Value()
	}
	return nil
}

func (r *record) keep(u *unstructured.Unstructured) {
	pointer := weak.Make(u)
	r.read.Store(&pointer)
}

// setRevision is for a record that nobody else has.
func (r *record) setRevision(revision, version int64) {
	r.revision, r.version = revision, version
	if r.object != nil {
		setRevision(r.object, version)
	}
	if u := r.current(); u != nil {
		setRevision(u, version)
	}
}

// same reports whether another record has the same object, whatever its revision.
func (r *record) same(other *record) bool {
	if r.object != nil && r.sum != "" && other.sum != "" {
		return r.sum == other.sum
	}
	if r.object != nil {
		setRevision(r.object, other.version)
		return reflect.DeepEqual(r.object, other.object)
	}
	return bytes.Equal(r.last(), other.last())
}

// errTooLarge is the error of etcd, which upstream's handlers know.
var errTooLarge = errors.New("etcdserver: request is too large")

// tooLarge reports whether a custom resource is too large for a request to etcd, which the real server sends for it: the object, its
// key in each step of the transaction, and what is around them.
func (r *record) tooLarge(key string, was *record) bool {
	const most = 3 << 19
	if r.object != nil {
		return false
	}
	size := len(r.last()) - len(`"resourceVersion":"",`) + len("\n")
	if was == nil {
		return size+2*len(key)+57 > most
	}
	return size+3*len(key)+64 > most
}

// last is the document as it was written.
func (r *record) last() []byte {
	if r.written != nil {
		return r.written
	}
	return r.document.data
}

// change is a write: a creation has no previous record, a deletion no current one.
type change struct {
	revision int64
	key      string
	previous *record
	current  *record
}

// table holds the objects of one resource. Its fields are guarded by the store's mu.
type table struct {
	store    *store
	resource schema.GroupResource
	codec    runtime.Codec     // of objects of Go types, for the log; nil for custom resources; guarded by writing
	underway map[string]*batch // writes that are decided about and not done, by key; guarded by writing

	keys    []string // of records, sorted
	records map[string]*record
	history []change      // the last changes, oldest first
	oldest  int64         // history has all changes after this revision
	changed chan struct{} // closed by the next change; nil when nobody waits for one
}

// table is the one of a resource, which is made when it is first asked for.
func (s *store) table(resource schema.GroupResource) *table {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tables[resource]
	if t == nil {
		t = &table{store: s, resource: resource, underway: map[string]*batch{}, records: map[string]*record{}, oldest: s.oldest}
		s.tables[resource] = t
	}
	return t
}

// current is the revision of the last write, of any resource.
func (s *store) current() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// reached is closed when the store may have come to a revision; nil when it has.
func (s *store) reached(revision int64) <-chan struct{} {
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

func (t *table) get(key string) *record {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	return t.records[key]
}

// put writes a record, which is the table's from then on, in place of was, or as a new one. It writes nothing and reports
// false when another write was faster. An error says that the write could not be kept.
func (t *table) put(key string, was, now *record) (bool, error) {
	return t.commit(key, was, func(revision int64) change {
		now.key = key
		now.setRevision(revision, t.store.version(revision, was, now))
		return change{revision: revision, key: key, previous: was, current: now}
	})
}

// version is the resourceVersion of what is written in place of was, which is nil for a new record.
func (s *store) version(revision int64, was, now *record) int64 {
	switch {
	case !s.counts:
		return revision
	case was != nil:
		return was.version + 1
	}
	return max(now.version, 1)
}

// lastVersion is the resourceVersion of what was deleted.
func (s *store) lastVersion(revision int64, was *record) int64 {
	if s.counts {
		return was.version
	}
	return revision
}

// remove deletes was and returns it in the revision of the deletion, or nil when another write was faster. An error says that
// the deletion could not be kept.
func (t *table) remove(was *record) (last *record, err error) {
	removed, err := t.commit(was.key, was, func(revision int64) change {
		last = was.at(revision, t.store.lastVersion(revision, was))
		return change{revision: revision, key: was.key, previous: was}
	})
	if !removed {
		return nil, err
	}
	return last, nil
}

// commit makes a change of what is at a key, if that is was. It returns when the change is kept, and done: then all see it.
func (t *table) commit(key string, was *record, decide func(revision int64) change) (bool, error) {
	s := t.store
	s.writing.Lock()
	for t.underway[key] != nil { // whose end decides what was there
		done := t.underway[key].done
		s.writing.Unlock()
		<-done
		s.writing.Lock()
	}
	if t.get(key) != was {
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
func (s *store) do(t *table, c change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.current == nil:
		at, _ := slices.BinarySearch(t.keys, c.key)
		t.keys = slices.Delete(t.keys, at, at+1)
		delete(t.records, c.key)
	case c.previous == nil:
		at, _ := slices.BinarySearch(t.keys, c.key)
		t.keys = slices.Insert(t.keys, at, c.key)
		t.records[c.key] = c.current
	default:
		t.records[c.key] = c.current
	}
	t.noteLocked(c)
}

func (t *table) noteLocked(c change) {
	t.store.revision = c.revision
	if len(t.history) >= 2*t.store.length { // half of it goes at once, so that a write costs the same whatever there is
		t.compactLocked(t.history[len(t.history)-t.store.length-1].revision)
	}
	t.history = append(t.history, c)
	wake(&t.changed)
	wake(&t.store.advanced)
}

func wake(waiting *chan struct{}) {
	if *waiting != nil {
		close(*waiting)
		*waiting = nil
	}
}

// compactLocked forgets the changes up to a revision.
func (t *table) compactLocked(revision int64) {
	first, _ := slices.BinarySearchFunc(t.history, revision+1, func(c change, r int64) int { return int(c.revision - r) })
	t.history = slices.Clone(t.history[first:])
	t.oldest = max(t.oldest, revision)
}

// compact forgets all changes up to the last one, of all resources.
func (s *store) compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.oldest = s.revision
	for _, t := range s.tables {
		t.compactLocked(s.revision)
	}
}

// list is what the table has, or had at a revision other than 0, with keys that have the prefix and are not before from. It
// returns the revision that the list is of.
func (t *table) list(prefix, from string, at int64) ([]*record, int64, error) {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if at == 0 || at == t.store.revision {
		first, _ := slices.BinarySearch(t.keys, max(prefix, from))
		var found []*record
		for _, key := range t.keys[first:] {
			if !strings.HasPrefix(key, prefix) {
				break
			}
			found = append(found, t.records[key])
		}
		return found, t.store.revision, nil
	}
	if at < t.oldest {
		return nil, 0, errCompacted
	}
	was := map[string]*record{} // what has changed since then, as it was
	for _, c := range slices.Backward(t.history) {
		if c.revision <= at {
			break
		}
		was[c.key] = c.previous
	}
	var found []*record
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
	slices.SortFunc(found, func(a, b *record) int { return strings.Compare(a.key, b.key) })
	return found, at, nil
}

// since returns the changes after a revision, and a channel that is closed by the next change when there are none.
func (t *table) since(revision int64) ([]change, <-chan struct{}, error) {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if revision < t.oldest {
		return nil, nil, errCompacted
	}
	first, _ := slices.BinarySearchFunc(t.history, revision+1, func(c change, r int64) int { return int(c.revision - r) })
	if first < len(t.history) {
		return slices.Clone(t.history[first:]), nil, nil
	}
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return nil, t.changed, nil
}

// compacted is the revision up to which the history is forgotten.
func (t *table) compacted() int64 {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	return t.oldest
}

func setRevision(object runtime.Object, revision int64) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetResourceVersion(strconv.FormatInt(revision, 10))
	}
}
