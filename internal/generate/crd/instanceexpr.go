package crd

import (
	"go/ast"
	"go/token"
	"go/types"

	"sigs.k8s.io/controller-tools/pkg/loader"
)

// expr returns a type as a package would write it if every instantiation had a name, and tells the package what it is.
func (n *instances) expr(in *loader.Package, t types.Type, at token.Pos) ast.Expr {
	var expr ast.Expr
	switch of := t.(type) {
	case *types.Alias:
		// The alias of another package is described by its own comment, that of this one by the one of its type.
		if of.TypeArgs().Len() > 0 || isGeneric(of) && of.Obj().Pkg() == in.Types {
			return n.expr(in, of.Rhs(), at)
		}
		expr = n.name(in, of.Obj(), at)
	case *types.Named:
		if of.TypeArgs().Len() > 0 {
			of = n.instance(of)
			t = of
		}
		expr = n.name(in, of.Obj(), at)
	case *types.Pointer:
		expr = &ast.StarExpr{Star: at, X: n.expr(in, of.Elem(), at)}
	case *types.Slice:
		expr = &ast.ArrayType{Lbrack: at, Elt: n.expr(in, of.Elem(), at)}
	case *types.Array:
		length := &ast.BasicLit{ValuePos: at, Kind: token.INT}
		expr = &ast.ArrayType{Lbrack: at, Len: length, Elt: n.expr(in, of.Elem(), at)}
	case *types.Map:
		expr = &ast.MapType{Map: at, Key: n.expr(in, types.Unalias(of.Key()), at), Value: n.expr(in, of.Elem(), at)}
	case *types.Interface:
		expr = &ast.InterfaceType{Interface: at, Methods: &ast.FieldList{Opening: at}}
	case *types.Struct:
		expr = &ast.StructType{Struct: at, Fields: &ast.FieldList{Opening: at}}
	case *types.Basic:
		expr = &ast.Ident{NamePos: at, Name: of.Name()}
	default:
		expr = &ast.BadExpr{From: at, To: at}
	}
	in.TypesInfo.Types[expr] = types.TypeAndValue{Type: t}
	return expr
}

// name returns how a package writes the name of a type, whose package it imports.
func (n *instances) name(in *loader.Package, of *types.TypeName, at token.Pos) ast.Expr {
	ident := &ast.Ident{NamePos: at, Name: of.Name()}
	if of.Pkg() == nil || of.Pkg() == in.Types {
		return ident
	}
	path := loader.NonVendorPath(of.Pkg().Path())
	if imports := in.Imports(); imports[path] == nil {
		if pkg := n.packageOf(of.Pkg()); pkg != nil {
			imports[path] = pkg
		}
	}
	return &ast.SelectorExpr{X: &ast.Ident{NamePos: at, Name: of.Pkg().Name()}, Sel: ident}
}

// substitute puts arguments in the place of the parameters of a declaration.
func substitute(t types.Type, arguments *types.TypeList) types.Type {
	replace := func(t types.Type) types.Type { return substitute(t, arguments) }
	switch t := t.(type) {
	case *types.TypeParam:
		return arguments.At(t.Index())
	case *types.Alias:
		if t.TypeArgs().Len() > 0 {
			return replace(t.Rhs())
		}
	case *types.Named:
		if t.TypeArgs().Len() == 0 {
			return t
		}
		var replaced []types.Type
		for argument := range t.TypeArgs().Types() {
			replaced = append(replaced, replace(argument))
		}
		if instance, err := types.Instantiate(nil, t.Origin(), replaced, false); err == nil {
			return instance
		}
	case *types.Pointer:
		return types.NewPointer(replace(t.Elem()))
	case *types.Slice:
		return types.NewSlice(replace(t.Elem()))
	case *types.Array:
		return types.NewArray(replace(t.Elem()), t.Len())
	case *types.Map:
		return types.NewMap(replace(t.Key()), replace(t.Elem()))
	}
	return t
}
