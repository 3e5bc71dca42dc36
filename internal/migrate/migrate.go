package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// Options are the choices of a migration.
type Options struct {
	// KeepRuntime leaves the Go code and controller-runtime as they are: only what generates, checks and deploys is migrated.
	KeepRuntime bool
	// Kctrl is the kctrl that migrates.
	Kctrl scaffold.Build
}

// Plan plans the migration of the project in dir, whose files fsys has. Nothing is written, but for a copy in a temporary folder in
// which the result is compiled. Errors are *diagnostic.Error.
func Plan(ctx context.Context, dir string, fsys fs.FS, opts Options) (*plan.Plan, *Report, error) {
	peer, err := readPeer(fsys)
	if err != nil {
		return nil, nil, err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, nil, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	m := &migration{dir: dir, plan: plan.New(fsys), peer: peer, opts: opts, report: &Report{Left: []Left{}}}
	steps := []func(context.Context) error{m.rewriteCode, m.writeProject, m.editFiles, m.check}
	if opts.KeepRuntime {
		steps = []func(context.Context) error{m.writeProject, m.editFiles}
		m.report.Unchecked = "no Go code has changed"
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, nil, stopped(ctx, err)
		}
	}
	m.report.sort()
	return m.plan, m.report, nil
}

// migration is a migration in the making.
type migration struct {
	dir    string
	plan   *plan.Plan
	peer   *peer
	opts   Options
	report *Report
	// registered says that the main function calls register.
	registered bool
}

// rewriteCode rewrites the Go code.
func (m *migration) rewriteCode(ctx context.Context) error {
	p, err := load(ctx, m.dir, nil)
	if err != nil {
		return err
	}
	p.module = m.peer.Repo
	if err := loadable(p); err != nil {
		return err
	}
	p.mainFile = m.peer.mainFile
	files := p.files()
	p.survey(files)
	var errs []error
	for _, f := range files {
		after, err := f.rewrite()
		if err != nil {
			errs = append(errs, &diagnostic.Error{Pos: token.Position{Filename: f.name}, Message: err.Error(), Hint: "this is a defect of kctrl: please report it with the file", Cause: err})
			continue
		}
		m.report.Uses += f.uses
		m.report.Left = append(m.report.Left, f.left...)
		target := m.peer.target(f.name)
		if bytes.Equal(after, f.source) && target == f.name {
			continue
		}
		m.report.Files++
		m.report.Lines += changedLines(f.source, after)
		errs = append(errs, m.plan.WriteFile(plan.File{Path: target, Content: after, Policy: plan.Edit}))
		if target != f.name {
			errs = append(errs, m.plan.Delete(f.name, plan.Own))
		}
	}
	m.registered = p.registers
	return errors.Join(errs...)
}

// loadable refuses a project whose packages cannot be loaded, since without types nothing is certain.
func loadable(p *program) error {
	var first, count = "", 0
	for _, e := range p.problems() {
		if count++; count == 1 {
			first = strings.TrimPrefix(e.Error(), p.dir+string(filepath.Separator))
		}
	}
	if len(p.packages) == 0 {
		return &diagnostic.Error{Message: "there are no Go packages here", Hint: "name the folder of the project with -C"}
	}
	if count == 0 {
		return nil
	}
	return &diagnostic.Error{
		Message: fmt.Sprintf("the project does not compile, and so the types of its code are not known: %s", oneLine(first)),
		Hint:    "repair it first: go vet ./... says what is wrong, and go mod tidy which modules are missing",
	}
}

// changedLines counts the lines of after that before does not have.
func changedLines(before, after []byte) int {
	had := map[string]int{}
	for line := range bytes.Lines(before) {
		had[string(bytes.TrimSpace(line))]++
	}
	n := 0
	for line := range bytes.Lines(after) {
		key := string(bytes.TrimSpace(line))
		if had[key]--; had[key] < 0 && key != "" {
			n++
		}
	}
	return n
}

// check compiles the result in a copy of the project, completes go.mod and go.sum there, and reports what does not compile.
func (m *migration) check(ctx context.Context) error {
	scratch, err := os.MkdirTemp("", "kctrl-migrate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	if scratch, err = filepath.EvalSymlinks(scratch); err != nil {
		return err
	}
	if err := errors.Join(m.copyTo(scratch), replacePaths(scratch, m.dir, scratch)); err != nil {
		return err
	}
	if out, err := m.tidy(ctx, scratch); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		m.report.Left = append(m.report.Left, Left{File: "go.mod", Reason: "go mod tidy did not work here, run it where it does: " + out, Rewritten: true})
	}
	p, err := load(ctx, scratch, anyModule())
	if err != nil {
		m.report.Unchecked = err.Error()
		return context.Cause(ctx)
	}
	m.report.Checked = true
	p.module = m.peer.Repo
	broken := map[string]map[int]bool{}
	for _, e := range p.problems() {
		name, line := positionOf(e.Pos, scratch)
		if broken[name] == nil {
			broken[name] = map[int]bool{}
		}
		broken[name][line] = true
		m.report.Left = append(m.report.Left, Left{File: name, Line: line, Code: lineOf(scratch, name, line), Reason: "does not compile: " + oneLine(e.Msg), Broken: true})
	}
	for _, f := range p.files() {
		m.report.UsesLeft += f.usesLeft(broken[f.name])
	}
	m.relocate()
	return nil
}

// copyTo writes the project as it will be to a folder.
func (m *migration) copyTo(scratch string) error {
	deleted := map[string]bool{}
	for c := range m.plan.Changes() {
		if deleted[c.Path] = c.Op == plan.Delete; c.Op != plan.Delete {
			if err := writeTo(scratch, c.Path, c.After); err != nil {
				return err
			}
		}
	}
	return fs.WalkDir(m.plan.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (entry.Name() == ".git" || entry.Name() == "node_modules" || name == "vendor" || name == "bin"):
			return fs.SkipDir
		case !entry.Type().IsRegular() || deleted[name]:
			return nil
		}
		if _, err := os.Lstat(filepath.Join(scratch, filepath.FromSlash(name))); err == nil {
			return nil
		}
		content, err := fs.ReadFile(m.plan.FS(), name)
		if err != nil {
			return err
		}
		return writeTo(scratch, name, content)
	})
}

func writeTo(dir, name string, content []byte) error {
	target := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return os.WriteFile(target, content, 0o644)
}

// anyModule lets the go command change go.mod of the copy.
func anyModule() []string {
	return []string{"GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -mod=mod"), "GOWORK=off"}
}

// tidy completes go.mod and go.sum in the copy, and plans what they become.
func (m *migration) tidy(ctx context.Context, scratch string) (string, error) {
	command := exec.CommandContext(ctx, "go", "mod", "tidy")
	command.Dir = scratch
	command.Env = append(os.Environ(), anyModule()...)
	if out, err := command.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return lines[len(lines)-1], err
	}
	if err := errors.Join(dropReplacement(scratch), replacePaths(scratch, scratch, m.dir)); err != nil {
		return err.Error(), err
	}
	defer replacePaths(scratch, m.dir, scratch) // for what is compiled there
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(scratch, name))
		if err != nil {
			return err.Error(), err
		}
		if err := m.plan.WriteFile(plan.File{Path: name, Content: text, Policy: plan.Edit}); err != nil {
			return err.Error(), err
		}
	}
	return "", nil
}

// dropReplacement takes the replacement of a controller-runtime out of the go.mod in a folder that nothing requires any more.
func dropReplacement(folder string) error {
	name := filepath.Join(folder, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	file, err := moduleOf(text)
	if err != nil || slices.ContainsFunc(file.Require, func(r *modfile.Require) bool { return r.Mod.Path == peerModule }) {
		return err
	}
	changed := false
	for _, r := range slices.Clone(file.Replace) {
		if r.Old.Path == peerModule {
			changed = true
			if err := file.DropReplace(r.Old.Path, r.Old.Version); err != nil {
				return err
			}
		}
	}
	if !changed {
		return nil
	}
	file.Cleanup()
	out, err := file.Format()
	if err != nil {
		return err
	}
	return os.WriteFile(name, out, 0o644)
}

// replacePaths makes the replacements of the go.mod in a folder that lead out of the project by relative paths lead to the same places
// from another one.
func replacePaths(folder, from, to string) error {
	name := filepath.Join(folder, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	file, err := moduleOf(text)
	if err != nil {
		return err
	}
	changed := false
	for _, r := range file.Replace {
		if !strings.HasPrefix(r.New.Path, "../") {
			continue
		}
		rel, err := filepath.Rel(to, filepath.Join(from, r.New.Path))
		if err != nil {
			return err
		}
		changed = true
		if err := file.AddReplace(r.Old.Path, r.Old.Version, rel, ""); err != nil {
			return err
		}
	}
	if !changed {
		return nil
	}
	out, err := file.Format()
	if err != nil {
		return err
	}
	return os.WriteFile(name, out, 0o644)
}

// positionOf splits the position of a problem.
func positionOf(pos, dir string) (name string, line int) {
	parts := strings.Split(strings.TrimPrefix(pos, dir+string(filepath.Separator)), ":")
	if len(parts) > 1 {
		fmt.Sscan(parts[1], &line)
	}
	return filepath.ToSlash(parts[0]), line
}

func lineOf(dir, name string, line int) string {
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		return ""
	}
	lines := strings.Split(string(text), "\n")
	if line < 1 || line > len(lines) {
		return ""
	}
	return oneLine(lines[line-1])
}

// usesLeft counts the references that were not rewritten: what still is of controller-runtime, and one for each line that does not compile.
func (f *file) usesLeft(broken map[int]bool) int {
	n := len(broken)
	for _, spec := range f.syntax.Imports {
		importPath := importPathOf(spec)
		if importPath != peerModule && !strings.HasPrefix(importPath, peerModule+"/") {
			continue
		}
		n += f.countOf(importPath)
	}
	return n
}

// relocate gives what was left the line that it is on now.
func (m *migration) relocate() {
	lines := map[string][]string{}
	for i := range m.report.Left {
		l := &m.report.Left[i]
		if l.Broken || l.Rewritten {
			continue
		}
		if lines[l.File] == nil {
			text, err := m.plan.Read(l.File)
			if err != nil {
				continue
			}
			lines[l.File] = strings.Split(string(text), "\n")
		}
		at := slices.IndexFunc(lines[l.File], func(line string) bool { return strings.TrimSpace(line) == Mark+l.Reason })
		if at >= 0 {
			l.Line = at + 2
			lines[l.File][at] = "" // the next one of the same reason is another
		}
	}
}

// moduleOf parses a go.mod.
func moduleOf(text []byte) (*modfile.File, error) {
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return nil, &diagnostic.Error{Pos: token.Position{Filename: "go.mod"}, Message: "not a go.mod file: " + oneLine(err.Error()), Hint: "repair it", Cause: err}
	}
	return file, nil
}
