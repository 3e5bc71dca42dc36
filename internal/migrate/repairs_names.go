package migrate

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// What to write where a name, a field or a method is not there.

// otherName writes what is in place of a name that is not there.
func (b *breakage) otherName() string {
	ident, ok := innermost[*ast.Ident](b)
	if !ok {
		return ""
	}
	selector, isSelector := b.around(0).(*ast.SelectorExpr)
	if !isSelector || selector.Sel != ident {
		return b.declared(ident.Name, ident)
	}
	in, ok := selector.X.(*ast.Ident)
	if !ok {
		return ""
	}
	name, ok := b.info.Uses[in].(*types.PkgName)
	if !ok {
		return ""
	}
	if known := snippets[strings.TrimPrefix(name.Imported().Path(), runtimePath)+"."+ident.Name]; known != "" {
		return known
	}
	scope := name.Imported().Scope()
	names := slices.DeleteFunc(scope.Names(), func(n string) bool { return !token.IsExported(n) })
	if other := nearest(ident.Name, names); other != "" {
		return in.Name + "." + other
	}
	for _, other := range runtimePackages() {
		if exported(other)[ident.Name] {
			return path.Base(other) + "." + ident.Name + " // of " + runtimePath + other
		}
	}
	return b.declared(ident.Name, selector)
}

// declared is the declaration of a name that is not there, as its use wants it.
func (b *breakage) declared(name string, use ast.Expr) string {
	if call, ok := b.calling(use); ok {
		return "func " + name + b.useOf(call, call.Args) + " {\n\tpanic(\"what does " + name + " do?\")\n}"
	}
	if t := b.wantedOf(use); t != nil {
		return "var " + name + " " + b.nameOf(t)
	}
	return "type " + name + " struct{}"
}

// calling returns the call of a function that an expression at the place names.
func (b *breakage) calling(function ast.Expr) (call *ast.CallExpr, ok bool) {
	b.find(func(n ast.Node) bool {
		call, ok = n.(*ast.CallExpr)
		ok = ok && call.Fun == function
		return ok
	})
	return call, ok
}

// wantedOf returns the type that is wanted of an expression at the place, or nil.
func (b *breakage) wantedOf(e ast.Expr) types.Type {
	if b.find(func(n ast.Node) bool { return n == e }) == nil {
		return nil
	}
	return b.wanted(e)
}

// useOf is the signature that a call gives a function: its parameters are of the types of arguments, its results of those that are wanted.
func (b *breakage) useOf(call *ast.CallExpr, arguments []ast.Expr) string {
	var params, results []*types.Var
	add := func(list *[]*types.Var, t types.Type) {
		if !isOfParameters(t) {
			t = types.Universe.Lookup("any").Type()
		}
		*list = append(*list, types.NewParam(token.NoPos, nil, "", types.Default(t)))
	}
	for _, arg := range arguments {
		add(&params, b.info.TypeOf(arg))
	}
	wanted := b.wantedOf(call)
	switch parent := b.around(0).(type) {
	case *ast.AssignStmt:
		for i, left := range parent.Lhs {
			switch {
			case len(parent.Rhs) > 1 && parent.Rhs[i] != call:
			case b.raw(left) == "err":
				add(&results, types.Universe.Lookup("error").Type())
			default:
				add(&results, cmp.Or(wanted, b.info.TypeOf(left)))
			}
		}
	case *ast.ExprStmt, *ast.GoStmt, *ast.DeferStmt:
	default:
		add(&results, wanted)
	}
	return b.signatureOf(types.NewSignatureType(nil, nil, nil, types.NewTuple(params...), types.NewTuple(results...), false))
}

// isOfParameters reports whether a type is one that a parameter can be of.
func isOfParameters(t types.Type) bool {
	switch t := t.(type) {
	case nil, *types.Tuple:
		return false
	case *types.Basic:
		return t.Kind() != types.Invalid && t.Kind() != types.UntypedNil
	case *types.Named:
		return t.TypeParams() == nil || t.TypeArgs() != nil
	}
	return true
}

// otherMember writes what a type has in place of a field or method.
func (b *breakage) otherMember() string {
	selector, ok := innermost[*ast.SelectorExpr](b)
	if !ok || b.info.TypeOf(selector.X) == nil {
		return ""
	}
	on := b.info.TypeOf(selector.X)
	if known := b.memberSnippet(on, selector.Sel.Name); known != "" {
		return known
	}
	call, isCalled := b.calling(selector)
	if b.isOwnType(on) && isCalled {
		return "func (own " + b.receiverOf(on) + ") " + selector.Sel.Name + b.useOf(call, call.Args) + " {\n\tpanic(\"what is " + selector.Sel.Name + " here?\")\n}"
	}
	if other := nearest(selector.Sel.Name, membersOf(on)); other != "" {
		text := b.raw(selector.X) + "." + other
		object, _, _ := types.LookupFieldOrMethod(on, true, b.pkg.Types, other)
		if method, ok := object.(*types.Func); ok && !isCalled {
			text += b.callOf(method.Signature(), nil)
		} else if ok && isCalled {
			text += b.callOf(method.Signature(), call.Args)
		}
		return text
	}
	helper := strings.ToLower(selector.Sel.Name[:1]) + selector.Sel.Name[1:] + "Of"
	if isCalled {
		arguments := append([]ast.Expr{selector.X}, call.Args...)
		return helper + "(" + strings.Join(b.raws(arguments), ", ") + ")\n\nfunc " + helper + b.useOf(call, arguments) + " {\n\tpanic(\"what is it here?\")\n}"
	}
	result := "any"
	if t := b.wantedOf(selector); t != nil {
		result = b.nameOf(t)
	}
	return fmt.Sprintf("%s(%s)\n\nfunc %s(of %s) %s {\n\tpanic(\"what is it here?\")\n}", helper, b.raw(selector.X), helper, b.nameOf(on), result)
}

// memberSnippet returns what to write in place of a field or method of a type that controller-runtime's has.
func (b *breakage) memberSnippet(t types.Type, member string) string {
	name := namedOf(t)
	pkg := path.Base(packageName(name))
	return cmp.Or(memberSnippets[pkg+"."+base(name)+"#"+member], memberSnippets[pkg+"#"+member])
}

// membersOf returns the names of the exported fields and methods of a type.
func membersOf(t types.Type) []string {
	var names []string
	if _, ok := t.Underlying().(*types.Pointer); !ok && !types.IsInterface(t) {
		t = types.NewPointer(t)
	}
	set := types.NewMethodSet(t)
	for method := range set.Methods() {
		names = append(names, method.Obj().Name())
	}
	if s, ok := structOf(t); ok {
		for field := range s.Fields() {
			names = append(names, field.Name())
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return !token.IsExported(name) })
}

// nearest returns which of some names is most like one: the same but for case, a Get before it or what is around it; empty where none is.
func nearest(name string, names []string) string {
	plain := func(s string) string { return strings.ToLower(strings.TrimPrefix(s, "Get")) }
	likeness := []func(other string) bool{
		func(other string) bool { return plain(other) == plain(name) },
		func(other string) bool {
			return diagnostic.Slips(plain(other), plain(name)) <= min(len(name), len(other))/4
		},
		func(other string) bool {
			a, b := plain(other), plain(name)
			return min(len(a), len(b)) > 3 && (strings.HasSuffix(a, b) || strings.HasSuffix(b, a) || strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
		},
	}
	for _, like := range likeness {
		found := slices.DeleteFunc(slices.Clone(names), func(other string) bool { return other == name || !like(other) })
		if len(found) > 0 {
			return slices.MinFunc(found, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
		}
	}
	return ""
}

// otherField writes a literal's field that the type has, or says what it has.
func (b *breakage) otherField() string {
	field, ok := innermost[*ast.KeyValueExpr](b)
	if !ok {
		return ""
	}
	literal, ok := b.around(0).(*ast.CompositeLit)
	key, isIdent := field.Key.(*ast.Ident)
	if !ok || !isIdent || b.info.TypeOf(literal) == nil {
		return ""
	}
	t := b.info.TypeOf(literal)
	if known := b.memberSnippet(t, key.Name); known != "" {
		return known
	}
	s, ok := structOf(t)
	if !ok {
		return ""
	}
	var names, fitting []string
	for f := range s.Fields() {
		if !f.Exported() && f.Pkg() != b.pkg.Types {
			continue
		}
		names = append(names, f.Name())
		if of := b.info.TypeOf(field.Value); of != nil && types.AssignableTo(of, f.Type()) {
			fitting = append(fitting, f.Name())
		}
	}
	if other := nearest(key.Name, names); other != "" {
		return other + ": " + b.raw(field.Value)
	}
	text := "// without " + key.Name
	if len(fitting) > 0 {
		text += ": of " + b.nameOf(t) + " such a value have " + strings.Join(fitting, ", ")
	}
	return text
}

// unused writes what does nothing with a value.
func (b *breakage) unused() string {
	statement, ok := innermost[*ast.ExprStmt](b)
	if !ok {
		return ""
	}
	return "_ = " + b.raw(statement.X)
}

// otherDeclaration writes a second declaration under another name.
func (b *breakage) otherDeclaration() string {
	name := cmp.Or(b.words[1], b.words[2])
	if field, ok := innermost[*ast.Field](b); ok && len(field.Names) == 0 {
		return "other" + titled(name) + " " + b.raw(field.Type) + " // by name, as two fields would be named " + name
	}
	return "// one of the two " + name + " is to have another name"
}

// declaration writes what is declared of the name at the place: whatever the error is, the code is to become a use of that.
func (b *breakage) declaration() string {
	for _, n := range slices.Backward(b.nodes) {
		var ident *ast.Ident
		switch n := n.(type) {
		case *ast.Ident:
			ident = n
		case *ast.SelectorExpr:
			ident = n.Sel
		case *ast.CallExpr:
			if selector, ok := n.Fun.(*ast.SelectorExpr); ok {
				ident = selector.Sel
			}
		}
		if ident == nil {
			continue
		}
		object := b.info.ObjectOf(ident)
		if _, isPackage := object.(*types.PkgName); object != nil && !isPackage {
			return "// as it is declared: " + types.ObjectString(object, b.plainName)
		}
	}
	return ""
}
