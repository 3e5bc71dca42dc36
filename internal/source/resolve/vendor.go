package resolve

import (
	"maps"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"
)

// findVendored reads vendor/modules.txt, if packages come from there.
func (m *modules) findVendored() error {
	if m.workDir != "" {
		if m.env.vendor != vendorNever && m.fsys.IsFolder(filepath.Join(m.workDir, "vendor")) {
			return unusual("the workspace has a vendor folder")
		}
		return m.checkSelected()
	}
	if m.env.updates {
		return m.checkSelected()
	}
	dir := filepath.Join(m.mainDirs[0], "vendor")
	if m.env.vendor == vendorNever || m.env.vendor == vendorAuto && !m.fsys.IsFolder(dir) {
		return nil
	}
	content, err := m.fsys.ReadFile(filepath.Join(dir, "modules.txt"))
	if err != nil {
		return unusual("vendor/modules.txt cannot be read")
	}
	m.vendored = map[string]string{}
	listed, replaced := map[module.Version]bool{}, map[module.Version]module.Version{}
	var current module.Version
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(line)
		text, isComment := strings.CutPrefix(line, "## ")
		heading, isModule := strings.CutPrefix(line, "# ")
		switch {
		case isComment && strings.HasPrefix(text, "workspace"):
			return unusual("the vendor folder is that of a workspace")
		case isComment && strings.HasPrefix(text, "explicit"):
			listed[current] = true
		case isComment || line == "":
		case isModule:
			current = parseVendored(heading, replaced)
		default:
			m.vendored[line] = filepath.Join(dir, filepath.FromSlash(line))
		}
	}
	return m.checkVendored(listed, replaced)
}

// parseVendored reads "path version => path version", where version may be missing, and so the part from "=>" on.
func parseVendored(heading string, replaced map[module.Version]module.Version) module.Version {
	left, right, hasReplacement := strings.Cut(heading, "=>")
	original, with := parseVersion(left), parseVersion(right)
	if hasReplacement {
		replaced[original] = with
	}
	return original
}

func parseVersion(text string) module.Version {
	var v module.Version
	if fields := strings.Fields(text); len(fields) > 0 {
		v.Path = fields[0]
		if len(fields) > 1 {
			v.Version = fields[1]
		}
	}
	return v
}

// checkVendored makes sure that the vendor folder was made from this go.mod.
func (m *modules) checkVendored(listed map[module.Version]bool, replaced map[module.Version]module.Version) error {
	required := map[module.Version]bool{}
	for _, r := range m.main[0].Require {
		required[r.Mod] = true
	}
	declared := map[module.Version]module.Version{}
	for _, r := range m.main[0].Replace {
		declared[r.Old] = r.New
	}
	for original, with := range replaced {
		exact, ok := declared[original]
		if !ok {
			exact, ok = declared[module.Version{Path: original.Path}]
		}
		if !ok || exact != with {
			return unusual("inconsistent vendoring")
		}
	}
	for original := range required {
		_, exact := declared[original]
		_, any := declared[module.Version{Path: original.Path}]
		if _, known := replaced[original]; (exact || any) && !known {
			return unusual("inconsistent vendoring")
		}
	}
	if !maps.Equal(required, listed) {
		return unusual("inconsistent vendoring")
	}
	return nil
}
