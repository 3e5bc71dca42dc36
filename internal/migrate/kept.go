package migrate

import (
	"go/ast"
	"go/types"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/scaffold"
)

// Functions of the project that a library calls with values of controller-runtime: these go on to take and return them.

// surveyKept finds these functions.
func (f *file) surveyKept(n ast.Node) {
	e, ok := n.(ast.Expr)
	if !ok || !isValue(f, e) {
		return
	}
	if t, foreign := f.place(e); foreign && t != nil {
		if _, ok := t.Underlying().(*types.Signature); ok && mentionsPeer(t.Underlying(), 0) {
			f.keepFunction(e)
		}
	}
	wanted := f.wanted(e)
	if wanted == nil || !f.isForeignType(wanted) || f.isForeignType(f.info.TypeOf(e)) {
		return
	}
	asked, ok := wanted.Underlying().(*types.Interface)
	if _, wraps := f.wrapping(e, wanted); !ok || wraps {
		return
	}
	for method := range asked.Methods() {
		if !f.isForeign(method.Pkg()) || !mentionsPeer(method.Signature(), 0) {
			continue
		}
		object, _, _ := types.LookupFieldOrMethod(f.info.TypeOf(e), true, nil, method.Name())
		if own, ok := object.(*types.Func); ok && own.Pkg() != nil && f.isOwn(own.Pkg().Path()) && f.isNameable(own.Signature()) {
			f.kept[own.FullName()] = true
		}
	}
}

// keepFunction keeps the types of a function that is given to a library, if it is one that the project declares or a literal.
func (f *file) keepFunction(e ast.Expr) {
	signature, ok := f.info.TypeOf(e).Underlying().(*types.Signature)
	if !ok || !f.isNameable(signature) {
		return
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.FuncLit:
		f.keptLiterals[e] = true
	case *ast.Ident:
		f.keepNamed(e)
	case *ast.SelectorExpr:
		f.keepNamed(e.Sel)
	}
}

func (f *file) keepNamed(ident *ast.Ident) {
	if own, ok := f.info.Uses[ident].(*types.Func); ok && own.Pkg() != nil && f.isOwn(own.Pkg().Path()) {
		f.kept[own.FullName()] = true
	}
}

// isNameable reports whether the package that converts has a name for each type of controller-runtime in a signature.
func (f *file) isNameable(signature *types.Signature) bool {
	for _, tuple := range []*types.Tuple{signature.Params(), signature.Results()} {
		for v := range tuple.Variables() {
			if !mentionsPeer(v.Type(), 0) {
				continue
			}
			t := types.Unalias(v.Type())
			if list, ok := t.(*types.Slice); ok {
				t = types.Unalias(list.Elem())
			}
			if named, ok := t.(*types.Named); ok && objects[typeKey(named)] != "" {
				continue
			}
			c, ok := conversionOf(t)
			if hosted := c.hosted != "" && f.convertsManagers; !ok || c.name == "" || c.from != "" && !hosted || c.to != "" {
				return false
			}
		}
	}
	return true
}

// isKeptFunction reports whether a node is a function that a library calls.
func (f *file) isKeptFunction(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncLit:
		return f.keptLiterals[n]
	case *ast.FuncDecl:
		declared, ok := f.info.Defs[n.Name].(*types.Func)
		return ok && f.kept[declared.FullName()]
	}
	return false
}

// keptSignature returns the signature of the function that the node is in, if a library calls it.
func (f *file) keptSignature() *types.Signature {
	for _, n := range slices.Backward(f.stack) {
		switch n := n.(type) {
		case *ast.FuncLit:
			if !f.keptLiterals[n] {
				return nil
			}
			signature, _ := f.info.TypeOf(n).(*types.Signature)
			return signature
		case *ast.FuncDecl:
			if !f.isKeptFunction(n) {
				return nil
			}
			return f.info.Defs[n.Name].(*types.Func).Signature()
		}
	}
	return nil
}

// isKeptParameter reports whether a variable is a parameter or result of a function that a library calls, of a type that is another one after the
// migration.
func (f *file) isKeptParameter(v *types.Var) bool {
	for _, n := range f.stack {
		if !f.isKeptFunction(n) {
			continue
		}
		var function *ast.FuncType
		switch n := n.(type) {
		case *ast.FuncLit:
			function = n.Type
		case *ast.FuncDecl:
			function = n.Type
		}
		if function.Params.Pos() <= v.Pos() && v.Pos() < function.End() {
			return mentionsPeer(v.Type(), 0)
		}
	}
	return false
}

// keptType returns the type of a parameter or result of a function that a library calls, as the package that converts names it.
func (f *file) keptType(n ast.Node) string {
	field, ok := f.around(0).(*ast.Field)
	if !ok || field.Type != n || !f.isKeptFunction(f.around(3)) {
		return ""
	}
	e := field.Type
	dots := ""
	if variadic, ok := e.(*ast.Ellipsis); ok {
		e, dots = variadic.Elt, "..."
	}
	t := f.info.TypeOf(e)
	if t == nil || !mentionsPeer(t, 0) {
		return ""
	}
	part := scaffold.AdapterClient
	if c, ok := conversionOf(t); ok {
		part = c.part
	}
	name := f.adapterName(part)
	return dots + types.TypeString(t, func(pkg *types.Package) string {
		if isOfPeer(pkg) {
			return name
		}
		return f.packageName(pkg)
	})
}
