package edit

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// EnsureArgument returns src, a Go file, with expr as an argument in a call of the function funcName of the package
// importPath. If a call already has the argument, it returns src unchanged. If the file has exactly one call, it adds
// expr as the last argument. All other bytes stay.
//
// EnsureArgument finds calls by syntax and scope, under any import name and through a dot import. It ignores local
// names that shadow the import. It returns a *diagnostic.Error if the file does not parse, has no such call, has
// several calls without the argument, or passes a slice with "...". The error has the position, and its hint has the
// text to add.
func EnsureArgument(src []byte, filename, importPath, funcName, expr string) ([]byte, error) {
	wanted, err := parser.ParseExpr(expr)
	if err != nil {
		return nil, &diagnostic.Error{Message: fmt.Sprintf("%q is not a Go expression", expr), Cause: err}
	}
	snippet := fmt.Sprintf("%s.%s(..., %s)", packageName(importPath), funcName, expr)
	f, err := ParseGo(filename, src)
	if err != nil {
		if e, ok := err.(*diagnostic.Error); ok {
			e.Hint = fmt.Sprintf("repair it; it should call %s", snippet)
		}
		return nil, err
	}
	calls := f.calls(importPath, funcName)
	if hasArgument(calls, wanted) {
		return src, nil
	}
	switch {
	case len(calls) == 0:
		return nil, f.missingCall(importPath, funcName, snippet)
	case len(calls) > 1:
		return nil, f.fail(calls[0].Lparen, fmt.Sprintf("%d calls of %s, and none has the argument %s", len(calls), funcName,
			expr),
			fmt.Sprintf("add %s as the last argument of one of them: %s", expr, f.snippet(calls[0], expr)))
	}
	hint := fmt.Sprintf("add %s to the arguments of %s by hand: %s", expr, funcName, f.snippet(calls[0], expr))
	if calls[0].Ellipsis.IsValid() {
		return nil, f.fail(calls[0].Ellipsis, fmt.Sprintf("the call of %s passes a slice, which takes no further argument",
			funcName), hint)
	}
	at, text := f.argumentPlace(calls[0], expr)
	out, edited, err := f.splice(at, text)
	if err != nil || !hasArgument(edited.calls(importPath, funcName), wanted) {
		return nil, f.fail(calls[0].Lparen, fmt.Sprintf("no place for a further argument of %s", funcName), hint)
	}
	return out, nil
}

// RemoveArgument returns src without expr as the last argument of a call, where [EnsureArgument] adds it. It returns
// src unchanged if no call has this argument.
func RemoveArgument(src []byte, filename, importPath, funcName, expr string) []byte {
	f, err := ParseGo(filename, src)
	if err != nil {
		return src
	}
	for _, call := range f.calls(importPath, funcName) {
		if len(call.Args) == 0 || call.Ellipsis.IsValid() || types.ExprString(call.Args[len(call.Args)-1]) != expr {
			continue
		}
		last := call.Args[len(call.Args)-1]
		from, to := f.Offset(call.Lparen)+1, f.Offset(last.End())
		switch end := endOfLine(f.Text, to); {
		case f.startsLine(last) && bytes.Equal(bytes.TrimSpace(f.Text[to:end]), []byte(",")):
			from, to = endOfLine(f.Text, f.Offset(f.before(call))), end
		case len(call.Args) > 1:
			from = f.Offset(call.Args[len(call.Args)-2].End())
		}
		return slices.Concat(f.Text[:from], f.Text[to:])
	}
	return src
}

// before returns the end of the token before the last argument of a call: another argument or the parenthesis.
func (f GoFile) before(call *ast.CallExpr) token.Pos {
	if len(call.Args) == 1 {
		return call.Lparen
	}
	return call.Args[len(call.Args)-2].End()
}

func hasArgument(calls []*ast.CallExpr, wanted ast.Expr) bool {
	return slices.ContainsFunc(calls, func(call *ast.CallExpr) bool {
		return slices.ContainsFunc(call.Args, func(arg ast.Expr) bool {
			return types.ExprString(ast.Unparen(arg)) == types.ExprString(wanted)
		})
	})
}

// snippet returns a call with an additional argument, on one line.
func (f GoFile) snippet(call *ast.CallExpr, expr string) string {
	args := make([]string, 0, len(call.Args)+1)
	for _, arg := range call.Args {
		args = append(args, types.ExprString(arg))
	}
	return fmt.Sprintf("%s(%s)", types.ExprString(call.Fun), strings.Join(append(args, expr), ", "))
}

// missingCall returns the error for a missing call. Its position is func main or the import of the package.
func (f GoFile) missingCall(importPath, funcName, snippet string) error {
	at, where := f.File.Name.Pos(), "in the file"
	if i := slices.IndexFunc(f.File.Imports, func(s *ast.ImportSpec) bool {
		return ImportPath(
			s) == importPath
	}); i >= 0 {
		at = f.File.Imports[i].Pos()
	}
	for _, decl := range f.File.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "main" {
			at, where = fn.Name.Pos(), "in func main"
		}
	}
	return f.fail(at, fmt.Sprintf("no call of %s from %s", funcName, importPath),
		fmt.Sprintf("write %s %s, with import %q", snippet, where, importPath))
}

// calls returns the calls of a function of another package, in the order of the file.
func (f GoFile) calls(importPath, funcName string) []*ast.CallExpr {
	uses := f.resolve(importPath, funcName)
	isFunc := func(fun ast.Expr) bool {
		switch fun := fun.(type) {
		case *ast.SelectorExpr:
			x, ok := fun.X.(*ast.Ident)
			if !ok || fun.Sel.Name != funcName {
				return false
			}
			pkg, ok := uses[x].(*types.PkgName)
			return ok && pkg.Imported().Path() == importPath
		case *ast.Ident:
			obj := uses[fun]
			return obj != nil && obj.Name() == funcName && obj.Pkg() != nil && obj.Pkg().Path() == importPath
		}
		return false
	}
	var calls []*ast.CallExpr
	ast.Inspect(f.File, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && isFunc(calledFunction(call)) {
			calls = append(calls, call)
		}
		return true
	})
	return calls
}

// calledFunction returns the function of a call without parentheses and type arguments.
func calledFunction(call *ast.CallExpr) ast.Expr {
	fun := ast.Unparen(call.Fun)
	switch x := fun.(type) {
	case *ast.IndexExpr:
		fun = x.X
	case *ast.IndexListExpr:
		fun = x.X
	}
	return ast.Unparen(fun)
}

// resolve returns the objects to which the file's identifiers refer, as far as this file alone shows: imported
// packages, and the function if the file imports the package with a dot.
func (f GoFile) resolve(importPath, funcName string) map[*ast.Ident]types.Object {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{
		Importer:    stubImporter{path: importPath, funcName: funcName},
		FakeImportC: true,
		Error:       func(error) {}, // names from other files and packages are unknown here
	}
	_, _ = conf.Check(f.Name, f.Set, []*ast.File{f.File}, info)
	return info.Uses
}

// stubImporter imports every package as empty, except one package with a function that accepts any arguments.
type stubImporter struct{ path, funcName string }

func (s stubImporter) Import(path string) (*types.Package, error) {
	pkg := types.NewPackage(path, packageName(path))
	if path == s.path {
		rest := types.NewParam(token.NoPos, pkg, "", types.NewSlice(types.NewInterfaceType(nil, nil)))
		signature := types.NewSignatureType(nil, nil, nil, types.NewTuple(rest), nil, true)
		pkg.Scope().Insert(types.NewFunc(token.NoPos, pkg, s.funcName, signature))
	}
	pkg.MarkComplete()
	return pkg, nil
}

// argumentPlace returns the offset and the text for an additional argument of a call.
func (f GoFile) argumentPlace(call *ast.CallExpr, expr string) (int, string) {
	newLine := f.eol() + f.indent(call.Rparen) + "\t" + expr + ","
	if len(call.Args) == 0 {
		if f.line(call.Lparen) == f.line(call.Rparen) {
			return f.Offset(call.Lparen) + 1, expr
		}
		return f.Offset(call.Lparen) + 1, newLine
	}
	last := call.Args[len(call.Args)-1]
	between := slices.DeleteFunc(Tokens(f.Text), func(t Token) bool {
		return t.Offset < f.Offset(last.End()) || t.Offset >= f.Offset(call.Rparen)
	})
	comma := slices.IndexFunc(between, func(t Token) bool { return t.Token == token.COMMA })
	if comma < 0 {
		return f.Offset(last.End()), ", " + expr
	}
	after := between[comma].Offset + 1
	if f.line(last.Pos()) > f.line(call.Lparen) && f.startsLine(last) {
		newLine = f.eol() + f.indent(last.Pos()) + expr + ","
	}
	for _, t := range between[comma+1:] {
		if bytes.IndexByte(f.Text[after:t.Offset], '\n') >= 0 {
			break
		}
		after = t.end(f.Text) // include a comment on the line of the comma
	}
	end := endOfLine(f.Text, after)
	if end > f.Offset(call.Rparen) {
		return between[comma].Offset + 1, " " + expr
	}
	return end, newLine
}

// startsLine reports whether a node is the first on its line.
func (f GoFile) startsLine(n ast.Node) bool {
	return len(bytes.TrimSpace(f.Text[f.lineStart(n.Pos()):f.Offset(n.Pos())])) == 0
}
