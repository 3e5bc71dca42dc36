package versions

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
)

// File is a Go file of an API package.
type File struct {
	Path   string
	Source []byte
}

// Package is an API package, parsed but not type-checked.
type Package struct {
	files []*file
	// types are the types that the package declares.
	types map[string]*declaredType
}

type file struct {
	edit.GoFile
	// imports are the import paths of the file, by local name.
	imports map[string]string
}

// declaredType is the declaration of a type and its file.
type declaredType struct {
	spec *ast.TypeSpec
	file *file
}

// Parse parses the files of a package. The caller must omit tests and generated files. For a file that is not valid Go,
// Parse returns a *diagnostic.Error.
func Parse(files []File) (*Package, error) {
	p := &Package{types: map[string]*declaredType{}}
	for _, f := range files {
		source, err := edit.ParseGo(f.Path, f.Source)
		if err != nil {
			return nil, err
		}
		parsed := &file{source, importsOf(source.File)}
		p.files = append(p.files, parsed)
		for _, decl := range source.File.Decls {
			for _, spec := range typeSpecs(decl) {
				p.types[spec.Name.Name] = &declaredType{spec, parsed}
			}
		}
	}
	return p, nil
}

// Kinds returns the sorted names of the package's kinds, which are exported structs that embed object metadata.
func (p *Package) Kinds() []string {
	var kinds []string
	for name, declared := range p.types {
		structure, ok := declared.spec.Type.(*ast.StructType)
		if !ok || !ast.IsExported(name) {
			continue
		}
		for _, f := range structure.Fields.List {
			if len(f.Names) == 0 && embeddedName(f.Type) == "ObjectMeta" {
				kinds = append(kinds, name)
			}
		}
	}
	slices.Sort(kinds)
	return kinds
}

// ClusterScoped reports whether the markers of a kind make it cluster-scoped.
func (p *Package) ClusterScoped(kind string) bool {
	declared := p.types[kind]
	if declared == nil {
		return false
	}
	f := declared.file
	for _, decl := range f.File.Decls {
		if !declares(decl, kind) {
			continue
		}
		comments := string(f.Text[f.start(decl):f.Offset(decl.Pos())])
		for line := range strings.Lines(comments) {
			text := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "//"))
			if text == "+genclient:nonNamespaced" || strings.HasPrefix(text, "+kubebuilder:resource:") &&
				strings.Contains(text, "scope=Cluster") {
				return true
			}
		}
	}
	return false
}

func typeSpecs(decl ast.Decl) []*ast.TypeSpec {
	group, ok := decl.(*ast.GenDecl)
	if !ok || group.Tok != token.TYPE {
		return nil
	}
	var specs []*ast.TypeSpec
	for _, spec := range group.Specs {
		specs = append(specs, spec.(*ast.TypeSpec))
	}
	return specs
}

// importsOf returns the import paths of a file by local name.
func importsOf(syntax *ast.File) map[string]string {
	imports := map[string]string{}
	for _, spec := range syntax.Imports {
		for _, name := range importNames(spec) {
			imports[name] = strings.Trim(spec.Path.Value, "\"`")
		}
	}
	return imports
}

// importNames returns the possible local names of an import. If the import has no explicit name, the package determines
// it, and the package's source may be unavailable.
func importNames(spec *ast.ImportSpec) []string {
	if spec.Name != nil {
		return []string{spec.Name.Name}
	}
	importPath := strings.Trim(spec.Path.Value, "\"`")
	base := path.Base(importPath)
	possible := []string{base, path.Base(path.Dir(importPath)), strings.TrimPrefix(base, "go-"),
		strings.ReplaceAll(base, "-", "_"), strings.ReplaceAll(base, "-", "")}
	if at := strings.LastIndex(base, ".v"); at > 0 {
		possible = append(possible, base[:at])
	}
	return possible
}

// declares reports whether a declaration declares a package-level name.
func declares(decl ast.Decl, name string) bool {
	return slices.ContainsFunc(edit.DeclaredNames(decl), func(ident *ast.Ident) bool { return ident.Name == name })
}

// receiver returns the type of a method's receiver, or "".
func receiver(decl ast.Decl) string {
	f, ok := decl.(*ast.FuncDecl)
	if !ok || f.Recv == nil || len(f.Recv.List) != 1 {
		return ""
	}
	name := ""
	ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
		if ident, ok := n.(*ast.Ident); ok && name == "" {
			name = ident.Name
		}
		return true
	})
	return name
}

// valuesOf returns the types of the constants that a declaration declares.
func valuesOf(decl ast.Decl) []string {
	group, ok := decl.(*ast.GenDecl)
	if !ok || group.Tok != token.CONST {
		return nil
	}
	var types []string
	for _, spec := range group.Specs {
		if ident, ok := spec.(*ast.ValueSpec).Type.(*ast.Ident); ok {
			types = append(types, ident.Name)
		}
	}
	return types
}

func isImport(decl ast.Decl) bool {
	group, ok := decl.(*ast.GenDecl)
	return ok && group.Tok == token.IMPORT
}
