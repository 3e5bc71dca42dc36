package scaffold

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	gopath "path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

const (
	mainFile       = "cmd/main.go"
	registerFile   = "cmd/zz_generated.register.go"
	managerPackage = runtimeModule + "/runtime/manager"
)

// PlanRegistration plans the generated Go files that make the kinds and controllers of the project known to its manager,
// and checks that cmd/main.go uses them. A project without kinds that has no such files is left without. Errors are
// *diagnostic.Error.
func PlanRegistration(plan *Plan, project *Project) error {
	if len(project.Resources) == 0 {
		if _, err := plan.Read(registerFile); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return writeRegistration(plan, project)
}

func writeRegistration(plan *Plan, project *Project) error {
	header, err := goHeader(plan)
	if err != nil {
		return err
	}
	if err := checkDeclared(plan, project); err != nil {
		return err
	}
	if err := render(plan, templates.Register(), registerView(project, header), true); err != nil {
		return err
	}
	for _, view := range versionViews(project, header) {
		if err := renderAll(plan, templates.Version(), view, false); err != nil {
			return err
		}
	}
	return ensureRegistered(plan)
}

// ensureRegistered makes sure that something in cmd uses register. Where nothing does, it becomes an argument of
// manager.Main, unless another function is there already: that is the user's to decide.
func ensureRegistered(plan *Plan) error {
	source, err := plan.Read(mainFile)
	if err != nil {
		return missingFile(mainFile, err, `it starts the manager: os.Exit(manager.Main(manager.Options{}, register))`)
	}
	if usesRegister(plan) {
		return nil
	}
	if pos, found := otherSetup(source); found {
		return &diagnostic.Error{
			Pos:     pos,
			Message: "manager.Main is given a function that does not call register, so no controller would run",
			Hint:    "call it there, with return register(m), or pass register itself: manager.Main(manager.Options{...}, register)",
		}
	}
	edited, err := EnsureArgument(source, mainFile, managerPackage, "Main", "register")
	if err != nil {
		return err
	}
	return plan.WriteFile(File{Path: mainFile, Content: edited, Policy: Edit})
}

// usesRegister reports whether a Go file in cmd, other than the one that declares it, names register.
func usesRegister(plan *Plan) bool {
	names, err := fs.Glob(plan.fsys, "cmd/*.go")
	if err != nil || !slices.Contains(names, mainFile) {
		names = append(names, mainFile)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		source, err := plan.Read(name)
		if err != nil || name == registerFile || strings.HasSuffix(name, "_test.go") {
			return false
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			return false
		}
		used := false
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				return n.Sel.Name != "register"
			case *ast.Ident:
				used = used || n.Name == "register"
			}
			return true
		})
		return used
	})
}

// otherSetup returns where manager.Main is given a setup function, if it is.
func otherSetup(source []byte) (token.Position, bool) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, mainFile, source, parser.SkipObjectResolution)
	if err != nil {
		return token.Position{}, false
	}
	var pos token.Position
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && len(call.Args) > 1 {
			if selector, ok := call.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == "Main" {
				pos = files.Position(call.Args[1].Pos())
			}
		}
		return true
	})
	return pos, pos.IsValid()
}

func missingFile(name string, err error, hint string) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	e := fileError(name, "cannot read", err)
	e.Message, e.Hint = "the file is missing", hint
	return e
}

// kindNames are the names that the templates of a resource are spelled from.
func kindNames(project *Project, r Resource, header string) templates.KindNames {
	names := templates.KindNames{
		ProjectName: project.Name,
		Repo:        project.Repo,
		Header:      header,
		MultiGroup:  project.MultiGroup,
		Group:       r.Group,
		Domain:      r.Domain,
		Version:     r.Version,
		Kind:        r.Kind,
		Plural:      r.Plural,
		Namespaced:  r.Namespaced,
	}
	if project.Namespaced {
		names.RestrictedTo = templates.Namespace(project.Name)
	}
	return names
}

// versionViews returns the API packages of the project with their kinds, ordered by folder.
func versionViews(project *Project, header string) []templates.VersionView {
	views := map[string]templates.VersionView{}
	for _, r := range project.Resources {
		if !r.API {
			continue
		}
		view := templates.NewKind(kindNames(project, r, header)).VersionView
		view.Kinds = append(views[view.Folder].Kinds, r.Kind)
		slices.Sort(view.Kinds)
		views[view.Folder] = view
	}
	return slices.SortedFunc(maps.Values(views), func(a, b templates.VersionView) int {
		return strings.Compare(a.Folder, b.Folder)
	})
}

// registerView lists what the manager sets up: each API package and each controller once, in the order of their import
// paths and then of PROJECT.
func registerView(project *Project, header string) templates.RegisterView {
	view := templates.RegisterView{Header: header}
	imports := &importNames{byPath: map[string]string{}}
	for _, r := range project.Resources {
		kind := templates.NewKind(kindNames(project, r, header))
		if r.API {
			if name, first := imports.name(kind.ImportPath, kind.Alias); first {
				view.APIs = append(view.APIs, name)
			}
		}
		if r.Controller {
			name, _ := imports.name(kind.ControllerImportPath, kind.ControllerAlias)
			view.Controllers = append(view.Controllers, name+"."+kind.Reconciler)
		}
	}
	view.Imports = imports.sorted()
	return view
}

// importNames gives every import path a name of its own, whatever names the paths would like.
type importNames struct {
	byPath map[string]string
}

// name returns the name of an import path, and reports whether it is the first time.
func (i *importNames) name(path, wanted string) (string, bool) {
	if name, ok := i.byPath[path]; ok {
		return name, false
	}
	name := wanted
	for n := 2; slices.Contains(slices.Collect(maps.Values(i.byPath)), name); n++ {
		name = fmt.Sprintf("%sx%d", wanted, n)
	}
	i.byPath[path] = name
	return name, true
}

func (i *importNames) sorted() []templates.Import {
	var list []templates.Import
	for _, path := range slices.Sorted(maps.Keys(i.byPath)) {
		alias := i.byPath[path]
		if alias == gopath.Base(path) {
			alias = "" // the package's own name
		}
		list = append(list, templates.Import{Alias: alias, Path: path})
	}
	return list
}
