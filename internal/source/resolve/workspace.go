package resolve

import (
	"path/filepath"
	"slices"

	"golang.org/x/mod/modfile"
)

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
