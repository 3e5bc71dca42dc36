package migrate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// Options are the choices of a migration.
type Options struct {
	// KeepRuntime leaves the Go code and controller-runtime as they are: only what generates, checks and deploys is migrated.
	KeepRuntime bool
	// Kctrl is the kctrl that migrates.
	Kctrl project.Build
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
	m := &migration{dir: dir, plan: plan.New(fsys), peer: peer, opts: opts, declared: newDeclarations(), report: &Report{Left: []Left{}}}
	if m.modules, err = modulesOf(fsys); err != nil {
		return nil, nil, err
	}
	before, err := m.sources()
	if err != nil {
		return nil, nil, err
	}
	steps := []func(context.Context) error{m.rewriteCode, m.writeProject, m.editFiles, m.makeComponents, m.check}
	if opts.KeepRuntime {
		steps = []func(context.Context) error{m.writeProject, m.editFiles}
		m.report.Unchecked = "no Go code has changed"
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, nil, stopped(ctx, err)
		}
	}
	after, err := m.sources()
	if err != nil {
		return nil, nil, err
	}
	for name := range after {
		if before[name] != after[name] {
			return nil, nil, &diagnostic.Error{Pos: token.Position{Filename: name}, Message: "has changed while the project was migrated, and nothing is written", Hint: "run the command again"}
		}
	}
	m.report.sort()
	return m.plan, m.report, nil
}

// sources returns what tells the Go files and modules of the project from others of the same names: their sizes and times. What is
// rewritten was read before the plan knows of it.
func (m *migration) sources() (map[string]string, error) {
	names, err := m.named(func(name string) bool {
		return path.Ext(name) == ".go" || path.Base(name) == "go.mod"
	})
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, name := range names {
		info, err := fs.Stat(m.plan.FS(), name)
		if err != nil {
			return nil, diagnostic.AtFile(name, "cannot read", err)
		}
		all[name] = fmt.Sprint(info.Size(), info.ModTime().UnixNano())
	}
	return all, nil
}

// migration is a migration in the making.
type migration struct {
	dir    string
	plan   *plan.Plan
	peer   *peer
	opts   Options
	report *Report
	// modules are the Go modules of the project: the one in its folder, and those in folders below that it is made of.
	modules []goModule
	// declared is what other modules declare, before the migration and after it.
	declared *declarations
	// registered says that the main function calls register.
	registered bool
	// tags are the build tags with which the code was read.
	tags []string
	// adapted are the folders of the packages that convert what libraries want and give.
	adapted map[string]bool
	// raisesPeer says that the controller-runtime which libraries speak is to be raised.
	raisesPeer bool
	// brokenBefore are the files that did not compile before, and missingBefore is why a package of another module could not be loaded.
	brokenBefore  map[string]bool
	missingBefore string
}

// rewriteCode rewrites the Go code.
func (m *migration) rewriteCode(ctx context.Context) error {
	if err := m.peer.tooOld(); err != nil {
		return err
	}
	p, err := load(ctx, m.declared, m.dir, m.modules, nil)
	if err != nil {
		return err
	}
	if err := loadable(p); err != nil {
		return err
	}
	p.mainFile = m.peer.mainFile
	files := p.files()
	p.survey(files)
	p.noteReads(files)
	m.brokenBefore = map[string]bool{}
	for _, e := range p.problems() {
		name, _ := positionOf(e.Pos, m.dir)
		m.brokenBefore[name] = true
	}
	m.missingBefore = p.missing()
	var errs []error
	for _, f := range files {
		after, err := m.rewriteFile(f)
		if err != nil {
			errs = append(errs, &diagnostic.Error{Pos: token.Position{Filename: f.name}, Message: err.Error(), Hint: "this is a defect of kctrl: please report it with the file", Cause: err})
			continue
		}
		m.report.Uses += f.uses
		target := m.peer.target(f.name)
		for _, l := range f.left {
			l.File = target
			m.report.Left = append(m.report.Left, l)
		}
		if bytes.Equal(after, f.source) && target == f.name {
			continue
		}
		m.report.Files++
		m.report.Lines += changedLines(f.source, after)
		after = []byte(withCarriageReturns(string(after), f.crlf))
		errs = append(errs, m.plan.Edit(target, after))
		if target != f.name {
			errs = append(errs, m.plan.Delete(f.name))
		}
	}
	m.report.Left = append(m.report.Left, p.unserved()...)
	m.registered, m.tags = p.registers, p.tags
	if err := errors.Join(m.reportUnread(files), m.writeAdapters(p)); err != nil {
		return err
	}
	return errors.Join(append(errs, m.alignDeepCopies(files))...)
}

// rewriteFile rewrites a file. Where code does not compile there are types that are none, of which rules may not know: the file stays as it
// is then.
func (m *migration) rewriteFile(f *file) (after []byte, err error) {
	if len(m.brokenBefore) > 0 {
		defer func() {
			if recover() != nil {
				f.left, after, err = []Left{{File: f.name, Reason: "is not rewritten, as what it imports does not compile", Command: "go vet ./" + path.Dir(f.name) + " # repair what it says, git restore ., and kctrl migrate again"}}, f.source, nil
			}
		}()
	}
	return f.rewrite()
}

// reportUnread tells of the Go files of the project that import controller-runtime and are in none of the builds that were read.
func (m *migration) reportUnread(files []*file) error {
	names, err := m.named(func(name string) bool { return path.Ext(name) == ".go" })
	if err != nil {
		return err
	}
	for _, name := range names {
		if !m.ownsFile(name) || slices.ContainsFunc(files, func(f *file) bool { return f.name == name }) {
			continue
		}
		text, err := m.plan.Read(name)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		if err != nil || !slices.ContainsFunc(parsed.Imports, func(spec *ast.ImportSpec) bool { return strings.HasPrefix(importPathOf(spec)+"/", peerModule+"/") }) {
			continue
		}
		reason, command := "is not rewritten, as no build here has it", "go list -e -f '{{.IgnoredGoFiles}}' ./"+path.Dir(name)+" # what its build wants is to be set where kctrl migrate is run"
		if tag := tagOf(text); tag != "" {
			reason += ": with -tags=" + tag + " the project does not compile, or it is for another system"
			command = "go vet -tags=" + tag + " ./" + path.Dir(name) + " # repair what it says, git restore ., and kctrl migrate again"
		}
		m.report.Left = append(m.report.Left, Left{File: name, Reason: reason, Command: command})
	}
	return nil
}

// ownsFile reports whether a file is in one of the modules that the project is made of, where the go command looks.
func (m *migration) ownsFile(name string) bool {
	for folder := path.Dir(name); ; folder = path.Dir(folder) {
		if strings.HasPrefix(path.Base(folder), "_") {
			return false
		}
		if _, err := fs.Stat(m.plan.FS(), path.Join(folder, "go.mod")); err == nil || folder == "." {
			return slices.ContainsFunc(m.modules, func(module goModule) bool { return module.folder == folder })
		}
	}
}

// alignDeepCopies writes the import of apimachinery's runtime in generated deep copies as controller-gen does: with its name, unless
// another file of the package imports it, which those that build a scheme do now.
func (m *migration) alignDeepCopies(files []*file) error {
	const imported = "\t\"k8s.io/apimachinery/pkg/runtime\"\n"
	imports := map[string]bool{}
	for _, f := range files {
		if text, err := m.plan.Read(f.name); err == nil && !isDeepCopies(f.name) && bytes.Contains(text, []byte(imported)) {
			imports[path.Dir(f.name)] = true
		}
	}
	for _, f := range files {
		if !isDeepCopies(f.name) || !imports[path.Dir(f.name)] {
			continue
		}
		text, err := m.plan.Read(f.name)
		if err != nil {
			return err
		}
		after := bytes.Replace(text, []byte("\truntime"+strings.Replace(imported, "\t", " ", 1)), []byte(imported), 1)
		if err := m.plan.Edit(f.name, after); err != nil {
			return err
		}
	}
	return nil
}

func isDeepCopies(name string) bool {
	return strings.HasPrefix(path.Base(name), "zz_generated.") && strings.HasSuffix(name, "deepcopy.go")
}

// loadable refuses a project whose programs do not compile, since without types nothing is certain. Tests and what only these import
// may not: a module that one machine cannot have is no reason to leave all else.
func loadable(p *program) error {
	if len(p.packages) == 0 {
		return &diagnostic.Error{Message: "there are no Go packages here", Hint: "name the folder of the project with -C"}
	}
	problems := p.programProblems()
	if len(problems) == 0 {
		return nil
	}
	first := strings.TrimPrefix(problems[0].Error(), p.dir+string(filepath.Separator))
	if strings.Contains(first, "could not import") {
		first = cmp.Or(p.missing(), first)
	}
	return &diagnostic.Error{
		Message: fmt.Sprintf("the project does not compile, and so the types of its code are not known: %s", complaint(first)),
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
		return copyError(err)
	}
	defer os.RemoveAll(scratch)
	if scratch, err = filepath.EvalSymlinks(scratch); err != nil {
		return err
	}
	if err := m.copyTo(scratch); err != nil {
		return err
	}
	if err := m.completeModules(ctx, scratch); err != nil {
		return err
	}
	p, err := loadOn(ctx, m.declared, scratch, m.modules, m.anyModule(), m.tags, releaseIn(scratch))
	if err != nil {
		m.report.Unchecked, m.report.UsesLeft = err.Error(), m.report.Uses // of which nobody knows
		return context.Cause(ctx)
	}
	m.report.Checked = true
	files := p.files()
	broken := map[string]map[int]bool{}
	for _, e := range p.problems() {
		name, line := positionOf(e.Pos, scratch)
		if broken[name] == nil {
			broken[name] = map[int]bool{}
		}
		broken[name][line] = true
		reason := "does not compile: "
		if m.brokenBefore[name] {
			reason = "does not compile, as before: "
		}
		m.report.Left = append(m.report.Left, Left{File: name, Line: line, Code: lineOf(scratch, name, line), Reason: reason + oneLine(e.Msg), Snippet: safely(func() string { return snippetFor(fileNamed(files, name), e) }), Broken: true})
	}
	if missing := p.missing(); missing != "" {
		reason := "does not compile: "
		if m.missingBefore != "" {
			reason = "does not compile, as before: "
		}
		m.report.Left = append(m.report.Left, Left{File: "go.mod", Reason: reason + missing, Command: "go get " + before(missing, ":") + " # where a module proxy has it", Broken: true})
	}
	for _, e := range p.outdated() {
		m.report.Left = append(m.report.Left, Left{File: "go.mod", Code: e.Pos, Reason: "does not compile with " + kubernetesModules + "api " + p.release + ", raise it: " + oneLine(e.Msg), Command: "go get " + before(e.Pos, " ") + "@latest", Broken: true})
	}
	for _, f := range files {
		if m.adapted[path.Dir(f.name)] {
			continue // what it has of controller-runtime is for libraries
		}
		m.report.UsesLeft += f.usesLeft(broken[f.name])
	}
	return m.markBroken(files)
}

// before returns what is before a mark in a text.
func before(text, mark string) string {
	text, _, _ = strings.Cut(text, mark)
	return text
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
		case entry.Type()&fs.ModeSymlink != 0 && !deleted[name]:
			return m.copyLink(scratch, name)
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

// copyLink makes a symbolic link in a copy of the project that leads where one of the project does.
func (m *migration) copyLink(scratch, name string) error {
	link := filepath.Join(scratch, filepath.FromSlash(name))
	if _, err := os.Lstat(link); err == nil {
		return nil // what it leads to is rewritten, and there
	}
	target, err := os.Readlink(filepath.Join(m.dir, filepath.FromSlash(name)))
	if err != nil {
		return nil // of a project in memory
	}
	if !filepath.IsAbs(target) && !filepath.IsLocal(filepath.Join(filepath.FromSlash(path.Dir(name)), target)) {
		target = filepath.Join(m.dir, filepath.FromSlash(path.Dir(name)), target)
	}
	return copyError(cmp.Or(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(target, link)))
}

func writeTo(dir, name string, content []byte) error {
	target := filepath.Join(dir, filepath.FromSlash(name))
	return copyError(cmp.Or(os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, content, 0o644)))
}

// copyError says that the copy of the project cannot be written. It is nil for nil.
func copyError(err error) error {
	if err == nil {
		return nil
	}
	return &diagnostic.Error{
		Message: fmt.Sprintf("cannot write the copy in %s in which the result is compiled: %s", os.TempDir(), diagnostic.PlainCause(err)),
		Hint:    "make room there, or name another folder by TMPDIR, then run the command again",
		Cause:   err,
	}
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
