package main

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// containers are the Ginkgo functions that cut removes as a whole.
var containers = []string{
	"Describe", "Context", "When", "DescribeTable", "It", "FIt", "Specify", "Entry", "BeforeSuite", "AfterSuite",
}

// specs are the Ginkgo functions that define one spec.
var specs = []string{"It", "FIt", "Specify", "Entry"}

// Each round can break the next declaration, so the number of rounds is limited.
const (
	maxLoads = 5
	maxCuts  = 25
)

// cut removes the smallest specs from the tests of a module until the tests compile. It adds the number of removed
// specs to each package. These specs test unexported identifiers or packages below internal/.
func cut(ctx context.Context, root string, removed map[string]int) error {
	for range maxLoads {
		loaded, err := packages.Load(&packages.Config{
			Mode: packages.NeedName | packages.NeedCompiledGoFiles | packages.NeedSyntax | packages.NeedTypes |
				packages.NeedImports | packages.NeedExportFile | packages.NeedTypesInfo,
			Context: ctx, Dir: root, Env: environment(), Tests: true,
		}, "./pkg/...")
		if err != nil {
			return err
		}
		before := maps.Clone(removed)
		var broken error
		changed := false
		for _, pkg := range loaded {
			for _, e := range pkg.Errors {
				broken = e
			}
			if len(pkg.Errors) == 0 {
				continue
			}
			dir, err := filepath.Rel(root, filepath.Dir(pkg.CompiledGoFiles[0]))
			if err != nil {
				return err
			}
			n, err := cutPackage(pkg)
			if err != nil {
				return err
			}
			removed[dir] += n
			changed = changed || n > 0
		}
		if broken == nil {
			return nil
		}
		if !changed && maps.Equal(before, removed) {
			return broken
		}
	}
	return fmt.Errorf("the tests do not compile after %d rounds", maxLoads)
}

type place struct {
	line, column int
	message      string
}

// cutPackage cuts the files of a package and returns the number of removed specs.
func cutPackage(pkg *packages.Package) (removed int, err error) {
	for range maxCuts {
		found := typeErrors(pkg)
		if len(found) == 0 {
			return removed, nil
		}
		for name, places := range found {
			if !strings.HasSuffix(name, "_test.go") {
				return removed, fmt.Errorf("%s:%d: %s", name, places[0].line, places[0].message)
			}
			n, err := cutFile(name, places)
			if err != nil {
				return removed, err
			}
			removed += n
		}
	}
	return removed, fmt.Errorf("the tests of %s do not compile after %d rounds", pkg.ID, maxCuts)
}

// typeErrors type-checks a package again and returns the errors by file.
func typeErrors(pkg *packages.Package) map[string][]place {
	found := map[string][]place{}
	positions := token.NewFileSet()
	add := func(pos token.Pos, message string) {
		at := positions.Position(pos)
		p := place{at.Line, at.Column, message}
		if !slices.Contains(found[at.Filename], p) {
			found[at.Filename] = append(found[at.Filename], p)
		}
	}
	var files []*ast.File
	for _, name := range pkg.CompiledGoFiles {
		file, err := parser.ParseFile(positions, name, nil, parser.SkipObjectResolution)
		if err != nil {
			add(token.NoPos, err.Error())
			continue
		}
		files = append(files, file)
	}
	config := types.Config{
		Importer: imports(pkg.Imports),
		Error: func(err error) {
			if e := err.(types.Error); !strings.HasPrefix(e.Msg, "\t") {
				add(e.Pos, e.Msg)
			}
		},
	}
	config.Check(pkg.PkgPath, positions, files, nil)
	return found
}

// imports are the imports of a loaded package.
type imports map[string]*packages.Package

// Import implements types.Importer.
func (i imports) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if pkg := i[path]; pkg != nil && pkg.Types != nil && len(pkg.Types.Scope().Names()) > 0 {
		return pkg.Types, nil
	}
	return nil, fmt.Errorf("no package %s", path)
}

var unused = regexp.MustCompile(`^declared and not used: (\w+)$`)

// cutFile blanks the units with errors and returns the number of removed specs. Line numbers do not change.
func cutFile(name string, places []place) (removed int, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	positions := token.NewFileSet()
	file, err := parser.ParseFile(positions, name, text, parser.SkipObjectResolution)
	if err != nil {
		return 0, err
	}
	var blanks []ast.Node
	uses := map[int]string{} // by offset
	for _, p := range places {
		pos := positions.File(file.Pos()).LineStart(p.line) + token.Pos(p.column-1)
		path := enclosing(file, pos)
		m, at := unused.FindStringSubmatch(p.message), statement(path)
		if m != nil && at != nil {
			uses[positions.Position(at.End()).Offset] += "; _ = " + m[1]
			continue
		}
		node := unit(path)
		if node == nil {
			return 0, fmt.Errorf("%s:%d: %s: no spec to remove", name, p.line, p.message)
		}
		if !slices.Contains(blanks, node) {
			blanks = append(blanks, node)
			if n := count(node); n > 0 {
				removed += n
				fmt.Fprintf(os.Stderr, "%s:%d: %s: %d specs removed\n", filepath.Base(name), p.line, p.message, n)
			}
		}
	}
	for _, node := range blanks {
		from, to := positions.Position(node.Pos()).Offset, positions.Position(node.End()).Offset
		maps.DeleteFunc(uses, func(offset int, _ string) bool { return from <= offset && offset <= to })
		if rest := bytes.TrimLeft(text[to:], " \t"); isEntry(node) && len(rest) > 0 && rest[0] == ',' {
			to = len(text) - len(rest) + 1
		}
		for i := from; i < to; i++ {
			if text[i] != '\n' {
				text[i] = ' '
			}
		}
	}
	offsets := slices.Sorted(maps.Keys(uses))
	for _, offset := range slices.Backward(offsets) {
		text = slices.Insert(text, offset, []byte(uses[offset])...)
	}
	return removed, os.WriteFile(name, text, 0o644)
}

// enclosing returns the nodes around a position, outermost first.
func enclosing(file *ast.File, pos token.Pos) (path []ast.Node) {
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil || pos < n.Pos() || n.End() <= pos {
			return false
		}
		path = append(path, n)
		return true
	})
	return path
}

// unit returns the innermost node of a path that can be removed as a whole: an import, a spec or its container, a
// function, or another declaration.
func unit(path []ast.Node) ast.Node {
	for i, n := range slices.Backward(path) {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.FuncDecl:
			return n
		case *ast.GenDecl:
			if n.Tok != token.IMPORT && i == 1 {
				return n
			}
		case *ast.CallExpr:
			if !slices.Contains(containers, called(n)) {
				continue
			}
			if _, ok := path[i-1].(*ast.ValueSpec); !ok {
				return n
			}
		}
	}
	return nil
}

// statement returns the innermost declaration of a path that is a statement of a block.
func statement(path []ast.Node) ast.Node {
	for i, n := range slices.Backward(path) {
		switch n.(type) {
		case *ast.AssignStmt, *ast.DeclStmt:
			if _, ok := path[i-1].(*ast.BlockStmt); ok {
				return n
			}
			return nil
		}
	}
	return nil
}

func isEntry(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	return ok && called(call) == "Entry"
}

func called(call *ast.CallExpr) string {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		return fun.Sel.Name
	}
	return ""
}

// count returns the number of specs and tests below a node.
func count(n ast.Node) (found int) {
	if f, ok := n.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
		return 1
	}
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && slices.Contains(specs, called(call)) {
			found++
		}
		return true
	})
	return found
}
