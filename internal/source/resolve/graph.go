package resolve

import (
	"maps"
	"path/filepath"
	"slices"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// graph is the part of the requirement graph of modules that the go command reads. The go.mod of a module with Go 1.17
// or later lists all modules that its packages need, so the requirements of those modules are not read: the graph is
// pruned.
type graph struct {
	modules   *modules
	required  map[module.Version]requirements // by module whose go.mod was read
	selected  map[string]string               // the highest required version, by path
	goVersion string                          // the highest required Go version
	followed  map[step]bool
}

// requirements are the requirements in the go.mod file of one module.
type requirements struct {
	modules []module.Version
	pruning pruning
}

// pruning selects how far the go command follows the requirements of a module.
type pruning int

const (
	unpruned  pruning = iota // all dependencies, transitively
	pruned                   // only those in its own go.mod
	workspace                // dependencies of the modules that it requires
)

type step struct {
	to      module.Version
	pruning pruning
}

// readGraph reads the go.mod files of all modules that the main modules require.
func (m *modules) readGraph() (*graph, error) {
	g := &graph{modules: m, required: map[module.Version]requirements{}, selected: map[string]string{},
		followed: map[step]bool{}}
	if m.workDir != "" {
		return g, g.followWorkspace()
	}
	own := m.requirementsOf(m.main[0])
	g.required[m.mainVersion(0)] = own
	g.selectHighest(own.modules)
	for _, r := range own.modules {
		if err := g.follow(r, own.pruning); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func (m *modules) mainVersion(i int) module.Version {
	return module.Version{Path: m.main[i].Module.Mod.Path}
}

// followWorkspace follows the requirements of the main modules, and then the selected versions of modules that differ
// from the version in a main module.
func (g *graph) followWorkspace() error {
	matters := map[string]bool{}
	for i := range g.modules.main {
		matters[g.modules.mainVersion(i).Path] = true
		if err := g.follow(g.modules.mainVersion(i), workspace); err != nil {
			return err
		}
	}
	seen := map[module.Version]bool{}
	for {
		next := map[module.Version]bool{}
		for path := range matters {
			at := module.Version{Path: path, Version: g.selected[path]}
			if !seen[at] {
				next[at] = true
				continue
			}
			for _, r := range g.required[at].modules {
				chosen := module.Version{Path: r.Path, Version: g.selected[r.Path]}
				if !g.modules.isMain(r.Path) && semver.Compare(chosen.Version, r.Version) > 0 && !seen[chosen] {
					next[chosen] = true
				}
			}
		}
		if len(next) == 0 {
			return nil
		}
		for at := range next {
			if err := g.follow(at, workspace); err != nil {
				return err
			}
			seen[at], matters[at.Path] = true, true
		}
	}
}

// follow reads the go.mod file of a module and of its requirements, to the depth that how selects.
func (g *graph) follow(v module.Version, how pruning) error {
	if g.followed[step{v, how}] {
		return nil
	}
	g.followed[step{v, how}] = true
	known, err := g.read(v)
	if err != nil || how == pruned && known.pruning == pruned {
		return err
	}
	next := known.pruning
	if how == unpruned {
		next = unpruned
	}
	for _, r := range known.modules {
		if err := g.follow(r, next); err != nil {
			return err
		}
	}
	return nil
}

func (g *graph) read(v module.Version) (requirements, error) {
	if known, ok := g.required[v]; ok {
		return known, nil
	}
	m := g.modules
	main := slices.IndexFunc(m.main, func(f *modfile.File) bool { return f.Module.Mod.Path == v.Path })
	var file *modfile.File
	if main >= 0 && v.Version == "" {
		file = m.main[main]
	} else if required, err := m.readRequired(v); err != nil {
		return requirements{}, err
	} else if file = required; file.Go != nil && compareGo(file.Go.Version, "1.21") >= 0 &&
		compareGo(file.Go.Version, g.goVersion) > 0 {
		g.goVersion = file.Go.Version
	}
	found := m.requirementsOf(file)
	g.required[v] = found
	g.selectHighest(found.modules)
	return found, nil
}

func (g *graph) selectHighest(required []module.Version) {
	for _, r := range required {
		if known, ok := g.selected[r.Path]; !g.modules.isMain(r.Path) && (!ok || semver.Compare(r.Version, known) > 0) {
			g.selected[r.Path] = r.Version
		}
	}
}

// requirementsOf returns the requirements of a go.mod file that no main module excludes.
func (m *modules) requirementsOf(file *modfile.File) requirements {
	found := requirements{pruning: unpruned}
	if file.Go != nil && compareGo(file.Go.Version, "1.17") >= 0 {
		found.pruning = pruned
	}
	for _, r := range file.Require {
		if !m.excluded[r.Mod] {
			found.modules = append(found.modules, r.Mod)
		}
	}
	return found
}

// readRequired reads the go.mod file of a dependency, or of its replacement.
func (m *modules) readRequired(v module.Version) (*modfile.File, error) {
	if known, ok := m.files[v]; ok {
		return known, nil
	}
	actual := m.replacement(v)
	name := filepath.Join(actual.Path, "go.mod")
	if actual.Version != "" {
		if m.workDir == "" && !m.env.updates && !m.modSums[actual] {
			return nil, unusual("go.sum does not list the go.mod of " + actual.String())
		}
		path, version, err := escaped(actual)
		if err != nil {
			return nil, err
		}
		name = filepath.Join(m.env.ModuleCache, "cache", "download", path, "@v", version+".mod")
	}
	content, err := m.fsys.ReadFile(name)
	if err != nil {
		return nil, unusual("there is no go.mod of " + actual.String())
	}
	file, err := modfile.ParseLax(name, content, nil)
	if err != nil {
		return nil, unusual("the go.mod of " + actual.String() + " cannot be parsed")
	}
	if actual.Version != "" && (file.Module == nil || file.Module.Mod.Path != v.Path &&
		file.Module.Mod.Path != actual.Path) {
		return nil, unusual("the go.mod of " + actual.String() + " is that of another module")
	}
	if err := m.checkGo(file.Go, nil); err != nil {
		return nil, err
	}
	m.files[v] = file
	return file, nil
}

// escaped returns the path and the version of a module in the names of files of the module cache.
func escaped(v module.Version) (path, version string, err error) {
	path, pathErr := module.EscapePath(v.Path)
	version, versionErr := module.EscapeVersion(v.Version)
	if pathErr != nil || versionErr != nil {
		return "", "", unusual("there is no module " + v.String())
	}
	return filepath.FromSlash(path), version, nil
}

// selectFrom sets the versions that a graph selects. It returns an error for a go.mod that the go command would update.
func (m *modules) selectFrom(g *graph) error {
	line := m.main[0].Go
	if m.work != nil {
		line = m.work.Go
	} else if err := g.checkListed(); err != nil {
		return err
	}
	if g.goVersion != "" && (line == nil || compareGo(g.goVersion, line.Version) > 0) {
		return unusual("a module requires a newer Go than the main module")
	}
	m.graph, m.selected = g, maps.Clone(g.selected)
	return nil
}

// checkListed checks that go.mod requires the selected versions.
func (g *graph) checkListed() error {
	for _, r := range g.required[g.modules.mainVersion(0)].modules {
		if selected := g.selected[r.Path]; !g.modules.isMain(r.Path) && selected != r.Version {
			return unusual("go.mod should require " + r.Path + " " + selected)
		}
	}
	return nil
}

// isImplicit reports whether a module is missing from the requirements, although they must list it if one of its
// packages is imported.
func (m *modules) isImplicit(path string) bool {
	if m.graph == nil || m.isMain(path) {
		return false
	}
	at := module.Version{Path: path, Version: m.selected[path]}
	if m.workDir != "" {
		_, isRead := m.graph.required[at]
		return !isRead
	}
	return !slices.Contains(m.graph.required[m.mainVersion(0)].modules, at)
}
