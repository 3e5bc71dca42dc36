package crd

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/loader"
	ctmarkers "sigs.k8s.io/controller-tools/pkg/markers"
)

// maxNesting is the maximum depth of nested instantiations. Types that instantiate themselves infinitely reach it.
const maxNesting = 64

// instances makes a parser support generic types: each instantiation in a field becomes a type of the package with the
// generic type, with its markers and comments, and with arguments instead of parameters. The schemas then equal the
// schemas of types that are written out by hand.
type instances struct {
	parser *crd.Parser
	// loaded are all loaded packages by path.
	loaded map[string][]*loader.Package
	// generic are the declarations with parameters, which the parser does not know.
	generic map[crd.TypeIdent]*ctmarkers.TypeInfo
	// named are the types that represent instantiations.
	named map[crd.TypeIdent]*types.Named
	// nesting is the number of instantiations under construction, each created for the previous one.
	nesting int
	// user is the package of the declaration that is being expanded, which uses all its instantiations.
	user *types.Package
}

func newInstances(parser *crd.Parser, reachable map[*loader.Package]bool) *instances {
	n := &instances{
		parser:  parser,
		loaded:  map[string][]*loader.Package{},
		generic: map[crd.TypeIdent]*ctmarkers.TypeInfo{},
		named:   map[crd.TypeIdent]*types.Named{},
	}
	for pkg := range reachable {
		n.loaded[pkg.PkgPath] = append(n.loaded[pkg.PkgPath], pkg)
	}
	return n
}

// expand replaces the instantiations in the types of a package that the parser has just loaded.
func (n *instances) expand(pkg *loader.Package) {
	if pkg.TypesInfo == nil {
		return
	}
	var plain []*ctmarkers.TypeInfo
	loader.EachType(pkg, func(_ *ast.File, _ *ast.GenDecl, spec *ast.TypeSpec) {
		ident := crd.TypeIdent{Package: pkg, Name: spec.Name.Name}
		switch info := n.parser.Types[ident]; {
		case info == nil:
		case spec.TypeParams != nil:
			explainAliases(pkg, info)
			n.generic[ident] = info
			delete(n.parser.Types, ident)
		default:
			explainAliases(pkg, info)
			plain = append(plain, info)
		}
	})
	for _, info := range plain {
		n.expandType(pkg, info)
	}
}

// expandType replaces the instantiations in a declaration without parameters.
func (n *instances) expandType(pkg *loader.Package, info *ctmarkers.TypeInfo) {
	defer func(outer *types.Package) { n.user = outer }(n.user)
	n.user = pkg.Types
	if _, isStruct := info.RawSpec.Type.(*ast.StructType); !isStruct {
		if of := pkg.TypesInfo.TypeOf(info.RawSpec.Type); isGeneric(of) {
			spec := *info.RawSpec
			spec.Type = n.expr(pkg, of, spec.Type.Pos())
			info.RawSpec = &spec
		}
		return
	}
	for i, field := range info.Fields {
		if of := pkg.TypesInfo.TypeOf(field.RawField.Type); isGeneric(of) {
			info.Fields[i].RawField = n.field(pkg, field.RawField, of)
		}
	}
}

// field returns a copy of a field with another type.
func (n *instances) field(pkg *loader.Package, raw *ast.Field, of types.Type) *ast.Field {
	field := *raw
	field.Type = n.expr(pkg, of, raw.Type.Pos())
	return &field
}

// isGeneric reports whether a type contains instantiations or parameters.
func isGeneric(t types.Type) bool {
	switch t := t.(type) {
	case *types.Alias:
		return isGeneric(t.Rhs())
	case *types.Named:
		return t.TypeArgs().Len() > 0
	case *types.TypeParam:
		return true
	case *types.Pointer:
		return isGeneric(t.Elem())
	case *types.Slice:
		return isGeneric(t.Elem())
	case *types.Array:
		return isGeneric(t.Elem())
	case *types.Map:
		return isGeneric(t.Key()) || isGeneric(t.Elem())
	}
	return false
}

// instance returns the type that represents an instantiation. It creates the type on first use.
func (n *instances) instance(t *types.Named) *types.Named {
	origin := t.Origin().Obj()
	declaring := n.packageOf(origin.Pkg())
	if declaring == nil {
		return t
	}
	n.parser.NeedPackage(declaring)
	ident := crd.TypeIdent{Package: declaring, Name: types.TypeString(t, types.RelativeTo(origin.Pkg()))}
	if known := n.named[ident]; known != nil {
		return known
	}
	named := rename(t, ident.Name)
	n.named[ident] = named
	declaring.Types.Scope().Insert(named.Obj())
	template := n.generic[crd.TypeIdent{Package: declaring, Name: origin.Name()}]
	if template == nil {
		return named
	}
	if n.nesting == maxNesting {
		declaring.AddError(loader.ErrFromNode(fmt.Errorf("%s contains itself with other type arguments, without end",
			origin.Name()), template.RawSpec))
		return named
	}
	n.nesting++
	n.parser.Types[ident] = n.fill(declaring, template, t, ident.Name)
	n.nesting--
	return named
}

// fill creates the declaration of an instantiation.
func (n *instances) fill(pkg *loader.Package, template *ctmarkers.TypeInfo, t *types.Named,
	name string) *ctmarkers.TypeInfo {
	info, spec := *template, *template.RawSpec
	spec.Name, spec.TypeParams = &ast.Ident{NamePos: spec.Name.Pos(), Name: name}, nil
	info.Name, info.RawSpec, info.Fields = name, &spec, nil
	if _, isStruct := spec.Type.(*ast.StructType); !isStruct {
		spec.Type = n.expr(pkg, substitute(pkg.TypesInfo.TypeOf(spec.Type), t.TypeArgs()), spec.Type.Pos())
		return &info
	}
	structure := t.Underlying().(*types.Struct)
	for i, field := range template.Fields {
		if isGeneric(pkg.TypesInfo.TypeOf(field.RawField.Type)) {
			field.RawField = n.field(pkg, field.RawField, structure.Field(i).Type())
		}
		info.Fields = append(info.Fields, field)
	}
	return &info
}

// rename returns a copy of a type with another name.
func rename(t *types.Named, name string) *types.Named {
	origin := t.Origin().Obj()
	named := types.NewNamed(types.NewTypeName(origin.Pos(), origin.Pkg(), name, nil), t.Underlying(), nil)
	for method := range t.Methods() {
		signature := method.Signature()
		var receiver types.Type = named
		if _, pointer := signature.Recv().Type().(*types.Pointer); pointer {
			receiver = types.NewPointer(named)
		}
		named.AddMethod(types.NewFunc(method.Pos(), method.Pkg(), method.Name(), types.NewSignatureType(
			types.NewParam(signature.Recv().Pos(), method.Pkg(), "", receiver), nil, nil,
			signature.Params(), signature.Results(), signature.Variadic(),
		)))
	}
	return named
}

func (n *instances) packageOf(of *types.Package) *loader.Package {
	if of == nil {
		return nil
	}
	for _, pkg := range n.loaded[of.Path()] {
		if pkg.Types == of {
			return pkg
		}
	}
	return nil
}

// isInstance reports whether a type represents an instantiation: other names have no brackets.
func isInstance(name string) bool { return strings.Contains(name, "[") }

// expr returns a type as a package would write it if every instantiation had a name, and records its type in the
// package.
func (n *instances) expr(in *loader.Package, t types.Type, at token.Pos) ast.Expr {
	var expr ast.Expr
	switch of := t.(type) {
	case *types.Alias:
		// As in controller-gen, an alias of another package than the user's keeps its own description, and an alias of the
		// user's package has the description of the type or alias that its declaration names.
		users, elsewhere := of.Obj().Pkg() == n.user, in.Types != n.user
		if of.TypeArgs().Len() > 0 || users && !namesAlias(of) && (isGeneric(of) || elsewhere) {
			return n.expr(in, of.Rhs(), at)
		}
		if users && elsewhere {
			of = of.Rhs().(*types.Alias)
			t = of
		}
		expr = n.name(in, of.Obj(), at)
		if !users && of.Obj().Pkg() == in.Types {
			expr = n.imported(in, of.Obj(), at)
		}
	case *types.Named:
		if isInvalid(of) {
			expr, t = &ast.Ident{NamePos: at, Name: of.Obj().Name()}, types.Typ[types.Invalid]
			break
		}
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

// namesAlias reports whether the declaration of an alias names another alias, without type arguments.
func namesAlias(t *types.Alias) bool {
	of, ok := t.Rhs().(*types.Alias)
	return ok && of.TypeArgs().Len() == 0
}

// name returns the name of a type as a package writes it, and adds the import.
func (n *instances) name(in *loader.Package, of *types.TypeName, at token.Pos) ast.Expr {
	ident := &ast.Ident{NamePos: at, Name: of.Name()}
	if of.Pkg() == nil || of.Pkg() == in.Types {
		return ident
	}
	return n.imported(in, of, at)
}

// imported returns the qualified name of a type, even of the package itself.
func (n *instances) imported(in *loader.Package, of *types.TypeName, at token.Pos) ast.Expr {
	ident := &ast.Ident{NamePos: at, Name: of.Name()}
	path := loader.NonVendorPath(of.Pkg().Path())
	if imports := in.Imports(); imports[path] == nil {
		if pkg := n.packageOf(of.Pkg()); pkg != nil {
			imports[path] = pkg
		}
	}
	return &ast.SelectorExpr{X: &ast.Ident{NamePos: at, Name: of.Pkg().Name()}, Sel: ident}
}

// substitute replaces the parameters in a type by arguments.
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
