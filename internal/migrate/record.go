package migrate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// recordDir has a record for each run of a step. The order of their names is the order of the runs.
const recordDir = ".kctrl/migrate"

// The steps of a migration.
const (
	stepModules = "modules"
	stepCode    = "code"
)

// record contains what one run of a step changed. Undo restores the files from it.
type record struct {
	Step  string       `json:"step"`
	Files []recordFile `json:"files"`
}

type recordFile struct {
	Path string `json:"path"`
	// Before is the content before the step; null means that the step created the file.
	Before []byte `json:"before"`
	// After is the SHA-256 of the content after the step; empty means that the step deleted the file.
	After string `json:"after,omitempty"`
}

// storedRecord is a record on disk.
type storedRecord struct {
	record
	name string
}

// records returns the records of a project in the order in which they were written.
func records(fsys fs.FS) ([]storedRecord, error) {
	entries, err := fs.ReadDir(fsys, recordDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, diagnostic.AtFile(recordDir, "cannot read", err)
	}
	var all []storedRecord
	for _, entry := range entries {
		if path.Ext(entry.Name()) != ".json" {
			continue
		}
		stored := storedRecord{name: path.Join(recordDir, entry.Name())}
		text, err := fs.ReadFile(fsys, stored.name)
		if err != nil {
			return nil, diagnostic.AtFile(stored.name, "cannot read", err)
		}
		if err := json.Unmarshal(text, &stored.record); err != nil {
			return nil, &diagnostic.Error{
				Pos:     token.Position{Filename: stored.name},
				Message: "not a record of kctrl migrate: " + err.Error(),
				Hint:    "restore the file from version control",
				Cause:   err,
			}
		}
		all = append(all, stored)
	}
	return all, nil
}

// writeRecord adds a record of all changes of a plan to the plan. It adds no record if the plan has no changes.
func writeRecord(p *plan.Plan, step string) error {
	r := record{Step: step}
	for c := range p.Changes() {
		r.Files = append(r.Files, recordOf(c))
	}
	if len(r.Files) == 0 {
		return nil
	}
	existing, err := records(p.FS())
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	next := 1
	if len(existing) > 0 {
		last := strings.TrimSuffix(path.Base(existing[len(existing)-1].name), ".json")
		if _, err := fmt.Sscanf(last, "%d", &next); err == nil {
			next++
		}
	}
	return p.Edit(fmt.Sprintf("%s/%04d.json", recordDir, next), append(text, '\n'))
}

func recordOf(c plan.Change) recordFile {
	f := recordFile{Path: c.Path}
	if c.Op != plan.Create {
		f.Before = c.Before
	}
	if c.Op != plan.Delete {
		f.After = hashOf(c.After)
	}
	return f
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Undo plans to restore the files to their content before the latest step, which is step one or all runs of step two.
// If a file has changed since the step, it returns a *diagnostic.Error.
func Undo(fsys fs.FS) (*plan.Plan, error) {
	all, err := records(fsys)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, &diagnostic.Error{
			Message: "nothing to undo: there are no records in " + recordDir,
			Hint:    "kctrl migrate --undo reverts what kctrl migrate wrote in this directory",
		}
	}
	step := all[len(all)-1].Step
	p := plan.New(fsys)
	if step == stepModules {
		p = plan.NewWithoutLock(fsys)
	}
	var errs []error
	for _, r := range slices.Backward(all) {
		if r.Step != step {
			break
		}
		for _, f := range r.Files {
			errs = append(errs, f.restore(p, step))
		}
		errs = append(errs, p.Delete(r.name))
	}
	return p, errors.Join(errs...)
}

// restore plans the content that the file had before a step.
func (f recordFile) restore(p *plan.Plan, step string) error {
	if f.Path == project.LockFile {
		if step == stepCode {
			return nil // the plan updates it
		}
		return f.revert(p)
	}
	current, err := p.Read(f.Path)
	exists := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	reason := ""
	switch {
	case exists && f.After == "":
		reason = "exists, and the migration deleted it"
	case !exists && f.After != "":
		reason = "is missing, and the migration wrote it"
	case exists && hashOf(current) != f.After:
		reason = "has changed since the migration"
	default:
		return f.revert(p)
	}
	return &diagnostic.Error{
		Pos:     token.Position{Filename: f.Path},
		Message: reason,
		Hint:    "restore the file as it was after the migration, or revert the commit; nothing is written",
	}
}

func (f recordFile) revert(p *plan.Plan) error {
	if f.Before != nil {
		return p.Edit(f.Path, f.Before)
	}
	if _, err := p.Read(f.Path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return p.Delete(f.Path)
}
