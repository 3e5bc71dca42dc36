package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// wal is the write-ahead log of a store: a file that has each write before anybody sees it, on the disk. Whatever ends the
// process or the machine, the file has all that was answered, and perhaps some that were being written.
//
// Each line is the CRC-32C of a JSON document, a space and the document. The first is a walHeader, each other a walEntry, or a list of
// those of writes that came while the disk was busy with the line before: they share a line, and what it costs to have it on the disk. The
// order is that of the writes. What only older writes say is dropped now and then, by another file in the place of this one.
type wal struct {
	open *batch // that a write may join; nil when none is waiting; guarded by the store's writing

	// syncing is held by the batch that is being written, and taken before writing. It guards what follows.
	syncing sync.Mutex

	path string
	file *os.File // appends
	size int64
	used int64 // size when it had nothing that could be dropped
	// failed is why nothing can be written any more: whether the last write is in the file is not known.
	failed error
}

const (
	walFormat  = "kctrl API server"
	walVersion = 2 // 1 had no lists
	// walSlack is how much of the file may be what newer writes have replaced, besides as much as there are objects.
	walSlack = 4 << 20
)

type walHeader struct {
	Format   string `json:"format"`
	Version  int    `json:"version"`
	Revision int64  `json:"revision"` // of the last write that is dropped
}

// walEntry is a write. One without an object is a deletion.
type walEntry struct {
	Revision int64           `json:"revision"`
	Group    string          `json:"group,omitempty"`
	Resource string          `json:"resource"`
	Key      string          `json:"key"`
	Object   json.RawMessage `json:"object,omitempty"`
}

// batch is writes that are kept together: all of them are, or none.
type batch struct {
	changes []tableChange
	entries []walEntry
	err     error         // before done is closed, why they are not kept
	done    chan struct{} // closed when all of them are done, or will not be
}

type tableChange struct {
	*Table
	Change
}

// LineError is why a file cannot be read, in a line, or in none when its line is 0.
type LineError struct {
	Line   int
	Offset int64 // of the line in the file
	Err    error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

func (e *LineError) Unwrap() error { return e.Err }

var errForeign = errors.New("this is no file of objects of kctrl's API server")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func walLine(document any) ([]byte, error) {
	text, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(text, castagnoli), text), nil
}

// walText is the document of a line, without its end.
func walText(line []byte) ([]byte, error) {
	sum, text, ok := bytes.Cut(line, []byte(" "))
	if !ok || string(sum) != fmt.Sprintf("%08x", crc32.Checksum(text, castagnoli)) {
		return nil, errors.New("the line is damaged: it is not what its checksum is of")
	}
	return text, nil
}

// Open reads the file at path into an empty store, and has the store keep its writes there. A file that is not there is made. It
// calls prepare with each resource that the file has, before it reads its objects. A file that cannot be read is a [*LineError], and stays as it was.
func (s *Store) Open(path string, prepare func(schema.GroupResource)) error {
	if err := s.load(path, prepare); err != nil {
		return err
	}
	for _, t := range s.tables {
		t.keys, t.oldest = slices.Sorted(maps.Keys(t.records)), s.revision
	}
	s.oldest, s.decided = s.revision, s.revision
	s.log = &wal{path: path}
	return s.log.rewrite(s)
}

func (s *Store) load(path string, prepare func(schema.GroupResource)) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &LineError{Err: plain(err)}
	}
	defer file.Close()
	lines, prepared := bufio.NewReaderSize(file, 1<<16), map[schema.GroupResource]bool{}
	prepareOnce := func(resource schema.GroupResource) {
		if !prepared[resource] {
			prepared[resource] = true
			prepare(resource)
		}
	}
	offset := int64(0)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && n > 1:
			return nil // what is left has no end: a write that was not answered
		case errors.Is(err, io.EOF):
			err = errForeign
		case err == nil:
			err = s.loadLine(n, line[:len(line)-1], prepareOnce)
		}
		if err != nil && n > 1 && torn(line, lines) {
			return nil
		}
		if err != nil {
			return &LineError{Line: n, Offset: offset, Err: err}
		}
		offset += int64(len(line))
	}
}

// torn reports whether a line is the last one, and a write that a power failure has cut short: of some of its blocks the disk has
// only that they are there.
func torn(line []byte, rest *bufio.Reader) bool {
	_, err := rest.ReadByte()
	return errors.Is(err, io.EOF) && bytes.IndexByte(line, 0) >= 0
}

// plain is an error of the file system without the path.
func plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

func (s *Store) loadLine(n int, line []byte, prepare func(schema.GroupResource)) error {
	text, err := walText(line)
	if n > 1 && err != nil {
		return err
	}
	if n == 1 {
		var header walHeader
		if err != nil || json.Unmarshal(text, &header) != nil || header.Format != walFormat {
			return errForeign
		}
		if header.Version > walVersion {
			return fmt.Errorf("a newer kctrl wrote it, in version %d of the format: this one knows version %d", header.Version, walVersion)
		}
		s.revision = max(s.revision, header.Revision)
		return nil
	}
	if !bytes.HasPrefix(text, []byte("[")) {
		text = append(append([]byte("["), text...), ']')
	}
	var entries []walEntry
	if err := json.Unmarshal(text, &entries); err != nil {
		return err
	}
	for _, e := range entries {
		if err := s.loadEntry(e, prepare); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) loadEntry(e walEntry, prepare func(schema.GroupResource)) error {
	resource := schema.GroupResource{Group: e.Group, Resource: e.Resource}
	prepare(resource)
	t := s.Table(resource)
	s.revision = max(s.revision, e.Revision)
	if e.Object == nil {
		delete(t.records, e.Key)
		return nil
	}
	r, err := t.unmarshal(e.Object)
	if err != nil {
		return fmt.Errorf("%s: %w", e.Key, err)
	}
	r.Key = e.Key
	r.setRevision(e.Revision, e.Revision)
	t.records[e.Key] = r
	return nil
}

// unmarshal is the record of what the file has.
func (t *Table) unmarshal(text []byte) (*Record, error) {
	if t.codec != nil {
		object, err := apiruntime.Decode(t.codec, text)
		if err == nil {
			object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // which items of lists do not have
		}
		return &Record{Object: object}, err
	}
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(text, &u.Object); err != nil {
		return nil, err
	}
	d, err := NewDocument(u.Object)
	return &Record{Document: d, Labels: u.GetLabels()}, err
}

// entry is what the file has of a record of a table whose objects are kept as codec writes them.
func (t *Table) entry(codec apiruntime.Codec, r *Record) (walEntry, error) {
	e := walEntry{Revision: r.revision, Group: t.resource.Group, Resource: t.resource.Resource, Key: r.Key, Object: r.last()}
	if codec == nil {
		return e, nil
	}
	var err error
	e.Object, err = apiruntime.Encode(codec, r.Object.DeepCopyObject()) // encoders note the kind in objects of Go types
	return e, err
}

// Persistent reports whether writes are kept in a file.
func (s *Store) Persistent() bool { return s.log != nil }

// KeepAs says of which type the objects of the table are.
func (t *Table) KeepAs(codec apiruntime.Codec) {
	t.Store.writing.Lock()
	defer t.Store.writing.Unlock()
	t.codec = codec
}

// join adds a change to the batch that is written next, and reports whether it is its first. It is called by the one who holds writing.
func (s *Store) join(t *Table, c Change) (b *batch, first bool, err error) {
	e := walEntry{Revision: c.Revision, Group: t.resource.Group, Resource: t.resource.Resource, Key: c.Key}
	if c.Current != nil {
		e, err = t.entry(t.codec, c.Current)
	}
	if err != nil {
		return nil, false, err
	}
	if first = s.log.open == nil; first {
		s.log.open = &batch{done: make(chan struct{})}
	}
	b = s.log.open
	b.changes, b.entries = append(b.changes, tableChange{t, c}), append(b.entries, e)
	s.decided, t.underway[c.Key] = c.Revision, b
	return b, first, nil
}

// keep makes the changes of a batch last, and then does them. It is called by the first of them. Those that come while the batch before
// is written join it.
func (s *Store) keep(b *batch) {
	s.log.syncing.Lock()
	defer s.log.syncing.Unlock()
	s.writing.Lock()
	s.log.open = nil
	s.writing.Unlock()
	b.err = s.log.keep(s, b.entries)
	s.writing.Lock()
	defer s.writing.Unlock()
	for _, c := range b.changes {
		if b.err == nil {
			s.do(c.Table, c.Change)
		}
		delete(c.underway, c.Key)
	}
	close(b.done)
}

func (l *wal) keep(s *Store, entries []walEntry) error {
	var document any = entries
	if len(entries) == 1 {
		document = entries[0]
	}
	line, err := walLine(document)
	if err != nil {
		return err
	}
	if l.size > 2*l.used+walSlack {
		if err := l.rewrite(s); err != nil {
			l.used = l.size // the old file is as good; the next attempt is when it has grown as much again
		}
	}
	return l.append(line)
}

// append returns when a line is on the disk.
func (l *wal) append(line []byte) error {
	if l.failed != nil {
		return l.failed
	}
	if _, err := l.file.Write(line); err != nil {
		if cut := l.file.Truncate(l.size); cut != nil {
			l.failed = fmt.Errorf("%w; no more is written: %w", err, cut)
		}
		return err
	}
	if err := l.file.Sync(); err != nil {
		l.failed = fmt.Errorf("%w; no more is written", err)
		return l.failed
	}
	l.size += int64(len(line))
	return nil
}

// rewrite puts a file that has the objects of the store, and nothing else, in the place of the one there is.
func (l *wal) rewrite(s *Store) (err error) {
	temporary := l.path + ".tmp"
	file, err := os.OpenFile(temporary, os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close(), os.Remove(temporary))
		}
	}()
	size, err := s.writeAll(file)
	if err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := os.Rename(temporary, l.path); err != nil {
		return err
	}
	if l.file != nil {
		l.file.Close() // its content has been synced, and nobody finds it any more
	}
	l.file, l.size, l.used = file, size, size
	if err := syncFolder(filepath.Dir(l.path)); err != nil {
		l.failed = fmt.Errorf("%w; no more is written", err) // after a power failure it may be the old file that is there
	}
	return nil
}

// writeAll writes the header, and the objects that the store has now.
func (s *Store) writeAll(to io.Writer) (size int64, err error) {
	s.writing.Lock()
	s.mu.Lock()
	header := walHeader{Format: walFormat, Version: walVersion, Revision: s.revision}
	tables, codecs := map[*Table][]*Record{}, map[*Table]apiruntime.Codec{}
	for _, t := range s.tables {
		tables[t], codecs[t] = slices.Collect(maps.Values(t.records)), t.codec
	}
	s.mu.Unlock()
	s.writing.Unlock()
	out := bufio.NewWriterSize(to, 1<<16)
	write := func(document any) error {
		line, err := walLine(document)
		if err != nil {
			return err
		}
		size += int64(len(line))
		_, err = out.Write(line)
		return err
	}
	if err := write(header); err != nil {
		return 0, err
	}
	sorted := slices.SortedFunc(maps.Keys(tables), func(a, b *Table) int { return strings.Compare(a.resource.String(), b.resource.String()) })
	for _, t := range sorted {
		slices.SortFunc(tables[t], func(a, b *Record) int { return strings.Compare(a.Key, b.Key) })
		for _, r := range tables[t] {
			e, err := t.entry(codecs[t], r)
			if err != nil {
				return 0, err
			}
			if err := write(e); err != nil {
				return 0, err
			}
		}
	}
	return size, out.Flush()
}

// syncFolder makes the names in a folder last. Where folders cannot be synced there is nothing to do.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Close closes the file: no more is written.
func (s *Store) Close() error {
	if s.log == nil {
		return nil
	}
	s.log.syncing.Lock()
	defer s.log.syncing.Unlock()
	if errors.Is(s.log.failed, ErrClosed) {
		return nil
	}
	s.log.failed = ErrClosed
	return s.log.file.Close()
}

// ErrClosed is what requests to a closed server fail with, and writes that come after its log is closed.
var ErrClosed = errors.New("the API server is closed")
