package transaction

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/spf13/afero"
)

// What the files of a transaction are called. Those beside their targets have the number of the process after the prefix.
const (
	prefix       = ".kctrl-"
	journalName  = prefix + "journal"
	stagedSuffix = ".new"
	backupSuffix = ".old"
)

// The lines of a journal. It says what is to be done, then that this is all, and in the end that it is done.
const (
	journalHeader = "kctrl transaction 1"
	journalBegun  = "begun"
	journalDone   = "done"
	journalUndo   = "undo" // it is not known whether the line before this one came to the disk
)

// Interrupted is what a killed command has left.
type Interrupted struct {
	// Command is what it was, such as "kctrl init".
	Command string
	// Files is how many it was about to change.
	Files int
}

// begin writes the journal. Nothing is changed before it is on disk.
func (t *transaction) begin() error {
	t.journal = journalName
	text := t.marshal()
	err := t.disk.writeNew(t.journal, text, 0o600)
	if (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) && path.IsAbs(t.entries[0].path) {
		// Who reads one folder and writes another needs no rights but there.
		if dir, ok := t.disk.existing(path.Dir(t.entries[0].path)); ok {
			t.journal = path.Join(dir, journalName)
			err = t.disk.writeNew(t.journal, text, 0o600)
		}
	}
	if err != nil {
		if info, statErr := t.disk.lstat(t.journal); errors.Is(err, fs.ErrExist) && statErr == nil {
			return InTheWay(t.journal, Describe(info)+" is in the way")
		}
		// Half a journal was made.
		return errors.Join(append([]error{writeError(t.entries[0].path, err)}, t.forget()...)...)
	}
	// The folder too: a journal whose name is lost helps nobody.
	if err := t.syncJournal(); err != nil {
		return errors.Join(append([]error{err}, t.forget()...)...)
	}
	return nil
}

// existing returns the first folder on the way up from dir that exists.
func (d disk) existing(dir string) (string, bool) {
	for ; dir != path.Dir(dir); dir = path.Dir(dir) {
		if _, err := d.Stat(dir); err == nil {
			return dir, true
		}
	}
	return "", false
}

// syncJournal makes sure that the journal and its name are on disk.
func (t *transaction) syncJournal() error {
	first := t.entries[0].path
	if err := t.disk.syncFile(t.journal, first); err != nil || runtime.GOOS == "windows" { // which has no such thing as names on disk
		return err
	}
	return t.disk.sync([]string{path.Dir(t.journal)}, []string{first})
}

// commit notes that all is done.
func (t *transaction) commit() error {
	first := t.entries[0].path // who is told of a journal would look for it in vain
	err := t.disk.appendTo(t.journal, journalDone+"\n")
	if err == nil {
		err = t.disk.syncFile(t.journal, first)
	} else {
		err = writeError(first, err)
	}
	if err != nil {
		// All is taken back now, so whoever reads the journal must not believe the line before.
		_ = t.disk.appendTo(t.journal, "\n"+journalUndo+"\n")
	}
	return err
}

func (t *transaction) marshal() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\ncommand %q\n", journalHeader, t.command)
	for _, dir := range t.folders {
		fmt.Fprintf(&b, "folder %q\n", dir)
	}
	for _, e := range t.entries {
		fmt.Fprintf(&b, "file %q %q %q %q\n", e.path, strings.TrimSuffix(path.Base(e.staged), stagedSuffix), e.before, e.after)
	}
	b.WriteString(journalBegun + "\n")
	return []byte(b.String())
}

// errBroken says that a journal is not one that this kctrl has written.
var errBroken = errors.New("not a journal of this kctrl")

// parseJournal reads a journal. Of one that was not written to the end, begun is false: nothing else has been done.
func parseJournal(d disk, name string, text []byte) (t *transaction, begun, done bool, err error) {
	t = &transaction{disk: d, journal: name}
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	lines.Buffer(nil, len(text)+1)
	complete := len(text) == 0 || text[len(text)-1] == '\n'
	for n := 0; lines.Scan(); n++ {
		line := lines.Text()
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case n == 0 && line == journalHeader:
		case n == 0 && !complete && strings.HasPrefix(journalHeader, line):
		case n == 0:
			return nil, false, false, errBroken
		case begun:
			done = line == journalDone
		case line == journalBegun:
			begun = true
		default:
			// Of a journal that is cut off only the end is damaged, and nothing of it is needed.
			if err := t.unmarshalLine(word, rest); err != nil && complete {
				return nil, false, false, err
			}
		}
	}
	return t, begun, done, nil
}

func (t *transaction) unmarshalLine(word, rest string) error {
	var fields []string
	for rest != "" {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return errBroken
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return errBroken
		}
		fields, rest = append(fields, value), strings.TrimPrefix(rest[len(quoted):], " ")
	}
	switch {
	case word == "command" && len(fields) == 1:
		t.command = fields[0]
	case word == "folder" && len(fields) == 1 && isTarget(fields[0]):
		t.folders = append(t.folders, fields[0])
	case word == "file" && len(fields) == 4 && isTarget(fields[0]) && isTemporary(fields[1]):
		base := path.Join(path.Dir(fields[0]), fields[1])
		t.entries = append(t.entries, entry{
			path: fields[0], staged: base + stagedSuffix, backup: base + backupSuffix, before: fields[2], after: fields[3],
		})
	default:
		return errBroken
	}
	return nil
}

// isTarget reports whether a transaction can have changed what has this name.
func isTarget(name string) bool {
	return name == path.Clean(name) && name != "." && (path.IsAbs(name) || fs.ValidPath(name))
}

func isTemporary(name string) bool {
	return strings.HasPrefix(name, prefix) && path.Base(name) == name && name != journalName
}

// Find returns what a killed command has left, if it has left anything half done. It changes nothing.
func Find(fsys afero.Fs, folders ...string) (Interrupted, bool, error) {
	d := disk{fsys}
	for _, name := range journals(folders) {
		t, begun, done, err := d.readJournal(name)
		if err != nil || begun && !done {
			return t.interrupted(), err == nil, err
		}
	}
	return Interrupted{}, false, nil
}

// Recover takes back what killed commands have left half done, and removes what they have left over. It reports whether
// something was taken back. It is to be called with the lock of the folder. The journals are in the folder itself, and
// may be in others, which are absolute.
func Recover(fsys afero.Fs, folders ...string) (Interrupted, bool, error) {
	d := disk{fsys}
	var interrupted Interrupted
	found := false
	for _, name := range journals(folders) {
		t, begun, done, err := d.readJournal(name)
		var errs []error
		switch {
		case err != nil:
			return interrupted, found, err
		case t == nil:
			continue
		case !begun:
			// Nothing was begun before the journal was whole.
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

func journals(folders []string) []string {
	names := []string{journalName}
	for _, dir := range folders {
		names = append(names, path.Join(dir, journalName))
	}
	return names
}

// readJournal reads a journal; no journal is a nil transaction.
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
		e.Hint = "a kctrl command was interrupted here: see what git status says, put that right, and delete " + name
		return nil, false, false, e
	}
	t.since = info.ModTime()
	return t, begun, done, nil
}

func (t *transaction) interrupted() Interrupted {
	if t == nil {
		return Interrupted{}
	}
	return Interrupted{Command: t.command, Files: len(t.entries)}
}
