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

// wal is the write-ahead log of a store: a file to which each write is appended and synced before it becomes visible.
// However the process or the machine ends, the file contains all acknowledged writes, and possibly some of the writes
// in progress.
//
// Each line is the CRC-32C of a JSON document, a space and the document. The first line is a walHeader. Each other line
// is a walEntry, or a list of entries whose writes arrived while the disk was busy with the previous line and which
// share one sync. The entries are in the order of the writes. From time to time, a new file without superseded entries
// replaces the file.
type wal struct {
	open *batch // the batch that a write can join; nil if none waits; guarded by the store's writing

	// syncing is held while a batch is written, and is acquired before writing. It guards the fields below.
	syncing sync.Mutex

	path string
	file *os.File // opened for appending
	size int64
	used int64 // size of the file if superseded entries are not counted
	// failed is the reason why no further write is possible: it is unknown whether the file contains the last write.
	failed error
}

const (
	walFormat  = "kctrl API server"
	walVersion = 2 // version 1 had no lists of entries
	// walSlack is the size that superseded entries may have in addition to the size of the current entries.
	walSlack = 4 << 20
)

type walHeader struct {
	Format   string `json:"format"`
	Version  int    `json:"version"`
	Revision int64  `json:"revision"` // revision of the last write that was dropped from the file
}

// walEntry is a write. A walEntry without an object is a deletion.
type walEntry struct {
	Revision int64           `json:"revision"`
	Group    string          `json:"group,omitempty"`
	Resource string          `json:"resource"`
	Key      string          `json:"key"`
	Object   json.RawMessage `json:"object,omitempty"`
}

// batch is a group of writes that are persisted together or not at all.
type batch struct {
	changes []tableChange
	entries []walEntry
	err     error         // why the writes are not persisted; set before done is closed
	done    chan struct{} // closed when the writes are complete or have failed
}

type tableChange struct {
	*Table
	Change
}

// LineError is the reason why a line of a file cannot be read, or the whole file if Line is 0.
type LineError struct {
	Line   int
	Offset int64 // offset of the line in the file
	Err    error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

func (e *LineError) Unwrap() error { return e.Err }

var errForeign = errors.New("this is not a file of objects of kctrl's API server")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func walLine(document any) ([]byte, error) {
	text, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(text, castagnoli), text), nil
}

// walText returns the document in a line, without the line end.
func walText(line []byte) ([]byte, error) {
	sum, text, ok := bytes.Cut(line, []byte(" "))
	if !ok || string(sum) != fmt.Sprintf("%08x", crc32.Checksum(text, castagnoli)) {
		return nil, errors.New("the line is damaged: it is not what its checksum is of")
	}
	return text, nil
}

// Open reads the file at path into an empty store, and makes the store persist its writes in that file. It creates the
// file if it is missing. Before it reads the objects, it calls prepare for each resource in the file. If the file
// cannot be read, Open returns a [*LineError] and leaves the file unchanged.
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
			return nil // without a line end, the rest is a write that was not acknowledged
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

// torn reports whether a line is the last one and belongs to a write that a power failure interrupted. In this case the
// disk has allocated some blocks of the line without writing them.
func torn(line []byte, rest *bufio.Reader) bool {
	_, err := rest.ReadByte()
	return errors.Is(err, io.EOF) && bytes.IndexByte(line, 0) >= 0
}

// plain returns a file system error without the path.
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
			return fmt.Errorf("a newer kctrl wrote it, in version %d of the format: this one knows version %d", header.Version,
				walVersion)
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
	r.setRevision(e.Revision)
	t.records[e.Key] = r
	return nil
}

// unmarshal returns the record of an object that was read from the file.
func (t *Table) unmarshal(text []byte) (*Record, error) {
	if t.codec != nil {
		object, err := apiruntime.Decode(t.codec, text)
		if err == nil {
			object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // items of lists have no kind
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

// entry returns the log entry of a record. codec encodes objects of Go types.
func (t *Table) entry(codec apiruntime.Codec, r *Record) (walEntry, error) {
	e := walEntry{Revision: r.Revision, Group: t.resource.Group, Resource: t.resource.Resource, Key: r.Key,
		Object: r.last()}
	if codec == nil {
		return e, nil
	}
	var err error
	e.Object, err = apiruntime.Encode(codec, r.Object.DeepCopyObject()) // encoders set the kind in objects of Go types
	return e, err
}

// Persistent reports whether the store persists its writes.
func (s *Store) Persistent() bool { return s.log != nil }

// KeepAs sets the codec with which the log encodes the objects of the table.
func (t *Table) KeepAs(codec apiruntime.Codec) {
	t.Store.writing.Lock()
	defer t.Store.writing.Unlock()
	t.codec = codec
}

// join adds a change to the next batch, and reports whether it is the first change of the batch. The caller holds
// writing.
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

// keep persists the changes of a batch and then applies them. The first change of the batch calls it. Changes that
// arrive while the previous batch is being written join the batch.
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
			l.used = l.size // the old file stays valid, and the next attempt follows when it has grown by the same size again
		}
	}
	return l.append(line)
}

// append writes a line and syncs it to the disk.
func (l *wal) append(line []byte) error {
	if l.failed != nil {
		return l.failed
	}
	if _, err := l.file.Write(line); err != nil {
		if cut := l.file.Truncate(l.size); cut != nil {
			l.failed = fmt.Errorf("%w; further writes fail: %w", err, cut)
		}
		return err
	}
	if err := l.file.Sync(); err != nil {
		l.failed = fmt.Errorf("%w; further writes fail", err)
		return l.failed
	}
	l.size += int64(len(line))
	return nil
}

// rewrite replaces the file with one that contains only the current objects.
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
		l.file.Close() // its content is synced, and no name refers to the file any more
	}
	l.file, l.size, l.used = file, size, size
	if err := syncDir(filepath.Dir(l.path)); err != nil {
		l.failed = fmt.Errorf("%w; further writes fail", err) // after a power failure, the name may refer to the old file
	}
	return nil
}

// writeAll writes the header and the current objects of the store to a file.
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
	sorted := slices.SortedFunc(maps.Keys(tables),
		func(a, b *Table) int { return strings.Compare(a.resource.String(), b.resource.String()) })
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

// syncDir syncs the entries of a directory to the disk. It does nothing on systems that do not support this.
func syncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Close closes the file. Later writes fail.
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

// ErrClosed is returned for requests to a closed server, and for writes after the log is closed.
var ErrClosed = errors.New("the API server is closed")
