package migrate

import (
	"bytes"
	"go/ast"
	"slices"
)

// Collectors that are registered with the registry of controller-runtime are registered with that of prometheus, and each manager that the
// project starts is given what is registered there, to serve it among its own metrics.

// servedCollectors is the rule for a statement that starts a manager.
var servedCollectors = Rule{
	Name: "a manager that serves collectors starts",
	Matches: func(f *file, n ast.Node) bool {
		statement, ok := n.(ast.Stmt)
		return ok && !f.wrapped[n] && f.serve(f.around(0), statement) != ""
	},
	Rewrite: func(f *file, n ast.Node) string {
		f.wrapped[n] = true
		return f.serve(f.around(1), n.(ast.Stmt)) + f.text(n)
	},
	Reason: "what is registered with prometheus is served where a manager is told",
}

// serve returns what goes before a statement of a list so that the manager which it starts serves what is registered, if anything is.
func (f *file) serve(parent ast.Node, statement ast.Stmt) string {
	m := f.started(statement)
	if f.collected == nil || m == nil || isOfTests(f.name) || !slices.Contains(listOf(parent), statement) {
		return ""
	}
	f.served = true
	first := ""
	if begin := f.source[:f.offset(statement.Pos())]; len(bytes.TrimSpace(begin[bytes.LastIndexByte(begin, '\n')+1:])) > 0 {
		first = "\n" // of a function in one line
	}
	return first + "// What is registered with prometheus is served too.\n" + f.text(m) + fill(".Metrics().Include({promhttp}.Handler())\n")
}

// started returns the manager that a statement starts, if it does so outside of the blocks and functions in it, and if the manager has a name.
func (f *file) started(statement ast.Stmt) (m ast.Expr) {
	ast.Inspect(statement, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause, *ast.FuncLit:
			return false
		}
		if _, selector, key := f.method(n); key == "manager#Start" && isPath(selector.X) {
			m = selector.X
		}
		return m == nil
	})
	return m
}

// isPath reports whether an expression is a name, or a field of one: it can be written twice.
func isPath(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return true
	case *ast.SelectorExpr:
		return isPath(e.X)
	}
	return false
}

// listOf returns the statements of a node, between which others can go.
func listOf(n ast.Node) []ast.Stmt {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return n.List
	case *ast.CaseClause:
		return n.Body
	case *ast.CommClause:
		return n.Body
	}
	return nil
}

// unserved returns what is left to do for collectors if nothing that was rewritten starts a manager.
func (p *program) unserved() []Left {
	if p.collected == nil || p.served {
		return nil
	}
	return []Left{{
		File: p.collected.Filename, Line: p.collected.Line,
		Reason:  "what is registered with prometheus is served by a manager that is told, and nothing here starts one",
		Snippet: "m.Metrics().Include(promhttp.Handler()) // github.com/prometheus/client_golang/prometheus/promhttp",
	}}
}
