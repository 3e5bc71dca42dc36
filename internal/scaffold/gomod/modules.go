package gomod

import (
	"bytes"
	"errors"
	"fmt"
	"go/token"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/templates"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/sumdb/dirhash"
)

// GoModule is the Go module of a directory before kctrl init.
type GoModule struct {
	Path string // empty without go.mod
	// Used reports whether go.mod has more content than go mod init writes, or the directory has other code.
	Used bool
}

// ExistingModule returns the module of an existing go.mod.
func ExistingModule(fsys fs.FS) (GoModule, error) {
	text, err := fs.ReadFile(fsys, layout.GoModFile)
	if errors.Is(err, fs.ErrNotExist) {
		return GoModule{}, nil
	}
	if err != nil {
		return GoModule{}, diagnostic.AtFile(layout.GoModFile, "cannot read", err)
	}
	file, err := ParseGoMod(text)
	if err != nil {
		return GoModule{}, err
	}
	if file.Module == nil {
		return GoModule{}, diagnostic.In(layout.GoModFile, "names no module",
			"write module and its path in the first line, or remove the file")
	}
	found := GoModule{Path: file.Module.Mod.Path}
	found.Used = len(file.Require)+len(file.Replace)+len(file.Exclude)+len(file.Tool)+len(file.Retract) > 0
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return GoModule{}, diagnostic.AtFile("", "cannot read the directory", err)
	}
	for _, entry := range entries {
		found.Used = found.Used || !IsHarmless(entry.Name())
	}
	return found, nil
}

// MergeModules plans the additions to an existing go.mod and go.sum that a project needs, and the runtime if it is
// bundled. It keeps requirements of other modules and newer versions.
func MergeModules(p *plan.Plan, proj *project.Project, build project.Build) error {
	return writeModules(p, proj, build, func(t templates.Template[templates.ModuleView], view templates.ModuleView) error {
		text, err := t.Render(view)
		switch name := t.Path(view); {
		case err != nil:
			return err
		case name == layout.GoModFile:
			return adoptRequirements(p, ".", text)
		case name == "go.sum":
			return AddSums(p, ".", text)
		}
		return templated.Render(p, t, view, false)
	})
}

// WriteModules plans complete and tidy go.mod and go.sum files, and the runtime if it is bundled. If replace is set, it
// may replace existing files.
func WriteModules(p *plan.Plan, proj *project.Project, build project.Build, replace bool) error {
	return writeModules(p, proj, build, func(t templates.Template[templates.ModuleView], view templates.ModuleView) error {
		return templated.Render(p, t, view, replace)
	})
}

// writeModules plans the modules of a new project. It calls write for each template of a go.mod or go.sum.
func writeModules(p *plan.Plan, proj *project.Project, build project.Build,
	write func(templates.Template[templates.ModuleView], templates.ModuleView) error) error {
	view := templates.ModuleView{Repo: proj.Repo}
	list, writeRuntime := templates.Modules(), WriteBundle
	if proj.Runtime == project.Module {
		view.RuntimeVersion = build.Version
		list, writeRuntime = templates.PublishedModules(), func(p *plan.Plan) error { return addRuntimeSums(p, build) }
	}
	var errs []error
	for _, t := range list {
		errs = append(errs, write(t, view))
	}
	return plan.InOrder(
		func() error { return errors.Join(errs...) },
		func() error { return errors.Join(checkRequired(p, proj), WriteAPIModule(p, proj)) },
		func() error { return writeRuntime(p) },
	)
}

// vendorList is the go command's list of vendored modules.
const vendorList = "vendor/modules.txt"

// noteVendored notes, once per plan, that a change of go.mod does not update the vendor directory.
func noteVendored(p *plan.Plan) {
	known := slices.ContainsFunc(p.Notes(), func(e *diagnostic.Error) bool { return e.Pos.Filename == vendorList })
	if _, err := fs.Stat(p.FS(), vendorList); err != nil || known {
		return
	}
	p.Note(diagnostic.In(vendorList, "is not what "+layout.GoModFile+" requires any more",
		"go mod tidy && go mod vendor brings it up to date"))
}

func ParseGoMod(text []byte) (*modfile.File, error) {
	file, err := modfile.Parse(layout.GoModFile, text, nil)
	if err == nil {
		return file, nil
	}
	e := &diagnostic.Error{
		Pos:     token.Position{Filename: layout.GoModFile},
		Message: "not a go.mod file: " + strings.ReplaceAll(err.Error(), "\n", "; "),
		Hint:    "repair it; go mod edit -json shows how the go command reads it",
		Cause:   err,
	}
	if list, ok := errors.AsType[modfile.ErrorList](err); ok && len(list) > 0 {
		e.Pos.Line, e.Pos.Column = list[0].Pos.Line, list[0].Pos.LineRune
		e.Message = strings.ReplaceAll(list[0].Err.Error(), "\n", "; ")
	}
	return nil, e
}

func ValidateExistingModule(repo, existing string) error {
	if existing == "" || existing == repo {
		return nil
	}
	return &diagnostic.Error{
		Pos:     token.Position{Filename: layout.GoModFile},
		Message: fmt.Sprintf("the module here is %s, not %s", existing, repo),
		Hint:    "omit --repo, or remove go.mod",
		Class:   diagnostic.ErrUsage,
	}
}

// checkRequired rejects a project whose module path equals the path of a module that it requires.
func checkRequired(p *plan.Plan, proj *project.Project) error {
	file, err := ReadModule(p, ".")
	if err != nil || Requirement(file, proj.Repo) < 0 {
		return err
	}
	return diagnostic.Usage(
		fmt.Sprintf("invalid module path %s: the project needs the module of that name", diagnostic.Quote(proj.Repo)),
		`use "example.com/guestbook"`)
}

// addRuntimeSums adds two checksums to go.sum without a download: the checksum of the runtime module, which the binary
// contains, and the checksum of its go.mod, which kctrl embeds.
func addRuntimeSums(p *plan.Plan, build project.Build) error {
	goMod, err := fs.ReadFile(kctrl.Source, layout.GoModFile)
	if err != nil {
		return err
	}
	goModSum, err := dirhash.Hash1([]string{layout.GoModFile}, func(string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(goMod)), nil
	})
	if err != nil {
		return err
	}
	return AddSums(p, ".", fmt.Appendf(nil, "%s %s %s\n%[1]s %[2]s/go.mod %[4]s\n", layout.RuntimeModule, build.Version,
		build.Sum, goModSum))
}

// IsHarmless reports whether a new project can start in a directory that has a file with this name.
func IsHarmless(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	return base == "" || name == layout.GoModFile || slices.Contains([]string{"LICENSE", "COPYING", "NOTICE", "README"},
		base)
}

// ImportsOf reports whether m is the required module that provides any of the import paths. The module with the longest
// matching path provides an import path.
func ImportsOf(m *modfile.Require, file *modfile.File, imported map[string]bool) bool {
	for importPath := range imported {
		longest := ""
		for _, other := range file.Require {
			if within(importPath, other.Mod.Path) && len(other.Mod.Path) > len(longest) {
				longest = other.Mod.Path
			}
		}
		if longest == m.Mod.Path {
			return true
		}
	}
	return false
}

// within reports whether a package may belong to a module by their paths.
func within(importPath, modulePath string) bool {
	return importPath == modulePath || strings.HasPrefix(importPath, modulePath+"/")
}
