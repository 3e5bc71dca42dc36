package resolve

import (
	"go/version"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// moduleFolder is a module and where its packages are.
type moduleFolder struct {
	path  string
	dir   string
	local bool // not in the module cache, so that a folder below may be another module
}

// modules are all modules that packages can come from.
type modules struct {
	fsys FS
	env  *Environment

	main     []*modfile.File // of the module that was asked for and of all others of its workspace
	mainDirs []string
	workDir  string // of go.work; empty without a workspace
	replaced map[module.Version]module.Version
	selected map[string]string // version by path, of all modules but the main ones
	sums     map[module.Version]bool
	graph    map[string]bool   // the paths of all modules that go.sum knows, whether packages come from them or not
	vendored map[string]string // folder by import path; nil without a vendor folder

	folders map[string]moduleFolder // by path, as far as they were asked for
}

// loadModules reads the go.mod file in dir and what belongs to it.
func loadModules(fsys FS, e *Environment, dir string) (*modules, error) {
	m := &modules{
		fsys: fsys, env: e,
		replaced: map[module.Version]module.Version{}, selected: map[string]string{}, sums: map[module.Version]bool{}, graph: map[string]bool{},
		folders: map[string]moduleFolder{},
	}
	work, err := m.findWorkspace(dir)
	if err != nil {
		return nil, err
	}
	if work != "" && e.updates {
		return nil, unusual("a workspace is never updated")
	}
	if work == "" {
		if err := m.readMain(dir); err != nil {
			return nil, err
		}
	} else if err := m.readWorkspace(work, dir); err != nil {
		return nil, err
	}
	if err := m.selectVersions(); err != nil {
		return nil, err
	}
	if err := m.findVendored(); err != nil {
		return nil, err
	}
	return m, m.checkAllLocal()
}

// readMain reads the go.mod file of a main module.
func (m *modules) readMain(dir string) error {
	file, err := m.readMod(dir)
	if err != nil {
		return err
	}
	if file.Module == nil || file.Go == nil || semver.Compare("v"+file.Go.Version, "v1.17") < 0 {
		return unusual("go.mod does not list all modules")
	}
	if err := m.checkGo(file.Go, file.Toolchain); err != nil {
		return err
	}
	m.main, m.mainDirs = append(m.main, file), append(m.mainDirs, dir)
	m.folders[file.Module.Mod.Path] = moduleFolder{file.Module.Mod.Path, dir, true}
	m.readSums(filepath.Join(dir, "go.sum"))
	return nil
}

func (m *modules) readMod(dir string) (*modfile.File, error) {
	name := filepath.Join(dir, "go.mod")
	content, err := m.fsys.ReadFile(name)
	if err != nil {
		return nil, unusual("go.mod cannot be read")
	}
	file, err := modfile.Parse(name, content, nil)
	if err != nil {
		return nil, unusual("go.mod cannot be parsed")
	}
	return file, nil
}

// checkGo refuses a module or workspace for which another toolchain would run.
func (m *modules) checkGo(line *modfile.Go, toolchain *modfile.Toolchain) error {
	if line != nil && version.Compare("go"+line.Version, m.env.Version) > 0 {
		return unusual("go.mod wants a newer Go")
	}
	local := m.env.Get("GOTOOLCHAIN") == "local"
	if toolchain != nil && !local && toolchain.Name != "default" && version.Compare(toolchain.Name, m.env.Version) > 0 {
		return unusual("go.mod wants a newer toolchain")
	}
	return nil
}

func (m *modules) readSums(name string) {
	content, err := m.fsys.ReadFile(name)
	if err != nil {
		return
	}
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		m.graph[fields[0]] = true
		if !strings.HasSuffix(fields[1], "/go.mod") {
			m.sums[module.Version{Path: fields[0], Version: fields[1]}] = true
		}
	}
}

// selectVersions takes the versions that the main modules list. Where they disagree, only the go command knows.
func (m *modules) selectVersions() error {
	for i, file := range m.main {
		for _, r := range file.Replace {
			if err := m.replace(r, m.mainDirs[i]); err != nil {
				return err
			}
		}
	}
	for _, file := range m.main {
		for _, r := range file.Require {
			if _, isMain := m.folders[r.Mod.Path]; isMain {
				continue
			}
			if known, ok := m.selected[r.Mod.Path]; ok && known != r.Mod.Version {
				return unusual("modules want different versions of " + r.Mod.Path)
			}
			m.selected[r.Mod.Path] = r.Mod.Version
		}
		for _, x := range file.Exclude {
			if slices.ContainsFunc(m.main, func(f *modfile.File) bool {
				return slices.ContainsFunc(f.Require, func(r *modfile.Require) bool { return r.Mod == x.Mod })
			}) {
				return unusual("go.mod excludes what it requires")
			}
		}
	}
	return nil
}

// replace notes a replacement in a go.mod or go.work file in dir.
func (m *modules) replace(r *modfile.Replace, dir string) error {
	with := r.New
	if with.Version == "" && !filepath.IsAbs(with.Path) {
		with.Path = filepath.Join(dir, filepath.FromSlash(with.Path))
	}
	if known, ok := m.replaced[r.Old]; ok && known != with {
		return unusual("modules replace " + r.Old.Path + " differently")
	}
	m.replaced[r.Old] = with
	return nil
}

// actual returns what stands for a module: a version of it or of another, or a folder, whose version is empty.
func (m *modules) actual(path string) module.Version {
	required := module.Version{Path: path, Version: m.selected[path]}
	if with, ok := m.replaced[required]; ok {
		return with
	}
	if with, ok := m.replaced[module.Version{Path: path}]; ok {
		return with
	}
	return required
}

// folder returns where a module is.
func (m *modules) folder(path string) (moduleFolder, error) {
	if known, ok := m.folders[path]; ok {
		return known, nil
	}
	actual := m.actual(path)
	found := moduleFolder{path: path, dir: actual.Path, local: true}
	if actual.Version != "" {
		if !m.sums[actual] {
			return found, unusual("go.sum does not list " + actual.String())
		}
		escapedPath, err := module.EscapePath(actual.Path)
		if err != nil {
			return found, unusual("there is no module " + actual.Path)
		}
		escapedVersion, err := module.EscapeVersion(actual.Version)
		if err != nil {
			return found, unusual("there is no version " + actual.String())
		}
		found.dir = filepath.Join(m.env.ModuleCache, filepath.FromSlash(escapedPath)+"@"+escapedVersion)
		found.local = false
	}
	if !m.fsys.IsFolder(found.dir) {
		return found, unusual("the module cache has no " + actual.String())
	}
	if found.local && m.workDir == "" {
		if err := m.checkLocal(found.dir); err != nil {
			return found, err
		}
	}
	m.folders[path] = found
	return found, nil
}

// checkAllLocal does for a workspace, whose modules the go command reads all, and where go.mod may be updated, what is otherwise done for the modules that
// packages come from: the others need not even exist.
func (m *modules) checkAllLocal() error {
	if m.workDir == "" && !m.env.updates {
		return nil
	}
	for path := range m.selected {
		if actual := m.actual(path); actual.Version == "" {
			if err := m.checkLocal(actual.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkLocal makes sure that nothing which a local module requires is newer than what was selected: the go command would
// then want to change go.mod.
func (m *modules) checkLocal(dir string) error {
	file, err := m.readMod(dir)
	if err != nil {
		return err
	}
	if err := m.checkGo(file.Go, nil); err != nil {
		return err
	}
	return m.checkRequired(file)
}

func (m *modules) checkRequired(file *modfile.File) error {
	for _, r := range file.Require {
		if selected, ok := m.selected[r.Mod.Path]; ok && semver.Compare(r.Mod.Version, selected) > 0 {
			return unusual("a module wants a newer " + r.Mod.Path)
		}
	}
	return nil
}
