package crd

import (
	"errors"
	"go/ast"
	"go/types"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// SchemaOptions are the options for schemas of types.
type SchemaOptions struct {
	// EmbeddedObjectMeta includes the fields of a metav1.ObjectMeta that is not the metadata of a kind.
	EmbeddedObjectMeta bool
	// DangerousTypes allows float32 and float64.
	DangerousTypes bool
	// IgnoreUnexportedFields skips unexported fields.
	IgnoreUnexportedFields bool
}

// NewParser returns a parser for schemas of the types in the roots of ctx. The schemas are the same in every run.
func NewParser(ctx genall.GenerationContext, options SchemaOptions) *crd.Parser {
	parser := &crd.Parser{
		Collector:                  &markers.Collector{Registry: ctx.Collector.Registry}, // its values are changed
		Checker:                    ctx.Checker,
		GenerateEmbeddedObjectMeta: options.EmbeddedObjectMeta,
		AllowDangerousTypes:        options.DangerousTypes,
		IgnoreUnexportedFields:     options.IgnoreUnexportedFields,
	}
	crd.AddKnownTypes(parser)
	orderPackages(parser, ctx.Roots)
	for _, root := range ctx.Roots {
		parser.NeedPackage(root)
	}
	return parser
}

// AllowRawJSON makes the schema of json.RawMessage allow any JSON value. It must be called before schemas are needed.
func AllowRawJSON(parser *crd.Parser) {
	const path = "encoding/json"
	load := parser.PackageOverrides[path]
	if load == nil {
		return // no package imports it
	}
	parser.PackageOverrides[path] = func(p *crd.Parser, pkg *loader.Package) {
		load(p, pkg)
		anything := true
		p.Schemata[crd.TypeIdent{Name: "RawMessage",
			Package: pkg}] = apiextensionsv1.JSONSchemaProps{XPreserveUnknownFields: &anything}
	}
}

// NeedSchema makes the parser read the schema of a type and of all types that it contains. The parser panics at the
// predeclared type error and at unsafe.Pointer, because they belong to no package. NeedSchema reports them at their
// position instead.
func NeedSchema(parser *crd.Parser, ident crd.TypeIdent) {
	defer func() {
		if reason := recover(); reason != nil && !reportErrorTypes(parser) {
			panic(reason)
		}
	}()
	parser.NeedSchemaFor(ident)
}

// reportErrorTypes reports uses of the predeclared type error or unsafe.Pointer in types whose schemas were needed. It
// returns whether it found any.
func reportErrorTypes(parser *crd.Parser) bool {
	found := false
	for ident := range parser.Schemata {
		info := parser.Types[ident]
		if info == nil {
			continue
		}
		for _, expr := range typesIn(info, func(field markers.FieldInfo) bool {
			return !strings.Contains(string(field.Tag), `json:"-"`)
		}) {
			found = reportErrorTypesIn(ident.Package, expr) || found
		}
	}
	return found
}

// typesIn returns the types of the wanted fields of a struct, or the type that defines another type.
func typesIn(info *markers.TypeInfo, wanted func(markers.FieldInfo) bool) []ast.Expr {
	if _, isStruct := info.RawSpec.Type.(*ast.StructType); !isStruct {
		return []ast.Expr{info.RawSpec.Type}
	}
	var all []ast.Expr
	for _, field := range info.Fields {
		if wanted(field) {
			all = append(all, field.RawField.Type)
		}
	}
	return all
}

// reportErrorTypesIn reports the parts of a type expression that have type error or unsafe.Pointer.
func reportErrorTypesIn(pkg *loader.Package, of ast.Expr) (found bool) {
	report := func(at ast.Node, message string) {
		found = true
		pkg.AddError(loader.ErrFromNode(errors.New(message), at))
	}
	predeclared := types.Universe.Lookup("error").Type()
	ast.Inspect(of, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FuncType, *ast.InterfaceType:
			return false
		case *ast.SelectorExpr:
			if pkg.TypesInfo.TypeOf(node) == types.Typ[types.UnsafePointer] {
				report(node, "unsafe.Pointer is not supported in CRD schemas")
			}
			return false
		case *ast.Ident:
			if t := pkg.TypesInfo.TypeOf(node); t != nil && types.Unalias(t) == predeclared {
				report(node, "error is an interface type, and an interface type is not supported in CRD schemas")
			}
		}
		return true
	})
	return found
}

// isInvalid reports whether a declared type is invalid: it contains itself, or lacks required type arguments. The
// parser would treat it as a basic type and not terminate.
func isInvalid(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Underlying() == types.Typ[types.Invalid]
}

// explainAliases makes a parser resolve aliases where it expects named or predeclared types: as keys of maps, and for
// lists, maps, pointers and structs.
func explainAliases(pkg *loader.Package, info *markers.TypeInfo) {
	for _, expr := range typesIn(info, func(markers.FieldInfo) bool { return true }) {
		explainIn(pkg, expr)
	}
}

func explainIn(pkg *loader.Package, expr ast.Expr) {
	switch expr := expr.(type) {
	case *ast.Ident:
		if isInvalid(pkg.TypesInfo.TypeOf(expr)) {
			retype(pkg, expr, types.Typ[types.Invalid])
		}
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

// retype changes the type that a package records for an expression.
func retype(pkg *loader.Package, expr ast.Expr, t types.Type) {
	known := pkg.TypesInfo.Types[expr]
	known.Type = t
	pkg.TypesInfo.Types[expr] = known
}
