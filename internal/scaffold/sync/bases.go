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

// History returns a content that a file once had, by its SHA-256 in hexadecimal, as PROJECT.lock has it: from version
// control.
type History func(name, sha256 string) ([]byte, bool)

// Bases are what edits are merged from: what kctrl wrote of files that have been edited since. Git has that under the
// path of the file until kctrl merges it; from then on it has the result, and .kctrl/base has what kctrl wrote.
type Bases struct {
	plan    *plan.Plan
	history History // nil if there is none
}

// NewBases returns the bases of a project, as a plan has it. history may be nil.
func NewBases(p *plan.Plan, history History) Bases { return Bases{p, history} }

// baseFolder has what kctrl wrote of files that are merged, by hash.
const baseFolder = ".kctrl/base"

// Keep plans that the project has what kctrl writes of a file that has become another.
func (b Bases) Keep(content []byte) error {
	sum := sha256.Sum256(edit.Plain(content))
	name := path.Join(baseFolder, hex.EncodeToString(sum[:]))
	return b.plan.Edit(name, content)
}

// Of returns what kctrl wrote of a file that the lock knows by some entries, as it is kept or as version control has
// it: of several, of branches that were merged or from before a rename, that from which the file differs least.
func (b Bases) Of(known []project.LockEntry, ours []byte) (base []byte, found bool) {
	for _, e := range known {
		text, ok := b.content(e)
		if ok && (!found || distance(text, edit.Plain(ours)) < distance(base, edit.Plain(ours))) {
			base, found = text, true
		}
	}
	return base, found
}

func (b Bases) content(e project.LockEntry) ([]byte, bool) {
	if b.Has(e) {
		text, err := b.plan.Read(path.Join(baseFolder, e.SHA256))
		return edit.Plain(text), err == nil
	}
	if b.history == nil {
		return nil, false
	}
	text, found := b.history(e.Path, e.SHA256)
	return edit.Plain(text), found
}

// Has reports whether the project has what an entry is of, and not only version control.
func (b Bases) Has(e project.LockEntry) bool {
	text, err := b.plan.Read(path.Join(baseFolder, e.SHA256))
	return err == nil && e.IsOf(text)
}

// distance is the number of lines that one of two texts has and the other has not.
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

// Drop plans that what no file is merged from any more goes away.
func (b Bases) Drop() error {
	entries, err := fs.ReadDir(b.plan.FS(), baseFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	lock, _, err := b.plan.Lock()
	if err != nil {
		return err
	}
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
