package kctrl_test

import (
	"errors"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// systemPackages are packages that declare different names on different systems, or types that are used with these
// names.
var systemPackages = []string{"syscall", "os", "os/signal", "io/fs", "golang.org/x/sys/unix",
	"golang.org/x/sys/windows"}

// TestNamesExistOnOtherSystems type-checks the packages that use the system, as Linux compiles them and as another
// system does. On the other system, names of the package itself and of system packages may be missing. All other
// imports are unknown, so the test takes only seconds, and unknown imports cause the same errors on all systems. make
// vet-systems checks all types.
func TestNamesExistOnOtherSystems(t *testing.T) {
	here := newSystemChecker(t, "linux").checkModule(t)
	for _, system := range []string{"windows", "darwin"} {
		t.Run(system, func(t *testing.T) {
			for mistake := range newSystemChecker(t, system).checkModule(t) {
				if !here[mistake] {
					t.Error(mistake)
				}
			}
		})
	}
}

// TestNamesOfOneSystemAreFound runs the check on code that it must reject.
func TestNamesOfOneSystemAreFound(t *testing.T) {
	c := newSystemChecker(t, "windows")
	for text, want := range map[string]string{
		"import \"syscall\"\n\nvar _ = syscall.Kill":                             "undefined: syscall.Kill",
		"import \"syscall\"\n\nvar _ = syscall.SysProcAttr{Setpgid: true}":       "unknown field Setpgid",
		"import \"os\"\n\nvar _ = os.Args\n\nvar _ = declaredElsewhere":          "undefined: declaredElsewhere",
		"import \"example.com/other\"\n\nvar _ = other.Name(other.Of{Field: 1})": "",
	} {
		file, err := parser.ParseFile(c.set, "p.go", "package p\n\n"+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		found := c.check([]*ast.File{file})
		if want == "" && len(found) > 0 || want != "" && (len(found) != 1 || !strings.Contains(found[0], want)) {
			t.Errorf("%s\nfound %v, want %q", text, found, want)
		}
	}
}

// systemChecker checks types as one system has them.
type systemChecker struct {
	context build.Context
	set     *token.FileSet
	known   map[string]*types.Package // systemPackages
}

func newSystemChecker(t *testing.T, system string) *systemChecker {
	t.Helper()
	c := &systemChecker{context: build.Default, set: token.NewFileSet(), known: map[string]*types.Package{}}
	c.context.GOOS, c.context.CgoEnabled = system, false
	loaded, err := packages.Load(&packages.Config{
		Context: t.Context(), Env: append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"), ParseFile: parseDeclarations,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax,
	}, systemPackages...)
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range loaded {
		c.known[pkg.PkgPath] = pkg.Types
	}
	return c
}

// parseDeclarations parses a file without the bodies of functions.
func parseDeclarations(set *token.FileSet, name string, content []byte) (*ast.File, error) {
	file, err := parser.ParseFile(set, name, content, parser.SkipObjectResolution)
	if err != nil {
		return file, err
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
			f.Body.List = nil
		}
	}
	return file, nil
}

// parse returns the files of a directory that the system compiles, including tests.
func (c *systemChecker) parse(t *testing.T, directory string) []*ast.File {
	t.Helper()
	pkg, err := c.context.ImportDir(directory, 0)
	if _, none := errors.AsType[*build.NoGoError](err); none {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range slices.Concat(pkg.GoFiles, pkg.TestGoFiles, pkg.XTestGoFiles) {
		file, err := parser.ParseFile(c.set, filepath.Join(directory, name), nil,
			parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// checkModule returns the errors in all packages of this module that use the system, with their positions.
func (c *systemChecker) checkModule(t *testing.T) map[string]bool {
	t.Helper()
	found, checked := map[string]bool{}, 0
	for _, directory := range goDirectories(t) {
		files := c.parse(t, directory)
		if !slices.ContainsFunc(files, usesSystem) {
			continue
		}
		checked++
		for _, mistake := range c.check(files) {
			found[mistake] = true
		}
	}
	if checked < 10 {
		t.Errorf("only %d packages use the system", checked)
	}
	return found
}

// check returns the errors in the files of a package and of its external tests.
func (c *systemChecker) check(files []*ast.File) []string {
	var found []string
	config := types.Config{Importer: c, Error: func(err error) {
		// A use of an unknown type may not be a use of the name.
		if text := err.Error(); !strings.Contains(text, errUnknown.Error()) && !strings.Contains(text, "not used") {
			found = append(found, text)
		}
	}}
	byName := map[string][]*ast.File{}
	for _, file := range files {
		byName[file.Name.Name] = append(byName[file.Name.Name], file)
	}
	for name, files := range byName {
		_, _ = config.Check(name, c.set, files, nil)
	}
	return found
}

var errUnknown = errors.New("is not known here")

// Import makes a systemChecker an importer of types.
func (c *systemChecker) Import(path string) (*types.Package, error) {
	if pkg, ok := c.known[path]; ok {
		return pkg, nil
	}
	return nil, errUnknown
}

// usesSystem reports whether a file is for some systems only, or uses names that only some systems have.
func usesSystem(file *ast.File) bool {
	for _, comment := range file.Comments {
		if comment.Pos() < file.Package && strings.HasPrefix(comment.List[0].Text, "//go:build") {
			return true
		}
	}
	return slices.ContainsFunc(file.Imports, func(spec *ast.ImportSpec) bool {
		path := strings.Trim(spec.Path.Value, `"`)
		return path != "os" && path != "io/fs" && slices.Contains(systemPackages, path)
	})
}

// goDirectories returns the directories of this module that may have packages.
func goDirectories(t *testing.T) []string {
	t.Helper()
	return strings.Fields(goCommand(t, "list", "-e", "-f", "{{.Dir}}", "./..."))
}
