package rules

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/kctrl-dev/kctrl/internal/migrate/rewrite"
)

// logs replaces a logger from a context with the runtime's logger, in functions with a reconcile.Request, because both
// APIs find the same logger in the contexts of these functions. It does not replace a logger that is used for anything
// other than messages with keys and values.
func logs(f *rewrite.File, n *ast.FuncDecl) bool {
	if n.Body == nil || !hasRequest(f, n.Type.Params) {
		return false
	}
	ast.Inspect(n.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			assignedLogger(f, n)
		case *ast.CallExpr: // log.FromContext(ctx).Info("...")
			method, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				break
			}
			if logger := loggerOf(f, method.X); logger != nil && isLine(f, method.Sel.Name, n) {
				replace(f, logger, "log.FromContext")
				line(f, method.Sel.Name, n)
			}
		}
		return true
	})
	return false
}

// hasRequest reports whether one of the parameters is a request.
func hasRequest(f *rewrite.File, params *ast.FieldList) bool {
	for _, param := range params.List {
		named, ok := types.Unalias(f.Info.TypeOf(param.Type)).(*types.Named)
		if ok && named.Obj().Pkg() != nil && named.Obj().Name() == "Request" &&
			named.Obj().Pkg().Path() == rewrite.Runtime+"/reconcile" {
			return true
		}
	}
	return false
}

// loggerOf returns the function in a call that gets the logger from a context, or nil for other expressions.
func loggerOf(f *rewrite.File, n ast.Expr) *ast.SelectorExpr {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return nil
	}
	function, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	object := f.Imported(function)
	if object == nil {
		return nil
	}
	switch rewrite.Key(object) {
	case "pkg/log.FromContext", ".LoggerFrom":
		return function
	}
	return nil
}

// assignedLogger replaces the logger that a new variable gets, and changes the calls of its methods.
func assignedLogger(f *rewrite.File, n *ast.AssignStmt) {
	if len(n.Lhs) != 1 || len(n.Rhs) != 1 {
		return
	}
	variable, ok := n.Lhs[0].(*ast.Ident)
	logger := loggerOf(f, n.Rhs[0])
	if !ok || logger == nil {
		return
	}
	if variable.Name == "_" {
		replace(f, logger, "log.FromContext")
		return
	}
	lines, all := linesOf(f, f.Info.Defs[variable])
	if n.Tok != token.DEFINE || !all {
		return
	}
	replace(f, logger, "log.FromContext")
	for _, call := range lines {
		line(f, call.Fun.(*ast.SelectorExpr).Sel.Name, call)
	}
}

// linesOf returns the calls that log a line with a logger, and whether the logger has no other uses.
func linesOf(f *rewrite.File, logger types.Object) (calls []*ast.CallExpr, all bool) {
	if logger == nil {
		return nil, false
	}
	uses := 0
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if f.Info.Uses[n] == logger {
				uses++
			}
		case *ast.CallExpr:
			method, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				break
			}
			if of, ok := method.X.(*ast.Ident); ok && f.Info.Uses[of] == logger && isLine(f, method.Sel.Name, n) {
				calls = append(calls, n)
			}
		}
		return true
	})
	return calls, uses == len(calls)
}

// isLine reports whether a call of a logger's method logs a line whose keys are strings.
func isLine(f *rewrite.File, method string, call *ast.CallExpr) bool {
	first := map[string]int{"Info": 1, "Error": 2}[method] // index of the first key
	if first == 0 || len(call.Args) < first || (len(call.Args)-first)%2 != 0 || call.Ellipsis.IsValid() {
		return false
	}
	for i := first; i < len(call.Args); i += 2 {
		if basic, ok := f.Info.TypeOf(call.Args[i]).(*types.Basic); !ok || basic.Info()&types.IsString == 0 {
			return false
		}
	}
	return method != "Error" || !f.Info.Types[call.Args[0]].IsNil() && !usesImports(f, call.Args[:2])
}

// usesImports reports whether other rules may replace parts of the expressions.
func usesImports(f *rewrite.File, exprs []ast.Expr) (uses bool) {
	for _, expr := range exprs {
		ast.Inspect(expr, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			uses = uses || ok && f.Imported(selector) != nil
			return true
		})
	}
	return uses
}

// line replaces Error(err, "message") with Error("message", "error", err). Info has the same arguments in both APIs.
func line(f *rewrite.File, method string, call *ast.CallExpr) {
	if method == "Error" {
		f.Replace(call.Args[0], f.Text(call.Args[1]))
		f.Replace(call.Args[1], `"error", `+f.Text(call.Args[0]))
	}
}
