package scaffold_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/mod/modfile"
)

// compiled has the packages that projects import, compiled once by the go command and read once by this process. The
// type checks of all projects share it.
var compiled = compiledPackages{set: token.NewFileSet(), found: map[string]compiledPackage{}}

type compiledPackages struct {
	mu    sync.Mutex // held during each type check: an importer serves one at a time
	set   *token.FileSet
	found map[string]compiledPackage
	types types.Importer
}

// compiledPackage is the output of go list for a package.
type compiledPackage struct {
	ImportPath, Export string
	Standard           bool
	Deps               []string
	Module             *struct {
		Path, Version string
		Main          bool
	}
	Error *struct{ Err string }
}

// loadLocked compiles packages and their imports with the go command, in the versions of this repository's go.mod. They
// are usually in the build cache.
func (c *compiledPackages) loadLocked(paths []string) error {
	missing := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { _, found := c.found[path]; return found })
	if c.types == nil {
		c.types = importer.ForCompiler(c.set, "gc", c.open)
		missing = append(missing, "./runtime/...", "testing")
	}
	if len(missing) == 0 {
		return nil
	}
	cmd := exec.Command("go", append([]string{"list", "-e", "-export", "-deps",
		"-json=ImportPath,Export,Standard,Deps,Module,Error"}, missing...)...)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), cacheEnv()...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	for decoder := json.NewDecoder(out); ; {
		var pkg compiledPackage
		if err = decoder.Decode(&pkg); err != nil {
			break
		}
		c.found[pkg.ImportPath] = pkg
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, cmd.Wait())
}

// open returns the export data of a package.
func (c *compiledPackages) open(path string) (io.ReadCloser, error) {
	pkg, found := c.found[path]
	switch {
	case found && pkg.Error != nil:
		return nil, errors.New(pkg.Error.Err)
	case !found || pkg.Export == "":
		return nil, fmt.Errorf("no package %s is compiled", path)
	}
	return os.Open(pkg.Export)
}

// checkTypes type-checks all packages of the project with their tests, and checks that go.mod and go.sum have the
// modules of all imports. It finds the errors of go build in a tenth of the time.
func (p *testProject) checkTypes(t *testing.T) {
	t.Helper()
	compiled.mu.Lock()
	defer compiled.mu.Unlock()
	source := p.parse(t)
	imported := source.imports()
	if err := compiled.loadLocked(imported); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(source.folders)) {
		if err := source.checkDir(name); err != nil {
			t.Error(err)
		}
	}
	for _, dir := range p.modules(t) {
		if p.isTidied(t) {
			source.checkRequirements(t, dir)
		}
	}
}

// projectSource is the Go source of a project.
type projectSource struct {
	dir, repo string
	folders   map[string]*goFolder // by import path
}

// goFolder contains the files of a directory by package, and the package that other packages import.
type goFolder struct {
	files, tests, external []*ast.File
	pkg                    *types.Package
	checking               bool
}

func (p *testProject) parse(t *testing.T) *projectSource {
	t.Helper()
	source := &projectSource{dir: p.dir, repo: modulePath(t, p.dir), folders: map[string]*goFolder{}}
	err := filepath.WalkDir(p.dir, func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(p.dir, dir)
		if err != nil {
			return err
		}
		if base := entry.Name(); name != "." && (name == "third_party" || base == "testdata" ||
			strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
			return fs.SkipDir
		}
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil && name != "." && name != "api" {
			return fs.SkipDir
		}
		return source.parseDir(dir, path.Join(source.repo, filepath.ToSlash(name)))
	})
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func (s *projectSource) parseDir(dir, importPath string) error {
	system := build.Default
	system.CgoEnabled = false
	found, err := system.ImportDir(dir, 0)
	if _, none := errors.AsType[*build.NoGoError](err); none {
		return nil
	} else if err != nil {
		return err
	}
	folder := &goFolder{}
	for _, part := range []struct {
		names []string
		to    *[]*ast.File
	}{{found.GoFiles, &folder.files}, {found.TestGoFiles, &folder.tests}, {found.XTestGoFiles, &folder.external}} {
		for _, name := range part.names {
			file, err := parser.ParseFile(compiled.set, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			*part.to = append(*part.to, file)
		}
	}
	s.folders[importPath] = folder
	return nil
}

// imports lists the packages of other modules that the files import.
func (s *projectSource) imports() []string {
	all := map[string]bool{}
	for _, folder := range s.folders {
		for name := range importsOf(folder.files, folder.tests, folder.external) {
			if _, own := s.folders[name]; !own {
				all[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func importsOf(parts ...[]*ast.File) map[string]bool {
	all := map[string]bool{}
	for _, file := range slices.Concat(parts...) {
		for _, spec := range file.Imports {
			all[strings.Trim(spec.Path.Value, `"`)] = true
		}
	}
	return all
}

// checkDir type-checks the package of a directory, the package with its tests, and its external tests.
func (s *projectSource) checkDir(importPath string) error {
	folder := s.folders[importPath]
	pkg, err := s.Import(importPath)
	if err != nil {
		return err
	}
	if len(folder.tests) > 0 {
		if pkg, err = s.check(importPath, slices.Concat(folder.files, folder.tests), s); err != nil {
			return err
		}
	}
	if len(folder.external) > 0 {
		_, err = s.check(importPath+"_test", folder.external, withTests{s, pkg})
	}
	return err
}

// withTests is the importer of the external tests of a package.
type withTests struct {
	*projectSource
	pkg *types.Package
}

func (w withTests) Import(importPath string) (*types.Package, error) {
	if importPath == w.pkg.Path() {
		return w.pkg, nil
	}
	return w.projectSource.Import(importPath)
}

// Import returns a package of the project, which it checks once, or a compiled package.
func (s *projectSource) Import(importPath string) (*types.Package, error) {
	folder, own := s.folders[importPath]
	switch {
	case !own && (importPath == s.repo || strings.HasPrefix(importPath, s.repo+"/")):
		return nil, fmt.Errorf("the project has no package %s", importPath)
	case !own:
		return compiled.types.Import(importPath)
	case folder.pkg != nil:
		return folder.pkg, nil
	case folder.checking:
		return nil, fmt.Errorf("%s imports itself", importPath)
	}
	folder.checking = true
	pkg, err := s.check(importPath, folder.files, s)
	if err == nil {
		folder.pkg = pkg
	}
	folder.checking = false
	return pkg, err
}

func (s *projectSource) check(importPath string, files []*ast.File, from types.Importer) (*types.Package, error) {
	var all []error
	config := types.Config{Importer: from, Error: func(err error) { all = append(all, err) }}
	pkg, err := config.Check(importPath, compiled.set, files, nil)
	if len(all) == 0 && err != nil {
		all = append(all, err)
	}
	return pkg, errors.Join(all...)
}

func modulePath(t *testing.T, dir string) string {
	t.Helper()
	return modfile.ModulePath(readFile(t, dir, "go.mod"))
}

// checkRequirements checks the go.mod and go.sum of a module. go.mod must list the modules of all direct and indirect
// imports and mark the direct ones, and go.sum must have their checksums.
func (s *projectSource) checkRequirements(t *testing.T, dir string) {
	t.Helper()
	mod, err := modfile.Parse("go.mod", readFile(t, dir, "go.mod"), nil)
	if err != nil {
		t.Fatal(err)
	}
	sums := "\n" + string(readFile(t, dir, "go.sum"))
	direct, needed := s.needs(mod.Module.Mod.Path)
	required := map[string]*modfile.Require{}
	for _, r := range mod.Require {
		required[r.Mod.Path] = r
		if r.Indirect == direct[r.Mod.Path] {
			t.Errorf("%s: %s is imported is %t, // indirect is %t", dir, r.Mod.Path, direct[r.Mod.Path], r.Indirect)
		}
	}
	for name, version := range needed {
		switch r := required[name]; {
		case r == nil:
			t.Errorf("%s: nothing requires %s", dir, name)
		case version != "" && r.Mod.Version != version:
			t.Errorf("%s: %s is required, want %s", dir, r.Mod, version)
		case version != "" && !strings.Contains(sums, "\n"+name+" "+version+" h1:"):
			t.Errorf("%s: go.sum has no checksum of %s", dir, r.Mod)
		}
	}
}

// needs returns the modules that the packages of a module import directly, and the versions of all direct and indirect
// imports. The version is empty for a replaced module.
func (s *projectSource) needs(module string) (direct map[string]bool, versions map[string]string) {
	direct, versions = map[string]bool{}, map[string]string{}
	api := s.repo + "/api"
	_, hasAPIModule := os.Stat(filepath.Join(s.dir, "api", "go.mod"))
	isAPI := func(name string) bool {
		return hasAPIModule == nil && (name == api || strings.HasPrefix(name, api+"/"))
	}
	for name, folder := range s.folders {
		isOwn := isAPI(name) == (module == api)
		if !isOwn && module == api {
			continue // API packages import no other packages of the project
		}
		for imported := range importsOf(folder.files, folder.tests, folder.external) {
			if _, own := s.folders[imported]; own {
				if isAPI(imported) && isOwn && module != api {
					direct[api], versions[api] = true, ""
				}
				continue
			}
			for i, dep := range append([]string{imported}, compiled.found[imported].Deps...) {
				m := compiled.found[dep].Module
				if m == nil {
					continue // the standard library
				}
				direct[m.Path] = direct[m.Path] || isOwn && i == 0
				if versions[m.Path] = m.Version; m.Main {
					versions[m.Path] = ""
				}
			}
		}
	}
	return direct, versions
}
