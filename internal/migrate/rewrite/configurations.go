package rewrite

import (
	"cmp"
	"context"
	"go/ast"
	"go/build"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"math/bits"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/gocommand"
)

// configuration selects the files of a build. The zero value is the default of the go command.
type configuration struct {
	dir               string // of another module in the project, relative to the module; empty for the module
	goos, goarch, cgo string // variables of the go command; empty means the default
	tags              string // the flag -tags; empty means the default
	file              string // absolute path of a file that is a program of its own, with the tag ignore
}

// String returns the configuration as the settings of a command line.
func (c configuration) String() string {
	settings := c.env()
	if c.dir != "" {
		settings = append(settings, "-C "+c.dir)
	}
	if c.tags != "" {
		settings = append(settings, c.tags)
	}
	return strings.Join(settings, " ")
}

func (c configuration) env() (settings []string) {
	for _, v := range [][2]string{{"GOOS", c.goos}, {"GOARCH", c.goarch}, {"CGO_ENABLED", c.cgo}} {
		if v[1] != "" {
			settings = append(settings, v[0]+"="+v[1])
		}
	}
	return settings
}

// sources are the Go files of a module and of the modules in its subdirectories. They include files that the default
// configuration excludes.
type sources struct {
	context build.Context // of the default configuration
	files   []*sourceFile
	imports map[string][]string // by package: imported packages
	uses    map[string]bool     // packages with a file that imports controller-runtime
	linked  map[string]bool     // symbolic links and their targets
}

// sourceFile is a Go file of a module.
type sourceFile struct {
	name     string // absolute
	dir      string // of its module, relative to the main module; empty for the main module
	pkg      string // import path of the directory
	clause   string // package name, without the suffix _test
	imports  []string
	cgo      bool
	uses     bool     // imports controller-runtime
	tags     []string // of its build constraints
	words    []string // parts of its name that can be build constraints
	included bool     // by the default configuration
}

// readSources reads the beginnings of all Go files of the module, and of the modules in its subdirectories.
func (m Module) readSources(ctx context.Context) (*sources, error) {
	s := &sources{imports: map[string][]string{}, uses: map[string]bool{}, linked: map[string]bool{}}
	if err := s.readContext(ctx, m.Dir); err != nil {
		return nil, loadError(ctx, err)
	}
	modules := map[string]string{} // by directory: module path
	err := filepath.WalkDir(m.Dir, func(name string, entry fs.DirEntry, err error) error {
		base := filepath.Base(name)
		ignored := name != m.Dir && (base[0] == '.' || base[0] == '_')
		switch {
		case err != nil:
			return diagnostic.AtFile(m.inModule(name), "cannot read", err)
		case entry.IsDir() && (ignored || slices.Contains(ignoredDirs, base)):
			return fs.SkipDir
		case entry.IsDir():
			if text, err := os.ReadFile(filepath.Join(name, "go.mod")); err == nil {
				modules[name] = modfile.ModulePath(text)
			}
		case !ignored && filepath.Ext(base) == ".go":
			if real, err := filepath.EvalSymlinks(name); err == nil && entry.Type()&fs.ModeSymlink != 0 {
				s.linked[name], s.linked[real] = true, true
			}
			root := filepath.Dir(name)
			for modules[root] == "" && root != m.Dir {
				root = filepath.Dir(root)
			}
			s.add(m.Dir, root, modules[root], name)
		}
		return nil
	})
	return s, err
}

// ignoredDirs contain no packages that match ./..., or packages of other projects.
var ignoredDirs = []string{"testdata", "third_party", "vendor"}

// readContext reads the default configuration of the go command in a directory.
func (s *sources) readContext(ctx context.Context, dir string) error {
	const format = `{{with context}}{{.GOOS}} {{.GOARCH}} {{.Compiler}} {{.CgoEnabled}}
{{range .BuildTags}} {{.}}{{end}}
{{range .ToolTags}} {{.}}{{end}}
{{range .ReleaseTags}} {{.}}{{end}}{{end}}`
	out, err := gocommand.Output(ctx, dir, "list", "-f", format, "unsafe")
	if err != nil {
		return err
	}
	lines := strings.SplitN(out, "\n", 4)
	platform := strings.Fields(lines[0])
	s.context = build.Context{
		GOOS: platform[0], GOARCH: platform[1], Compiler: platform[2], CgoEnabled: platform[3] == "true",
		BuildTags: strings.Fields(lines[1]), ToolTags: strings.Fields(lines[2]), ReleaseTags: strings.Fields(lines[3]),
	}
	return nil
}

// add reads the beginning of a file. It ignores files that are not Go, because the type checker reports them.
func (s *sources) add(main, root, module, name string) {
	syntax, err := parser.ParseFile(token.NewFileSet(), name, nil,
		parser.ImportsOnly|parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return
	}
	f := &sourceFile{name: name, pkg: module, clause: strings.TrimSuffix(syntax.Name.Name, "_test")}
	if dir, err := filepath.Rel(main, root); err == nil && dir != "." {
		f.dir = filepath.ToSlash(dir)
	}
	if dir, err := filepath.Rel(root, filepath.Dir(name)); err == nil {
		f.pkg = path.Join(module, filepath.ToSlash(dir))
	}
	base, _, _ := strings.Cut(filepath.Base(name), ".")
	f.words = strings.Split(base, "_")[1:]
	for _, group := range syntax.Comments {
		for _, c := range group.List {
			if expr, err := constraint.Parse(c.Text); err == nil && c.Pos() < syntax.Package {
				f.tags = appendTags(f.tags, expr)
			}
		}
	}
	for _, spec := range syntax.Imports {
		imported := pathOf(spec)
		f.cgo = f.cgo || imported == "C"
		if spec.Name != nil && spec.Name.Name == "_" {
			continue
		}
		f.imports = append(f.imports, imported)
		f.uses = f.uses || strings.HasPrefix(imported+"/", ControllerRuntime+"/")
	}
	f.included = s.matches(s.context, f)
	s.uses[f.pkg] = s.uses[f.pkg] || f.uses
	s.imports[f.pkg] = append(s.imports[f.pkg], f.imports...)
	s.files = append(s.files, f)
}

// appendTags appends the tags of a build constraint.
func appendTags(tags []string, expr constraint.Expr) []string {
	switch expr := expr.(type) {
	case *constraint.AndExpr:
		return appendTags(appendTags(tags, expr.X), expr.Y)
	case *constraint.OrExpr:
		return appendTags(appendTags(tags, expr.X), expr.Y)
	case *constraint.NotExpr:
		return appendTags(tags, expr.X)
	case *constraint.TagExpr:
		return append(tags, expr.Tag)
	}
	return tags
}

// whyFixed returns the reason why a file is not to be changed, or "".
func (s *sources) whyFixed(name string, syntax *ast.File) string {
	switch {
	case ast.IsGenerated(syntax):
		return "generated code"
	case s.linked[name]:
		return "a symbolic link, or the target of one"
	}
	return ""
}

// matches reports whether a build includes a file.
func (s *sources) matches(c build.Context, f *sourceFile) bool {
	ok, err := c.MatchFile(filepath.Split(f.name))
	return err == nil && ok && (c.CgoEnabled || !f.cgo)
}

// reachable returns packages and all packages that they import, directly or indirectly.
func (s *sources) reachable(packages ...string) map[string]bool {
	reached := map[string]bool{}
	for len(packages) > 0 {
		next := packages[0]
		packages = packages[1:]
		if !reached[next] {
			reached[next] = true
			packages = append(packages, s.imports[next]...)
		}
	}
	return reached
}

// usedBy returns the packages that a file can use: its direct and indirect imports, and its own package unless the file
// is a separate program.
func (s *sources) usedBy(f *sourceFile) map[string]bool {
	alone := slices.ContainsFunc(s.files, func(other *sourceFile) bool { return other.pkg == f.pkg && other.included })
	for _, other := range s.files {
		alone = alone && (other.pkg != f.pkg || !other.included || other.clause != f.clause)
	}
	if alone {
		return s.reachable(f.imports...)
	}
	return s.reachable(f.pkg)
}

// users returns the files that can use one of the packages.
func (s *sources) users(named map[string]bool) (files []*sourceFile) {
	for _, f := range s.files {
		for pkg := range s.usedBy(f) {
			if s.uses[pkg] && (named[pkg] || named[pkg+"_test"]) {
				files = append(files, f)
				break
			}
		}
	}
	return files
}

// The values of GOOS and GOARCH that build constraints contain.
var (
	systems = strings.Fields("aix android darwin dragonfly freebsd illumos ios js linux netbsd openbsd plan9 solaris " +
		"wasip1 windows")
	architectures = strings.Fields("386 amd64 arm arm64 loong64 mips mips64 mips64le mipsle ppc64 ppc64le riscv64 s390x " +
		"wasm")
)

// maxTags is the number of tags of a file that configurationOf combines.
const maxTags = 8

// configurationOf returns a configuration that includes a file: the first one in an order that changes as few settings
// as possible. It reports whether it found one.
func (s *sources) configurationOf(f *sourceFile) (configuration, bool) {
	if f.included {
		return configuration{dir: f.dir}, true
	}
	if slices.Contains(f.tags, "ignore") {
		return configuration{dir: f.dir, file: f.name}, true
	}
	words := slices.Concat(f.tags, f.words)
	for _, goos := range choices(s.context.GOOS, systems, append(words, "linux", "darwin", "windows")) {
		for _, goarch := range choices(s.context.GOARCH, architectures, append(words, "amd64", "arm64")) {
			c := s.context
			c.GOOS, c.GOARCH = goos, goarch
			if goos != s.context.GOOS || goarch != s.context.GOARCH {
				c.CgoEnabled = false
			}
			for range 2 {
				if tags, ok := s.tagsFor(c, f); ok {
					return s.configuration(f.dir, c, tags), true
				}
				c.CgoEnabled = !c.CgoEnabled
			}
		}
	}
	return configuration{}, false
}

// choices returns the default and the words that are known values.
func choices(def string, known, words []string) []string {
	all := []string{def}
	for _, word := range words {
		if slices.Contains(known, word) && !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return all
}

// tagsFor returns the tags with which a context includes a file, with as few changes of the default tags as possible.
func (s *sources) tagsFor(c build.Context, f *sourceFile) (tags []string, ok bool) {
	var own []string
	for _, word := range f.tags {
		fixed := slices.Contains(systems, word) || slices.Contains(architectures, word) || slices.Contains(own, word) ||
			slices.Contains([]string{"cgo", "gc", "gccgo", "unix"}, word) || strings.HasPrefix(word, "go1.")
		if !fixed && len(own) < maxTags {
			own = append(own, word)
		}
	}
	masks := make([]uint, 1<<len(own))
	for i := range masks {
		masks[i] = uint(i)
	}
	slices.SortStableFunc(masks, func(a, b uint) int { return cmp.Compare(bits.OnesCount(a), bits.OnesCount(b)) })
	for _, mask := range masks {
		c.BuildTags = slices.Clone(s.context.BuildTags)
		for i, tag := range own {
			at := slices.Index(c.BuildTags, tag)
			switch {
			case mask&(1<<i) == 0:
			case at >= 0:
				c.BuildTags = slices.Delete(c.BuildTags, at, at+1)
			default:
				c.BuildTags = append(c.BuildTags, tag)
			}
		}
		if s.matches(c, f) {
			return c.BuildTags, true
		}
	}
	return nil, false
}

// configuration returns the settings in which a context differs from the default.
func (s *sources) configuration(dir string, c build.Context, tags []string) (result configuration) {
	result.dir = dir
	if c.GOOS != s.context.GOOS {
		result.goos = c.GOOS
	}
	if c.GOARCH != s.context.GOARCH {
		result.goarch = c.GOARCH
	}
	if c.CgoEnabled != s.context.CgoEnabled {
		result.cgo = "0"
		if c.CgoEnabled {
			result.cgo = "1"
		}
	}
	if !slices.Equal(tags, s.context.BuildTags) {
		result.tags = "-tags=" + strings.Join(tags, ",")
	}
	return result
}

// namingConfigurations returns the default configuration, and configurations of files in directories without a file
// that the default includes.
func (s *sources) namingConfigurations() []configuration {
	included := map[string]bool{}
	for _, f := range s.files {
		included[f.pkg] = included[f.pkg] || f.included
	}
	all := []configuration{{}}
	for _, f := range s.files {
		if c, ok := s.configurationOf(f); ok && f.dir == "" && !included[f.pkg] && c.file == "" && !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}
