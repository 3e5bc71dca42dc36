package resolve

import (
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// vendored is a vendor directory that provides packages, of the main module or of the workspace.
type vendored struct {
	dir string
	// packages are the packages that modules.txt lists. With lax, for a go.mod older than Go 1.23, all other packages are
	// vendored as well.
	packages map[string]bool
	lax      bool

	explicit  map[module.Version]bool // modules that go.mod requires
	providing map[module.Version]bool // modules for which modules.txt lists packages
	replaced  replacements
	workspace bool
}

// findVendored reads vendor/modules.txt if packages come from there.
func (m *modules) findVendored() error {
	if m.env.vendor == vendorNever {
		return nil
	}
	dir, line := m.mainDirs[0], m.main[0].Go
	if m.work != nil {
		dir, line = m.workDir, m.work.Go
	}
	dir = filepath.Join(dir, "vendor")
	exists := m.fsys.IsDir(dir)
	if m.env.vendor == vendorAuto && (!exists || line == nil || compareGo(line.Version, "1.14") < 0) {
		return nil
	}
	if line == nil || compareGo(line.Version, "1.14") < 0 {
		return unusual("the vendor directory may not match go.mod")
	}
	// Without this file, no package is vendored.
	content, _ := m.fsys.ReadFile(filepath.Join(dir, "modules.txt"))
	v := readVendored(dir, string(content))
	if v.workspace != (m.work != nil) && m.env.vendor == vendorAuto {
		return nil
	}
	v.lax = compareGo(line.Version, "1.23") < 0
	m.vendored = v
	return m.checkVendored()
}

func readVendored(dir, content string) *vendored {
	v := &vendored{
		dir: dir, packages: map[string]bool{}, explicit: map[module.Version]bool{}, providing: map[module.Version]bool{},
		replaced: replacements{},
	}
	var current module.Version
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		text, isComment := strings.CutPrefix(line, "## ")
		heading, isModule := strings.CutPrefix(line, "# ")
		switch {
		case isComment:
			for entry := range strings.SplitSeq(text, ";") {
				v.workspace = v.workspace || current == module.Version{} && strings.TrimSpace(entry) == "workspace"
				v.explicit[current] = v.explicit[current] || strings.TrimSpace(entry) == "explicit"
			}
		case isModule:
			// A heading is "path version => path version". The versions, and the part from "=>" on, are optional.
			original, replacement, isReplaced := strings.Cut(heading, "=>")
			if current = parseVersion(original); isReplaced {
				v.replaced[current] = parseVersion(replacement)
			}
		case line != "" && current.Path != "":
			v.packages[line], v.providing[current] = true, true
		}
	}
	return v
}

func parseVersion(text string) module.Version {
	var v module.Version
	if fields := strings.Fields(text); len(fields) > 0 {
		v.Path = fields[0]
		if len(fields) > 1 && semver.IsValid(fields[1]) {
			v.Version = fields[1]
		}
	}
	return v
}

// has reports whether a package comes from the vendor directory, if it exists.
func (v *vendored) has(importPath string) bool { return v.lax || v.packages[importPath] }

// checkVendored checks that the vendor directory matches the go.mod files.
func (m *modules) checkVendored() error {
	inconsistent := unusual("inconsistent vendoring")
	required := map[module.Version]bool{}
	var replacing []*modfile.Replace
	for _, file := range m.main {
		for _, r := range file.Require {
			required[r.Mod] = true
		}
		replacing = append(replacing, file.Replace...)
	}
	if m.work != nil {
		replacing = append(replacing, m.work.Replace...)
	}
	for r := range required {
		if !m.vendored.explicit[r] {
			return inconsistent
		}
	}
	for provider := range m.vendored.providing {
		if m.vendored.explicit[provider] && !required[provider] {
			return inconsistent
		}
	}
	for _, r := range replacing {
		if m.vendored.replaced[r.Old] != m.declared(r.Old) {
			return inconsistent
		}
	}
	for original := range m.vendored.replaced {
		if m.declared(original) == (module.Version{}) {
			return inconsistent
		}
	}
	return nil
}

// declared returns the replacement of a module in the form of modules.txt. A directory has the path that go.mod or
// go.work contains. In a workspace, the path from a go.mod is relative to the workspace.
func (m *modules) declared(v module.Version) module.Version {
	if m.isMain(v.Path) && v.Version == "" {
		return module.Version{} // only other versions are replaced
	}
	if m.work != nil {
		if with, ok := asWritten(m.work.Replace).of(v); ok {
			return with
		}
	}
	for i, file := range m.main {
		with, ok := asWritten(file.Replace).of(v)
		switch {
		case !ok:
			continue
		case m.work == nil || with.Version != "" || filepath.IsAbs(with.Path):
			return with
		}
		rel, err := filepath.Rel(m.workDir, filepath.Join(m.mainDirs[i], with.Path))
		if err != nil {
			return with
		}
		if !modfile.IsDirectoryPath(rel) {
			rel = "./" + filepath.ToSlash(rel)
		}
		return module.Version{Path: rel}
	}
	return module.Version{}
}

func asWritten(replacing []*modfile.Replace) replacements {
	found := replacements{}
	for _, r := range replacing {
		found[r.Old] = r.New
	}
	return found
}
