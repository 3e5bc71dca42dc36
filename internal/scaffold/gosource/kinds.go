package gosource

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// rootMarker marks types whose objects are sent to API servers, alone or as a list.
const rootMarker = "+kubebuilder:object:root"

// RegisterFunc is the function that the generated registration of an API package declares.
const RegisterFunc = "addKnownTypes"

// APIPackage describes the kinds of a Go package and how its code adds them to a scheme. It uses only the syntax, and
// ignores the files that other tools generated for the package.
type APIPackage struct {
	folder, Name string
	// Roots are the exported types with the marker, including lists, and their positions.
	Roots map[string]token.Position
	// Declared has all names that the package declares, Used the names to which its code refers, and Made the types of
	// which it creates values.
	Declared, Used, Made map[string]bool
	// broken is set if a file does not parse, which other checks report.
	broken bool
}

// ReadPackage reads the Go files of a directory that the current build constraints include.
func ReadPackage(p *plan.Plan, folder string) (*APIPackage, error) {
	pkg := &APIPackage{
		folder: folder, Roots: map[string]token.Position{},
		Declared: map[string]bool{}, Used: map[string]bool{}, Made: map[string]bool{},
	}
	sources, err := ReadFiles(p, folder)
	for _, s := range sources {
		switch {
		case !s.IsBuilt():
		case s.File == nil:
			pkg.broken = true
		default:
			pkg.add(s)
		}
	}
	return pkg, err
}

func (p *APIPackage) add(s GoSource) {
	file, base := s.File, path.Base(s.Name)
	p.Name = file.Name.Name
	for _, name := range PackageNames(file) {
		if base != layout.RegisterName {
			p.Declared[name.Name] = true
		}
	}
	if strings.HasPrefix(base, "zz_generated.") {
		return
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			p.Used[n.Name] = true
		case *ast.CompositeLit:
			p.makes(n.Type)
		case *ast.CallExpr:
			if fun, ok := n.Fun.(*ast.Ident); ok && fun.Name == "new" && len(n.Args) == 1 {
				p.makes(n.Args[0])
			}
		}
		return true
	})
	last := file.Name.End()
	for _, decl := range file.Decls {
		if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.TYPE {
			for _, spec := range d.Specs {
				p.addType(s, spec.(*ast.TypeSpec), last)
				last = spec.End()
			}
		}
		last = decl.End()
	}
}

func (p *APIPackage) makes(expr ast.Expr) {
	if name, ok := expr.(*ast.Ident); ok {
		p.Made[name.Name] = true
	}
}

// addType records a type if it has the marker in a comment after the previous declaration.
func (p *APIPackage) addType(s GoSource, spec *ast.TypeSpec, after token.Pos) {
	if _, isInterface := spec.Type.(*ast.InterfaceType); isInterface || !spec.Name.IsExported() || spec.TypeParams != nil {
		return
	}
	for _, group := range s.File.Comments {
		if group.Pos() > after && group.End() <= spec.Name.Pos() && slices.ContainsFunc(group.List, isRootMarker) {
			p.Roots[spec.Name.Name] = s.Position(spec.Name.Pos())
		}
	}
}

func isRootMarker(comment *ast.Comment) bool {
	text, ok := strings.CutPrefix(comment.Text, "//")
	value, marked := strings.CutPrefix(strings.TrimSpace(text), rootMarker)
	return ok && marked && (value == "" || value == "=true")
}

// APIDirs lists the directories of the project with Go files that may have the marker, sorted. It skips directories
// that the go command ignores, other modules, and the bundled runtime.
func APIDirs(p *plan.Plan, proj *project.Project) ([]string, error) {
	modules, err := ApiModules(p, proj)
	if err != nil {
		return nil, err
	}
	names, err := GoFilesOf(p, ".", func(folder string) bool { return IsForeign(p.FS(), folder, modules) })
	found := map[string]bool{}
	for _, name := range names {
		if !IsPackageFile(name) || found[path.Dir(name)] {
			continue
		}
		source, err := p.Read(name)
		if err != nil {
			return nil, err
		}
		found[path.Dir(name)] = bytes.Contains(source, []byte(rootMarker))
	}
	maps.DeleteFunc(found, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(found)), err
}

// IsForeign reports whether the packages in a directory belong neither to the project's module nor to one of the given
// modules inside the project.
func IsForeign(fsys fs.FS, name string, modules []string) bool {
	if name == "." || slices.Contains(modules, name) {
		return false
	}
	return IsIgnored(name) || Exists(fsys, path.Join(name, layout.GoModFile))
}

// IsIgnored reports whether a directory contains the bundled runtime, or the go command skips it when it looks for
// packages.
func IsIgnored(name string) bool {
	base := path.Base(name)
	return name != "." && (base == "testdata" || base == "vendor" || base[0] == '.' || base[0] == '_' ||
		name == layout.BundleDir)
}

// Objects returns the types that the generated registration of a package registers: the kinds that PROJECT lists, their
// lists, and the types with the marker.
func (p *APIPackage) Objects(listed []string) []string {
	names := slices.Clone(listed)
	for _, kind := range listed {
		if p.Declared[kind+"List"] || p.broken {
			names = append(names, kind+"List")
		}
	}
	names = slices.AppendSeq(names, maps.Keys(p.Roots))
	slices.Sort(names)
	return slices.Compact(names)
}

// GeneratesRegistration reports whether kctrl writes the registration of a package that PROJECT does not list. It does
// so if the package's code calls the registration function without declaring it.
func (p *APIPackage) GeneratesRegistration() bool {
	return p.Used[RegisterFunc] && !p.Declared[RegisterFunc]
}

// Unregistered returns an error for each kind that no code of the package adds to a scheme. generated means that kctrl
// writes the registration.
func (p *APIPackage) Unregistered(program string, generated bool) []*diagnostic.Error {
	if p.broken {
		return nil
	}
	var found []*diagnostic.Error
	for _, name := range slices.Sorted(maps.Keys(p.Roots)) {
		registered := generated && p.Used[RegisterFunc] || p.Declared["AddToScheme"] && p.Made[name]
		if registered && p.Importable(program) {
			continue
		}
		found = append(found, diagnostic.At(p.Roots[name],
			fmt.Sprintf("%s is a kind, but %s, so no client of the manager knows it", name, p.obstacle(program)),
			p.registrationHint(program, generated, name)))
	}
	return found
}

// Importable reports whether a program may import the package: Go allows imports from a directory named internal only
// within its parent directory.
func (p *APIPackage) Importable(program string) bool {
	for folder := p.folder; folder != "."; folder = path.Dir(folder) {
		parent := path.Dir(folder)
		if path.Base(folder) == "internal" && parent != "." && !strings.HasPrefix(program+"/", parent+"/") {
			return false
		}
	}
	return true
}

func (p *APIPackage) obstacle(program string) string {
	if !p.Importable(program) {
		return program + " cannot import " + p.folder
	}
	return p.folder + " does not register it"
}

func (p *APIPackage) registrationHint(program string, generated bool, name string) string {
	switch {
	case !p.Importable(program):
		return "move the package out of the directory named internal, or register it where it can be imported"
	case generated:
		return fmt.Sprintf("write SchemeBuilder = runtime.NewSchemeBuilder(%s) in %s, and kctrl generate does the rest",
			RegisterFunc, p.folder)
	case p.Declared["AddToScheme"]:
		return fmt.Sprintf("add &%s{} to what AddToScheme registers", name)
	}
	return "kctrl create api makes packages that register their kinds; or declare AddToScheme beside it, which kctrl " +
		"generate then calls"
}
