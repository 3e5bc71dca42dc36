package upgrade

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"

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
		text, err := u.plan.Read(s.Name)
		if err != nil {
			return err
		}
		changed, left := withInterface(s.Name, text)
		for _, line := range left {
			u.note(s.Name, line, "SetupWithManager takes a *manager.Manager, but register passes a controller.Manager",
				"take a controller.Manager, and get what it lacks in func main")
		}
		if bytes.Equal(changed, text) {
			continue
		}
		if err := u.writeSetup(s.Name, text, changed); err != nil {
			return err
		}
	}
	return nil
}

// writeSetup changes a file, and keeps its lock entries for templates that the project did not apply.
func (u *upgrade) writeSetup(name string, text, changed []byte) error {
	lock, _, err := u.plan.Lock()
	if err != nil {
		return err
	}
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
func withInterface(name string, text []byte) (changed []byte, left []int) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
	if err != nil {
		return text, nil
	}
	const managers, controllers = layout.RuntimeModule + "/runtime/manager", layout.RuntimeModule + "/runtime/controller"
	manager, controller := importName(file, managers), importName(file, controllers)
	if manager == "" {
		return text, nil
	}
	imported := controller != ""
	if !imported {
		controller = "controller"
	}
	changed = text
	for _, decl := range slices.Backward(file.Decls) {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Name.Name != "SetupWithManager" || f.Recv == nil || len(f.Type.Params.List) != 1 {
			continue
		}
		param := f.Type.Params.List[0]
		if !isSelector(param.Type, manager, "Manager") {
			continue
		}
		if len(param.Names) == 1 && !usesOnly(f.Body, param.Names[0].Name, managerMethods) {
			left = append(left, set.Position(f.Pos()).Line)
			continue
		}
		from, to := set.Position(param.Type.Pos()).Offset, set.Position(param.Type.End()).Offset
		changed = slices.Concat(changed[:from], []byte(controller+".Manager"), changed[to:])
	}
	if bytes.Equal(changed, text) || imported && isUsed(name, changed, manager) {
		return changed, left
	}
	return withImport(name, changed, managers, controllers, manager, imported), left
}

// withImport returns a Go file with the import added, and without the import removed if no code uses it.
func withImport(name string, text []byte, removed, added, identifier string, imported bool) []byte {
	drop := !isUsed(name, text, identifier)
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ImportsOnly)
	if err != nil {
		return text
	}
	for _, spec := range file.Imports {
		if p, _ := strconv.Unquote(spec.Path.Value); p != removed {
			continue
		}
		from, to := set.Position(spec.Pos()).Offset, set.Position(spec.End()).Offset
		switch {
		case drop && !imported:
			return slices.Concat(text[:from], []byte(strconv.Quote(added)), text[to:])
		case drop:
			start := bytes.LastIndexByte(text[:from], '\n') + 1
			end := to + bytes.IndexByte(text[to:], '\n') + 1
			return slices.Concat(text[:start], text[end:])
		default:
			start := bytes.LastIndexByte(text[:from], '\n') + 1
			return slices.Concat(text[:start], []byte("\t"+strconv.Quote(added)+"\n"), text[start:])
		}
	}
	return text
}

// importName returns the local name of an import, or "" if the file does not import the package.
func importName(file *ast.File, importPath string) string {
	for _, spec := range file.Imports {
		if p, _ := strconv.Unquote(spec.Path.Value); p != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return importPath[strings.LastIndexByte(importPath, '/')+1:]
	}
	return ""
}

// isSelector reports whether an expression is a pointer to pkg.name.
func isSelector(expr ast.Expr, pkg, name string) bool {
	star, ok := expr.(*ast.StarExpr)
	if !ok {
		return false
	}
	selector, ok := star.X.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != name {
		return false
	}
	ident, ok := selector.X.(*ast.Ident)
	return ok && ident.Name == pkg
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

// isUsed reports whether a file uses a package by its name.
func isUsed(name string, text []byte, pkg string) bool {
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	used := err != nil
	if err == nil {
		ast.Inspect(file, func(n ast.Node) bool {
			if selector, ok := n.(*ast.SelectorExpr); ok {
				if ident, ok := selector.X.(*ast.Ident); ok && ident.Name == pkg {
					used = true
				}
			}
			return !used
		})
	}
	return used
}
