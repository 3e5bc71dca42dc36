package gomod

import (
	"bytes"
	"errors"
	"go/ast"
	"go/types"
	"io/fs"
	"path"
	"slices"
	"sync"

	"github.com/kctrl-dev/kctrl"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// neededInterface is an interface of the runtime on which the generated function register depends.
type neededInterface struct {
	folder, name string
	file         string   // of this kctrl
	elements     []string // the names of methods, and the types of unions
}

// neededInterfaces returns the interfaces as this kctrl's runtime has them.
var neededInterfaces = sync.OnceValues(func() ([]neededInterface, error) {
	needed := []neededInterface{
		{folder: "runtime/controller", name: "Manager"},
		{folder: "runtime/manager", name: "Setup"},
	}
	var errs []error
	for i, n := range needed {
		var err error
		needed[i].file, needed[i].elements, err = elements(plan.New(kctrl.Source), n.folder, n.name)
		errs = append(errs, err)
	}
	return needed, errors.Join(errs...)
})

// CheckRegistration returns an error if an older kctrl wrote the bundled runtime, and the function register that this
// kctrl generates would not compile with it.
func CheckRegistration(p *plan.Plan, proj *project.Project) error {
	if proj.Runtime == project.Module || !ReplacesRuntime(p) {
		return nil
	}
	needed, err := neededInterfaces()
	if err != nil {
		return err
	}
	for _, n := range needed {
		ours, err := fs.ReadFile(kctrl.Source, n.file)
		if err != nil {
			return err
		}
		there, err := p.ReadIfExists(path.Join(layout.BundleDir, n.file))
		if err == nil && bytes.Equal(there, ours) {
			continue
		}
		_, has, err := elements(p, path.Join(layout.BundleDir, n.folder), n.name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // PlanRuntime restores the package
		}
		if err != nil {
			return err
		}
		for _, element := range n.elements {
			if !slices.Contains(has, element) {
				return diagnostic.In(layout.BundleDir,
					"an older kctrl wrote the bundled runtime, with which the generated registration would not compile",
					"kctrl upgrade updates the project and its runtime to this kctrl")
			}
		}
	}
	return nil
}

// elements returns the file that declares an interface, and the names of its methods and the types of its unions. It
// returns fs.ErrNotExist if the package has no files.
func elements(p *plan.Plan, folder, name string) (file string, elements []string, err error) {
	sources, err := gosource.ReadFiles(p, folder)
	if err == nil && len(sources) == 0 {
		err = fs.ErrNotExist
	}
	for _, s := range sources {
		if s.File == nil {
			continue
		}
		ast.Inspect(s.File, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != name {
				return file == ""
			}
			if body, ok := spec.Type.(*ast.InterfaceType); ok {
				file = s.Name
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
	}
	return file, elements, err
}

func union(expr ast.Expr) []string {
	if binary, ok := expr.(*ast.BinaryExpr); ok {
		return append(union(binary.X), union(binary.Y)...)
	}
	return []string{types.ExprString(expr)}
}
