package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"go/version"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	gomodule "golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
)

const (
	workFile     = "go.work"
	vendorFolder = "vendor"
)

// goModule is a Go module of a project.
type goModule struct {
	path   string
	folder string // with slashes, "." for that of the project
	// uses are the folders of other modules of the project that it builds with.
	uses []string
}

// modulesOf returns the modules that a project is made of: the one in its folder, those that it builds with and those that build with
// it, by replacements that lead to folders and by a workspace. Other modules in the folder are somebody else's.
func modulesOf(fsys fs.FS) ([]goModule, error) {
	work, err := workspaceOf(fsys)
	if err != nil {
		return nil, err
	}
	var all []goModule
	err = fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (slices.Contains([]string{vendorFolder, "third_party", "node_modules", "testdata", "bin"}, base) || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")):
			return fs.SkipDir
		case base != "go.mod" || !entry.Type().IsRegular():
			return nil
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return diagnostic.AtFile(name, "cannot read", err)
		}
		file, err := modfile.Parse(name, text, nil)
		if err != nil || file.Module == nil {
			if name == "go.mod" {
				_, err := moduleOf(text)
				return err
			}
			return nil // not one that the go command takes
		}
		module := goModule{path: file.Module.Mod.Path, folder: path.Dir(name)}
		for _, r := range file.Replace {
			if modfile.IsDirectoryPath(r.New.Path) && !filepath.IsAbs(r.New.Path) {
				module.uses = append(module.uses, path.Join(module.folder, filepath.ToSlash(r.New.Path)))
			}
		}
		if slices.Contains(work, module.folder) {
			module.uses = append(module.uses, work...)
		}
		all = append(all, module)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return together(all), nil
}

// together returns the modules that are bound to the one in the folder of the project, that one first.
func together(all []goModule) []goModule {
	var found []goModule
	has := func(folder string) bool {
		return slices.ContainsFunc(found, func(m goModule) bool { return m.folder == folder })
	}
	for again := true; again; {
		again = false
		for _, m := range all {
			bound := m.folder == "." || slices.ContainsFunc(m.uses, has) || slices.ContainsFunc(found, func(f goModule) bool { return slices.Contains(f.uses, m.folder) })
			if bound && !has(m.folder) {
				found, again = append(found, m), true
			}
		}
	}
	slices.SortFunc(found, func(a, b goModule) int { return strings.Compare(a.folder, b.folder) })
	return found
}

// workspaceOf returns the folders of the workspace of a project, if it has one.
func workspaceOf(fsys fs.FS) ([]string, error) {
	text, err := fs.ReadFile(fsys, workFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, diagnostic.AtFile(workFile, "cannot read", err)
	}
	file, err := modfile.ParseWork(workFile, text, nil)
	if err != nil {
		return nil, &diagnostic.Error{Pos: token.Position{Filename: workFile}, Message: "not a go.work file: " + oneLine(err.Error()), Hint: "repair it", Cause: err}
	}
	var folders []string
	for _, use := range file.Use {
		folders = append(folders, path.Clean(filepath.ToSlash(use.Path)))
	}
	return folders, nil
}

// adoptModules plans that the further modules of the project get the runtime, those that import it and those that build with one that
// does, and that the workspace has a Go for it.
func (m *migration) adoptModules() error {
	need := map[string]bool{".": true}
	for c := range m.plan.Files() {
		if path.Ext(c.Path) == ".go" && bytes.Contains(c.After, []byte(`"`+runtimePath)) {
			need[m.moduleAround(c.Path)] = true
		}
	}
	for again := true; again; {
		again = false
		for _, module := range m.modules {
			if !need[module.folder] && slices.ContainsFunc(module.uses, func(folder string) bool { return need[folder] }) {
				need[module.folder], again = true, true
			}
		}
	}
	for _, module := range m.modules {
		if !need[module.folder] || module.folder == "." {
			continue
		}
		if err := gomod.AdoptRequirements(m.plan, module.folder, module.path); err != nil {
			return err
		}
	}
	return m.raiseWorkspace()
}

// moduleAround returns the folder of the module that a file is of.
func (m *migration) moduleAround(name string) string {
	around := "."
	for _, module := range m.modules {
		if strings.HasPrefix(name, module.folder+"/") && (around == "." || len(module.folder) > len(around)) {
			around = module.folder
		}
	}
	return around
}

// raiseWorkspace raises the version of Go of the workspace to that of its modules.
func (m *migration) raiseWorkspace() error {
	text, err := m.plan.Read(workFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	file, err := modfile.ParseWork(workFile, text, nil)
	if err != nil {
		return err
	}
	root, err := m.plan.Read("go.mod")
	if err != nil {
		return err
	}
	module, err := moduleOf(root)
	if err != nil || module.Go == nil || file.Go != nil && version.Compare("go"+file.Go.Version, "go"+module.Go.Version) >= 0 {
		return err
	}
	if err := file.AddGoStmt(module.Go.Version); err != nil {
		return err
	}
	if file.Toolchain != nil && version.Compare(file.Toolchain.Name, "go"+module.Go.Version) < 0 {
		file.DropToolchainStmt()
	}
	return m.plan.Edit(workFile, modfile.Format(file.Syntax))
}

// hasWorkspace reports whether the project is built as a workspace.
func (m *migration) hasWorkspace() bool {
	_, err := fs.Stat(m.plan.FS(), workFile)
	return err == nil
}

// anyModule lets the go command change go.mod of the copy, which it does not in a workspace.
func (m *migration) anyModule() []string {
	if m.hasWorkspace() {
		return []string{"GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -mod=readonly")}
	}
	return []string{"GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -mod=mod"), "GOWORK=off"}
}

// completeModules completes the go.mod and go.sum of each module in the copy, and its vendor folder, and plans what they become. Where
// the go command does not, for want of a network, the report says so.
func (m *migration) completeModules(ctx context.Context, scratch string) error {
	for _, module := range m.modules {
		folder := filepath.Join(scratch, filepath.FromSlash(module.folder))
		if err := replacePaths(folder, m.dir, scratch, module.folder); err != nil {
			return err
		}
		if err := errors.Join(m.raisePins(scratch, module.folder), m.raiseReleased(ctx, scratch, module.folder), m.raisePeer(scratch, module.folder), m.keepDropped(ctx, scratch, module.folder)); err != nil {
			return err
		}
	}
	for _, module := range m.modules {
		out, err := m.tidy(ctx, scratch, module.folder)
		if err == nil {
			out, err = m.vendor(ctx, scratch, module.folder)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			m.report.Left = append(m.report.Left, Left{File: path.Join(module.folder, "go.mod"), Reason: "did not work here, run it where it does: " + out, Command: "go -C " + module.folder + " mod tidy"})
		}
	}
	return nil
}

// raisePins raises the versions that the go.mod of a module in the copy pins others to by replacements, to those that the runtime needs: with older
// ones it does not compile.
func (m *migration) raisePins(scratch, module string) error {
	text, err := m.plan.Read("third_party/kctrl/go.mod")
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the runtime is a module like any other
	}
	if err != nil {
		return err
	}
	runtime, err := moduleOf(text)
	if err != nil {
		return err
	}
	return editModule(filepath.Join(scratch, filepath.FromSlash(module)), func(file *modfile.File) (bool, error) {
		before := len(m.report.Left)
		for _, needed := range runtime.Require {
			for _, r := range slices.Clone(file.Replace) {
				pinned := r.Old.Path == needed.Mod.Path && r.New.Path == r.Old.Path
				if !pinned || semver.Compare(r.New.Version, needed.Mod.Version) >= 0 {
					continue
				}
				if err := m.raisePin(file, module, r, needed.Mod.Version); err != nil {
					return false, err
				}
			}
		}
		return len(m.report.Left) > before, nil
	})
}

// isReleased reports whether a module is of a release of Kubernetes.
func isReleased(v gomodule.Version) bool {
	return strings.HasPrefix(v.Path, kubernetesModules) && semver.Major(v.Version) == "v0" && semver.Prerelease(v.Version) == ""
}

// kubernetesModules begins the paths of the modules of Kubernetes.
const kubernetesModules = "k8s.io/"

// raiseReleased raises the modules that are released together with those which the runtime needs, such as k8s.io/component-helpers, to the
// release of these: with the types of another one they often do not compile. A version that nobody serves is no such release.
func (m *migration) raiseReleased(ctx context.Context, scratch, module string) error {
	folder := filepath.Join(scratch, filepath.FromSlash(module))
	return editModule(folder, func(file *modfile.File) (bool, error) {
		release := releaseOf(file)
		older := func(v gomodule.Version) bool {
			if !isReleased(v) || semver.Major(release) != "v0" || semver.Compare(semver.MajorMinor(v.Version), semver.MajorMinor(release)) >= 0 {
				return false
			}
			_, err := m.command(ctx, folder, "list", "-m", v.Path+"@"+release)
			return err == nil
		}
		changed := false
		for _, r := range slices.Clone(file.Require) {
			if !older(r.Mod) {
				continue
			}
			changed = true
			if err := file.AddRequire(r.Mod.Path, release); err != nil {
				return false, err
			}
		}
		for _, r := range slices.Clone(file.Replace) {
			if r.New.Path != r.Old.Path || !older(r.New) {
				continue
			}
			changed = true
			m.report.Left = append(m.report.Left, Left{
				File: path.Join(module, "go.mod"), Code: r.Old.Path + " => " + r.New.Version, Rewritten: true,
				Reason: fmt.Sprintf("%s was pinned to %s, and is released with what the runtime needs, %s", r.Old.Path, r.New.Version, release),
			})
			if err := file.AddReplace(r.Old.Path, r.Old.Version, r.New.Path, release); err != nil {
				return false, err
			}
		}
		return changed, nil
	})
}

// releaseOf returns the version of k8s.io/apimachinery that a module has, empty where it has none.
func releaseOf(file *modfile.File) string {
	const base = kubernetesModules + "apimachinery"
	for _, r := range file.Replace {
		if r.Old.Path == base {
			return r.New.Version
		}
	}
	for _, r := range file.Require {
		if r.Mod.Path == base {
			return r.Mod.Version
		}
	}
	return ""
}

// releaseIn returns the release of Kubernetes of the module in a folder, empty where that is not known.
func releaseIn(folder string) string {
	text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return ""
	}
	file, err := moduleOf(text)
	if err != nil {
		return ""
	}
	return releaseOf(file)
}

// raisePin raises the version that a go.mod pins a module to.
func (m *migration) raisePin(file *modfile.File, module string, r *modfile.Replace, version string) error {
	m.report.Left = append(m.report.Left, Left{
		File: path.Join(module, "go.mod"), Code: r.Old.Path + " => " + r.New.Version, Rewritten: true,
		Reason: fmt.Sprintf("%s was pinned to %s, and the runtime needs %s", r.Old.Path, r.New.Version, version),
	})
	return file.AddReplace(r.Old.Path, r.Old.Version, r.New.Path, version)
}

// command runs the go command in a folder of the copy. What it says last is why it fails.
func (m *migration) command(ctx context.Context, folder string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = folder
	command.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -mod=mod"), "GOWORK=off")
	out, err := command.CombinedOutput()
	if err != nil {
		return "go " + strings.Join(args, " ") + ": " + complaint(string(out)), err
	}
	return "", nil
}

// complaint returns the line of what the go command has said that says why it fails: the last one, but for how far it has come and for
// what a proxy says of a module, or what helps, which the line before says.
func complaint(out string) string {
	var last string
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "go: downloading ") && !strings.HasPrefix(line, "server response: ") && line != "go mod tidy" {
			last = line
		}
	}
	return last
}

// tidy completes go.mod and go.sum of a module in the copy, and plans what they become.
func (m *migration) tidy(ctx context.Context, scratch, module string) (string, error) {
	folder := filepath.Join(scratch, filepath.FromSlash(module))
	if out, err := m.command(ctx, folder, "mod", "tidy"); err != nil {
		// A test of some module that is nowhere is enough for it to fail: what can be had is compiled, and go.mod left to the author.
		_, _ = m.command(ctx, folder, "mod", "tidy", "-e")
		return out, err
	}
	if err := errors.Join(dropReplacement(folder), replacePaths(folder, scratch, m.dir, module)); err != nil {
		return err.Error(), err
	}
	defer replacePaths(folder, m.dir, scratch, module) // for what is compiled there
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err.Error(), err
		}
		if err := m.plan.Edit(path.Join(module, name), text); err != nil {
			return err.Error(), err
		}
	}
	return "", nil
}

const builtinModule = "k8s.io/api"

// keepDropped keeps the versions of built-in kinds that a module uses and that the k8s.io/api of the runtime has no more: each becomes a
// module of its import path in third_party, so that no import changes. They are alpha and beta versions, which clusters have that the
// project is for.
func (m *migration) keepDropped(ctx context.Context, scratch, module string) error {
	folder := filepath.Join(scratch, filepath.FromSlash(module))
	used, err := m.builtinsOf(module)
	if err != nil || len(used) == 0 {
		return err
	}
	before, after := moduleFolder(ctx, filepath.Join(m.dir, filepath.FromSlash(module)), "readonly"), moduleFolder(ctx, folder, "mod")
	if before == "" || after == "" {
		return nil // tidy will say why
	}
	for _, importPath := range used {
		version := filepath.FromSlash(strings.TrimPrefix(importPath, builtinModule+"/"))
		if isFolder(filepath.Join(after, version)) || !isFolder(filepath.Join(before, version)) {
			continue
		}
		kept := path.Join("third_party", importPath)
		if err := m.keep(scratch, kept, importPath, filepath.Join(before, version)); err != nil {
			return err
		}
		replaced, err := filepath.Rel(filepath.FromSlash(module), filepath.FromSlash(kept))
		if err != nil {
			return err
		}
		err = editModule(folder, func(file *modfile.File) (bool, error) {
			return true, errors.Join(file.AddRequire(importPath, "v0.0.0"), file.AddReplace(importPath, "", "./"+filepath.ToSlash(replaced), ""))
		})
		if err != nil {
			return err
		}
		m.report.Left = append(m.report.Left, Left{
			File: path.Join(kept, "go.mod"), Reason: importPath + " is in k8s.io/api no more, and kept here for as long as clusters have it; the server in memory does not serve it", Rewritten: true,
		})
	}
	return nil
}

// builtinsOf returns the packages of k8s.io/api that the Go files of a module import and that may be dropped, sorted.
func (m *migration) builtinsOf(module string) ([]string, error) {
	names, err := m.named(func(name string) bool { return path.Ext(name) == ".go" && m.moduleAround(name) == module })
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, name := range names {
		text, err := fs.ReadFile(m.plan.FS(), name) // as it was: a file may have moved
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(text, []byte(`"`+builtinModule+`/`)) {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		if err != nil {
			continue // not one that the go command takes
		}
		for _, spec := range parsed.Imports {
			importPath := importPathOf(spec)
			if version := path.Base(importPath); strings.HasPrefix(importPath, builtinModule+"/") && (strings.Contains(version, "alpha") || strings.Contains(version, "beta")) {
				found[importPath] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// keep plans a package as a module, and writes it to the copy.
func (m *migration) keep(scratch, folder, importPath, from string) error {
	sources, err := filepath.Glob(filepath.Join(from, "*.go"))
	if err != nil {
		return err
	}
	files := map[string][]byte{"go.mod": []byte("module " + importPath + "\n\ngo " + goVersion + "\n")}
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		if files[filepath.Base(source)], err = os.ReadFile(source); err != nil {
			return err
		}
	}
	for name, text := range files {
		name = path.Join(folder, name)
		if err := errors.Join(m.plan.Edit(name, text), writeTo(scratch, name, text)); err != nil {
			return err
		}
	}
	return m.editEach(isDockerfile, func(text string) string {
		const copies = "COPY third_party/kctrl/ third_party/kctrl/\n"
		if added := "COPY " + folder + "/ " + folder + "/\n"; !strings.Contains(text, added) {
			return strings.ReplaceAll(text, copies, copies+added)
		}
		return text
	})
}

// moduleFolder returns where k8s.io/api of a module is, empty where that is not known.
func moduleFolder(ctx context.Context, folder, mod string) string {
	command := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", builtinModule)
	command.Dir = folder
	command.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -mod="+mod), "GOWORK=off")
	out, err := command.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// vendor plans what becomes of the vendor folder of a module that has one.
func (m *migration) vendor(ctx context.Context, scratch, module string) (string, error) {
	vendored := path.Join(module, vendorFolder)
	if _, err := fs.Stat(m.plan.FS(), path.Join(vendored, "modules.txt")); err != nil {
		return "", nil
	}
	target := filepath.Join(scratch, filepath.FromSlash(vendored))
	defer os.RemoveAll(target) // what is compiled there comes from modules
	if out, err := m.command(ctx, filepath.Join(scratch, filepath.FromSlash(module)), "mod", "vendor"); err != nil {
		return out, err
	}
	stays := map[string]bool{}
	err := filepath.WalkDir(target, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(scratch, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		stays[rel] = true
		return m.plan.Edit(rel, text)
	})
	if err != nil {
		return err.Error(), err
	}
	err = fs.WalkDir(m.plan.FS(), vendored, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || stays[name] {
			return err
		}
		return m.plan.Delete(name)
	})
	if err != nil {
		return err.Error(), err
	}
	return "", nil
}

// dropReplacement takes the replacement of a controller-runtime out of the go.mod in a folder that nothing requires any more.
func dropReplacement(folder string) error {
	return editModule(folder, func(file *modfile.File) (bool, error) {
		if slices.ContainsFunc(file.Require, func(r *modfile.Require) bool { return r.Mod.Path == peerModule }) {
			return false, nil
		}
		changed := false
		for _, r := range slices.Clone(file.Replace) {
			if r.Old.Path == peerModule {
				changed = true
				if err := file.DropReplace(r.Old.Path, r.Old.Version); err != nil {
					return false, err
				}
			}
		}
		return changed, nil
	})
}

// replacePaths makes the replacements of the go.mod in a folder that lead out of the project by relative paths lead to the same places
// when the project is in another folder. module is the folder in the project.
func replacePaths(folder, from, to, module string) error {
	return editModule(folder, func(file *modfile.File) (bool, error) {
		changed := false
		for _, r := range slices.Clone(file.Replace) {
			if !modfile.IsDirectoryPath(r.New.Path) || filepath.IsAbs(r.New.Path) {
				continue
			}
			leads := filepath.Join(from, filepath.FromSlash(module), r.New.Path)
			if rel, err := filepath.Rel(from, leads); err != nil || filepath.IsLocal(rel) {
				continue
			}
			rel, err := filepath.Rel(filepath.Join(to, filepath.FromSlash(module)), leads)
			if err != nil {
				return false, err
			}
			changed = true
			if err := file.AddReplace(r.Old.Path, r.Old.Version, filepath.ToSlash(rel), ""); err != nil {
				return false, err
			}
		}
		return changed, nil
	})
}

// editModule changes the go.mod in a folder.
func editModule(folder string, change func(*modfile.File) (bool, error)) error {
	name := filepath.Join(folder, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	file, err := moduleOf(text)
	if err != nil {
		return err
	}
	if changed, err := change(file); err != nil || !changed {
		return err
	}
	file.Cleanup()
	out, err := file.Format()
	if err != nil {
		return err
	}
	return os.WriteFile(name, out, 0o644)
}

// moduleOf parses a go.mod.
func moduleOf(text []byte) (*modfile.File, error) {
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return nil, &diagnostic.Error{Pos: token.Position{Filename: "go.mod"}, Message: fmt.Sprint("not a go.mod file: ", oneLine(err.Error())), Hint: "repair it", Cause: err}
	}
	return file, nil
}
