package upgrade

import (
	"bytes"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
)

// managerMethods are the methods of the runtime's controller.Manager.
var managerMethods = []string{
	"Add", "AddHealthz", "AddReadyz", "Cache", "Client", "Config", "EventRecorder", "Handle", "Logger",
	"MaxConcurrentReconciles", "Metrics", "RESTMapper", "Scheme", "Webhooks",
}

// setups changes the parameter of setup methods from *manager.Manager, which older projects have, to the interface
// controller.Manager, which the generated function register passes. It changes a setup method only if that method uses
// no manager methods outside the interface, and notes all other setup methods.
func (u *upgrade) setups() error {
	sources, err := gosource.GoSources(u.plan, u.project)
	if err != nil {
		return err
	}
	for _, s := range sources {
		changed, left := withInterface(s)
		for _, line := range left {
			u.note(s.Name, line, "SetupWithManager takes a *manager.Manager, but register passes a controller.Manager",
				"take a controller.Manager, and get what it lacks in func main")
		}
		if bytes.Equal(changed, s.Text) {
			continue
		}
		if err := u.writeSetup(s.Name, s.Text, changed); err != nil {
			return err
		}
	}
	return nil
}

// writeSetup changes a file, and keeps its lock entries for templates that the project did not apply.
func (u *upgrade) writeSetup(name string, text, changed []byte) error {
	lock := u.plan.Lock()
	known := lock.Entries(name)
	if err := u.plan.Edit(name, changed); err != nil {
		return err
	}
	for _, e := range known {
		if !e.IsOf(text) {
			lock.Add(e)
		}
	}
	return nil
}

// withInterface returns a Go file whose setup methods take a controller.Manager, and the lines of the setup methods
// that need more.
func withInterface(s gosource.GoSource) (changed []byte, left []int) {
	controller := path.Base(layout.ControllerPackage)
	imported := false
	for name, importPath := range s.Imports() {
		if importPath == layout.ControllerPackage {
			controller, imported = name, true
		}
	}
	var changes []edit.Splice
	replaced := map[ast.Node]bool{}
	for _, decl := range s.File.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Name.Name != "SetupWithManager" || f.Recv == nil || len(f.Type.Params.List) != 1 {
			continue
		}
		param := f.Type.Params.List[0]
		star, ok := param.Type.(*ast.StarExpr)
		switch {
		case !ok || s.Qualified(star.X) != layout.ManagerPackage+".Manager":
		case len(param.Names) == 1 && !usesOnly(f.Body, param.Names[0].Name, managerMethods):
			left = append(left, s.Position(f.Pos()).Line)
		default:
			replaced[star.X] = true
			changes = append(changes, s.Replacing(star, controller+".Manager"))
		}
	}
	if len(changes) == 0 {
		return s.Text, left
	}
	return edit.Apply(s.Text, append(changes, importChange(s, replaced, imported)...)), left
}

// importChange removes the import of the manager if only replaced types use it, and adds the import of the controller
// unless the file has it.
func importChange(s gosource.GoSource, replaced map[ast.Node]bool, imported bool) []edit.Splice {
	used := false
	ast.Inspect(s.File, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		used = used || ok && !replaced[n] && strings.HasPrefix(s.Qualified(selector), layout.ManagerPackage+".")
		return !used
	})
	at := slices.IndexFunc(s.File.Imports, func(i *ast.ImportSpec) bool {
		return strings.Trim(i.Path.Value, "\"`") == layout.ManagerPackage
	})
	spec, added := s.File.Imports[at], strconv.Quote(layout.ControllerPackage)
	from, to := s.Offset(spec.Pos()), s.Offset(spec.End())
	start := bytes.LastIndexByte(s.Text[:from], '\n') + 1
	switch {
	case used && imported:
		return nil
	case used:
		return []edit.Splice{{From: start, To: start, Text: "\t" + added + "\n"}}
	case imported:
		return []edit.Splice{{From: start, To: to + bytes.IndexByte(s.Text[to:], '\n') + 1}}
	}
	return []edit.Splice{s.Replacing(spec, added)}
}

// usesOnly reports whether a function selects only the given methods of a variable. The function may also pass the
// variable to other functions.
func usesOnly(body *ast.BlockStmt, variable string, methods []string) bool {
	only := true
	ast.Inspect(body, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if ident, ok := selector.X.(*ast.Ident); ok && ident.Name == variable {
				only = only && slices.Contains(methods, selector.Sel.Name)
			}
		}
		return only
	})
	return only
}
