package sync

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// History returns former content of a file from version control. sha256 is the hexadecimal SHA-256 of the content, as
// in PROJECT.lock. An error means that version control failed, so that it is unknown whether it has the content.
type History func(name, sha256 string) (content []byte, found bool, err error)

// Bases finds the contents that kctrl wrote to files that were edited later. They are the bases of merges. Until kctrl
// merges a file, git has this content under the path of the file. After the merge, git has the merged file, and
// .kctrl/base has the content that kctrl wrote.
type Bases struct {
	plan    *plan.Plan
	history History // nil without version control
}

// NewBases returns the bases of a project in a plan. history may be nil.
func NewBases(p *plan.Plan, history History) Bases { return Bases{p, history} }

// baseFolder contains the contents that kctrl wrote to merged files, by hash.
const baseFolder = ".kctrl/base"

// Keep plans to store the content that kctrl wrote to a merged file.
func (b Bases) Keep(content []byte) error {
	sum := sha256.Sum256(edit.Plain(content))
	name := path.Join(baseFolder, hex.EncodeToString(sum[:]))
	return b.plan.Edit(name, content)
}

// Of returns the content that kctrl wrote to a file, from .kctrl/base or version control. After a merge of branches or
// a rename, a file can have several lock entries; Of then returns the content that is closest to the current file.
func (b Bases) Of(known []project.LockEntry, ours []byte) (base []byte, found bool, err error) {
	for _, e := range known {
		text, ok, err := b.content(e)
		if err != nil {
			return nil, false, err
		}
		if ok && (!found || distance(text, edit.Plain(ours)) < distance(base, edit.Plain(ours))) {
			base, found = text, true
		}
	}
	return base, found, nil
}

func (b Bases) content(e project.LockEntry) (text []byte, found bool, err error) {
	if b.Has(e) {
		text, err := b.plan.Read(path.Join(baseFolder, e.SHA256))
		return edit.Plain(text), err == nil, err
	}
	if b.history == nil {
		return nil, false, nil
	}
	text, found, err = b.history(e.Path, e.SHA256)
	return edit.Plain(text), found, err
}

// Has reports whether .kctrl/base has the content of an entry.
func (b Bases) Has(e project.LockEntry) bool {
	text, err := b.plan.Read(path.Join(baseFolder, e.SHA256))
	return err == nil && e.IsOf(text)
}

// distance returns the number of lines that only one of the two texts contains.
func distance(a, b []byte) int {
	count := map[string]int{}
	for line := range bytes.Lines(a) {
		count[strings.TrimSpace(string(line))]++
	}
	for line := range bytes.Lines(b) {
		count[strings.TrimSpace(string(line))]--
	}
	sum := 0
	for _, n := range count {
		sum += max(n, -n)
	}
	return sum
}

// Drop plans to delete the contents to which no lock entry refers.
func (b Bases) Drop() error {
	entries, err := fs.ReadDir(b.plan.FS(), baseFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	lock := b.plan.Lock()
	used := map[string]bool{}
	for entry := range lock.All() {
		for _, e := range lock.Entries(entry.Path) {
			used[e.SHA256] = true
		}
	}
	for _, entry := range entries {
		if !used[entry.Name()] {
			err = errors.Join(err, b.plan.Delete(path.Join(baseFolder, entry.Name())))
		}
	}
	return err
}
