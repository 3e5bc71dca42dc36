package project

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"go.yaml.in/yaml/v3"
)

// LockFile is the path of the lock.
const LockFile = "PROJECT.lock"

// The first line of a lock has its name and format version. Each further line describes a file by path, hash and
// template, separated by tabs. The lines are sorted.
const (
	lockTitle   = "# " + LockFile + " "
	lockVersion = "kctrl/v2"
	lockHeader  = lockTitle + lockVersion + ": the files that kctrl wrote, to detect later edits. Commit it.\n"
)

// LockEntry describes one file that kctrl wrote.
type LockEntry struct {
	Path string `yaml:"path"`
	// SHA256 is the hash of the content that kctrl last wrote, in hexadecimal.
	SHA256 string `yaml:"sha256"`
	// Template identifies the source of that content.
	Template string `yaml:"template"`
}

func (e LockEntry) compare(other LockEntry) int {
	return cmp.Or(cmp.Compare(e.Path, other.Path), cmp.Compare(e.SHA256, other.SHA256),
		cmp.Compare(e.Template, other.Template))
}

// Lock records the files that kctrl wrote. The zero value is empty and ready to use.
type Lock struct {
	// entries are sorted. A path has several entries after a merge of branches that both wrote the file.
	entries map[string][]LockEntry
	text    []byte // what Marshal returned; nil after a change
}

// LoadLock reads PROJECT.lock. A project without one has an empty lock. A broken lock is a *diagnostic.Error.
func LoadLock(fsys fs.FS) (*Lock, error) {
	data, err := fs.ReadFile(fsys, LockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return &Lock{}, nil
	}
	if err != nil {
		return nil, diagnostic.AtFile(LockFile, "cannot read", err)
	}
	return ParseLock(data)
}

// Entry returns the first entry of a path.
func (l *Lock) Entry(path string) (LockEntry, bool) {
	known := l.entries[path]
	if len(known) == 0 {
		return LockEntry{}, false
	}
	return known[0], true
}

// All returns an entry for each path, ordered by path.
func (l *Lock) All() iter.Seq[LockEntry] {
	return func(yield func(LockEntry) bool) {
		for _, path := range slices.Sorted(maps.Keys(l.entries)) {
			if !yield(l.entries[path][0]) {
				return
			}
		}
	}
}

// Touched reports whether content differs from what kctrl last wrote to path, on every merged branch. A file without an
// entry counts as touched, because kctrl did not write it.
func (l *Lock) Touched(path string, content []byte) bool {
	sum := hash(content)
	return !slices.ContainsFunc(l.entries[path], func(e LockEntry) bool { return e.SHA256 == sum })
}

// Marshal returns the text of PROJECT.lock, ordered by path. The caller must not modify it.
func (l *Lock) Marshal() []byte {
	if l.text != nil {
		return l.text
	}
	out := bytes.NewBufferString(lockHeader)
	for _, path := range slices.Sorted(maps.Keys(l.entries)) {
		for _, e := range l.entries[path] {
			fmt.Fprintf(out, "%s\t%s\t%s\n", e.Path, e.SHA256, e.Template)
		}
	}
	l.text = out.Bytes()
	return l.text
}

// Record records that kctrl wrote content to path. If template is empty, it updates an existing entry but does not add
// one.
func (l *Lock) Record(path string, content []byte, template string) {
	old, ok := l.Entry(path)
	if template == "" {
		template = old.Template
	}
	if !ok && template == "" {
		return
	}
	entry := LockEntry{Path: path, SHA256: hash(content), Template: template}
	if entry == old && len(l.entries[path]) == 1 {
		return
	}
	l.Forget(path)
	l.Add(entry)
}

// Offer adds an entry for content that kctrl would have written to path if it had not kept the current file. Afterwards
// neither of the two contents counts as touched. Existing entries stay.
func (l *Lock) Offer(path string, content []byte, template string) {
	l.Add(LockEntry{Path: path, SHA256: hash(content), Template: template})
}

// Entries returns all entries of a path, ordered by hash. The caller may modify the result.
func (l *Lock) Entries(path string) []LockEntry { return slices.Clone(l.entries[path]) }

// IsOf reports whether an entry has the hash of content.
func (e LockEntry) IsOf(content []byte) bool { return e.SHA256 == hash(content) }

// Add adds an entry to the entries of its path.
func (l *Lock) Add(e LockEntry) {
	if l.entries == nil {
		l.entries = map[string][]LockEntry{}
	}
	known := l.entries[e.Path]
	at, found := slices.BinarySearchFunc(known, e, LockEntry.compare)
	if !found {
		l.entries[e.Path], l.text = slices.Insert(known, at, e), nil
	}
}

// Clone returns a copy of the lock.
func (l *Lock) Clone() *Lock {
	c := &Lock{entries: map[string][]LockEntry{}, text: l.text}
	for path, known := range l.entries {
		c.entries[path] = slices.Clone(known)
	}
	return c
}

// Forget removes all entries of a path.
func (l *Lock) Forget(path string) {
	if _, ok := l.entries[path]; ok {
		delete(l.entries, path)
		l.text = nil
	}
}

// ParseLock reads a lock in the current format, or in the first format, which was YAML. It accepts duplicate lines and
// lines between conflict markers, because each describes content that kctrl wrote on one of the branches.
func ParseLock(data []byte) (*Lock, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some Windows editors add a byte order mark
	if !bytes.HasPrefix(data, []byte(lockTitle)) && !bytes.Contains(data, []byte("\n"+lockTitle)) {
		return parseYAMLLock(data)
	}
	lock := &Lock{}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimRight(line, "\r\n")
		fields := strings.Split(line, "\t")
		switch {
		case line == "", isConflictMarker(line):
		case len(fields) == 1 && strings.HasPrefix(line, lockTitle):
			if version, _, _ := strings.Cut(line[len(lockTitle):], ":"); version != lockVersion {
				return nil, lockError(n, fmt.Sprintf("version %q is not supported, only %q", version, lockVersion), nil)
			}
		case len(fields) != 3:
			return nil, lockError(n, "want a path, a hash and a template with tabs between them", nil)
		case !isHash(fields[1]) || fields[2] == "" || strings.ContainsFunc(fields[2], unicode.IsControl) ||
			CheckPath(fields[0]) != nil:
			return nil, lockError(n, fmt.Sprintf("the entry of %q is broken", fields[0]), nil)
		default:
			lock.Add(LockEntry{fields[0], fields[1], fields[2]})
		}
	}
	return lock, nil
}

// isConflictMarker reports whether a line is one of git's conflict markers.
func isConflictMarker(line string) bool {
	return line == "=======" || slices.ContainsFunc([]string{"<<<<<<< ", "||||||| ", ">>>>>>> "},
		func(prefix string) bool {
			return strings.HasPrefix(line, prefix)
		})
}

// yamlLock is a lock in its first format.
type yamlLock struct {
	Version string      `yaml:"version"`
	Files   []LockEntry `yaml:"files"`
}

const yamlLockVersion = "kctrl/v1"

func parseYAMLLock(data []byte) (*Lock, error) {
	var doc yamlLock
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&doc); err != nil {
		return nil, diagnostic.YAML(LockFile, data, err, lockRemedy)
	}
	if doc.Version != yamlLockVersion {
		return nil, lockError(0, fmt.Sprintf("version %q is not supported, only %q", doc.Version, lockVersion), nil)
	}
	lock := &Lock{}
	for _, e := range doc.Files {
		if !isHash(e.SHA256) || CheckPath(e.Path) != nil || e.Template == "" ||
			strings.ContainsFunc(e.Template, unicode.IsControl) {
			return nil, lockError(0, fmt.Sprintf("the entry of %q is broken", e.Path), nil)
		}
		if _, twice := lock.Entry(e.Path); twice {
			return nil, lockError(0, fmt.Sprintf("%q is listed twice", e.Path), nil)
		}
		lock.Add(e)
	}
	return lock, nil
}

// lockRemedy is the hint for an unreadable lock.
const lockRemedy = "restore " + LockFile + " from version control, or delete it: kctrl then creates it again"

func lockError(line int, message string, cause error) error {
	return &diagnostic.Error{
		Pos:     token.Position{Filename: LockFile, Line: line},
		Message: message,
		Hint:    lockRemedy,
		Cause:   cause,
	}
}

// hash returns the hash of plain content: if git checks out a file with CRLF, or an editor adds a byte order mark, the
// file does not count as edited.
func hash(content []byte) string {
	sum := sha256.Sum256(edit.Plain(content))
	return hex.EncodeToString(sum[:])
}

func isHash(text string) bool {
	return len(text) == 64 && strings.Trim(text, "0123456789abcdef") == ""
}

// CheckPath rejects paths that are not plain relative paths, and paths into a .git directory.
func CheckPath(name string) error {
	reason, hint := "", "use only letters, digits, dots and dashes"
	switch {
	case name == "." || !fs.ValidPath(name):
		reason, hint = "not a relative path inside the project", "use a relative path below the directory of the project"
	case strings.ContainsRune(name, '\\') || strings.ContainsFunc(name, unicode.IsControl):
		reason = "a backslash or a control character in it"
	case hasGitElement(name):
		reason = "leads into a .git directory"
	}
	if reason == "" {
		return nil
	}
	return &diagnostic.Error{
		Message: fmt.Sprintf("cannot write %q: %s", name, reason),
		Hint:    hint,
	}
}

func hasGitElement(name string) bool {
	for {
		dir, base := path.Split(name)
		if strings.EqualFold(strings.TrimRight(base, ". "), ".git") {
			return true
		}
		if dir == "" {
			return false
		}
		name = strings.TrimSuffix(dir, "/")
	}
}
