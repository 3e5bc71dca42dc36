package lint

import (
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"

	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/loader"
	ctmarkers "sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/load"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

type typeDecl struct {
	name    string
	spec    *ast.TypeSpec
	file    *ast.File
	pkg     *packageDecls
	entries []entry // markers of the type that are valid for its target
	custom  bool    // the type has methods that define its JSON
}

// packageDecls are the types of a package by name, and in source order. If invalid code declares a name twice, types
// has the first declaration.
type packageDecls struct {
	*load.Package
	types map[string]*typeDecl
	all   []*typeDecl
	// entries are the markers of each node that are valid for its target, in source order.
	entries map[ast.Node][]entry
}

// typeIndex contains all types of a project.
type typeIndex struct {
	byPath map[string]*packageDecls
	bySpec map[*ast.TypeSpec]*typeDecl
	all    []*packageDecls
}

// jsonMethods are the methods that define the JSON of a type.
var jsonMethods = []string{"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText"}

func newTypeIndex(packages []*load.Package) *typeIndex {
	d := &typeIndex{byPath: map[string]*packageDecls{}, bySpec: map[*ast.TypeSpec]*typeDecl{}}
	for _, pkg := range packages {
		found := &packageDecls{Package: pkg, types: map[string]*typeDecl{}, entries: map[ast.Node][]entry{}}
		d.byPath[pkg.PkgPath] = found
		d.all = append(d.all, found)
		loader.EachType(pkg.Package, func(file *ast.File, _ *ast.GenDecl, spec *ast.TypeSpec) {
			t := &typeDecl{name: spec.Name.Name, spec: spec, file: file, pkg: found}
			d.bySpec[spec] = t
			found.all = append(found.all, t)
			if found.types[t.name] == nil {
				found.types[t.name] = t
			}
		})
		for _, file := range pkg.Syntax {
			found.addMethods(file)
		}
	}
	return d
}

func (pkg *packageDecls) addMethods(file *ast.File) {
	for _, decl := range file.Decls {
		method, ok := decl.(*ast.FuncDecl)
		if !ok || method.Recv == nil || len(method.Recv.List) != 1 || !slices.Contains(jsonMethods, method.Name.Name) {
			continue
		}
		if t := pkg.types[markers.TypeName(method.Recv.List[0].Type)]; t != nil {
			t.custom = true
		}
	}
}

// lookup returns the type that an expression in t refers to. For a type outside the project, found is nil and
// importPath is the import path of its package, which is empty for predeclared types.
func (d *typeIndex) lookup(t *typeDecl, expr ast.Expr) (found *typeDecl, importPath, name string) {
	switch expr := expr.(type) {
	case *ast.Ident:
		return t.pkg.types[expr.Name], "", expr.Name
	case *ast.SelectorExpr:
		if qualifier, ok := expr.X.(*ast.Ident); ok {
			importPath := d.importOf(t.file, qualifier.Name)
			if pkg := d.byPath[importPath]; pkg != nil {
				found = pkg.types[expr.Sel.Name]
			}
			return found, importPath, expr.Sel.Name
		}
	}
	return nil, "?", ""
}

// importOf returns the import path of the package that has a local name in a file.
func (d *typeIndex) importOf(file *ast.File, name string) string {
	for _, spec := range file.Imports {
		importPath, _ := strconv.Unquote(spec.Path.Value)
		switch {
		case spec.Name != nil && spec.Name.Name == name:
			return importPath
		case spec.Name != nil:
		case d.byPath[importPath] != nil && d.byPath[importPath].Name == name:
			return importPath
		case d.byPath[importPath] == nil && path.Base(importPath) == name:
			return importPath
		}
	}
	return "?"
}

// jsonName returns the JSON name of a field. ok is false for a field without a tag or with the name "-". inline is true
// for an inline field.
func jsonName(field *ast.Field) (name string, inline, ok bool) {
	tag, tagged := loader.ParseAstTag(field.Tag).Lookup("json")
	if !tagged || tag == "-" {
		return "", false, false
	}
	name, options, _ := strings.Cut(tag, ",")
	inline = name == "" || slices.Contains(strings.Split(options, ","), "inline")
	return name, inline, true
}

func structFields(spec *ast.TypeSpec) []*ast.Field {
	if structType, ok := spec.Type.(*ast.StructType); ok {
		return structType.Fields.List
	}
	return nil
}

// fieldNames returns the JSON names of the fields of a struct, including inlined fields. complete reports whether the
// result includes all fields.
func (d *typeIndex) fieldNames(t *typeDecl) (names map[string]bool, complete bool) {
	names, complete = map[string]bool{}, true
	seen := map[*typeDecl]bool{}
	var add func(*typeDecl)
	add = func(t *typeDecl) {
		if seen[t] {
			return
		}
		seen[t] = true
		for _, field := range structFields(t.spec) {
			name, inline, ok := jsonName(field)
			switch {
			case !ok:
				complete = complete && field.Tag != nil
			case !inline:
				names[name] = true
			default:
				inlined := d.structOf(t, field.Type)
				if inlined == nil {
					complete = false
					continue
				}
				add(inlined)
			}
		}
	}
	add(t)
	return names, complete
}

// structOf returns the struct that an expression in t refers to, directly or through pointers and named types. It
// returns nil if the project does not declare this struct.
func (d *typeIndex) structOf(t *typeDecl, expr ast.Expr) *typeDecl {
	for range maxDepth {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
			continue
		case *ast.ParenExpr:
			expr = e.X
			continue
		}
		named, _, _ := d.lookup(t, expr)
		if named == nil || named.custom || named.spec.TypeParams != nil {
			return nil
		}
		if _, ok := named.spec.Type.(*ast.StructType); ok {
			return named
		}
		t, expr = named, named.spec.Type
	}
	return nil
}

// maxDepth limits walks through recursive declarations.
const maxDepth = 32

// shape describes the JSON of a Go type, as far as it can be derived from the source of the project.
type shape struct {
	kind  markers.Kind
	named []*typeDecl // named types from the outermost to the innermost; their markers also apply
	owner *typeDecl   // declaration that contains items
	items ast.Expr    // type of the items of a list, or of the values of a map
}

// article returns a kind with its article, for messages.
func article(k markers.Kind) string {
	switch k {
	case markers.KindArray:
		return "a list"
	case markers.KindInteger:
		return "an integer"
	case markers.KindStruct:
		return "an object"
	}
	return "a " + string(k)
}

// predeclared are the JSON kinds of Go's predeclared types.
var predeclared = map[string]markers.Kind{
	"string": markers.KindString, "bool": markers.KindBoolean, "float32": markers.KindNumber,
	"float64": markers.KindNumber,
	"int":     markers.KindInteger, "int8": markers.KindInteger, "int16": markers.KindInteger,
	"int32": markers.KindInteger, "int64": markers.KindInteger, "rune": markers.KindInteger,
	"uint": markers.KindInteger, "uint8": markers.KindInteger, "uint16": markers.KindInteger,
	"uint32": markers.KindInteger, "uint64": markers.KindInteger, "byte": markers.KindInteger,
}

// foreign are the JSON kinds of types from other modules that API packages often use.
var foreign = map[string]markers.Kind{
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":      markers.KindString,
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime": markers.KindString,
	"k8s.io/apimachinery/pkg/apis/meta/v1.Duration":  markers.KindString,
	"k8s.io/apimachinery/pkg/types.UID":              markers.KindString,
	"k8s.io/apimachinery/pkg/types.NamespacedName":   markers.KindStruct,
}

// shapeOf returns the shape of a type expression in t.
func (d *typeIndex) shapeOf(t *typeDecl, expr ast.Expr) shape {
	var s shape
	for range maxDepth {
		switch e := expr.(type) {
		case *ast.ParenExpr:
			expr = e.X
		case *ast.StarExpr:
			expr = e.X
		case *ast.ArrayType:
			s.kind, s.owner, s.items = markers.KindArray, t, e.Elt
			if element, ok := e.Elt.(*ast.Ident); ok && element.Name == "byte" && e.Len == nil {
				s.kind = markers.KindString
			}
			return s
		case *ast.MapType:
			s.kind, s.owner, s.items = markers.KindMap, t, e.Value
			return s
		case *ast.StructType:
			s.kind = markers.KindStruct
			return s
		case *ast.Ident, *ast.SelectorExpr:
			named, importPath, name := d.lookup(t, expr)
			if named == nil {
				s.kind = foreign[importPath+"."+name]
				if importPath == "" {
					s.kind = predeclared[name]
				}
				return s
			}
			s.named = append(s.named, named)
			override, ok := overriddenKind(named.entries)
			if ok || named.custom || named.spec.TypeParams != nil {
				s.kind = override
				return s
			}
			t, expr = named, named.spec.Type
		default:
			return s
		}
	}
	return shape{}
}

// overriddenKind returns the JSON kind that markers set for a type or field, independent of its Go type. The kind is
// empty if the markers allow any value.
func overriddenKind(entries []entry) (markers.Kind, bool) {
	for _, e := range entries {
		switch value := e.Value.(type) {
		case crdmarkers.Type:
			switch k := markers.Kind(value); k {
			case markers.KindString, markers.KindInteger, markers.KindNumber, markers.KindBoolean:
				return k, !e.items
			}
			if !e.items {
				return "", true
			}
		case crdmarkers.XIntOrString, crdmarkers.Schemaless, crdmarkers.XPreserveUnknownFields, crdmarkers.XEmbeddedResource:
			if !e.items {
				return "", true
			}
		}
	}
	return "", false
}

// emittedTypes returns the types that affect generated files. These are the types of kinds, the types of their fields,
// and types for which deep copies are generated.
func (d *typeIndex) emittedTypes() map[*ast.TypeSpec]bool {
	emitted := map[*ast.TypeSpec]bool{}
	var need func(*typeDecl)
	need = func(t *typeDecl) {
		if t != nil && !emitted[t.spec] {
			emitted[t.spec] = true
			d.eachReferred(t, need)
		}
	}
	for _, pkg := range d.all {
		whole := slices.ContainsFunc(pkg.Markers, func(at markers.Marker) bool {
			return at.Target == ctmarkers.DescribesPackage && asksForCopy(at)
		})
		for _, t := range pkg.types {
			if whole || embedsMeta(t.spec) {
				need(t)
			}
		}
		for _, at := range pkg.Markers {
			if at.Target == ctmarkers.DescribesType && asksForCopy(at) {
				need(d.bySpec[at.Owner])
			}
		}
	}
	return emitted
}

// eachReferred visits the types that a declaration refers to. A type may be nil.
func (d *typeIndex) eachReferred(t *typeDecl, visit func(*typeDecl)) {
	var inspect func(ast.Node) bool
	inspect = func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.InterfaceType, *ast.FuncType:
			return false
		case *ast.Field:
			ast.Inspect(node.Type, inspect)
			return false
		case *ast.SelectorExpr:
			named, _, _ := d.lookup(t, node)
			visit(named)
			return false
		case *ast.Ident:
			visit(t.pkg.types[node.Name])
		}
		return true
	}
	ast.Inspect(t.spec.Type, inspect)
}

// embedsMeta reports whether a type looks like a kind or its list.
func embedsMeta(spec *ast.TypeSpec) bool {
	embedded := markers.EmbeddedTypes(spec)
	return embedded["TypeMeta"] && (embedded["ObjectMeta"] || embedded["ListMeta"])
}

// asksForCopy reports whether a marker requests deep copies, even if its arguments are invalid.
func asksForCopy(at markers.Marker) bool {
	if at.Node == nil || at.Definition == nil {
		return false
	}
	asks := markers.RulesOf(at.Definition.Name).Copies
	return asks != nil && asks(at.Value)
}
