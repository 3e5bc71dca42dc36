// Package applyconfig generates apply configurations: types in which every field is a pointer, for server-side apply of
// only some fields. Packages with "+kubebuilder:ac:generate=true" get them, in a directory beside the types.
package applyconfig

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/load"
)

// The markers of this generator.
const (
	generateMarker = "kubebuilder:ac:generate"
	outputMarker   = "kubebuilder:ac:output:package"
	resourceMarker = "kubebuilder:resource"
)

// defaultFolder is the directory of the code, relative to the package with the types.
const defaultFolder = "applyconfiguration"

// Generator generates the apply configurations of each package with the marker.
var Generator = generator.Generator{
	Name:    "applyconfig",
	GenName: "applyconfiguration",
	Options: Options{},
	Code:    true,
	Emits: func([]*load.Package) func(*load.Package) bool {
		return func(pkg *load.Package) bool { return pkg.Has(generateMarker) }
	},
	DependsOn: func(string, genall.Generator) ([]string, error) { return []string{thisYear()}, nil },
	Generate: func(in generator.Input, options genall.Generator) error {
		return write(in, options.(Options))
	},
	Flags: func(options any) []generator.Flag {
		return []generator.Flag{
			{Name: "external-apply-configurations", Pairs: true, To: &options.(*Options).ExternalApplyConfigurations,
				Usage: "`type=package,...` for apply configurations that are not generated here, such as " +
					"k8s.io/api/core/v1.Toleration=k8s.io/client-go/applyconfigurations/core/v1"},
		}
	},
}

// write writes the files of all roots with the marker. It writes them beside the packages, whatever the output rule is.
func write(in generator.Input, options Options) error {
	o, err := options.settings(in)
	if err != nil {
		return err
	}
	for _, root := range in.Roots {
		values, err := markers.PackageMarkers(in.Collector, root)
		if err != nil {
			root.AddError(err)
			continue
		}
		if enabled, _ := values.Get(generateMarker).(bool); !enabled || len(root.GoFiles) == 0 {
			continue
		}
		files, err := generatePackage(in, root, values, o)
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := in.Write(f); err != nil {
				return err
			}
		}
	}
	return nil
}

func generatePackage(in generator.Input, pkg *loader.Package, values markers.MarkerValues,
	o settings) ([]artifact.File, error) {
	ctx := in.GenerationContext
	group, named := values.Get("groupName").(string)
	if !named {
		return nil, &diagnostic.Error{
			Message: "package " + pkg.PkgPath + " has apply configurations but no group",
			Hint:    "add // +groupName=example.com above its package clause",
		}
	}
	ctx.Checker.Check(pkg)
	pkg.NeedTypesInfo()
	folder, _ := values.Get(outputMarker).(string)
	folder = cmp.Or(folder, defaultFolder)
	g := &generation{
		pkg:       pkg,
		settings:  o,
		group:     group,
		version:   path.Base(pkg.PkgPath),
		dir:       filepath.Join(filepath.Dir(pkg.GoFiles[0]), folder),
		path:      path.Join(pkg.PkgPath, folder),
		comments:  comments{},
		commented: map[*types.Package]bool{},
		refs:      knownRefs(o.external),
	}
	if err := g.findKinds(ctx.Collector); err != nil {
		return nil, err
	}
	g.findTypes()
	var enabled, roots []string
	for _, t := range g.types {
		if t.enabled {
			enabled = append(enabled, t.name)
		}
		if t.client && t.applies {
			roots = append(roots, t.name)
		}
	}
	g.extractable = len(enabled) > 0
	schema, err := schemaYAML(ctx, g.pkg, enabled, roots)
	if err != nil {
		return nil, err
	}
	if len(g.generated()) > 0 && !declares(slices.Concat(pkg.Syntax, in.LeftOut(pkg)), groupVersion) {
		in.Warn(g.undeclared(in.Dir))
	}
	return g.files(schema)
}

// groupVersion is the variable with group and version that utils.go uses, in the package with the types.
const groupVersion = "SchemeGroupVersion"

// declares reports whether one of the files declares a package-level name.
func declares(files []*ast.File, name string) bool {
	for _, file := range files {
		for _, decl := range file.Decls {
			general, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range general.Specs {
				if values, ok := spec.(*ast.ValueSpec); ok && slices.ContainsFunc(values.Names,
					func(n *ast.Ident) bool { return n.Name == name }) {
					return true
				}
			}
		}
	}
	return false
}

// undeclared returns the error for a package without the variable that the code uses, at its package clause.
// controller-gen writes the same code.
func (g *generation) undeclared(dir string) *diagnostic.Error {
	clause := g.pkg.Syntax[0].Name
	for _, file := range g.pkg.Syntax {
		if slices.ContainsFunc(file.Comments, func(c *ast.CommentGroup) bool {
			return c.Pos() < file.Package && strings.Contains(c.Text(), "+"+generateMarker)
		}) {
			clause = file.Name
		}
	}
	return diagnostic.At(diagnostic.Relative(dir, g.pkg.Fset.Position(clause.Pos())),
		fmt.Sprintf("package %s does not declare %s: its apply configurations do not compile", g.pkg.Name, groupVersion),
		fmt.Sprintf("add var %s = schema.GroupVersion{Group: %q, Version: %q}, of "+
			"k8s.io/apimachinery/pkg/runtime/schema", groupVersion, g.group, g.version))
}

func (g *generation) files(schema string) ([]artifact.File, error) {
	var files []artifact.File
	add := func(name string, f *file, pkg string) error {
		if f.strange != nil {
			g.pkg.AddError(loader.ErrFromNode(fmt.Errorf("no apply configuration can have type %s", f.strange), f.at))
			return nil
		}
		content, err := f.format(g.settings.header, pkg)
		files = append(files, artifact.File{Path: filepath.Join(g.dir, filepath.FromSlash(name)), Content: content})
		return err
	}
	sub := g.subdir()
	for _, t := range g.generated() {
		f := newFile(path.Join(g.path, sub))
		g.writeType(f, t)
		if err := add(path.Join(sub, strings.ToLower(t.name)+".go"), f, strings.ToLower(g.version)); err != nil {
			return nil, err
		}
	}
	utils := newFile(g.path)
	g.writeUtils(utils)
	if err := add("utils.go", utils, path.Base(g.path)); err != nil {
		return nil, err
	}
	internal := newFile(path.Join(g.path, "internal"))
	writeInternal(internal, schema)
	return files, add("internal/internal.go", internal, "internal")
}

// subdir returns the directory of the types: the last two elements of the import path.
func (g *generation) subdir() string {
	parts := strings.Split(g.pkg.PkgPath, "/")
	return strings.ToLower(path.Join(parts[max(0, len(parts)-2):]...))
}

// generated returns the types that get an apply configuration, by name, ignoring case.
func (g *generation) generated() []*apiType {
	var found []*apiType
	for _, t := range g.types {
		_, wanted := g.refs[g.nameOf(t.named)]
		if wanted && (!t.client || t.embeds("ObjectMeta")) {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, func(a, b *apiType) int {
		return strings.Compare(strings.ToLower(a.name), strings.ToLower(b.name))
	})
	return found
}

// writeUtils writes the function that returns the apply configuration of each kind.
func (g *generation) writeUtils(f *file) {
	kind := f.qualified("k8s.io/apimachinery/pkg/runtime/schema", "GroupVersionKind")
	f.printf(`
// ForKind returns an apply configuration type for the given GroupVersionKind, or nil if no
// apply configuration type exists for the given GroupVersionKind.
func ForKind(kind %s) interface{} {
switch kind {
`, kind)
	types := g.generated()
	if len(types) > 0 {
		f.printf("// Group=%s, Version=%s\n", cmp.Or(g.group, "core"), g.version)
	}
	for _, t := range types {
		version := f.qualified(g.pkg.PkgPath, groupVersion)
		config := f.qualified(path.Join(g.path, g.subdir()), t.name+suffix)
		f.printf("case %s.WithKind(%q):\nreturn &%s{}\n", version, upper(t.name), config)
	}
	if len(types) > 0 {
		f.printf("\n")
	}
	f.printf("}\nreturn nil\n}\n")
	const managedFields = "k8s.io/apimachinery/pkg/util/managedfields"
	scheme := f.qualified("k8s.io/apimachinery/pkg/runtime", "Scheme")
	converter := f.qualified(managedFields, "TypeConverter")
	constructor := f.qualified(managedFields, "NewSchemeTypeConverter")
	parser := f.qualified(path.Join(g.path, "internal"), "Parser")
	f.printf("\nfunc NewTypeConverter(scheme *%s) %s {\nreturn %s(scheme, %s())\n}\n", scheme, converter, constructor,
		parser)
}

// writeInternal writes the schemas.
func writeInternal(f *file, schema string) {
	const typed = "sigs.k8s.io/structured-merge-diff/v6/typed"
	parser := f.qualified(typed, "Parser")
	constructor := f.qualified(typed, "NewParser")
	sprintf := f.qualified("fmt", "Sprintf")
	once := f.qualified("sync", "Once")
	object := f.qualified(typed, "YAMLObject")
	f.printf(`
func Parser() *%[1]s {
parserOnce.Do(func() {
var err error
parser, err = %[2]s(schemaYAML)
if err != nil {
panic(%[3]s("Failed to parse schema: %%v", err))
}
})
return parser
}

var parserOnce %[4]s
var parser *%[1]s
var schemaYAML = %[5]s(`+"`%[6]s`"+`)
`, parser, constructor, sprintf, once, object, schema)
}
