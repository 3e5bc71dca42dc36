package code

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"
)

// Analyzer prepares a package for the rules. Its result is a *[Package], or nil for a package that no rule checks.
var Analyzer = &analysis.Analyzer{
	Name:       "kctrlcode",
	Doc:        "find clients, caches and reconcilers for the rules of kctrl vet",
	Run:        run,
	ResultType: reflect.TypeFor[*Package](),
	FactTypes:  []analysis.Fact{new(Summary), new(Scope), new(Kinds)},
}

// Package is a Go package in SSA form, with summaries of its functions.
type Package struct {
	*analysis.Pass
	Prog *ssa.Program
	// Funcs are the functions and function literals of the package, in source order, without those in tests and generated
	// files.
	Funcs []*ssa.Function
	// Reconciles maps each function that a reconciler of this package calls, directly or indirectly, to its caller. It
	// maps each reconciler to itself.
	Reconciles map[*ssa.Function]*ssa.Function

	initial   *ssa.Function // the initializer of the package
	summaries map[*ssa.Function]*Summary
	handlers  map[*ssa.Parameter]bool // parameters that receive cached objects
	fields    map[*types.Var]reader   // struct fields that hold a client, with where it reads from
}

func run(pass *analysis.Pass) (any, error) {
	if !relevant(pass) {
		return (*Package)(nil), nil
	}
	prog := ssa.NewProgram(pass.Fset, ssa.BuilderMode(0))
	for _, imported := range pass.Pkg.Imports() {
		prog.CreatePackage(imported, nil, nil, true)
	}
	built := prog.CreatePackage(pass.Pkg, pass.Files, pass.TypesInfo, false)
	built.Build()
	p := &Package{Pass: pass, Prog: prog, summaries: map[*ssa.Function]*Summary{}}
	p.Funcs = p.functions(built)
	p.findReaders()
	p.findHandlers()
	p.findScopes()
	p.summarize()
	p.findReconciles()
	p.findKinds()
	return p, nil
}

// relevant reports whether a package belongs to the user's module and can use a client.
func relevant(pass *analysis.Pass) bool {
	path := pass.Pkg.Path()
	if len(pass.Files) == 0 || pass.Module != nil && pass.Module.Version != "" {
		return false
	}
	for _, library := range []string{"k8s.io", "sigs.k8s.io/controller-runtime", runtimePath} {
		if within(path, library) {
			return false
		}
	}
	if pass.Module != nil && pass.Module.Path != "" && !strings.HasSuffix(path, ".test") {
		return true
	}
	return slices.ContainsFunc(pass.Pkg.Imports(), func(imported *types.Package) bool {
		return within(imported.Path(), "k8s.io") || within(imported.Path(), "sigs.k8s.io") ||
			within(imported.Path(), runtimePath)
	})
}

// within reports whether path is the package root or below it, even if the package is vendored.
func within(path, root string) bool {
	if _, vendored, found := strings.Cut(path, "/vendor/"); found {
		path = vendored
	}
	return path == root || strings.HasPrefix(path, root+"/")
}

// functions returns the functions that the rules check.
func (p *Package) functions(built *ssa.Package) []*ssa.Function {
	var all []*ssa.Function
	var add func(*ssa.Function)
	add = func(fn *ssa.Function) {
		if fn == nil {
			return
		}
		all = append(all, fn)
		for _, literal := range fn.AnonFuncs {
			add(literal)
		}
	}
	for _, file := range p.Files {
		if p.skipped(file) {
			continue
		}
		for _, decl := range file.Decls {
			if decl, ok := decl.(*ast.FuncDecl); ok {
				if fn, ok := p.TypesInfo.Defs[decl.Name].(*types.Func); ok {
					add(p.Prog.FuncValue(fn))
				}
			}
		}
	}
	// The initializer contains the function literals in package variables.
	if start := built.Func("init"); start != nil {
		p.initial = start
		for _, literal := range start.AnonFuncs {
			if file := p.FileOf(literal.Pos()); file != nil && !p.skipped(file) {
				add(literal)
			}
		}
	}
	return all
}

// skipped reports whether a file is generated, is a test, or supports tests.
func (p *Package) skipped(file *ast.File) bool {
	name := p.Fset.Position(file.FileStart).Filename
	return strings.HasSuffix(name, "_test.go") || ast.IsGenerated(file) || p.helpsTests(file) ||
		slices.ContainsFunc(strings.Split(p.Pkg.Path(), "/"), isTestDirectory)
}

// isTestDirectory reports whether the packages below a directory support tests, by its name.
func isTestDirectory(name string) bool {
	return name == "e2e" || strings.HasPrefix(name, "testing") || strings.HasPrefix(name, "testutil") ||
		strings.HasPrefix(name, "testhelper")
}

// testLibraries are the modules and packages that only tests import.
var testLibraries = []string{"github.com/onsi/ginkgo", "github.com/onsi/gomega", peerPath + "/pkg/envtest"}

// helpsTests reports whether a file imports a test library, or mentions a type such as testing.T.
func (p *Package) helpsTests(file *ast.File) bool {
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		if slices.ContainsFunc(testLibraries, func(library string) bool { return within(path, library) }) {
			return true
		}
		if path == "testing" && p.mentionsTest(file) {
			return true
		}
	}
	return false
}

// mentionsTest reports whether a file mentions a type of package testing. Functions such as testing.Testing do not
// count, because programs call them.
func (p *Package) mentionsTest(file *ast.File) (found bool) {
	ast.Inspect(file, func(node ast.Node) bool {
		if ident, ok := node.(*ast.Ident); ok && !found {
			name, isType := p.TypesInfo.Uses[ident].(*types.TypeName)
			found = isType && name.Pkg() != nil && name.Pkg().Path() == "testing"
		}
		return !found
	})
	return found
}

// SourceFiles returns the files that the rules check.
func (p *Package) SourceFiles() []*ast.File {
	return slices.DeleteFunc(slices.Clone(p.Files), p.skipped)
}

// FileOf returns the file that contains a position, or nil.
func (p *Package) FileOf(pos token.Pos) *ast.File {
	for _, file := range p.Files {
		if file.FileStart <= pos && pos < file.FileEnd {
			return file
		}
	}
	return nil
}

// Enclosing returns the syntax nodes that enclose a position, innermost first.
func (p *Package) Enclosing(pos token.Pos) []ast.Node {
	file := p.FileOf(pos)
	if file == nil {
		return nil
	}
	path, _ := astutil.PathEnclosingInterval(file, pos, pos)
	return path
}

// CallAt returns the call expression whose SSA position is pos, or nil. That position is the call's left parenthesis.
func (p *Package) CallAt(pos token.Pos) *ast.CallExpr {
	for _, node := range p.Enclosing(pos) {
		if call, ok := node.(*ast.CallExpr); ok && (call.Lparen == pos || call.Pos() == pos) {
			return call
		}
	}
	return nil
}

// Start returns the position of the called name in the call at pos, which is where a user expects a finding.
func (p *Package) Start(pos token.Pos) token.Pos {
	if call := p.CallAt(pos); call != nil {
		if selector, ok := call.Fun.(*ast.SelectorExpr); ok {
			return selector.Sel.Pos()
		}
		return call.Pos()
	}
	return pos
}

// Describe returns the name of a function for a message, such as "(*GuestbookReconciler).Reconcile".
func Describe(fn *ssa.Function) string {
	if fn.Parent() != nil {
		return "a function literal in " + Describe(fn.Parent())
	}
	if recv := fn.Signature.Recv(); recv != nil {
		_, pointer := types.Unalias(recv.Type()).(*types.Pointer)
		if pointer {
			return "(*" + named(recv.Type()).Obj().Name() + ")." + fn.Name()
		}
		if n := named(recv.Type()); n != nil {
			return n.Obj().Name() + "." + fn.Name()
		}
	}
	return fn.Name()
}

// Instructions yields every instruction of a function.
func Instructions(fn *ssa.Function) func(yield func(ssa.Instruction) bool) {
	return func(yield func(ssa.Instruction) bool) {
		for _, block := range fn.Blocks {
			for _, instr := range block.Instrs {
				if !yield(instr) {
					return
				}
			}
		}
	}
}

// Calls yields the calls in a function, without deferred calls and go statements.
func Calls(fn *ssa.Function) func(yield func(*ssa.Call) bool) {
	return func(yield func(*ssa.Call) bool) {
		for instr := range Instructions(fn) {
			if call, ok := instr.(*ssa.Call); ok && !yield(call) {
				return
			}
		}
	}
}
