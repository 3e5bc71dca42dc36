package register

import (
	"cmp"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// Program is the main package that starts the operator's manager. It is in cmd or in a directory that the user chose.
type Program struct {
	folder string
	// files are the program's parsable Go files, except generated ones, sorted by name.
	files []gosource.GoSource
}

// FindProgram returns the program that starts the operator's manager: the one in cmd, or else the only one elsewhere.
// If several programs start a manager, it returns the only one that has kctrl's registration, or a *diagnostic.Error.
func FindProgram(p *plan.Plan) (Program, error) {
	usual, err := readProgram(p, layout.MainDir)
	if err != nil || usual.StartsManager() {
		return usual, err
	}
	moved, err := movedPrograms(p)
	if err != nil || len(moved) == 0 {
		return usual, err // the caller reports what is missing in the program
	}
	if with := slices.DeleteFunc(slices.Clone(moved),
		func(m Program) bool { _, err := p.Read(m.RegisterFile()); return err != nil }); len(with) == 1 {
		moved = with
	}
	if len(moved) > 1 {
		var folders []string
		for _, m := range moved {
			folders = append(folders, m.folder)
		}
		return usual, diagnostic.In(moved[0].files[0].Name,
			"several programs start a manager, and kctrl cannot determine which is the operator's: they are in "+
				strings.Join(folders, ", "),
			"move "+usual.RegisterFile()+" beside the main function of the operator")
	}
	return moved[0], nil
}

// movedPrograms returns the programs outside of cmd that start a manager, sorted by directory.
func movedPrograms(p *plan.Plan) ([]Program, error) {
	names, err := gosource.GoFilesOf(p, ".", func(name string) bool { return gosource.IsForeign(p.FS(), name, nil) })
	folders := map[string]bool{}
	for _, name := range names {
		folders[path.Dir(name)] = true
	}
	delete(folders, layout.MainDir)
	var found []Program
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		one, readErr := readProgram(p, folder)
		if err = cmp.Or(err, readErr); one.StartsManager() {
			found = append(found, one)
		}
	}
	return found, err
}

// readProgram reads package main in a directory. It skips files that do not parse, which the go command reports.
func readProgram(p *plan.Plan, folder string) (Program, error) {
	g := Program{folder: folder}
	files, err := gosource.ReadFiles(p, folder)
	g.files = slices.DeleteFunc(files, func(s gosource.GoSource) bool {
		return s.Name == g.RegisterFile() || s.File == nil || !s.IsBuilt() || s.File.Name.Name != "main"
	})
	return g, err
}

func (g Program) RegisterFile() string { return path.Join(g.folder, layout.RegisterName) }

// StartsManager reports whether the program imports the manager or calls register.
func (g Program) StartsManager() bool {
	return g.UsesRegister() || slices.ContainsFunc(g.files, importsManager)
}

func importsManager(s gosource.GoSource) bool {
	return slices.ContainsFunc(s.File.Imports, func(i *ast.ImportSpec) bool {
		return strings.Trim(i.Path.Value, "\"`") == layout.ManagerPackage
	})
}

// UsesRegister reports whether a file of the program refers to the function register.
func (g Program) UsesRegister() bool {
	return slices.ContainsFunc(g.files, func(s gosource.GoSource) bool {
		used := false
		ast.Inspect(s.File, func(n ast.Node) bool {
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

// EnsureRegistered makes the program use the function register. If no file refers to register, it adds register to the
// arguments of manager.Main. If the program already passes another function there, it returns a *diagnostic.Error,
// because the user must decide.
func (g Program) EnsureRegistered(p *plan.Plan) error {
	if g.UsesRegister() {
		return nil
	}
	var failure error
	for _, s := range g.files {
		if pos, found := otherSetup(s); found {
			return diagnostic.At(pos,
				"manager.Main is given a function that does not call register, so no controller would run",
				"call it there, with return register(m), or pass register itself: manager.Main(manager.Options{...}, "+
					"register)")
		}
		edited, err := edit.EnsureArgument(s.Text, s.Name, layout.ManagerPackage, "Main", "register")
		if err == nil {
			return p.Edit(s.Name, edited)
		}
		if failure == nil || importsManager(s) || hasMain(s) {
			failure = err
		}
	}
	if failure != nil {
		return failure
	}
	// The program has no files, or none of them parses.
	source, err := p.Read(layout.MainFile)
	if err != nil {
		return layout.MissingFile(layout.MainFile, err,
			`it starts the manager: os.Exit(manager.Main(manager.Options{}, register))`)
	}
	edited, err := edit.EnsureArgument(source, layout.MainFile, layout.ManagerPackage, "Main", "register")
	if err != nil {
		return err
	}
	return p.Edit(layout.MainFile, edited)
}

func hasMain(s gosource.GoSource) bool {
	return slices.ContainsFunc(s.File.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && f.Recv == nil && f.Name.Name == "main"
	})
}

// otherSetup returns the position of the setup function that manager.Main receives, if any.
func otherSetup(s gosource.GoSource) (token.Position, bool) {
	var pos token.Position
	ast.Inspect(s.File, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && len(call.Args) > 1 &&
			s.Qualified(call.Fun) == layout.ManagerPackage+".Main" {
			pos = s.Set.Position(call.Args[1].Pos())
		}
		return true
	})
	return pos, pos.IsValid()
}

// Follow deletes the registration that kctrl wrote to the program's previous directory. If isKnown is false, it also
// notes build steps that use the old directory; later kctrl doctor reports them.
func (g Program) Follow(p *plan.Plan, isKnown bool) error {
	var before []string
	for entry := range p.Lock().All() {
		if entry.Template == templates.Register().Source() && entry.Path != g.RegisterFile() {
			before = append(before, entry.Path)
		}
	}
	for _, name := range before {
		if err := p.Delete(name); err != nil {
			return err
		}
	}
	if isKnown {
		return nil
	}
	stale, err := g.staleBuilds(p)
	for _, e := range stale {
		p.Note(e)
	}
	return err
}

// IsKnown reports whether the lock has the registration in the program's current directory.
func (g Program) IsKnown(p *plan.Plan) bool {
	_, known := p.Lock().Entry(g.RegisterFile())
	return known
}

// StaleBuilds returns an error for each line of the Makefile and the Dockerfile that builds a directory other than the
// program's.
func StaleBuilds(p *plan.Plan) ([]*diagnostic.Error, error) {
	g, err := FindProgram(p)
	if err != nil {
		return nil, nil // FindProgram's error is reported by the registration
	}
	return g.staleBuilds(p)
}

func (g Program) staleBuilds(p *plan.Plan) ([]*diagnostic.Error, error) {
	if g.folder == layout.MainDir {
		return nil, nil
	}
	var found []*diagnostic.Error
	for _, name := range []string{"Makefile", "Dockerfile"} {
		text, err := p.ReadIfExists(name)
		if err != nil {
			return nil, err
		}
		line := 0
		for content := range strings.Lines(string(text)) {
			line++
			if slices.Contains(strings.Fields(content), "./"+layout.MainDir) {
				found = append(found, diagnostic.At(token.Position{Filename: name, Line: line},
					"builds ./"+layout.MainDir+", and the program that starts the manager is in "+g.dotted(),
					"write "+g.dotted()+" there"))
			}
		}
	}
	return found, nil
}

// dotted returns the directory as an argument of the go command.
func (g Program) dotted() string {
	if g.folder == "." {
		return "."
	}
	return "./" + g.folder
}
