package transaction

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/spf13/afero"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// The names of the files of a transaction. In the name of a file beside its target, the process id follows the prefix.
const (
	prefix       = ".kctrl-"
	journalName  = prefix + "journal"
	stagedSuffix = ".new"
	backupSuffix = ".old"
)

// A journal begins with a line that contains a record in JSON. A second line commits the record, unless a third line
// withdraws the commit.
const (
	committed = "done\n"
	withdrawn = "\nundo\n"
)

// Interrupted describes a command that was killed while it wrote.
type Interrupted struct {
	// Command is the command that the user ran, such as "kctrl init".
	Command string
	// Files is the number of files that the command intended to change.
	Files int
}

// begin writes the journal, before the transaction changes anything.
func (t *transaction) begin() error {
	text, err := json.Marshal(t.record)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	create := func(dir string) error {
		t.journal = path.Join(dir, journalName)
		return t.write(t.journal, os.O_CREATE|os.O_EXCL, 0o600, text)
	}
	err = create(".")
	if first := t.Files[0].Path; (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) && path.IsAbs(first) {
		// A command that writes only to other directories needs no write permission in its own directory.
		dir := path.Dir(first)
		if missing := t.missingDirs(dir, map[string]bool{}); len(missing) > 0 {
			dir = path.Dir(missing[0])
		}
		err = create(dir)
	}
	if err == nil {
		return nil
	}
	if info, statErr := t.lstat(t.journal); errors.Is(err, fs.ErrExist) && statErr == nil {
		return InTheWay(t.journal, Describe(info)+" is in the way")
	}
	return errors.Join(append([]error{writeError(t.Files[0].Path, err)}, t.forget()...)...)
}

// commit records that all changes are complete.
func (t *transaction) commit() error {
	err := t.write(t.journal, os.O_APPEND, 0, []byte(committed))
	if err == nil {
		return nil
	}
	// The line may be on disk although the write returned an error.
	_ = t.write(t.journal, os.O_APPEND, 0, []byte(withdrawn))
	return writeError(t.Files[0].Path, err)
}

// forget removes the journal of a transaction that was rolled back.
func (t *transaction) forget() []error {
	err := t.remove(t.journal)
	// A read-only file system also reports an error for a missing file.
	if _, found := t.find(t.journal); err == nil || !found {
		return nil
	}
	return []error{byHand(diagnostic.AtFile(t.journal, "cannot be removed again", err))}
}

// errBroken reports a journal that this kctrl has not written.
var errBroken = errors.New("not a journal of this kctrl")

// parseJournal reads a journal. begun is false for an incomplete journal, whose transaction has not changed anything.
func parseJournal(d disk, name string, text []byte) (t *transaction, begun, done bool, err error) {
	t = &transaction{disk: d, journal: name}
	line, rest, begun := strings.Cut(string(text), "\n")
	if !begun {
		return t, false, false, nil
	}
	if json.Unmarshal([]byte(line), &t.record) != nil {
		return nil, false, false, errBroken
	}
	for _, dir := range t.Dirs {
		if !isTarget(dir) {
			return nil, false, false, errBroken
		}
	}
	for _, e := range t.Files {
		if !isTarget(e.Path) || !strings.HasPrefix(e.Temporary, prefix) || path.Base(e.Temporary) != e.Temporary {
			return nil, false, false, errBroken
		}
	}
	return t, true, rest == committed, nil
}

// isTarget reports whether a transaction may change a file or directory with this name.
func isTarget(name string) bool {
	return name == path.Clean(name) && name != "." && (path.IsAbs(name) || fs.ValidPath(name))
}

// Find returns a killed command whose changes are incomplete. It changes nothing.
func Find(fsys afero.Fs, directories ...string) (Interrupted, bool, error) {
	for _, name := range journals(directories) {
		t, begun, done, err := disk{fsys}.readJournal(name)
		if err != nil || begun && !done {
			return t.interrupted(), err == nil, err
		}
	}
	return Interrupted{}, false, nil
}

// Recover rolls back the incomplete changes of killed commands, and removes their temporary files. It returns the last
// command that it rolled back. The caller must hold the lock of the directory. Recover reads journals in the directory
// itself and in directories, which are absolute paths.
func Recover(fsys afero.Fs, directories ...string) (interrupted Interrupted, found bool, err error) {
	for _, name := range journals(directories) {
		t, begun, done, err := disk{fsys}.readJournal(name)
		var errs []error
		switch {
		case err != nil:
			return interrupted, found, err
		case t == nil:
		case !begun:
			errs = t.forget()
		case done:
			errs = t.finish()
		default:
			interrupted, found = t.interrupted(), true
			errs = t.undo()
		}
		if len(errs) > 0 {
			return interrupted, found, errors.Join(errs...)
		}
	}
	return interrupted, found, nil
}

func journals(directories []string) []string {
	names := []string{journalName}
	for _, dir := range directories {
		names = append(names, path.Join(dir, journalName))
	}
	return names
}

// readJournal reads a journal. If the journal does not exist, t is nil.
func (d disk) readJournal(name string) (t *transaction, begun, done bool, err error) {
	info, found := d.find(name)
	if !found {
		return nil, false, false, nil
	}
	text, err := afero.ReadFile(d, name)
	if err == nil {
		t, begun, done, err = parseJournal(d, name, text)
	}
	if err != nil {
		e := diagnostic.AtFile(name, "cannot be read", err)
		e.Hint = "a kctrl command was interrupted here: repair the changes that git status shows, and delete " + name
		return nil, false, false, e
	}
	t.since = info.ModTime()
	return t, begun, done, nil
}

func (t *transaction) interrupted() Interrupted {
	if t == nil {
		return Interrupted{}
	}
	return Interrupted{Command: t.Command, Files: len(t.Files)}
}
