package migrate

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	kctrl "github.com/kctrl-dev/kctrl"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
)

const (
	controllerRuntime = "sigs.k8s.io/controller-runtime"
	goMod             = "go.mod"
	goSum             = "go.sum"
	goWork            = "go.work"
	vendorDir         = "vendor"
)

// ignoredDirs contain Go modules and files that do not belong to the project itself.
var ignoredDirs = []string{vendorDir, "third_party", "node_modules", "testdata", "bin"}

// isIgnored reports whether kctrl migrate skips a directory in the project.
func isIgnored(name string) bool {
	base := path.Base(name)
	return name != "." && (slices.Contains(ignoredDirs, base) || base[0] == '_' || base[0] == '.' && base != ".github")
}

// filesNamed returns the files of the project whose names satisfy is, in order.
func filesNamed(fsys fs.FS, is func(name string) bool) ([]string, error) {
	var names []string
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return diagnostic.AtFile(name, "cannot read", err)
		case entry.IsDir() && isIgnored(name):
			return fs.SkipDir
		case entry.Type().IsRegular() && is(name):
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// module is a Go module of the project that requires controller-runtime.
type module struct {
	dir     string // with slashes, "." for the project's directory
	text    []byte // of go.mod
	file    *modfile.File
	version string // of controller-runtime
}

func (m *module) goMod() string { return path.Join(m.dir, goMod) }

// target returns the path of a directory in third_party as it appears in the module's replace line.
func (m *module) target(dir string) string {
	if m.dir == "." {
		return "./" + dir
	}
	return strings.Repeat("../", 1+strings.Count(m.dir, "/")) + dir
}

// modulesOf returns the modules of the project that require controller-runtime, starting with the module in the
// project's directory. It skips modules in subdirectories that cannot be migrated, and returns a note about each of
// them.
func modulesOf(fsys fs.FS) (all []*module, notes []*diagnostic.Error, err error) {
	if err := checkModule(fsys); err != nil {
		return nil, nil, err
	}
	names, err := filesNamed(fsys, func(name string) bool { return path.Base(name) == goMod })
	if err != nil {
		return nil, nil, err
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Count(a, "/") - strings.Count(b, "/") })
	for _, name := range names {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, nil, diagnostic.AtFile(name, "cannot read", err)
		}
		file, err := gomod.ParseGoMod(text)
		if err != nil {
			return nil, nil, inFile(name, err)
		}
		m := &module{dir: path.Dir(name), text: text, file: file}
		at := gomod.Requirement(file, controllerRuntime)
		if at < 0 {
			continue
		}
		m.version = file.Require[at].Mod.Version
		if problem := m.check(); problem != nil && len(all) == 0 {
			return nil, nil, problem
		} else if problem != nil {
			problem.Message += "; the module stays as it is"
			notes = append(notes, problem)
			continue
		}
		all = append(all, m)
	}
	if len(all) == 0 {
		return nil, nil, &diagnostic.Error{
			Pos: token.Position{Filename: goMod}, Message: "does not require " + controllerRuntime,
			Hint: "name the directory of the operator's module with -C",
		}
	}
	return all, notes, nil
}

// checkModule returns an error unless the directory has a go.mod that the commands can change.
func checkModule(fsys fs.FS) error {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return diagnostic.AtFile(goMod, "cannot read", err)
	}
	has := func(name string, typ fs.FileMode) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name && e.Type() == typ })
	}
	e := &diagnostic.Error{
		Pos: token.Position{Filename: goMod}, Message: "the file is missing",
		Hint: "name the directory of the operator's module with -C",
	}
	switch {
	case has(goMod, 0):
		return nil
	case has(goMod, fs.ModeSymlink):
		e.Message, e.Hint = "the file is a symbolic link, which kctrl migrate does not change", "replace it with a copy"
	case has(goWork, 0):
		e.Message += ", and go.work lists other modules"
		e.Hint += ", and set GOWORK=off"
	}
	return e
}

// inFile adds the name of the file to an error about a go.mod.
func inFile(name string, err error) error {
	if e, ok := errors.AsType[*diagnostic.Error](err); ok {
		e.Pos.Filename = name
	}
	return err
}

// check returns an error if the module's controller-runtime cannot be replaced.
func (m *module) check() *diagnostic.Error {
	failed := func(message, hint string) *diagnostic.Error {
		return &diagnostic.Error{Pos: token.Position{Filename: m.goMod()}, Message: message, Hint: hint}
	}
	for _, r := range m.file.Replace {
		if r.Old.Path == controllerRuntime && path.Join(m.dir, r.New.Path) != gomod.DropInDir {
			if above, ok := strings.CutSuffix(path.Clean(r.New.Path), "/"+gomod.DropInDir); ok {
				return failed("the module uses "+gomod.DropInDir+" in "+above, "run the command in that directory: -C "+above)
			}
			return failed(controllerRuntime+" is already replaced by "+strings.TrimSpace(r.New.Path+" "+r.New.Version),
				"remove the replace line; kctrl migrate writes one of its own")
		}
	}
	switch release := semver.MajorMinor(m.version); {
	case semver.Compare(release, kctrl.OldestControllerRuntime) < 0:
		return failed(fmt.Sprintf("controller-runtime %s is older than %s", m.version, kctrl.OldestControllerRuntime),
			"upgrade it first: go get "+controllerRuntime+"@"+kctrl.NewestControllerRuntime)
	case semver.Compare(release, kctrl.NewestControllerRuntime) > 0:
		return failed(fmt.Sprintf("controller-runtime %s is newer than %s, the latest that kctrl replaces", m.version,
			kctrl.NewestControllerRuntime), "use a newer kctrl")
	}
	return nil
}

// workspace returns the path of the go.work that the go command uses in dir, or "".
func workspace(ctx context.Context, dir string) (string, error) {
	out, err := goCommand(ctx, dir, nil, "env", "GOWORK")
	file := strings.TrimSpace(out)
	if err != nil || file == "" || file == "off" {
		return "", err
	}
	if filepath.Dir(file) == dir {
		return file, nil
	}
	e := &diagnostic.Error{Message: "the project is part of the workspace " + file, Hint: "set GOWORK=off"}
	if _, err := os.Stat(filepath.Join(filepath.Dir(file), goMod)); err == nil {
		e.Hint = "run the command in the directory of the workspace, or set GOWORK=off"
	}
	return "", e
}

// CheckWorkspace returns an error if the module in a directory belongs to a workspace in another directory.
func CheckWorkspace(ctx context.Context, dir string) error {
	dir, err := absolute(dir)
	if err != nil {
		return err
	}
	_, err = workspace(ctx, dir)
	return err
}

// goCommand runs the go command in a directory and returns its output.
func goCommand(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), env...)
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		message := "go " + strings.Join(args, " ")
		if reason := reasonIn(stderr.String()); reason != "" {
			err = errors.New(reason)
		}
		return "", fmt.Errorf("%s: %w", message, err)
	}
	return string(out), nil
}

// reasonIn returns the line of the go command's output that explains a failure. It is the last line that does not
// report progress, a proxy's response, or a remedy.
func reasonIn(out string) string {
	var last string
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		switch {
		case line == "", strings.HasPrefix(line, "go: downloading "), strings.HasPrefix(line, "server response: "),
			strings.HasPrefix(line, "go mod "), strings.HasPrefix(line, "go: finding module "):
		default:
			last = line
		}
	}
	return strings.TrimPrefix(last, "go: ")
}

// scratch is a directory with the bundle and with the future go.mod and go.sum files of the modules. The go command
// completes these files there with -modfile, so that it does not change the project.
type scratch struct{ dir string }

// env returns variables for a go command that uses a module file in the scratch directory.
func (s scratch) env() []string {
	return []string{"GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -mod=mod"), "GOWORK=off"}
}

// path returns the path of a file in the scratch directory.
func (s scratch) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

func (s scratch) write(name string, content []byte) error {
	target := s.path(name)
	err := os.MkdirAll(filepath.Dir(target), 0o755)
	if err == nil {
		err = os.WriteFile(target, content, 0o644)
	}
	return temporaryError(err)
}

// temporaryError returns the error for a temporary file that cannot be written. It returns nil for nil.
func temporaryError(err error) error {
	if err == nil {
		return nil
	}
	return &diagnostic.Error{
		Message: fmt.Sprintf("cannot write to %s: %s", os.TempDir(), diagnostic.PlainCause(err)),
		Hint:    "free some space, or set TMPDIR to another directory, then run the command again",
		Cause:   err,
	}
}

// modFile returns the path of a module's go.mod in the scratch directory.
func (s scratch) modFile(m *module) string { return s.path(path.Join("modules", m.dir, goMod)) }

// complete writes the replacements to go.mod and go.sum of a module, lets the go command complete both files, and
// returns their contents.
func (s scratch) complete(ctx context.Context, dir string, m *module, sums []byte) (mod, sum []byte, err error) {
	file, err := modfile.Parse(goMod, modfile.Format(m.file.Syntax), nil)
	if err != nil {
		return nil, nil, err
	}
	err = errors.Join(
		file.AddReplace(controllerRuntime, "", s.path(gomod.DropInDir), ""),
		file.AddReplace(layout.RuntimeModule, "", s.path(layout.BundleDir), ""),
	)
	if gomod.Requirement(file, layout.RuntimeModule) < 0 {
		file.AddNewRequire(layout.RuntimeModule, "v0.0.0", true)
	}
	text, formatErr := file.Format()
	if err := errors.Join(err, formatErr); err != nil {
		return nil, nil, err
	}
	name := path.Join("modules", m.dir, goMod)
	if err := errors.Join(s.write(name, text), s.write(path.Join(path.Dir(name), goSum), sums)); err != nil {
		return nil, nil, err
	}
	moduleDir := filepath.Join(dir, filepath.FromSlash(m.dir))
	if err := s.tidy(ctx, moduleDir, m); err != nil {
		return nil, nil, err
	}
	if mod, err = os.ReadFile(s.modFile(m)); err != nil {
		return nil, nil, err
	}
	sum, err = os.ReadFile(s.path(path.Join("modules", m.dir, goSum)))
	if err != nil {
		return nil, nil, err
	}
	mod, err = relative(mod, m)
	return mod, sum, err
}

// tidy completes a module's go.mod. If go mod tidy needs modules that are not available, such as modules for the tests
// of dependencies, tidy adds only the modules that the packages need.
func (s scratch) tidy(ctx context.Context, moduleDir string, m *module) error {
	flag := "-modfile=" + s.modFile(m)
	_, err := goCommand(ctx, moduleDir, s.env(), "mod", "tidy", flag)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if _, listErr := goCommand(ctx, moduleDir, s.env(), "list", "-deps", "-test", flag, "./..."); listErr == nil {
		return nil
	}
	reason := strings.ReplaceAll(err.Error(), " "+flag, "")
	return &diagnostic.Error{
		Pos: token.Position{Filename: m.goMod()}, Message: "cannot complete the file: " + reason,
		Hint:  "if a module is missing, connect to the network or fill the module cache, then run the command again",
		Cause: err,
	}
}

// relative replaces the paths of the scratch directory in a go.mod with the paths of the project.
func relative(text []byte, m *module) ([]byte, error) {
	file, err := modfile.Parse(goMod, text, nil)
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		file.AddReplace(controllerRuntime, "", m.target(gomod.DropInDir), ""),
		file.AddReplace(layout.RuntimeModule, "", m.target(layout.BundleDir), ""),
	)
	if err != nil {
		return nil, err
	}
	return file.Format()
}

// vendored returns the files of a module's future vendor directory, by path in the project. It returns nil if the
// module has no vendor directory.
func (s scratch) vendored(ctx context.Context, dir string, m *module, fsys fs.FS) (map[string][]byte, error) {
	if _, err := fs.Stat(fsys, path.Join(m.dir, vendorDir, "modules.txt")); err != nil {
		return nil, nil
	}
	out := s.path(path.Join("vendored", m.dir))
	moduleDir := filepath.Join(dir, filepath.FromSlash(m.dir))
	_, err := goCommand(ctx, moduleDir, s.env(), "mod", "vendor", "-o", out, "-modfile="+s.modFile(m))
	if err != nil {
		return nil, &diagnostic.Error{
			Pos:     token.Position{Filename: path.Join(m.dir, vendorDir)},
			Message: "cannot update the directory: " + err.Error(),
			Hint:    "connect to the network or fill the module cache, then run the command again",
			Cause:   err,
		}
	}
	files := map[string][]byte{}
	err = filepath.WalkDir(out, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(out, name)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(name)
		if filepath.Base(name) == "modules.txt" {
			content = []byte(strings.ReplaceAll(strings.ReplaceAll(string(content), s.path(gomod.DropInDir),
				m.target(gomod.DropInDir)), s.path(layout.BundleDir), m.target(layout.BundleDir)))
		}
		files[path.Join(m.dir, vendorDir, filepath.ToSlash(rel))] = content
		return err
	})
	return files, err
}
