package gosource

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
)

// TypeChecker checks the packages of a project without the go command and the network. It accepts all uses of packages
// from other modules, of which it knows only the names. A complaint is an error in the code, or results from a file
// that the checker did not receive, such as a generated one. Callers therefore compare the complaints with those from
// before a change.
type TypeChecker struct {
	repo     string
	set      *token.FileSet
	files    map[GoPackage][]*ast.File
	packages map[GoPackage]*types.Package // nil during the check
	found    map[Complaint][]token.Position
	uses     map[*ast.Ident]types.Object
}

// Complaint is an error in a file, without its position.
type Complaint struct{ File, Message string }

// TypeErrors returns the type errors in the Go files of a module. changed replaces the content of some files.
func TypeErrors(sources []GoSource, repo string, changed map[string][]byte) map[Complaint][]token.Position {
	return TypeChecked(sources, repo, changed).found
}

// TypeChecked returns a checker after it has checked all packages of sources.
func TypeChecked(sources []GoSource, repo string, changed map[string][]byte) *TypeChecker {
	c := &TypeChecker{
		repo: repo, set: token.NewFileSet(), files: map[GoPackage][]*ast.File{}, packages: map[GoPackage]*types.Package{},
		found: map[Complaint][]token.Position{}, uses: map[*ast.Ident]types.Object{},
	}
	for _, s := range sources {
		if text, isChanged := changed[s.Name]; isChanged {
			s.Text = text
		}
		file, err := parser.ParseFile(c.set, s.Name, s.Text, parser.SkipObjectResolution)
		if err != nil {
			c.complain(token.Position{Filename: s.Name}, "does not parse")
			continue
		}
		if s.File = file; s.IsBuilt() {
			c.files[s.Pkg()] = append(c.files[s.Pkg()], file)
		}
	}
	for _, s := range sources {
		for _, external := range []bool{false, true} {
			c.check(GoPackage{path.Dir(s.Name), external})
		}
	}
	return c
}

// EmbeddedFields returns, by file and offset, the uses of fields that are named after an embedded type, with the name
// of the type.
func (c *TypeChecker) EmbeddedFields() map[string]map[int]GoName {
	found := map[string]map[int]GoName{}
	for ident, object := range c.uses {
		field, ok := object.(*types.Var)
		if !ok || !field.Embedded() {
			continue
		}
		embedded := field.Origin().Type()
		if pointer, ok := embedded.(*types.Pointer); ok {
			embedded = pointer.Elem()
		}
		// A field embedded through an alias has the alias's name, which does not change.
		named, ok := embedded.(interface{ Obj() *types.TypeName })
		if !ok || named.Obj().Pkg() == nil {
			continue
		}
		at := c.set.PositionFor(ident.Pos(), false)
		if folder, inside := layout.DirOf(c.repo, named.Obj().Pkg().Path()); inside {
			if found[at.Filename] == nil {
				found[at.Filename] = map[int]GoName{}
			}
			found[at.Filename][at.Offset] = GoName{GoPackage{Folder: folder}, named.Obj().Name()}
		}
	}
	return found
}

func (c *TypeChecker) complain(at token.Position, message string) {
	key := Complaint{at.Filename, message}
	if !slices.Contains(c.found[key], at) {
		c.found[key] = append(c.found[key], at)
	}
}

// check type-checks a package once, after the packages of the module that it imports.
func (c *TypeChecker) check(pkg GoPackage) *types.Package {
	if done, known := c.packages[pkg]; known || len(c.files[pkg]) == 0 {
		return done
	}
	c.packages[pkg] = nil
	config := types.Config{Importer: c, FakeImportC: true, Error: func(err error) {
		if e, ok := errors.AsType[types.Error](err); ok && !strings.HasPrefix(e.Msg, "could not import ") {
			c.complain(e.Fset.Position(e.Pos), e.Msg)
		}
	}}
	// The Error callback above has recorded the errors.
	c.packages[pkg], _ = config.Check(path.Join(c.repo, pkg.Folder), c.set, c.files[pkg], &types.Info{Uses: c.uses})
	return c.packages[pkg]
}

// errNotOfModule makes the type checker treat a package as known by name only.
var errNotOfModule = errors.New("not of the module")

// Import returns a package of the module for the type checker.
func (c *TypeChecker) Import(importPath string) (*types.Package, error) {
	folder, inside := layout.DirOf(c.repo, importPath)
	if !inside {
		return nil, errNotOfModule
	}
	if pkg := c.check(GoPackage{Folder: folder}); pkg != nil {
		return pkg, nil
	}
	return nil, errNotOfModule
}
