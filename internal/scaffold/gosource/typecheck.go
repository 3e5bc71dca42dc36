package gosource

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
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

// TypeErrors returns the type errors in the Go files of a module as a plan has them. changed replaces the content of
// some files.
func TypeErrors(p *plan.Plan, sources []GoSource, repo string,
	changed map[string][]byte) (map[Complaint][]token.Position, error) {
	c, err := TypeChecked(p, sources, repo, changed)
	if err != nil {
		return nil, err
	}
	return c.found, nil
}

// TypeChecked returns a checker after it has checked all packages of sources.
func TypeChecked(p *plan.Plan, sources []GoSource, repo string, changed map[string][]byte) (*TypeChecker, error) {
	c := &TypeChecker{
		repo: repo, set: token.NewFileSet(), files: map[GoPackage][]*ast.File{}, packages: map[GoPackage]*types.Package{},
		found: map[Complaint][]token.Position{}, uses: map[*ast.Ident]types.Object{},
	}
	for _, s := range sources {
		text, isChanged := changed[s.Name]
		if !isChanged {
			var err error
			if text, err = p.Read(s.Name); errors.Is(err, fs.ErrNotExist) {
				continue
			} else if err != nil {
				return nil, err
			}
		}
		file, err := parser.ParseFile(c.set, s.Name, text, parser.SkipObjectResolution)
		if err != nil {
			c.complain(token.Position{Filename: s.Name}, "does not parse")
			continue
		}
		if IsBuilt(s.Name, text) {
			pkg := GoSource{s.Name, c.set, file}.Pkg()
			c.files[pkg] = append(c.files[pkg], file)
		}
	}
	for _, s := range sources {
		for _, external := range []bool{false, true} {
			c.check(GoPackage{path.Dir(s.Name), external})
		}
	}
	return c, nil
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
