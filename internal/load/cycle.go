package load

import (
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

var importStack = regexp.MustCompile(`import cycle not allowed: import stack: \[([^\]]*)\]`)

// cyclePosition returns where an import cycle, as the go command reports it, begins: the first import in it.
func (p *Program) cyclePosition(packages map[*loader.Package]bool, message string) token.Position {
	m := importStack.FindStringSubmatch(message)
	if m == nil {
		return token.Position{}
	}
	stack := strings.Fields(m[1])
	// What comes before the cycle led to it, and is not to blame.
	for len(stack) > 1 && stack[0] != stack[len(stack)-1] {
		stack = stack[1:]
	}
	if len(stack) < 2 {
		return token.Position{}
	}
	for pkg := range packages {
		if pkg.PkgPath == stack[0] {
			return diagnostic.Relative(p.dir, importPosition(pkg, stack[1]))
		}
	}
	return token.Position{}
}

// importPosition returns where a package imports another: in the first of its files that does.
func importPosition(pkg *loader.Package, importPath string) token.Position {
	fset := token.NewFileSet()
	for _, name := range pkg.GoFiles {
		file, err := parser.ParseFile(fset, name, nil, parser.ImportsOnly|parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		for _, spec := range file.Imports {
			if imported, _ := strconv.Unquote(spec.Path.Value); imported == importPath {
				return fset.Position(spec.Path.Pos())
			}
		}
	}
	return token.Position{}
}
