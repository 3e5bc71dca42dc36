package migrate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// program is the Go packages of a project with their types, and what rules must know of all of them.
type program struct {
	rules    []Rule
	dir      string         // absolute
	fset     *token.FileSet // that of declared
	declared *declarations
	packages []*packages.Package
	modules  []goModule
	tags     []string // of builds, with which it was loaded
	// runnables are the types that are given to a manager to run.
	runnables map[string]bool
	// running are those of them that are interfaces, by their names.
	running map[string]*types.Interface
	// untyped are the defaulters and validators of any object, and the kind that each is for.
	untyped map[string]types.Type
	// anyObject are those of them that stay so, see [program.becomesTyped].
	anyObject map[string]bool
	// convertibles are the types that convert themselves to and from a hub.
	convertibles []types.Type
	// servers are the variables that the server of webhooks of a manager is given to, with the manager.
	servers map[types.Object]ast.Expr
	// registering are the places of parameters that the manager is given in place of its server of webhooks.
	registering map[string]bool
	// groupVersions are what the builders of schemes are for, by package and name.
	groupVersions map[string]string
	// collected is the first place where something is registered with the registry of controller-runtime, and served says that a manager is told.
	collected *token.Position
	served    bool
	// byPrometheus are the variables and fields whose collectors are registered with prometheus by themselves too, by where they are declared.
	byPrometheus map[string]bool
	// filtersMetrics says that something decides who may read metrics.
	filtersMetrics bool
	// doubles are the types of the project that implement managers and clusters, and answered the names of their methods.
	doubles  map[string]*double
	answered map[string]bool
	// made are the places of variables that are managers which the program makes.
	made map[string]bool
	// namesBuilder says that functions are given builders of controllers, so that those which anybody may be given are of one Go type.
	namesBuilder bool
	// mainFile is the file whose main function starts the manager, and registers says that it calls register.
	mainFile  string
	registers bool
	// release is the release of Kubernetes that its modules are of; where it is set, what other modules make of Kubernetes is compiled too.
	release string
	// compiled are the files of other modules that have the bodies of their functions.
	compiled sync.Map
	// peers are the packages of controller-runtime that the project is made of, by the folder below pkg, and converts says that the package
	// which converts values of it can be made with them, convertsManagers that it can convert managers too.
	peers                      map[string]*types.Package
	converts, convertsManagers bool
	// adapterFolder is where that package goes in a module, and adapters are its parts that each module needs, by folder.
	adapterFolder string
	adapters      map[string]map[string]bool
	// kept and keptLiterals are the functions that libraries call with values of controller-runtime.
	kept         map[string]bool
	keptLiterals map[*ast.FuncLit]bool
}

// loadMode gives syntax and types of the project, and of what it imports the types alone. These come from source, without the bodies of
// functions: nothing is compiled, which a project that was just cloned takes minutes for.
const loadMode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes |
	packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedModule | packages.NeedDeps

// load reads the packages of modules in a folder, tests included, with the files of all build tags that are the project's own and with which
// it compiles.
func load(ctx context.Context, declared *declarations, dir string, modules []goModule, env []string) (*program, error) {
	p, err := loadOn(ctx, declared, dir, modules, env, ownTags(dir), "")
	if err != nil {
		return nil, err
	}
	broken := p.brokenTags()
	if len(broken) == 0 {
		return p, nil
	}
	fewer, err := loadOn(ctx, declared, dir, modules, env, slices.DeleteFunc(slices.Clone(p.tags), func(tag string) bool { return slices.Contains(broken, tag) }), "")
	if err != nil || len(fewer.problems()) >= len(p.problems()) {
		return p, err
	}
	return fewer, nil
}

// loadOn reads the packages with some build tags; where a release is given to which the modules of Kubernetes were raised, functions of other
// modules that use these are read too.
func loadOn(ctx context.Context, declared *declarations, dir string, modules []goModule, env, tags []string, release string) (*program, error) {
	p := &program{
		rules: Rules, dir: dir, tags: tags, release: release, modules: modules, fset: declared.fset, declared: declared,
		runnables: map[string]bool{}, running: map[string]*types.Interface{}, untyped: map[string]types.Type{}, anyObject: map[string]bool{}, groupVersions: map[string]string{}, servers: map[types.Object]ast.Expr{}, doubles: map[string]*double{}, answered: map[string]bool{}, made: map[string]bool{}, registering: map[string]bool{}, byPrometheus: map[string]bool{},
		peers: map[string]*types.Package{}, adapterFolder: adapterFolder(os.DirFS(dir), modules), adapters: map[string]map[string]bool{}, kept: map[string]bool{}, keptLiterals: map[*ast.FuncLit]bool{},
	}
	config := &packages.Config{Context: ctx, Mode: loadMode, Dir: dir, Fset: p.fset, Tests: true, Env: append(os.Environ(), env...), ParseFile: p.parseFile}
	if len(tags) > 0 {
		config.BuildFlags = []string{"-tags=" + strings.Join(tags, ",")}
	}
	for rest := modules; len(rest) > 0; {
		var err error
		if rest, err = p.loadWidest(config, rest); err != nil {
			return nil, &diagnostic.Error{
				Message: "cannot load the Go packages: " + complaint(err.Error()),
				Hint:    "go build ./... is to work before a project is migrated",
				Cause:   err,
			}
		}
	}
	// A package with its tests has all files of the one without.
	slices.SortStableFunc(p.packages, func(a, b *packages.Package) int { return cmp.Compare(len(b.Syntax), len(a.Syntax)) })
	return p, nil
}

// loadWidest reads the packages of the module that builds with most of the others, and of these all that compile as it builds them: what they
// import is read once then. It returns the modules that are left to read.
func (p *program) loadWidest(config *packages.Config, modules []goModule) (rest []goModule, err error) {
	lead, others := widest(modules)
	patterns := []string{"./..."}
	for _, other := range others {
		patterns = append(patterns, other.path+"/...")
	}
	config.Dir = p.folderOf(lead)
	loaded, err := packages.Load(config, patterns...)
	if err != nil {
		return nil, err
	}
	read := map[string][]*packages.Package{} // by the path of the module
	for _, pkg := range loaded {
		of := lead.path
		if pkg.Module != nil {
			of = pkg.Module.Path
		}
		read[of] = append(read[of], pkg)
	}
	for _, module := range modules {
		found := read[module.path]
		switch {
		case module.folder == lead.folder, len(found) > 0 && p.compilesIn(p.folderOf(module), found):
			p.packages = append(p.packages, found...)
		default:
			rest = append(rest, module)
		}
	}
	return rest, nil
}

// widest returns the module that builds with most of the others, and these.
func widest(modules []goModule) (lead goModule, others []goModule) {
	for _, module := range modules {
		used := slices.DeleteFunc(slices.Clone(modules), func(other goModule) bool {
			return other.folder == module.folder || !slices.Contains(module.uses, other.folder)
		})
		if lead.path == "" || len(used) > len(others) {
			lead, others = module, used
		}
	}
	return lead, others
}

func (p *program) folderOf(module goModule) string {
	return filepath.Join(p.dir, filepath.FromSlash(module.folder))
}

// compilesIn reports whether packages compile, tests included, and have their files in a folder, and not in a vendor folder or the cache of
// modules.
func (p *program) compilesIn(folder string, all []*packages.Package) bool {
	return !slices.ContainsFunc(all, func(pkg *packages.Package) bool {
		isHere := func(name string) bool {
			return filepath.Ext(name) != ".go" || strings.HasPrefix(name, folder+string(filepath.Separator))
		}
		return len(pkg.Errors) > 0 || slices.ContainsFunc(pkg.GoFiles, func(name string) bool { return !isHere(name) })
	})
}

// brokenTags returns the build tags of the files that do not compile.
func (p *program) brokenTags() []string {
	var broken []string
	for _, e := range p.problems() {
		name, _, _ := strings.Cut(e.Pos, ".go:")
		names := []string{name + ".go"}
		if two := twoPackages.FindStringSubmatch(e.Msg); two != nil {
			names = append(names, filepath.Join(two[3], two[1]), filepath.Join(two[3], two[2]))
		}
		for _, name := range names {
			text, _ := os.ReadFile(name) // of what is no file there are no tags
			for _, tag := range tagsIn(constraintOf(text)) {
				if slices.Contains(p.tags, tag) {
					broken = append(broken, tag)
				}
			}
		}
	}
	return broken
}

// twoPackages is what the go command says of a folder whose files are of two packages, such as a program for go generate behind a tag.
var twoPackages = regexp.MustCompile(`found packages \S+ \((\S+)\) and \S+ \((\S+)\) in (.+)$`)

// parseFile parses a Go file of the project as it is rewritten, with the line ends of Unix, and of others what they declare.
func (p *program) parseFile(set *token.FileSet, name string, source []byte) (*ast.File, error) {
	rel, err := filepath.Rel(p.dir, name)
	if foreign := err != nil || !filepath.IsLocal(rel) || isForeign(filepath.ToSlash(rel)); foreign && filepath.Ext(name) == ".go" { // the go command's own, such as the main function of tests, have no extension
		if err == nil && p.ofAnotherRelease(rel, source) {
			p.compiled.Store(name, true)
			return parser.ParseFile(set, name, source, parser.SkipObjectResolution)
		}
		return p.declared.parse(name, source)
	}
	plain, _ := withoutCarriageReturns(string(source))
	return parser.ParseFile(set, name, plain, parser.AllErrors|parser.ParseComments)
}

// ofAnotherRelease reports whether a file that is not the project's own uses modules of Kubernetes, and is not released with them. Before, such
// a file was compiled with an older release.
func (p *program) ofAnotherRelease(rel string, source []byte) bool {
	rel = filepath.ToSlash(rel)
	return p.release != "" && !isForeign(rel) && bytes.Contains(source, []byte(`"`+kubernetesModules)) && !strings.Contains(rel, "@"+p.release+"/")
}

// isForeign reports whether a file below the folder of the project is not its own, but of what it imports.
func isForeign(rel string) bool {
	return strings.HasPrefix(rel, "vendor/") || strings.HasPrefix(rel, "third_party/kctrl/")
}

// ownTags returns the build tags that files of the project are behind, but for those of platforms.
func ownTags(dir string) []string {
	tags := map[string]bool{}
	_ = filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if entry.IsDir() && name != dir && (strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"vendor", "third_party", "testdata", "node_modules", "bin"}, entry.Name())) {
			return filepath.SkipDir
		}
		if filepath.Ext(name) != ".go" || !entry.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil
		}
		if tag := tagOf(text); tag != "" && !slices.Contains(notOwnTags, tag) && !strings.HasPrefix(tag, "go1.") {
			tags[tag] = true
		}
		return nil
	})
	return slices.Sorted(maps.Keys(tags))
}

// tagOf returns the build tag that a Go file is behind, if it is one alone.
func tagOf(text []byte) string {
	if tag, ok := constraintOf(text).(*constraint.TagExpr); ok {
		return tag.Tag
	}
	return ""
}

// constraintOf returns what a build of a Go file wants, or nil.
func constraintOf(text []byte) constraint.Expr {
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("package ")) {
			break
		}
		expr, err := constraint.Parse(string(bytes.TrimSpace(line)))
		if err == nil && constraint.IsGoBuild(string(bytes.TrimSpace(line))) {
			return expr
		}
	}
	return nil
}

// tagsIn returns the build tags that a constraint names.
func tagsIn(expr constraint.Expr) []string {
	switch expr := expr.(type) {
	case *constraint.TagExpr:
		return []string{expr.Tag}
	case *constraint.NotExpr:
		return tagsIn(expr.X)
	case *constraint.AndExpr:
		return append(tagsIn(expr.X), tagsIn(expr.Y)...)
	case *constraint.OrExpr:
		return append(tagsIn(expr.X), tagsIn(expr.Y)...)
	}
	return nil
}

// notOwnTags are build tags that a project does not choose itself, or that take files out of it.
var notOwnTags = []string{"ignore", "tools", "linux", "darwin", "windows", "freebsd", "unix", "amd64", "arm64", "cgo", "race", "ignore_autogenerated"}

// problems returns what does not compile, each once.
func (p *program) problems() []packages.Error {
	seen := map[string]bool{}
	var all []packages.Error
	for _, pkg := range p.packages {
		for _, e := range pkg.Errors {
			if key := e.Pos + e.Msg; !seen[key] && !strings.HasPrefix(e.Msg, "# ") { // the go command repeats what is listed
				seen[key] = true
				all = append(all, e)
			}
		}
	}
	return all
}

// programProblems returns what does not compile of the programs of the project, and of the packages that these are made of; of all packages
// that are no tests where there is no program. Packages that have nothing to rewrite, and that none imports which has, do not count.
func (p *program) programProblems() []packages.Error {
	plain := slices.DeleteFunc(slices.Clone(p.packages), isOfTest)
	programs := slices.DeleteFunc(slices.Clone(plain), func(pkg *packages.Package) bool { return pkg.Name != "main" })
	if len(programs) == 0 {
		programs = plain
	}
	rewritten := slices.DeleteFunc(slices.Clone(plain), func(pkg *packages.Package) bool { return !importsRewritten(pkg) })
	if len(rewritten) == 0 {
		rewritten = plain
	}
	made, known := closureOf(programs), closureOf(rewritten)
	var all []packages.Error
	for _, pkg := range plain {
		if made[pkg.PkgPath] && known[pkg.PkgPath] {
			all = append(all, pkg.Errors...)
		}
	}
	return all
}

// closureOf returns the import paths of packages and of all that these are made of.
func closureOf(roots []*packages.Package) map[string]bool {
	made := map[string]bool{}
	packages.Visit(roots, nil, func(pkg *packages.Package) { made[pkg.PkgPath] = true })
	return made
}

// importsRewritten reports whether a package imports something whose use is rewritten.
func importsRewritten(pkg *packages.Package) bool {
	return slices.ContainsFunc(pkg.Syntax, func(file *ast.File) bool {
		return slices.ContainsFunc(file.Imports, func(spec *ast.ImportSpec) bool { return isPeer(importPathOf(spec)) })
	})
}

// isOfTest reports whether a package is the program of a test, or one that was compiled with tests.
func isOfTest(pkg *packages.Package) bool {
	return strings.HasSuffix(pkg.ID, ".test") || strings.Contains(pkg.ID, " [")
}

// missing returns why a package of another module that the project is made of cannot be loaded, if that is so.
func (p *program) missing() string {
	var reason string
	packages.Visit(p.packages, func(pkg *packages.Package) bool {
		for _, e := range pkg.Errors {
			if e.Kind == packages.ListError && !p.isOwn(pkg.PkgPath) {
				reason = pkg.PkgPath + ": " + complaint(e.Msg)
			}
		}
		return reason == ""
	}, nil)
	return reason
}

// outdated returns what other modules make of Kubernetes that does not compile with the release of it: the first error of each module.
func (p *program) outdated() []packages.Error {
	var all []packages.Error
	seen := map[string]bool{}
	packages.Visit(p.packages, nil, func(pkg *packages.Package) {
		if p.isOwn(pkg.PkgPath) || pkg.Module == nil || seen[pkg.Module.Path] {
			return
		}
		for _, e := range pkg.Errors {
			name, rest, _ := strings.Cut(e.Pos, ".go:")
			if _, ok := p.compiled.Load(name + ".go"); e.Kind != packages.TypeError || !ok {
				continue
			}
			seen[pkg.Module.Path] = true
			all = append(all, packages.Error{Pos: pkg.Module.Path + " " + pkg.Module.Version, Msg: filepath.Base(name) + ".go:" + rest + ": " + e.Msg})
			return
		}
	})
	return all
}

// isOwn reports whether an import path is that of a package of the project.
func (p *program) isOwn(importPath string) bool {
	return slices.ContainsFunc(p.modules, func(module goModule) bool {
		return importPath == module.path || strings.HasPrefix(importPath, module.path+"/")
	})
}

// files returns the Go files of the project, each once, in order.
func (p *program) files() []*file {
	var all []*file
	seen := map[string]bool{}
	for _, pkg := range p.packages {
		if pkg.Types == nil || pkg.TypesInfo == nil {
			continue
		}
		for _, syntax := range pkg.Syntax {
			name := p.fset.PositionFor(syntax.Package, false).Filename
			rel, err := filepath.Rel(p.dir, name)
			if err != nil || seen[name] || strings.HasPrefix(rel, "..") || isForeign(filepath.ToSlash(rel)) {
				continue
			}
			seen[name] = true
			if info, err := os.Lstat(name); err != nil || info.Mode()&os.ModeSymlink != 0 {
				continue // what the link leads to is rewritten where it is
			}
			source, err := os.ReadFile(name)
			if err != nil {
				continue
			}
			plain, crlf := withoutCarriageReturns(string(source))
			all = append(all, &file{
				program: p, pkg: pkg, info: pkg.TypesInfo, syntax: syntax, name: filepath.ToSlash(rel), source: []byte(plain), crlf: crlf, wrapped: map[ast.Node]bool{},
			})
		}
	}
	slices.SortFunc(all, func(a, b *file) int { return cmp.Compare(a.name, b.name) })
	return all
}

// survey finds out what rules must know of all files.
func (p *program) survey(files []*file) {
	p.surveyPeers()
	p.surveyDoubles()
	for before := -1; before < len(p.registering); { // until functions that pass a server on are found too
		before = len(p.registering)
		for _, f := range files {
			f.surveyServers()
		}
	}
	for _, f := range files {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if n == nil {
				f.stack = f.stack[:len(f.stack)-1]
				return true
			}
			f.surveyNode(n)
			if p.converts {
				f.surveyKept(n)
			}
			f.stack = append(f.stack, n)
			return true
		})
	}
	p.surveyUntyped(files)
	seen := map[string]bool{}
	for _, pkg := range p.packages {
		if pkg.Types == nil || !p.isOwn(pkg.PkgPath) {
			continue
		}
		scope := pkg.Types.Scope()
		for _, name := range scope.Names() {
			object, ok := scope.Lookup(name).(*types.TypeName)
			if !ok || seen[pkg.PkgPath+"."+name] {
				continue
			}
			pointer := types.NewPointer(object.Type())
			_, to := methodOf(pointer, "ConvertTo")
			_, from := methodOf(pointer, "ConvertFrom")
			if to && from {
				seen[pkg.PkgPath+"."+name] = true
				p.convertibles = append(p.convertibles, pointer)
			}
		}
	}
}

func (f *file) surveyNode(n ast.Node) {
	if call, _, key := f.method(n); key == "manager#Add" && len(call.Args) == 1 {
		t := f.info.TypeOf(call.Args[0])
		f.runnables[namedOf(t)] = true
		if t == nil {
			return // of code that does not compile
		}
		if declared, ok := t.Underlying().(*types.Interface); ok && f.isOwn(packageName(namedOf(t))) {
			f.running[namedOf(t)] = declared
		}
	}
	if decl, ok := n.(*ast.FuncDecl); ok && f.ofDouble(decl) {
		f.answered[decl.Name.Name] = true
	}
	if symbol := f.symbol(n); symbol == "builder.Builder" || symbol == "ctrl.Builder" {
		f.namesBuilder = true
	}
	if ident, ok := n.(*ast.Ident); ok && f.member(ident) == "metrics/server#FilterProvider" {
		f.filtersMetrics = true
	}
	if f.symbol(n) == "metrics.Registry" && f.collected == nil && !isOfTests(f.name) {
		f.collected = &token.Position{Filename: f.name, Line: f.fset.PositionFor(n.Pos(), false).Line}
	}
	f.surveyCollectors(n)
	if spec, ok := n.(*ast.ValueSpec); ok {
		f.surveyValue(spec)
	}
	if assign, ok := n.(*ast.AssignStmt); ok {
		f.surveyBuilder(assign)
		f.surveyMade(assign)
	}
	if assign, ok := n.(*ast.AssignStmt); ok && f.isServer(assign) {
		ident, m := f.givenServer(assign)
		f.servers[f.info.Defs[ident]] = m
	}
	c := f.chain(n)
	if c == nil || c.key != "ctrl.NewWebhookManagedBy" && c.key != "builder.WebhookManagedBy" {
		return
	}
	kind := f.webhookKind(c)
	if kind == nil {
		return
	}
	for _, link := range c.links {
		if name := linkName(link); len(link.Args) > 0 && (strings.HasSuffix(name, "Defaulter") || strings.HasSuffix(name, "Validator")) {
			f.registerUntyped(f.info.TypeOf(link.Args[0]), f.info.TypeOf(kind))
		}
	}
}

func (f *file) surveyValue(spec *ast.ValueSpec) {
	if spec.Type != nil && len(spec.Values) == 1 {
		switch f.symbol(spec.Type) {
		case "manager.Runnable", "manager.LeaderElectionRunnable":
			f.runnables[namedOf(f.info.TypeOf(spec.Values[0]))] = true
		}
	}
	for i, value := range spec.Values {
		if gv := f.builderOf(value); gv != nil {
			f.groupVersions[f.pkg.PkgPath+"."+spec.Names[i].Name] = f.raw(gv)
		}
	}
}

// surveyBuilder notes what the builder of a scheme is for that a statement gives to a variable of a function.
func (f *file) surveyBuilder(assign *ast.AssignStmt) {
	if len(assign.Lhs) != len(assign.Rhs) {
		return
	}
	for i, value := range assign.Rhs {
		ident, ok := assign.Lhs[i].(*ast.Ident)
		if gv := f.builderOf(value); ok && gv != nil && f.info.ObjectOf(ident) != nil {
			f.groupVersions[f.placeOf(f.info.ObjectOf(ident))] = f.raw(gv)
		}
	}
}

// builderOf returns the group version of the literal of a builder of a scheme, or nil.
func (f *file) builderOf(e ast.Expr) ast.Expr {
	literal := literalOf(e)
	if literal == nil || f.typeOf(literal) != "scheme.Builder" {
		return nil
	}
	return keyed(literal)["GroupVersion"]
}

// placeOf returns where something is declared, which is the same in a package and in that with its tests.
func (p *program) placeOf(object types.Object) string { return p.fset.Position(object.Pos()).String() }

// packageName returns the package of a name.
func packageName(name string) string { return name[:max(0, strings.LastIndex(name, "."))] }

func importPathOf(spec *ast.ImportSpec) string {
	importPath, _ := strconv.Unquote(spec.Path.Value)
	return importPath
}

// errStopped is the cause of a load that was interrupted.
func stopped(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return errors.Join(err)
}

// countOf counts the references to a package.
func (f *file) countOf(importPath string) int {
	n := 0
	for ident, object := range f.info.Uses {
		if f.fset.File(ident.Pos()) == f.fset.File(f.syntax.Package) && object != nil && object.Pkg() != nil && object.Pkg().Path() == importPath {
			n++
		}
	}
	return n
}
