package access

import (
	_ "embed"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gobuffalo/flect"
	"golang.org/x/tools/go/packages"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind is a kind with its resource and scope.
type kind struct {
	Group, Kind string
	Plural      string
	Scope       Scope
	Guessed     bool
}

// builtinTable has Kubernetes' own kinds, one on each line, with group, kind, resource and scope. TestBuiltinTable
// generates it from client-go's clients.
//
//go:embed builtin.txt
var builtinTable string

// kinds finds the resources of kinds.
type kinds struct {
	p       *program
	builtin map[schema.GroupKind]kind
	// packages caches the declarations of API packages, by import path.
	packages map[string]*apiPackage
}

// apiPackage has the API group of a package and the markers of its types.
type apiPackage struct {
	group string // "" is the core group if known is true
	known bool
	types map[string][]string // lines of the comments above each type
	// constants are the string constants and variables that literals declare.
	constants map[string]string
	versions  *versions
}

func newKinds(p *program) *kinds {
	k := &kinds{p: p, builtin: map[schema.GroupKind]kind{}, packages: map[string]*apiPackage{}}
	for line := range strings.Lines(builtinTable) {
		fields := strings.Fields(line)
		if len(fields) != 4 || fields[0] == "#" {
			continue
		}
		group := fields[0]
		if group == "core" {
			group = ""
		}
		scope := ScopeNamespaced
		if fields[3] == "Cluster" {
			scope = ScopeCluster
		}
		k.builtin[schema.GroupKind{Group: group, Kind: fields[1]}] = kind{group, fields[1], fields[2], scope, false}
	}
	return k
}

// named returns the resource of a kind that is known by its group and name.
func (k *kinds) named(group, name string) kind {
	name = strings.TrimSuffix(name, "List")
	if found, ok := k.builtin[schema.GroupKind{Group: group, Kind: name}]; ok {
		return found
	}
	for _, importPath := range slices.Sorted(maps.Keys(k.p.all)) {
		api := k.p.all[importPath]
		if !mayBeAPI(api) {
			continue
		}
		if pkg := k.declarations(api.PkgPath); pkg != nil && pkg.known && pkg.group == group && pkg.types[name] != nil {
			return k.declared(pkg, name)
		}
	}
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: group, Kind: name})
	return kind{group, name, plural.Resource, ScopeUnknown, true}
}

// mayBeAPI reports whether the last element of a package's path is a version, as in the paths of API packages.
func mayBeAPI(pkg *packages.Package) bool {
	base := path.Base(pkg.PkgPath)
	return len(base) > 1 && base[0] == 'v' && base[1] >= '0' && base[1] <= '9'
}

// of returns the kind of a Go type, such as *appsv1.Deployment, *appsv1.DeploymentList or the apply configuration of
// Deployments. If it finds no kind, why is the reason.
func (k *kinds) of(t types.Type) (found kind, why string) {
	named := namedOf(t)
	if named == nil || named.Obj().Pkg() == nil {
		return kind{}, "the Go type " + types.TypeString(t, nil) + " has no kind"
	}
	name, pkg := named.Obj().Name(), named.Obj().Pkg()
	if base, isApply := strings.CutSuffix(name, "ApplyConfiguration"); isApply {
		if object := k.appliedType(named, base); object != nil {
			return k.of(object)
		}
		return kind{}, "the kind of " + name + " is not known"
	}
	if item := itemOf(named); item != nil {
		if of := namedOf(item); of != nil && of.Obj().Pkg() != nil {
			name, pkg = of.Obj().Name(), of.Obj().Pkg()
		}
	}
	api := k.declarations(pkg.Path())
	if api == nil || !api.known {
		return kind{}, "the API group of " + pkg.Path() + "." + name + " is not declared there as a constant"
	}
	if found, ok := k.builtin[schema.GroupKind{Group: api.group, Kind: name}]; ok {
		return found, ""
	}
	return k.declared(api, name), ""
}

func namedOf(t types.Type) *types.Named {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	named, _ := t.(*types.Named)
	return named
}

// typeName returns the import path and the name of a type, or of the type that a pointer refers to. Both are empty for
// types without a package.
func typeName(t types.Type) (pkg, name string) {
	if named := namedOf(t); named != nil && named.Obj().Pkg() != nil {
		return named.Obj().Pkg().Path(), named.Obj().Name()
	}
	return "", ""
}

// itemOf returns the type of the items of a list type, or nil.
func itemOf(named *types.Named) types.Type {
	s, ok := named.Underlying().(*types.Struct)
	if !ok || !strings.HasSuffix(named.Obj().Name(), "List") {
		return nil
	}
	for f := range s.Fields() {
		if slice, ok := f.Type().Underlying().(*types.Slice); ok && f.Name() == "Items" {
			return slice.Elem()
		}
	}
	return nil
}

// appliedType returns the API type of an apply configuration, from the parameter of its ExtractX function or from the
// API package with the same last elements of its path.
func (k *kinds) appliedType(named *types.Named, name string) types.Type {
	scope := named.Obj().Pkg().Scope()
	if extract, ok := scope.Lookup("Extract" + name).(*types.Func); ok && extract.Signature().Params().Len() > 0 {
		return extract.Signature().Params().At(0).Type()
	}
	version := path.Base(named.Obj().Pkg().Path())
	group := path.Base(path.Dir(named.Obj().Pkg().Path()))
	for _, importPath := range slices.Sorted(maps.Keys(k.p.types)) {
		if !strings.HasSuffix(importPath, group+"/"+version) || isGeneratedClient(importPath+"/") {
			continue
		}
		if obj, ok := k.p.types[importPath].Scope().Lookup(name).(*types.TypeName); ok {
			return obj.Type()
		}
	}
	return nil
}

// declared returns the kind of a type from its controller-gen and client-gen markers.
func (k *kinds) declared(api *apiPackage, name string) kind {
	found := kind{Group: api.group, Kind: name, Plural: strings.ToLower(flect.Pluralize(name)), Scope: ScopeNamespaced}
	marked := false
	for _, line := range api.types[name] {
		marker, value, _ := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "+kubebuilder:resource:"):
			marked = true
			for argument := range strings.SplitSeq(strings.TrimPrefix(line, "+kubebuilder:resource:"), ",") {
				key, value, _ := strings.Cut(argument, "=")
				value = strings.Trim(value, `"`+"`")
				switch {
				case key == "path":
					found.Plural = value
				case key == "scope" && strings.EqualFold(value, "Cluster"):
					found.Scope = ScopeCluster
				}
			}
		case strings.HasPrefix(line, "+kubebuilder:"), strings.HasPrefix(line, "+genclient"):
			marked = true
			if line == "+genclient:nonNamespaced" || line == "+genclient:Namespaced=false" {
				found.Scope = ScopeCluster
			}
		case marker == "+resourceName" && value != "":
			marked = true
			found.Plural = strings.TrimSpace(value)
		}
	}
	found.Guessed = !marked
	return found
}

// declarations reads the group and the comments of the types of a package from its source, or returns nil.
func (k *kinds) declarations(importPath string) *apiPackage {
	if known, ok := k.packages[importPath]; ok {
		return known
	}
	k.packages[importPath] = nil
	pkg := k.p.all[importPath]
	if pkg == nil {
		return nil
	}
	api := &apiPackage{types: map[string][]string{}, constants: map[string]string{}, versions: newVersions(k, pkg)}
	k.packages[importPath] = api
	files := parsed(pkg)
	for _, file := range files {
		api.read(file)
	}
	for _, file := range files {
		api.versions.read(file)
	}
	if api.versions.rank > 0 { // the scheme uses this group, even if a marker +groupName differs
		api.group, api.known = api.versions.group, true
	}
	if c, ok := api.constants["GroupName"]; ok && !api.known {
		api.group, api.known = c, true
	}
	return api
}

// parsed returns the syntax of a package, as far as its files parse.
func parsed(pkg *packages.Package) (files []*ast.File) {
	fset := token.NewFileSet()
	for _, name := range pkg.GoFiles {
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if file != nil && (err == nil || len(file.Decls) > 0) {
			files = append(files, file)
		}
	}
	return files
}

// read adds the group, the constants and the markers above types in a file. Like controller-gen, it reads the comment
// of a type and the comment above that one.
func (a *apiPackage) read(file *ast.File) {
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if value, ok := strings.CutPrefix(marker(comment.Text), "+groupName="); ok {
				a.group, a.known = strings.Trim(value, `"`), true
			}
		}
	}
	end := file.Name.End()
	for _, decl := range file.Decls {
		general, ok := decl.(*ast.GenDecl)
		if ok && (general.Tok == token.CONST || general.Tok == token.VAR) {
			a.noteConstants(general)
		}
		if ok && general.Tok == token.TYPE {
			for _, spec := range general.Specs {
				spec := spec.(*ast.TypeSpec)
				a.types[spec.Name.Name] = append([]string{""}, markersBetween(file, end, spec.Name.Pos())...)
				end = spec.End()
			}
		}
		end = decl.End()
	}
}

func (a *apiPackage) noteConstants(decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		spec, ok := spec.(*ast.ValueSpec)
		if !ok || len(spec.Names) != len(spec.Values) {
			continue
		}
		for i, name := range spec.Names {
			if literal, ok := spec.Values[i].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				a.constants[name.Name], _ = strconv.Unquote(literal.Value)
			}
		}
	}
}

func marker(comment string) string { return strings.TrimSpace(strings.TrimPrefix(comment, "//")) }

func markersBetween(file *ast.File, from, to token.Pos) (lines []string) {
	for _, group := range file.Comments {
		if group.Pos() < from || group.End() > to {
			continue
		}
		for _, comment := range group.List {
			if line := marker(comment.Text); strings.HasPrefix(line, "+") {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// constantOf returns the value of a constant expression, which is a literal or the name of a constant.
func (k *kinds) constantOf(pkg *packages.Package, file *ast.File, e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		value, err := strconv.Unquote(e.Value)
		return value, err == nil && e.Kind == token.STRING
	case *ast.Ident:
		return k.constantString(pkg.PkgPath, e.Name)
	case *ast.SelectorExpr:
		x, ok := e.X.(*ast.Ident)
		if !ok {
			return "", false
		}
		for _, spec := range file.Imports {
			imported := pkg.Imports[strings.Trim(spec.Path.Value, `"`)]
			if imported == nil || spec.Name != nil && spec.Name.Name != x.Name || spec.Name == nil && imported.Name != x.Name {
				continue
			}
			return k.constantString(imported.PkgPath, e.Sel.Name)
		}
	}
	return "", false
}

func (k *kinds) constantString(importPath, name string) (string, bool) {
	api := k.declarations(importPath)
	if api == nil {
		return "", false
	}
	value, ok := api.constants[name]
	return value, ok
}
