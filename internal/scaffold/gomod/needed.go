package gomod

import (
	"bytes"
	"go/ast"
	"go/types"
	"io/fs"
	"path"
	"slices"

	"github.com/kctrl-dev/kctrl"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// neededInterfaces are the interfaces of the runtime that the generated function register needs, and their files.
var neededInterfaces = []struct{ file, name string }{
	{"runtime/controller/manager.go", "Manager"}, {"runtime/manager/main.go", "Setup"},
}

// CheckRegistration returns an error if an older kctrl wrote the bundled runtime, and the function register that this
// kctrl generates would not compile with it.
func CheckRegistration(p *plan.Plan, proj *project.Project) error {
	if proj.Runtime == project.Module || !ReplacesRuntime(p) {
		return nil
	}
	for _, n := range neededInterfaces {
		ours, err := fs.ReadFile(kctrl.Source, n.file)
		if err != nil {
			return err
		}
		there, err := p.ReadIfExists(path.Join(layout.BundleDir, n.file))
		if err != nil {
			return err
		}
		if there == nil || bytes.Equal(there, ours) {
			continue // PlanRuntime restores a missing file
		}
		has := elements(there, n.name)
		for _, element := range elements(ours, n.name) {
			if !slices.Contains(has, element) {
				return diagnostic.In(layout.BundleDir,
					"an older kctrl wrote the bundled runtime, with which the generated registration would not compile",
					"kctrl upgrade updates the project and its runtime to this kctrl")
			}
		}
	}
	return nil
}

// elements returns the names of an interface's methods and the types of its unions.
func elements(source []byte, name string) (elements []string) {
	s, ok := gosource.ParseSource("", source)
	if !ok {
		return nil
	}
	ast.Inspect(s.File, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != name {
			return true
		}
		if body, ok := spec.Type.(*ast.InterfaceType); ok {
			for _, field := range body.Methods.List {
				for _, method := range field.Names {
					elements = append(elements, method.Name)
				}
				if len(field.Names) == 0 {
					elements = append(elements, union(field.Type)...)
				}
			}
		}
		return false
	})
	return elements
}

func union(expr ast.Expr) []string {
	if binary, ok := expr.(*ast.BinaryExpr); ok {
		return append(union(binary.X), union(binary.Y)...)
	}
	return []string{types.ExprString(expr)}
}
