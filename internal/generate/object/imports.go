package object

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"sigs.k8s.io/controller-tools/pkg/loader"
)

// imports are those of a generated file. A package has the same name in it whatever the order of the types.
type imports struct {
	pkg    *loader.Package   // that the file belongs to
	names  map[string]string // by path
	owners map[string]string // paths by name; the name of the file's own package is taken
}

func newImports(pkg *loader.Package) *imports {
	return &imports{pkg: pkg, names: map[string]string{}, owners: map[string]string{pkg.Name: pkg.PkgPath}}
}

// need returns the name of a package in the file, and imports it if that has not been done. The name is the end of the
// path, as much of it as makes it the only one. A path without any more to give is followed by an x.
func (i *imports) need(path string) string {
	path = loader.NonVendorPath(path)
	if name, known := i.names[path]; known {
		return name
	}
	parts := strings.Split(path, "/")
	name := ""
	for part := len(parts) - 1; name == "" || i.owners[name] != ""; part = max(part-1, 0) {
		if part == 0 {
			name += "x"
		}
		name = identifier(parts[part]) + name
	}
	i.names[path], i.owners[name] = name, path
	return name
}

// identifier returns a part of a path without what cannot be in a name.
func identifier(part string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' {
			return r
		}
		return '_'
	}, strings.TrimLeftFunc(part, unicode.IsDigit))
}

// specs returns the lines of the import declaration.
func (i *imports) specs() []string {
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(i.names)) {
		line := fmt.Sprintf("%q", path)
		if imported := i.pkg.Imports()[path]; imported == nil || imported.Name != i.names[path] {
			line = i.names[path] + " " + line
		}
		lines = append(lines, line)
	}
	return lines
}
