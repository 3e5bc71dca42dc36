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

// moduleDir is a module and the directory of its packages.
type moduleDir struct {
	path  string
	dir   string
	local bool // not in the module cache, so a directory below may be another module
}

// modules are all modules that can provide packages.
type modules struct {
	fsys FS
	env  *Environment

	main     []*modfile.File // of the requested module and of the other modules of its workspace
	mainDirs []string
	workDir  string // directory of go.work; empty without a workspace
	work     *modfile.WorkFile
	replaced replacements // by the main modules
	override replacements // by go.work, which takes precedence
	excluded map[module.Version]bool
	selected map[string]string // version by path, of all modules that may provide packages, except the main modules
	graph    *graph            // nil if go.mod lists all required modules
	sums     map[module.Version]bool
	modSums  map[module.Version]bool // of go.mod files
	known    map[string]bool         // the paths of all modules in go.sum, whether they provide packages or not
	vendored *vendored               // nil unless packages come from a vendor directory

	dirs  map[string]moduleDir             // by path; a cache
	files map[module.Version]*modfile.File // of modules other than the main modules; a cache
}

// replacements maps a module to its replacement: a version of another module, or a directory, whose version is empty. A
// key without a version applies to all versions of the module.
type replacements map[module.Version]module.Version

func (r replacements) of(v module.Version) (module.Version, bool) {
	if with, ok := r[v]; ok {
		return with, true
	}
	with, ok := r[module.Version{Path: v.Path}]
	return with, ok
}

// loadModules reads the go.mod file in dir and the files that affect it.
func loadModules(fsys FS, e *Environment, dir string) (*modules, error) {
	m := &modules{
		fsys: fsys, env: e,
		replaced: replacements{}, override: replacements{}, excluded: map[module.Version]bool{},
		selected: map[string]string{},
		sums:     map[module.Version]bool{}, modSums: map[module.Version]bool{}, known: map[string]bool{},
		dirs: map[string]moduleDir{}, files: map[module.Version]*modfile.File{},
	}
	work, err := m.findWorkspace(dir)
	if err != nil {
		return nil, err
	}
	if work == "" {
		err = m.readMain(dir)
	} else {
		err = m.readWorkspace(work, dir)
	}
	if err == nil {
		err = m.readDirectives()
	}
	if err == nil {
		err = m.findVendored()
	}
	// With a vendor directory, the selected versions do not matter.
	if err != nil || m.vendored != nil {
		return m, err
	}
	return m, m.selectVersions()
}

func (m *modules) readMain(dir string) error {
	name := m.env.ModFile(dir)
	content, err := m.fsys.ReadFile(name)
	// With -modfile, the content comes from another file, but go.mod still marks the module.
	if err != nil || !m.fsys.Exists(filepath.Join(dir, "go.mod")) {
		return unusual("go.mod cannot be read")
	}
	file, err := modfile.Parse(name, content, nil)
	if err != nil || file.Module == nil {
		return unusual("go.mod cannot be parsed")
	}
	if err := m.checkGo(file.Go, file.Toolchain); err != nil {
		return err
	}
	if m.isMain(file.Module.Mod.Path) {
		return unusual("two modules of the workspace are " + file.Module.Mod.Path)
	}
	m.main, m.mainDirs = append(m.main, file), append(m.mainDirs, dir)
	m.dirs[file.Module.Mod.Path] = moduleDir{file.Module.Mod.Path, dir, true}
	m.readSums(m.env.sumFile(dir))
	return nil
}

func (m *modules) isMain(path string) bool {
	return slices.ContainsFunc(m.main, func(f *modfile.File) bool { return f.Module.Mod.Path == path })
}

// checkGo returns an error for a module or workspace that would run another toolchain.
func (m *modules) checkGo(line *modfile.Go, toolchain *modfile.Toolchain) error {
	if line != nil && compareGo(line.Version, strings.TrimPrefix(m.env.Version, "go")) > 0 {
		return unusual("go.mod requires a newer Go")
	}
	local := m.env.Get("GOTOOLCHAIN") == "local"
	if toolchain != nil && !local && toolchain.Name != "default" && version.Compare(toolchain.Name, m.env.Version) > 0 {
		return unusual("go.mod requires a newer toolchain")
	}
	return nil
}

func (m *modules) readSums(name string) {
	content, err := m.fsys.ReadFile(name)
	if err != nil {
		// Without go.sum, no sum is known. Modules that need one fail later.
		return
	}
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		m.known[fields[0]] = true
		if of, isMod := strings.CutSuffix(fields[1], "/go.mod"); isMod {
			m.modSums[module.Version{Path: fields[0], Version: of}] = true
		} else {
			m.sums[module.Version{Path: fields[0], Version: fields[1]}] = true
		}
	}
}

// readDirectives records the exclude and replace directives of the main modules.
func (m *modules) readDirectives() error {
	for i, file := range m.main {
		for _, x := range file.Exclude {
			m.excluded[x.Mod] = true
		}
		for _, r := range file.Replace {
			if err := m.readReplace(r, m.mainDirs[i]); err != nil {
				return err
			}
		}
	}
	for _, file := range m.main {
		if slices.ContainsFunc(file.Require, func(r *modfile.Require) bool { return m.excluded[r.Mod] }) {
			return unusual("go.mod excludes what it requires")
		}
	}
	return nil
}

// readReplace records a replace directive of the go.mod file in dir.
func (m *modules) readReplace(r *modfile.Replace, dir string) error {
	with := absolute(r.New, dir)
	_, overridden := m.override.of(r.Old)
	// A replacement in go.work applies to all modules, so their own may differ.
	if known, ok := m.replaced[r.Old]; ok && known != with && !overridden {
		return unusual("modules replace " + r.Old.Path + " differently")
	}
	m.replaced[r.Old] = with
	return nil
}

// absolute returns a replacement with the absolute path of its directory.
func absolute(with module.Version, dir string) module.Version {
	if with.Version == "" && !filepath.IsAbs(with.Path) {
		with.Path = in(dir, with.Path)
	}
	return with
}

// in returns the absolute path of a file in dir, whose name may be absolute.
func in(dir, name string) string {
	if name = filepath.FromSlash(name); filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// selectVersions selects the versions in go.mod if it lists all required modules, and otherwise those that the
// requirement graph selects.
func (m *modules) selectVersions() error {
	if m.workDir != "" || m.env.updates || m.requirementsOf(m.main[0]).pruning == unpruned {
		g, err := m.readGraph()
		if err != nil {
			return err
		}
		return m.selectFrom(g)
	}
	// Since go 1.17, a go.mod lists all modules that its packages need, so no other go.mod is read.
	for _, r := range m.main[0].Require {
		if known, ok := m.selected[r.Mod.Path]; ok && known != r.Mod.Version {
			return unusual("go.mod requires two versions of " + r.Mod.Path)
		}
		if !m.isMain(r.Mod.Path) {
			m.selected[r.Mod.Path] = r.Mod.Version
		}
	}
	return nil
}

// replacement returns the replacement of a version of a module, or the version itself.
func (m *modules) replacement(v module.Version) module.Version {
	for _, r := range []replacements{m.override, m.replaced} {
		if with, ok := r.of(v); ok {
			return with
		}
	}
	return v
}

func (m *modules) dirOf(path string) (moduleDir, error) {
	if known, ok := m.dirs[path]; ok {
		return known, nil
	}
	required := module.Version{Path: path, Version: m.selected[path]}
	actual := m.replacement(required)
	found := moduleDir{path: path, dir: actual.Path, local: true}
	if actual.Version != "" {
		// The go command reports this error with the command that adds the sum.
		if !m.sums[actual] {
			return found, unusual("go.sum does not list " + actual.String())
		}
		path, version, err := escaped(actual)
		if err != nil {
			return found, err
		}
		found.dir, found.local = filepath.Join(m.env.ModuleCache, path+"@"+version), false
	}
	if !m.fsys.IsDir(found.dir) {
		return found, unusual("the module cache has no " + actual.String())
	}
	if err := m.checkRequired(required); err != nil {
		return found, err
	}
	m.dirs[path] = found
	return found, nil
}

// checkRequired checks that no requirement of a module is newer than the selected version, in which case the go command
// would update go.mod. A graph has been checked as a whole.
func (m *modules) checkRequired(v module.Version) error {
	if m.graph != nil {
		return nil
	}
	file, err := m.readRequired(v)
	if err != nil {
		return err
	}
	for _, r := range file.Require {
		if selected, ok := m.selected[r.Mod.Path]; ok && semver.Compare(r.Mod.Version, selected) > 0 {
			return unusual("a module requires a newer " + r.Mod.Path)
		}
	}
	return nil
}

// findWorkspace returns the go.work file that applies to dir, or "".
func (m *modules) findWorkspace(dir string) (string, error) {
	switch name := m.env.Get("GOWORK"); {
	case name == "off":
		return "", nil
	case name == "":
	case filepath.IsAbs(name):
		return name, nil
	default:
		return "", unusual("GOWORK is not an absolute path")
	}
	for ; ; dir = filepath.Dir(dir) {
		if name := filepath.Join(dir, "go.work"); m.fsys.Exists(name) {
			return name, nil
		}
		if dir == filepath.Dir(dir) {
			return "", nil
		}
	}
}

// readWorkspace reads a go.work file and its modules, which must include dir.
func (m *modules) readWorkspace(name, dir string) error {
	if m.env.updates || m.env.modFile != "" {
		return unusual("a workspace is never updated, and has no -modfile")
	}
	content, err := m.fsys.ReadFile(name)
	if err != nil {
		return unusual("go.work cannot be read")
	}
	work, err := modfile.ParseWork(name, content, nil)
	if err != nil {
		return unusual("go.work cannot be parsed")
	}
	if err := m.checkGo(work.Go, work.Toolchain); err != nil {
		return err
	}
	m.work, m.workDir = work, filepath.Dir(name)
	for _, r := range work.Replace {
		m.override[r.Old] = absolute(r.New, m.workDir)
	}
	for _, use := range work.Use {
		if err := m.readMain(filepath.Clean(in(m.workDir, use.Path))); err != nil {
			return err
		}
		// The go command rejects a workspace whose Go version is older than the Go version of one of its modules.
		if last := m.main[len(m.main)-1].Go; last != nil && compareGo(last.Version, "1.21") >= 0 &&
			(work.Go == nil || compareGo(last.Version, work.Go.Version) > 0) {
			return unusual("go.work is for an older Go than its modules")
		}
	}
	if !slices.Contains(m.mainDirs, dir) {
		return unusual("the module is not one of the workspace")
	}
	m.readSums(name + ".sum")
	return nil
}
