package scaffold

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"iter"
	"maps"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"go.yaml.in/yaml/v3"
)

// LockFile is the path of the lock.
const LockFile = "PROJECT.lock"

// lockVersion is the only version of the lock's format.
const lockVersion = "kctrl/v1"

const lockHeader = "# Written by kctrl: the files it wrote, so that it can tell which of them were edited since. Commit it.\n"

// LockEntry is what the lock knows of one file.
type LockEntry struct {
	Path string `yaml:"path"`
	// SHA256 is the hash of the content that kctrl last wrote, in hexadecimal.
	SHA256 string `yaml:"sha256"`
	// Template names where that content came from.
	Template string `yaml:"template"`
}

// Lock records the files that kctrl wrote. The zero value is empty and ready to use.
type Lock struct {
	entries map[string]LockEntry // by path
	text    []byte               // what Marshal returned; nil after a change
}

// LoadLock reads PROJECT.lock. A project without one has an empty lock. A broken lock is a *diagnostic.Error.
func LoadLock(fsys fs.FS) (*Lock, error) {
	data, err := fs.ReadFile(fsys, LockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return &Lock{}, nil
	}
	if err != nil {
		return nil, fileError(LockFile, "cannot read", err)
	}
	return parseLock(data)
}

// Entry returns what the lock knows of a path.
func (l *Lock) Entry(path string) (LockEntry, bool) {
	e, ok := l.entries[path]
	return e, ok
}

// All returns the entries ordered by path.
func (l *Lock) All() iter.Seq[LockEntry] {
	return func(yield func(LockEntry) bool) {
		for _, path := range slices.Sorted(maps.Keys(l.entries)) {
			if !yield(l.entries[path]) {
				return
			}
		}
	}
}

// Touched reports whether content differs from what kctrl last wrote to path. A file that is not in the lock was never
// kctrl's: it is touched.
func (l *Lock) Touched(path string, content []byte) bool {
	e, ok := l.entries[path]
	return !ok || e.SHA256 != hash(content)
}

// Marshal returns the text of PROJECT.lock, ordered by path. The caller must not modify it.
func (l *Lock) Marshal() []byte {
	if l.text != nil {
		return l.text
	}
	out := bytes.NewBufferString(lockHeader)
	fmt.Fprintf(out, "version: %s\nfiles:\n", lockVersion)
	for e := range l.All() {
		fmt.Fprintf(out, "- path: %s\n  sha256: %s\n  template: %s\n", scalarText(e.Path), e.SHA256, scalarText(e.Template))
	}
	l.text = out.Bytes()
	return l.text
}

// record notes that kctrl wrote content to path. An empty template updates an entry but makes none.
func (l *Lock) record(path string, content []byte, template string) {
	old, ok := l.entries[path]
	if template == "" {
		template = old.Template
	}
	if !ok && template == "" {
		return
	}
	if l.entries == nil {
		l.entries = map[string]LockEntry{}
	}
	entry := LockEntry{Path: path, SHA256: hash(content), Template: template}
	if !ok || entry != old {
		l.entries[path], l.text = entry, nil
	}
}

func (l *Lock) forget(path string) {
	if _, ok := l.entries[path]; ok {
		delete(l.entries, path)
		l.text = nil
	}
}

type lockDocument struct {
	Version string      `yaml:"version"`
	Files   []LockEntry `yaml:"files"`
}

func parseLock(data []byte) (*Lock, error) {
	if lock, ok := parsePlainLock(data); ok {
		return lock, nil
	}
	broken := func(pos token.Position, message string, cause error) error {
		return &diagnostic.Error{
			Pos:     pos,
			Message: message,
			Hint:    "restore " + LockFile + " from version control, or delete it: kctrl then takes every file for edited",
			Cause:   cause,
		}
	}
	var doc lockDocument
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&doc); err != nil {
		return nil, broken(yamlPosition(LockFile, err), yamlMessage(err), err)
	}
	at := token.Position{Filename: LockFile}
	if doc.Version != lockVersion {
		return nil, broken(at, fmt.Sprintf("version %q is not supported, only %q", doc.Version, lockVersion), nil)
	}
	lock := &Lock{entries: map[string]LockEntry{}}
	for _, e := range doc.Files {
		if sum, err := hex.DecodeString(e.SHA256); err != nil || len(sum) != sha256.Size || checkPath(e.Path) != nil {
			return nil, broken(at, fmt.Sprintf("the entry of %q is broken", e.Path), nil)
		}
		if _, twice := lock.entries[e.Path]; twice {
			return nil, broken(at, fmt.Sprintf("%q is listed twice", e.Path), nil)
		}
		lock.entries[e.Path] = e
	}
	return lock, nil
}

func hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
