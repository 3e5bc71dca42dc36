package crd

import (
	"go/ast"
	"go/types"

	"sigs.k8s.io/controller-tools/pkg/loader"
	ctmarkers "sigs.k8s.io/controller-tools/pkg/markers"
)

// explainAliases makes a parser understand aliases where it expects types with names of their own, or of the language: as
// keys of maps, and for lists, maps, pointers and structs.
func explainAliases(pkg *loader.Package, info *ctmarkers.TypeInfo) {
	if _, isStruct := info.RawSpec.Type.(*ast.StructType); !isStruct {
		explainIn(pkg, info.RawSpec.Type)
		return
	}
	for _, field := range info.Fields {
		explainIn(pkg, field.RawField.Type)
	}
}

func explainIn(pkg *loader.Package, expr ast.Expr) {
	switch expr := expr.(type) {
	case *ast.Ident:
		alias, ok := pkg.TypesInfo.TypeOf(expr).(*types.Alias)
		if !ok {
			return
		}
		switch alias.Rhs().(type) {
		case *types.Slice, *types.Array, *types.Map, *types.Pointer, *types.Struct:
			retype(pkg, expr, types.NewNamed(alias.Obj(), alias.Rhs(), nil))
		}
	case *ast.StarExpr:
		explainIn(pkg, expr.X)
	case *ast.ArrayType:
		explainIn(pkg, expr.Elt)
	case *ast.MapType:
		if alias, ok := pkg.TypesInfo.TypeOf(expr.Key).(*types.Alias); ok {
			retype(pkg, expr.Key, types.Unalias(alias))
		}
		explainIn(pkg, expr.Value)
	}
}

// retype tells a package another type of an expression.
func retype(pkg *loader.Package, expr ast.Expr, t types.Type) {
	known := pkg.TypesInfo.Types[expr]
	known.Type = t
	pkg.TypesInfo.Types[expr] = known
}
