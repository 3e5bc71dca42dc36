package migrate

import (
	"bytes"
	"go/ast"
	"go/types"
	"slices"
	"strings"
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

// registeredCollectors are the rules for collectors that are registered with the registry of controller-runtime and with that of prometheus: these
// are one now, which takes a collector once.
var registeredCollectors = []Rule{
	{
		Name: "a statement that registers collectors",
		Matches: func(f *file, n ast.Node) bool {
			statement, ok := n.(*ast.ExprStmt)
			if !ok {
				return false
			}
			call, ok := statement.X.(*ast.CallExpr)
			return ok && f.isOfRegistry(call, "MustRegister") && len(f.unregistered(call)) < len(call.Args)
		},
		Rewrite: func(f *file, n ast.Node) string {
			call := n.(*ast.ExprStmt).X.(*ast.CallExpr)
			texts := f.texts(f.unregistered(call))
			if len(texts) == 0 {
				return removed
			}
			separator, end := ", ", ""
			if strings.Contains(f.raw(call), "\n") {
				separator, end = ",\n", ",\n"
			}
			return f.text(call.Fun) + "(" + strings.TrimPrefix(end, ",") + strings.Join(texts, separator) + end + ")"
		},
		Reason: "promauto, or another call, has registered them with prometheus, which takes them once",
	},
	{
		Name: "whether a collector is registered",
		Matches: func(f *file, n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			return ok && f.isOfRegistry(call, "Register") && len(f.unregistered(call)) == 0
		},
		Rewrite: func(*file, ast.Node) string { return "error(nil)" },
		Reason:  "promauto, or another call, has registered it with prometheus, which takes it once",
	},
}

// isOfRegistry reports whether a call is of a method of the registry of controller-runtime.
func (f *file) isOfRegistry(call *ast.CallExpr, method string) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == method && f.symbol(selector.X) == "metrics.Registry" && !call.Ellipsis.IsValid()
}

// unregistered returns the collectors of a call that are not registered with prometheus by themselves.
func (f *file) unregistered(call *ast.CallExpr) (others []ast.Expr) {
	for _, arg := range call.Args {
		if place := f.declaredAt(arg); place == "" || !f.byPrometheus[place] {
			others = append(others, arg)
		}
	}
	return others
}

// surveyCollectors finds the variables and fields that are given what promauto has made, and those which are registered with prometheus.
func (f *file) surveyCollectors(n ast.Node) {
	switch n := n.(type) {
	case *ast.ValueSpec:
		for i, value := range n.Values {
			if f.isOfPromauto(value) && i < len(n.Names) {
				f.byPrometheus[f.declaredAt(n.Names[i])] = true
			}
		}
	case *ast.AssignStmt:
		for i, value := range n.Rhs {
			if f.isOfPromauto(value) && i < len(n.Lhs) {
				f.byPrometheus[f.declaredAt(n.Lhs[i])] = true
			}
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && f.isOfPromauto(n.Value) {
			f.byPrometheus[f.declaredAt(key)] = true
		}
	case *ast.CallExpr:
		callee := f.callee(n)
		if callee == nil || n.Ellipsis.IsValid() || callee.Name() != "MustRegister" && callee.Name() != "Register" {
			return
		}
		selector, isMethod := n.Fun.(*ast.SelectorExpr)
		ofDefault := isMethod && f.isDefaultRegisterer(selector.X)
		if callee.FullName() == prometheusPath+"."+callee.Name() || ofDefault {
			for _, arg := range n.Args {
				f.byPrometheus[f.declaredAt(arg)] = true
			}
		}
	}
}

const prometheusPath = "github.com/prometheus/client_golang/prometheus"

// isOfPromauto reports whether an expression is a collector that promauto makes, and registers with prometheus.
func (f *file) isOfPromauto(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	callee := f.callee(call)
	if callee == nil || callee.Pkg() == nil || callee.Pkg().Path() != prometheusPath+"/promauto" {
		return false
	}
	if callee.Signature().Recv() == nil {
		return callee.Name() != "With"
	}
	selector, _ := call.Fun.(*ast.SelectorExpr)
	with, ok := selector.X.(*ast.CallExpr)
	return ok && len(with.Args) == 1 && f.isDefaultRegisterer(with.Args[0])
}

func (f *file) isDefaultRegisterer(e ast.Expr) bool {
	selector, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	object := f.info.Uses[selector.Sel]
	return object != nil && object.Pkg() != nil && object.Pkg().Path() == prometheusPath && object.Name() == "DefaultRegisterer"
}

// declaredAt returns where the variable or field is declared that an expression names; "" if it names none.
func (f *file) declaredAt(e ast.Expr) string {
	ident, ok := e.(*ast.Ident)
	if selector, isSelector := e.(*ast.SelectorExpr); isSelector {
		ident, ok = selector.Sel, true
	}
	if !ok {
		return ""
	}
	object, ok := f.info.ObjectOf(ident).(*types.Var)
	if !ok {
		return ""
	}
	return f.fset.PositionFor(object.Pos(), false).String()
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
