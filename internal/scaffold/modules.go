package scaffold

import (
	"bytes"
	"errors"
	"fmt"
	"go/token"
	"io"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/sumdb/dirhash"

	"github.com/kctrl-dev/kctrl"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

const goModFile = "go.mod"

// goModule is a Go module that is there before the project.
type goModule struct {
	path string // empty if there is none
	// used says that go.mod has more than go mod init writes, or that there is code beside it.
	used bool
}

// existingModule returns the module of a go.mod that is there already.
func existingModule(fsys fs.FS) (goModule, error) {
	text, err := fs.ReadFile(fsys, goModFile)
	if errors.Is(err, fs.ErrNotExist) {
		return goModule{}, nil
	}
	if err != nil {
		return goModule{}, diagnostic.AtFile(goModFile, "cannot read", err)
	}
	file, err := parseGoMod(text)
	if err != nil {
		return goModule{}, err
	}
	if file.Module == nil {
		return goModule{}, &diagnostic.Error{
			Pos: token.Position{Filename: goModFile}, Message: "names no module", Hint: "write module and its path in the first line, or remove the file",
		}
	}
	found := goModule{path: file.Module.Mod.Path}
	found.used = len(file.Require)+len(file.Replace)+len(file.Exclude)+len(file.Tool)+len(file.Retract) > 0
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return goModule{}, diagnostic.AtFile("", "cannot read the folder", err)
	}
	for _, entry := range entries {
		found.used = found.used || !isHarmless(entry.Name())
	}
	return found, nil
}

// mergeModules plans that the module which is there has what a project needs: in go.mod and go.sum, which keep what they say of other
// modules and newer versions, and the runtime itself when it is bundled.
func mergeModules(p *plan.Plan, proj *project.Project, build Build) error {
	view := templates.ModuleView{Repo: proj.Repo}
	list := templates.Modules()
	if proj.Runtime == project.Module {
		view.RuntimeVersion = build.Version
		list = templates.PublishedModules()
	}
	for _, t := range list {
		name := t.Path(view)
		text, err := t.Render(view)
		if err != nil {
			return err
		}
		switch name {
		case goModFile:
			err = adoptRequirements(p, ".", text)
		case "go.sum":
			err = addSums(p, text)
		default:
			err = render(p, t, view, false)
		}
		if err != nil {
			return err
		}
	}
	noteVendored(p)
	if err := errors.Join(checkRequired(p, proj), writeAPIModule(p, proj)); err != nil {
		return err
	}
	if proj.Runtime == project.Module {
		return addRuntimeSums(p, build)
	}
	return writeBundle(p)
}

// vendorList is what the go command has vendored.
const vendorList = "vendor/modules.txt"

// noteVendored tells the user of a go.mod that changes, once, that what is vendored does not follow.
func noteVendored(p *plan.Plan) {
	known := slices.ContainsFunc(p.Notes(), func(e *diagnostic.Error) bool { return e.Pos.Filename == vendorList })
	if _, err := fs.Stat(p.FS(), vendorList); err != nil || known {
		return
	}
	p.Note(&diagnostic.Error{
		Pos: token.Position{Filename: vendorList}, Message: "is not what " + goModFile + " requires any more", Hint: "go mod tidy && go mod vendor brings it up to date",
	})
}

func parseGoMod(text []byte) (*modfile.File, error) {
	file, err := modfile.Parse(goModFile, text, nil)
	if err == nil {
		return file, nil
	}
	e := &diagnostic.Error{
		Pos:     token.Position{Filename: goModFile},
		Message: "not a go.mod file: " + strings.ReplaceAll(err.Error(), "\n", "; "),
		Hint:    "repair it; go mod edit -json says what the go command makes of it",
		Cause:   err,
	}
	if list, ok := errors.AsType[modfile.ErrorList](err); ok && len(list) > 0 {
		e.Pos.Line, e.Pos.Column = list[0].Pos.Line, list[0].Pos.LineRune
		e.Message = strings.ReplaceAll(list[0].Err.Error(), "\n", "; ")
	}
	return nil, e
}

func validateExistingModule(repo, existing string) error {
	if existing == "" || existing == repo {
		return nil
	}
	return &diagnostic.Error{
		Pos:     token.Position{Filename: goModFile},
		Message: fmt.Sprintf("the module here is %s, not %s", existing, repo),
		Hint:    "leave --repo out, or remove go.mod",
		Class:   diagnostic.ErrUsage,
	}
}

// writeModules plans go.mod and go.sum, complete and tidy, and the runtime itself when it is bundled. A go.mod that is
// there already may be replaced.
func writeModules(p *plan.Plan, proj *project.Project, build Build, replace bool) error {
	view := templates.ModuleView{Repo: proj.Repo}
	list, writeRuntime := templates.Modules(), writeBundle
	if proj.Runtime == project.Module {
		view.RuntimeVersion = build.Version
		list, writeRuntime = templates.PublishedModules(), func(p *plan.Plan) error { return addRuntimeSums(p, build) }
	}
	if err := renderAll(p, list, view, replace); err != nil {
		return err
	}
	if err := errors.Join(checkRequired(p, proj), writeAPIModule(p, proj)); err != nil {
		return err
	}
	return writeRuntime(p)
}

// checkRequired refuses a project that would be a module which it needs.
func checkRequired(p *plan.Plan, proj *project.Project) error {
	text, err := p.Read(goModFile)
	if err != nil {
		return err
	}
	file, err := modfile.Parse(goModFile, text, nil)
	if err != nil {
		return err
	}
	if requirement(file, proj.Repo) < 0 {
		return nil
	}
	return &diagnostic.Error{
		Message: fmt.Sprintf("invalid module path %s: the project needs the module of that name", diagnostic.Quote(proj.Repo)),
		Hint:    `use "example.com/guestbook"`,
		Class:   diagnostic.ErrUsage,
	}
}

// addRuntimeSums adds to go.sum what the go command would find out by downloading the runtime: the checksum of the
// module, which the binary carries, and of its go.mod, which kctrl embeds.
func addRuntimeSums(p *plan.Plan, build Build) error {
	const name = "go.sum"
	text, err := p.Read(name)
	if err != nil {
		return err
	}
	goMod, err := fs.ReadFile(kctrl.Source, goModFile)
	if err != nil {
		return err
	}
	goModSum, err := dirhash.Hash1([]string{goModFile}, func(string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(goMod)), nil
	})
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(string(text), "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return line > runtimeModule })
	lines = slices.Insert(lines, at,
		fmt.Sprintf("%s %s %s\n", runtimeModule, build.Version, build.Sum),
		fmt.Sprintf("%s %s/go.mod %s\n", runtimeModule, build.Version, goModSum),
	)
	return p.WriteFile(plan.File{Path: name, Content: []byte(strings.Join(lines, "")), Policy: plan.Edit})
}
