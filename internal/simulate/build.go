package simulate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	kctrl "github.com/kctrl-dev/kctrl"
	"github.com/kctrl-dev/kctrl/internal/controlplane"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/gocommand"
)

// ownPath is the path of the module of the runtime and the test server.
const ownPath = "github.com/kctrl-dev/kctrl"

// hook is the content of the file that the compiler adds to the main package.
const hook = `package main

import _ "` + ownPath + `/testserver/simulator/program"
`

// hookOfMain is the hook for a program on controller-runtime's API.
const hookOfMain = `package main

import "` + ownPath + `/testserver/simulator/program"

func init() { program.SimulateMain(main) }
`

// hookWithRules is the hook for a project with rules. Its formatting verb is for the import path of their package.
const hookWithRules = `package main

import (
	"` + ownPath + `/testserver/simulator/program"

	rules %q
)

func init() { program.SetRules(rules.Rules()) }
`

// build compiles the project's program with the module in source, and returns the path of the executable. work is the
// project's directory in the cache. For a debugger, the compiler does not optimize the project's packages.
func (p *project) build(
	ctx context.Context, progress controlplane.Progress, source, work string, debug bool,
) (string, error) {
	mod, sum, err := p.modules(ctx, source)
	if err != nil {
		return "", err
	}
	added := hook
	switch {
	case p.main.theirs:
		added = hookOfMain
	case p.rules:
		added = fmt.Sprintf(hookWithRules, p.module+"/"+rulesDirectory)
	}
	overlay, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(p.main.dir, "zz_simulation.go"): filepath.Join(work, "hook.go")},
	})
	if err != nil {
		return "", err
	}
	for name, content := range map[string][]byte{
		"go.mod": mod, "go.sum": sum, "overlay.json": overlay, "hook.go": []byte(added),
	} {
		if err := os.WriteFile(filepath.Join(work, name), content, 0o600); err != nil {
			return "", err
		}
	}
	program, optimize := filepath.Join(work, "simulation"), ""
	if debug {
		program, optimize = filepath.Join(work, "debugged"), p.module+"/...=-N -l"
	}
	err = goBuild(
		ctx, progress, p.dir, "-gcflags="+optimize, "-mod=mod", "-modfile="+filepath.Join(work, "go.mod"),
		"-overlay="+filepath.Join(work, "overlay.json"), "-o", program, p.main.path,
	)
	if e, ok := errors.AsType[*diagnostic.Error](err); ok && p.main.theirs {
		e.Hint += "; if there are none, use kctrl chaos, because the simulation needs newer Kubernetes libraries"
	}
	if err != nil {
		return "", err
	}
	return program, nil
}

// compileError returns an error with the first problem that the go command reported.
func compileError(ctx context.Context, err error, output string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, exec.ErrNotFound) {
		return noGoCommand(err)
	}
	reason := cmp.Or(gocommand.Reason(output), err).Error()
	return &diagnostic.Error{
		Message: "compile the simulation: " + reason,
		Hint:    cmp.Or(diagnostic.GoHint(reason), "go build ./... shows the errors of the project"),
		Cause:   err,
	}
}

func noGoCommand(err error) error {
	return &diagnostic.Error{
		Message: "no go command on PATH, which compiles the simulation",
		Hint:    "install Go 1.26 or newer",
		Cause:   err,
	}
}

// modules returns go.mod and go.sum for the program. They have the requirements of the project, of its workspace and of
// the test server.
func (p *project) modules(ctx context.Context, source string) (mod, sum []byte, err error) {
	ours, err := readMod(filepath.Join(source, "go.mod"))
	if err != nil {
		return nil, nil, err
	}
	theirs, err := readMod(filepath.Join(p.dir, "go.mod"))
	if err != nil {
		return nil, nil, err
	}
	sources := map[string]string{ownPath: source}
	directories := []string{p.dir, source}
	required := ours.Require
	if p.main.theirs {
		if err := checkControllerRuntime(theirs); err != nil {
			return nil, nil, err
		}
		dropIn := filepath.Join(source, filepath.FromSlash(controlplane.DropIn))
		sources[controllerRuntime], directories = dropIn, append(directories, dropIn)
		more, err := readMod(filepath.Join(dropIn, "go.mod"))
		if err != nil {
			return nil, nil, err
		}
		required = slices.Concat(required, more.Require)
	}
	sums, err := useWorkspace(ctx, theirs, p.dir, sources)
	if err != nil {
		return nil, nil, err
	}
	if err := errors.Join(require(theirs, required), replace(theirs, sources)); err != nil {
		return nil, nil, err
	}
	theirs.Cleanup()
	p.module = theirs.Module.Mod.Path
	if mod, err = theirs.Format(); err != nil {
		return nil, nil, err
	}
	for _, directory := range directories {
		sums = append(sums, filepath.Join(directory, "go.sum"))
	}
	for _, file := range sums {
		content, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		sum = append(append(sum, content...), '\n')
	}
	return mod, sum, nil
}

// useWorkspace adds the modules and replacements of the workspace that the go command uses in dir, if any, to a go.mod.
// The build uses no workspace, because it has further modules. Modules in sources have other directories. useWorkspace
// returns the files with checksums of the workspace.
func useWorkspace(ctx context.Context, file *modfile.File, dir string, sources map[string]string) ([]string, error) {
	out, err := gocommand.Output(ctx, dir, "env", "GOWORK")
	name := strings.TrimSpace(out)
	if err != nil || name == "" || name == "off" {
		return nil, err
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, diagnostic.AtFile(name, "cannot read", err)
	}
	work, err := modfile.ParseWork(name, content, nil)
	if err != nil {
		return nil, err
	}
	sums := []string{name + ".sum"}
	isReplaced := func(all []*modfile.Replace) func(string) bool {
		return func(path string) bool {
			return slices.ContainsFunc(all, func(r *modfile.Replace) bool { return r.Old.Path == path })
		}
	}
	err = errors.Join(dropReplaces(file, isReplaced(work.Replace)), addReplaces(file, filepath.Dir(name), work.Replace))
	if err != nil {
		return nil, err
	}
	for _, use := range work.Use {
		module := absolute(filepath.Dir(name), use.Path)
		used, err := readMod(filepath.Join(module, "go.mod"))
		if err != nil {
			return nil, err
		}
		path := used.Module.Mod.Path
		if path == file.Module.Mod.Path || sources[path] != "" {
			continue
		}
		sources[path] = module
		sums = append(sums, filepath.Join(module, "go.sum"))
		known := isReplaced(file.Replace)
		more := slices.DeleteFunc(used.Replace, func(r *modfile.Replace) bool { return known(r.Old.Path) })
		if err := addReplaces(file, module, more); err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// addReplaces adds replace directives whose paths are relative to dir.
func addReplaces(file *modfile.File, dir string, all []*modfile.Replace) error {
	for _, r := range all {
		to := r.New.Path
		if r.New.Version == "" {
			to = absolute(dir, to)
		}
		if err := file.AddReplace(r.Old.Path, r.Old.Version, to, r.New.Version); err != nil {
			return err
		}
	}
	return nil
}

func absolute(dir, path string) string {
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// checkControllerRuntime returns an error if a module requires a controller-runtime release that kctrl does not
// support.
func checkControllerRuntime(file *modfile.File) error {
	for _, r := range file.Require {
		release := semver.MajorMinor(r.Mod.Version)
		if r.Mod.Path == controllerRuntime && (semver.Compare(release, kctrl.OldestControllerRuntime) < 0 ||
			semver.Compare(release, kctrl.NewestControllerRuntime) > 0) {
			return &diagnostic.Error{
				Pos: token.Position{Filename: "go.mod", Line: r.Syntax.Start.Line},
				Message: fmt.Sprintf("controller-runtime %s: kctrl simulates operators on %s to %s", r.Mod.Version,
					kctrl.OldestControllerRuntime, kctrl.NewestControllerRuntime),
				Hint: "kctrl chaos tests operators on any version",
			}
		}
	}
	return nil
}

// require adds requirements to a file, except those for which the file already requires the same or a newer version.
func require(file *modfile.File, all []*modfile.Require) error {
	versions := map[string]string{}
	for _, r := range file.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	for _, r := range all {
		if semver.Compare(r.Mod.Version, versions[r.Mod.Path]) > 0 {
			versions[r.Mod.Path] = r.Mod.Version
			if err := file.AddRequire(r.Mod.Path, r.Mod.Version); err != nil {
				return err
			}
		}
	}
	return nil
}

// replace adds replace directives that map modules to directories, and drops existing directives for these modules.
func replace(file *modfile.File, directories map[string]string) error {
	if err := dropReplaces(file, func(path string) bool { return directories[path] != "" }); err != nil {
		return err
	}
	for _, module := range slices.Sorted(maps.Keys(directories)) {
		if err := file.AddReplace(module, "", directories[module], ""); err != nil {
			return err
		}
	}
	return nil
}

// dropReplaces removes the replace directives of some modules.
func dropReplaces(file *modfile.File, some func(path string) bool) error {
	for _, r := range slices.Clone(file.Replace) {
		if some(r.Old.Path) {
			if err := file.DropReplace(r.Old.Path, r.Old.Version); err != nil {
				return err
			}
		}
	}
	return nil
}

func readMod(file string) (*modfile.File, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, diagnostic.AtFile(file, "cannot read", err)
	}
	return modfile.Parse(file, content, nil)
}
