package migrate

import (
	"go/ast"
	"strings"
)

// layoutImports is the rule for where the main function starts its manager: kinds that kctrl creates are set up before.
var layoutImports = Rule{
	Name: "the manager starts",
	Matches: func(f *file, n ast.Node) bool {
		statement, ok := n.(*ast.IfStmt)
		if !ok || f.name != f.mainFile || f.wrapped[n] {
			return false
		}
		assign, ok := statement.Init.(*ast.AssignStmt)
		if !ok || len(assign.Rhs) != 1 {
			return false
		}
		_, selector, key := f.method(assign.Rhs[0])
		return key == "manager#Start" && strings.HasPrefix(f.typeOf(selector.X), "manager.")
	},
	Rewrite: func(f *file, n ast.Node) string {
		f.wrapped[n] = true
		statement := n.(*ast.IfStmt)
		_, selector, _ := f.method(statement.Init.(*ast.AssignStmt).Rhs[0])
		m := f.text(selector.X)
		f.registers = true
		return f.serve(f.around(1), statement) + "if err := register(" + m + "); err != nil " + f.text(statement.Body) + "\n" + f.inside(n)
	},
	Reason: "what kctrl create api makes is set up by register",
}
