package migrate

import (
	"bytes"
	"context"
	"errors"
	"go/token"
	"go/version"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// Adopt plans step one for the project in dir, whose files are in fsys. The step replaces controller-runtime and does
// not change Go code. Running it again updates the modules in third_party. Errors are *diagnostic.Error.
func Adopt(ctx context.Context, dir string, fsys fs.FS, kctrl project.Build) (*plan.Plan, error) {
	modules, notes, err := modulesOf(fsys)
	if err != nil {
		return nil, err
	}
	if dir, err = absolute(dir); err != nil {
		return nil, err
	}
	work, err := workspace(ctx, dir)
	if err != nil {
		return nil, err
	}
	a := &adoption{dir: dir, plan: plan.New(fsys), modules: modules, kctrl: kctrl}
	a.plan.Note(notes...)
	steps := []func() error{
		a.convertProject,
		func() error { return gomod.WriteDropIn(a.plan, modules[0].file.Module.Mod.Path) },
		func() error { return a.completeModules(ctx) },
		a.editFiles,
	}
	if work != "" {
		steps = append(steps, a.raiseWorkspace)
	}
	if err := plan.InOrder(steps...); err != nil {
		return nil, err
	}
	return a.plan, writeRecord(a.plan, stepModules)
}

// absolute returns the path of a directory with symbolic links resolved, as the go command reports it.
func absolute(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real, nil
	}
	return dir, nil
}

// adoption is the state of planning step one.
type adoption struct {
	dir     string
	plan    *plan.Plan
	modules []*module
	kctrl   project.Build
	// goVersion is the highest version of Go that a go.mod requires after the step.
	goVersion string
}

// completeModules plans go.mod, go.sum and the vendor directory of each module.
func (a *adoption) completeModules(ctx context.Context) error {
	temporary, err := os.MkdirTemp("", "kctrl-migrate-")
	if err != nil {
		return temporaryError(err)
	}
	defer os.RemoveAll(temporary)
	s := scratch{temporary}
	if err := a.copyBundle(s); err != nil {
		return err
	}
	for _, m := range a.modules {
		if err := a.completeModule(ctx, s, m); err != nil {
			return err
		}
	}
	return nil
}

// copyBundle writes the modules of third_party to the scratch directory.
func (a *adoption) copyBundle(s scratch) error {
	for c := range a.plan.Files() {
		if !strings.HasPrefix(c.Path, "third_party/") || c.After == nil {
			continue
		}
		if err := s.write(c.Path, c.After); err != nil {
			return err
		}
	}
	return nil
}

func (a *adoption) completeModule(ctx context.Context, s scratch, m *module) error {
	sums, err := a.plan.Read(path.Join(m.dir, goSum))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	mod, sum, err := s.complete(ctx, a.dir, m, sums)
	if err != nil {
		return err
	}
	after, err := modfile.Parse(goMod, mod, nil)
	if err != nil {
		return err
	}
	if after.Go != nil && version.Compare("go"+after.Go.Version, "go"+a.goVersion) > 0 {
		a.goVersion = after.Go.Version
	}
	vendored, err := s.vendored(ctx, a.dir, m, a.plan.FS())
	if err != nil {
		return err
	}
	return errors.Join(
		replace(a.plan, m.goMod(), m.text, mod),
		replace(a.plan, path.Join(m.dir, goSum), sums, sum),
		a.vendor(m, vendored),
	)
}

// replace plans the content of a file that was derived from before. It returns an error if the file no longer has the
// content before, because another program has edited it meanwhile.
func replace(p *plan.Plan, name string, before, after []byte) error {
	current, err := p.Read(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !bytes.Equal(current, before) {
		return &diagnostic.Error{
			Pos:     token.Position{Filename: name},
			Message: "has changed while the command ran, and nothing is written",
			Hint:    "run the command again",
		}
	}
	return p.Edit(name, after)
}

// vendor plans the vendor directory of a module. files is nil for a module without a vendor directory.
func (a *adoption) vendor(m *module, files map[string][]byte) error {
	if files == nil {
		return nil
	}
	var errs []error
	root := path.Join(m.dir, vendorDir)
	errs = append(errs, fs.WalkDir(a.plan.FS(), root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || files[name] != nil {
			return err
		}
		return a.plan.Delete(name)
	}))
	for name, content := range files {
		errs = append(errs, a.plan.Edit(name, content))
	}
	return errors.Join(errs...)
}

// raiseWorkspace raises the Go version of the workspace to the Go version of its modules.
func (a *adoption) raiseWorkspace() error {
	text, err := a.plan.Read(goWork)
	if err != nil {
		return err
	}
	file, err := modfile.ParseWork(goWork, text, nil)
	if err != nil || file.Go != nil && version.Compare("go"+file.Go.Version, "go"+a.goVersion) >= 0 {
		return err
	}
	if err := file.AddGoStmt(a.goVersion); err != nil {
		return err
	}
	if file.Toolchain != nil && version.Compare(file.Toolchain.Name, "go"+a.goVersion) < 0 {
		file.DropToolchainStmt()
	}
	return a.plan.Edit(goWork, bytes.TrimLeft(modfile.Format(file.Syntax), "\n"))
}
