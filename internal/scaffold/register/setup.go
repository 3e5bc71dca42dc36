package register

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
)

// maker is a function in the user's program that creates a reconciler, a defaulter or a validator.
type maker struct {
	name string
	pos  token.Position
	// result is the type in the source, such as controller.GuestbookReconciler.
	result string
	// args are the arguments that register passes, and other reports whether the function has another parameter.
	args  []string
	other bool
	// fails is set if the function also returns an error.
	fails bool
}

// makers has functions by the type to which they return a pointer. The key is import path, dot and name.
type makers map[string][]maker

// makers returns the functions of a program that return a pointer to a type of another package, alone or with an error.
// If the generated function register sets up such a type, it calls the function, which can pass the operator's flags
// and clients to the type.
func (g Program) makers() makers {
	found := makers{}
	for _, s := range g.files {
		found.add(s)
	}
	return found
}

func (m makers) add(s gosource.GoSource) {
	for _, decl := range s.File.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Type.TypeParams != nil || f.Type.Results == nil {
			continue
		}
		results := typesOf(f.Type.Results)
		star, ok := results[0].(*ast.StarExpr)
		if !ok || len(results) > 2 || len(results) == 2 && !isIdent(results[1], "error") {
			continue
		}
		made := maker{name: f.Name.Name, pos: s.Position(f.Name.Pos()), fails: len(results) == 2}
		for _, param := range typesOf(f.Type.Params) {
			if s.Qualified(param) == layout.ControllerPackage+".Manager" {
				made.args = append(made.args, "m")
			} else {
				made.other = true
			}
		}
		if name := s.Qualified(star.X); name != "" {
			made.result = types.ExprString(star.X)
			m[name] = append(m[name], made)
		}
	}
}

// setup returns the expression that sets up a type. fallible is set if the expression calls the helper made, for a
// function that also returns an error. alias returns the local name of the type's package; setup calls it only if the
// expression needs the name.
func (m makers) setup(importPath, name string, alias func() string) (expr string, fallible bool, err error) {
	found := m[importPath+"."+name]
	if len(found) == 0 {
		return fmt.Sprintf("new(%s.%s).SetupWithManager(m)", alias(), name), false, nil
	}
	one := found[0]
	switch {
	case len(found) > 1:
		return "", false, diagnostic.At(found[1].pos,
			fmt.Sprintf("%s and %s both make a %s, and register can use one", one.name, found[1].name, name),
			"have one of them call the other, with a result that is not a pointer to it, or remove it")
	case one.other || len(one.args) > 1:
		return "", false, diagnostic.At(one.pos,
			fmt.Sprintf("%s makes a %s, and register can pass it a controller.Manager only", one.name, name),
			fmt.Sprintf("write func %s() *%s, or with the parameter m controller.Manager; flags and all else can "+
				"be variables of package main", one.name, one.result))
	}
	call := one.name + "(" + strings.Join(one.args, ", ") + ")"
	if one.fails {
		return "made(" + call + ")(m)", true, nil
	}
	return call + ".SetupWithManager(m)", false, nil
}

// typesOf returns the type of each parameter or result.
func typesOf(list *ast.FieldList) []ast.Expr {
	var types []ast.Expr
	for _, field := range list.List {
		types = append(types, slices.Repeat([]ast.Expr{ast.Unparen(field.Type)}, max(1, len(field.Names)))...)
	}
	return types
}

func isIdent(expr ast.Expr, name string) bool {
	ident, ok := expr.(*ast.Ident)
	return ok && ident.Name == name
}
