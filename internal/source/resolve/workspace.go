package resolve

import (
	"path/filepath"
	"slices"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// findWorkspace returns the go.work file that counts in dir, or "".
func (m *modules) findWorkspace(dir string) (string, error) {
	switch name := m.env.Get("GOWORK"); {
	case name == "off":
		return "", nil
	case name == "":
	case filepath.IsAbs(name):
		return name, nil
	default:
		return "", unusual("GOWORK is no absolute path")
	}
	for {
		if name := filepath.Join(dir, "go.work"); m.fsys.Exists(name) {
			return name, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", nil
		}
		dir = parent
	}
}

// readWorkspace reads a go.work file and the modules it uses, of which dir has to be one.
func (m *modules) readWorkspace(name, dir string) error {
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
	m.workDir = filepath.Dir(name)
	for _, use := range work.Use {
		used := filepath.FromSlash(use.Path)
		if !filepath.IsAbs(used) {
			used = filepath.Join(m.workDir, used)
		}
		if err := m.readMain(filepath.Clean(used)); err != nil {
			return err
		}
		// A workspace goes by the newest Go of its modules.
		if last := m.main[len(m.main)-1]; work.Go == nil || compareGo(last.Go.Version, work.Go.Version) > 0 {
			return unusual("go.work is for an older Go than its modules")
		}
	}
	if !slices.Contains(m.mainDirs, dir) {
		return unusual("the module is not one of the workspace")
	}
	for _, r := range work.Replace {
		if err := m.replace(r, m.workDir); err != nil {
			return err
		}
	}
	m.readSums(filepath.Join(m.workDir, "go.work.sum"))
	return nil
}

// checkSelected makes sure that what go.mod lists, or several of them together, is what the go command selects: nothing
// that a selected module requires may be newer.
func (m *modules) checkSelected() error {
	for path := range m.selected {
		actual := m.actual(path)
		if actual.Version == "" {
			continue
		}
		escapedPath, err := module.EscapePath(actual.Path)
		if err != nil {
			return unusual("there is no module " + actual.Path)
		}
		escapedVersion, err := module.EscapeVersion(actual.Version)
		if err != nil {
			return unusual("there is no version " + actual.String())
		}
		name := filepath.Join(m.env.ModuleCache, "cache", "download", filepath.FromSlash(escapedPath), "@v", escapedVersion+".mod")
		content, err := m.fsys.ReadFile(name)
		if err != nil {
			return unusual("the module cache has no go.mod of " + actual.String())
		}
		file, err := modfile.ParseLax(name, content, nil)
		if err != nil {
			return unusual("the go.mod of " + actual.String() + " cannot be parsed")
		}
		if err := m.checkRequired(file); err != nil {
			return err
		}
	}
	return nil
}
