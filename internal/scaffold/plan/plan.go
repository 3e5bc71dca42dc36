package plan

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"go/token"
	"io/fs"
	"iter"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/transaction"
	"github.com/spf13/afero"
)

// defaultMode is the mode of created files, before the umask.
const defaultMode fs.FileMode = 0o644

// Plan has the planned changes of a project's files. Building it only reads files; [Plan.Apply] writes the changes.
//
// A plan includes the change of PROJECT.lock that its other changes cause.
type Plan struct {
	fsys fs.FS
	// files has the files whose content the plan has determined, by path. Some of them may be unchanged.
	files map[string]*planned
	// lock is nil until it is first used. Apply does not write it if unlocked is set.
	lock     *project.Lock
	unlocked bool
	// lockFile is PROJECT.lock on disk, and lockText its content as project.Lock.Marshal writes it.
	lockFile planned
	lockText []byte
	// notes are findings for the user that do not prevent an Apply.
	notes []*diagnostic.Error
}

// planned is one file: its state on disk and its planned content.
type planned struct {
	exists   bool        // on disk
	before   []byte      // content on disk, nil iff it does not exist
	after    []byte      // planned content, nil iff the file should not exist
	mode     fs.FileMode // current permissions, or the permissions of a new file
	template string
	from     string // path on disk of a file that Move has moved here, or ""
}

// New returns an empty plan for the project in fsys. It never writes to fsys.
func New(fsys fs.FS) *Plan {
	return &Plan{fsys: fsys, files: map[string]*planned{}}
}

// NewWithoutLock returns an empty plan for a directory that is not a kctrl project. Unlike a plan from [New], it
// records no files in PROJECT.lock and treats PROJECT.lock as an ordinary file.
func NewWithoutLock(fsys fs.FS) *Plan {
	return &Plan{fsys: fsys, files: map[string]*planned{}, lock: &project.Lock{}, unlocked: true}
}

// Clone returns a copy of the plan, on which the caller can try further changes.
func (p *Plan) Clone() *Plan {
	c := *p
	c.files, c.notes = maps.Clone(p.files), slices.Clip(p.notes)
	if p.lock != nil {
		c.lock = p.lock.Clone()
	}
	return &c
}

// Write plans a [Shared] file; see [Plan.WriteFile].
func (p *Plan) Write(path string, content []byte, template string) error {
	return p.WriteFile(File{Path: path, Content: content, Template: template})
}

// WriteFile plans the content of a file, if the file's owner allows it. If the content is unchanged, it only records
// the file in the lock. It keeps a byte order mark, and CRLF if all lines of the file end in it. A later call for the
// same path replaces the planned content. WriteFile returns a *diagnostic.Error, and leaves the plan unchanged, for a
// path outside the project, a directory at the path, an edited file that the owner protects, and a broken lock.
func (p *Plan) WriteFile(f File) error {
	state, err := p.load(f.Path)
	if err != nil {
		return err
	}
	f.Content = endedAs(state.after, f.Content)
	switch {
	case state.after == nil || f.Force || f.Owner == Generated && p.isGenerated(f.Path, state.after):
	case f.Owner == User:
		return nil
	case p.lock.Touched(f.Path, state.after) && !bytes.Equal(state.after, f.Content):
		return p.protected(f.Path)
	}
	p.lock.Record(f.Path, f.Content, f.Template)
	if f.Template != "" {
		state.template = f.Template
	}
	p.put(f.Path, state, f.Content)
	return nil
}

// Edit plans content that the caller derived from the result of [Plan.Read]. It does not change the owner of the file.
// It returns the errors of WriteFile.
func (p *Plan) Edit(path string, content []byte) error {
	state, err := p.load(path)
	if err != nil {
		return err
	}
	content = endedAs(state.after, content)
	if state.after == nil || !p.lock.Touched(path, state.after) {
		p.lock.Record(path, content, "")
	}
	p.put(path, state, content)
	return nil
}

// Move plans a new path for a file and keeps its permissions and lock entries. It returns the errors of WriteFile.
func (p *Plan) Move(from, to string) error {
	state, err := p.load(from)
	if err != nil {
		return err
	}
	target, err := p.load(to)
	if err != nil {
		return err
	}
	known := p.lock.Entries(from)
	if err := p.Delete(from); err != nil {
		return err
	}
	p.lock.Forget(to)
	for _, e := range known {
		e.Path = to
		p.lock.Add(e)
	}
	if !target.exists {
		target.mode = state.mode
	}
	target.template = state.template
	target.from = cmp.Or(state.from, from)
	p.put(to, target, state.after)
	return nil
}

// Origin returns the path on disk of a file that the plan moves to the given path. For other files, it returns the path
// unchanged.
func (p *Plan) Origin(path string) string {
	if f := p.files[path]; f != nil && f.from != "" {
		return f.from
	}
	return path
}

func (p *Plan) put(path string, state planned, content []byte) {
	state.after = nonNil(content)
	p.files[path] = &state
}

// Delete plans to delete a file, the directories that become empty, and the file's lock entries.
func (p *Plan) Delete(path string) error {
	state, err := p.load(path)
	if err != nil {
		return err
	}
	entry, _ := p.lock.Entry(path)
	p.lock.Forget(path)
	state.after, state.template = nil, entry.Template
	p.files[path] = &state
	return nil
}

// Read returns the planned content of a file. The caller must not modify it. Read returns fs.ErrNotExist for a file
// that does not exist or that the plan deletes.
func (p *Plan) Read(path string) ([]byte, error) {
	text, err := p.ReadIfExists(path)
	if err == nil && text == nil {
		err = &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return text, err
}

// ReadIfExists is [Plan.Read], but returns nil for a missing file.
func (p *Plan) ReadIfExists(path string) ([]byte, error) {
	state, err := p.load(path)
	return state.after, err
}

// FS returns the project on disk.
func (p *Plan) FS() fs.FS { return p.fsys }

// Lock returns the lock as the plan will write it. The caller may add entries. A broken lock has no entries; methods
// that read or plan files return the error.
func (p *Plan) Lock() *project.Lock {
	if p.loadLock() != nil {
		return &project.Lock{}
	}
	return p.lock
}

// HasLock reports whether the lock exists on disk. For a broken lock, it returns a *diagnostic.Error.
func (p *Plan) HasLock() (bool, error) {
	err := p.loadLock()
	return p.lockFile.exists, err
}

// Lookup returns the change of a file. Op is zero if the file is unchanged or missing. Lookup returns the errors of
// [Plan.WriteFile].
func (p *Plan) Lookup(path string) (Change, error) {
	state, err := p.load(path)
	if err != nil {
		return Change{}, err
	}
	c, _ := state.change(path)
	return c, nil
}

// Files returns the changes of all files for which the plan has decided the content, ordered by path. Op is zero for an
// unchanged file.
func (p *Plan) Files() iter.Seq[Change] {
	return func(yield func(Change) bool) {
		for _, path := range slices.Sorted(maps.Keys(p.files)) {
			if c, _ := p.files[path].change(path); !yield(c) {
				return
			}
		}
	}
}

// Notes returns the findings for the user, in the order in which they were added.
func (p *Plan) Notes() []*diagnostic.Error { return p.notes }

// Note adds findings for the user. They do not prevent an Apply.
func (p *Plan) Note(notes ...*diagnostic.Error) { p.notes = append(p.notes, notes...) }

// Changes returns the changes ordered by path, including the change of PROJECT.lock.
func (p *Plan) Changes() iter.Seq[Change] {
	return slices.Values(p.changes(false))
}

// Len returns the number of changes.
func (p *Plan) Len() int { return len(p.changes(false)) }

// Apply writes either all changes of the plan to the project in fsys, or none, as [transaction.Apply] does. command is
// the command that the user ran, such as "kctrl init".
//
// An error is a *diagnostic.Error about a file, or the cause of ctx if ctx ends. If a file has changed since the plan
// was made, Apply returns an error, and the caller must make the plan again.
func (p *Plan) Apply(ctx context.Context, fsys afero.Fs, command string) error {
	var changes []transaction.Change
	for _, c := range p.changes(true) {
		changes = append(changes, transaction.Change{Path: c.Path, Before: c.Before, After: c.After, Mode: c.Mode})
	}
	return transaction.Apply(ctx, fsys, command, 0o755, changes)
}

// Overlay returns the new content of created and updated files by absolute path under root, as go/packages expects it.
// It omits deleted files.
func (p *Plan) Overlay(root string) map[string][]byte {
	overlay := map[string][]byte{}
	for _, c := range p.changes(false) {
		if c.Op != Delete {
			overlay[filepath.Join(root, filepath.FromSlash(c.Path))] = c.After
		}
	}
	return overlay
}

// changes returns the changes ordered by path, with the change of PROJECT.lock. If spelling is set, it also returns a
// change that affects only the format, which a lock in the first format or a merged lock needs. It
// ignores a change of only the first line, whose text depends on the version of kctrl.
func (p *Plan) changes(spelling bool) []Change {
	var changes []Change
	for c := range p.Files() {
		if c.Op != 0 {
			changes = append(changes, c)
		}
	}
	if p.lock == nil || p.unlocked {
		return changes
	}
	state := p.lockFile
	state.after = p.lock.Marshal()
	c, changed := state.change(project.LockFile)
	spelling = spelling && state.exists && !bytes.Equal(linesAfterFirst(state.before), linesAfterFirst(state.after))
	if !changed || bytes.Equal(state.after, p.lockText) && !spelling {
		return changes
	}
	at, _ := slices.BinarySearchFunc(changes, c.Path, func(c Change, path string) int {
		return strings.Compare(c.Path, path)
	})
	return slices.Insert(changes, at, c)
}

func linesAfterFirst(text []byte) []byte {
	_, lines, _ := bytes.Cut(text, []byte("\n"))
	return lines
}

func (s *planned) change(path string) (Change, bool) {
	c := Change{Path: path, Before: s.before, After: s.after, Mode: s.mode, Template: s.template}
	switch {
	case s.exists && s.after == nil:
		c.Op = Delete
	case !s.exists && s.after != nil:
		c.Op = Create
	case !bytes.Equal(s.before, s.after):
		c.Op = Update
	default:
		return c, false
	}
	return c, true
}

// load returns the state of a file. It reads the file from disk on the first call for the path. The caller owns the
// result.
func (p *Plan) load(path string) (planned, error) {
	if err := p.loadLock(); err != nil {
		return planned{}, err
	}
	if err := project.CheckPath(path); err != nil {
		return planned{}, err
	}
	if path == project.LockFile && !p.unlocked {
		return planned{}, &diagnostic.Error{Pos: token.Position{Filename: path}, Message: "is written by every plan itself"}
	}
	if state, ok := p.files[path]; ok {
		return *state, nil
	}
	return readPlanned(p.fsys, path)
}

func (p *Plan) loadLock() error {
	if p.lock != nil {
		return nil
	}
	state, err := readPlanned(p.fsys, project.LockFile)
	if err != nil {
		return err
	}
	lock, text := &project.Lock{}, (&project.Lock{}).Marshal()
	if state.exists {
		if lock, err = project.ParseLock(state.before); err != nil {
			return err
		}
		text = lock.Marshal()
	}
	p.lock, p.lockFile, p.lockText = lock, state, text
	return nil
}

// readPlanned returns the state of a file that does not change.
func readPlanned(fsys fs.FS, path string) (planned, error) {
	info, err := fs.Stat(fsys, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return planned{mode: defaultMode}, nil
	case err != nil:
		return planned{}, diagnostic.AtFile(path, "cannot read", err)
	case !info.Mode().IsRegular():
		return planned{}, transaction.InTheWay(path, info)
	}
	content, err := fs.ReadFile(fsys, path)
	if err != nil {
		return planned{}, diagnostic.AtFile(path, "cannot read", err)
	}
	content = nonNil(content)
	return planned{exists: true, before: content, after: content, mode: info.Mode().Perm()}, nil
}

// endedAs returns content with CRLF line ends if all lines of file have them, and with a byte order mark if file has
// one.
func endedAs(file, content []byte) []byte {
	if lines := bytes.Count(file, []byte("\n")); lines > 0 && bytes.Count(file, []byte("\r\n")) >= lines {
		plain := bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
		content = bytes.ReplaceAll(plain, []byte("\n"), []byte("\r\n"))
	}
	mark := []byte("\ufeff")
	if bytes.HasPrefix(file, mark) && !bytes.HasPrefix(content, mark) {
		content = slices.Concat(mark, content)
	}
	return content
}

const forceHint = "move it away, or add --force to overwrite it"

// WithoutForce returns the error of a command whose flag --force does not overwrite files, without hints at this flag.
func WithoutForce(err error) error {
	errs := diagnostic.All(err)
	for _, single := range errs {
		if e, ok := errors.AsType[*diagnostic.Error](single); ok && e.Hint == forceHint {
			e.Hint = "move it away, then run the command again"
		}
	}
	return errors.Join(errs...)
}

// isGenerated reports whether kctrl wrote a file, or the Go file has the header of generated code.
func (p *Plan) isGenerated(path string, content []byte) bool {
	_, known := p.lock.Entry(path)
	return known || strings.HasSuffix(path, ".go") && generatedHeader.Match(content)
}

var generatedHeader = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.\r?$`)

func (p *Plan) protected(path string) error {
	message := "has been edited since kctrl wrote it"
	if _, known := p.lock.Entry(path); !known {
		message = "exists and was not written by kctrl"
	}
	return diagnostic.In(path, message, forceHint)
}

// nonNil returns an empty slice for nil, because nil means a missing file.
func nonNil(content []byte) []byte {
	if content == nil {
		return []byte{}
	}
	return content
}

// InOrder runs the steps in order and stops at the first error.
func InOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
