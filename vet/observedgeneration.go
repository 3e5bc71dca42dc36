package vet

import (
	"go/ast"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

var observedGeneration = &Rule{
	Name:   "observedgeneration",
	Reason: "Readers cannot distinguish a condition of the current spec from one of an older spec.",
	Hint:   "set ObservedGeneration to the generation of the object",
	Details: "The rule reports a metav1.Condition without ObservedGeneration that meta.SetStatusCondition writes to " +
		"the conditions of an object. The fix sets the field.",
	check: func(r *reporter) {
		for _, fn := range r.Funcs {
			for call := range code.Calls(fn) {
				if !code.IsIn(code.Callee(&call.Call), "k8s.io/apimachinery/pkg/api/meta", "SetStatusCondition") {
					continue
				}
				if complete(call.Call.Args[1]) {
					continue
				}
				if object, _ := code.Path(call.Call.Args[0]); !code.IsObject(object.Type()) {
					continue
				}
				r.fix(r.Start(call.Pos()), generationFix(r, call), "the condition has no ObservedGeneration")
			}
		}
	},
}

// complete reports whether a condition may have an ObservedGeneration. It returns true for a condition that is not a
// literal.
func complete(v ssa.Value) bool {
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return true
	}
	alloc, ok := load.X.(*ssa.Alloc)
	if !ok {
		return true
	}
	fields := 0
	for _, use := range *alloc.Referrers() {
		switch use := use.(type) {
		case *ssa.FieldAddr:
			fields++
			if code.FieldName(use) == "ObservedGeneration" {
				return true
			}
		case *ssa.Store: // a literal
			if use.Addr != alloc || complete(use.Val) {
				return true
			}
			fields++
		case *ssa.UnOp, *ssa.DebugRef:
		default:
			return true
		}
	}
	return fields == 0
}

// generationFix returns a fix that adds the field to the literal in the call, if a variable holds the object.
func generationFix(r *reporter, call *ssa.Call) []analysis.SuggestedFix {
	expr := r.CallAt(call.Pos())
	if expr == nil || len(expr.Args) != 2 {
		return nil
	}
	literal, ok := ast.Unparen(expr.Args[1]).(*ast.CompositeLit)
	if !ok || len(literal.Elts) == 0 {
		return nil
	}
	object := rootOf(expr.Args[0])
	if object == nil || !code.HasMethod(r.TypesInfo.TypeOf(object), "GetGeneration") {
		return nil
	}
	last := literal.Elts[len(literal.Elts)-1]
	separator := ", "
	if r.Fset.Position(literal.Rbrace).Line != r.Fset.Position(last.End()).Line {
		separator = ",\n"
	}
	return []analysis.SuggestedFix{{
		Message: "Set ObservedGeneration",
		TextEdits: []analysis.TextEdit{{Pos: last.End(), End: last.End(),
			NewText: []byte(separator + "ObservedGeneration: " + object.Name + ".GetGeneration()")}},
	}}
}

// rootOf returns the variable x of an expression &x.Status.Conditions.
func rootOf(expr ast.Expr) *ast.Ident {
	unary, ok := ast.Unparen(expr).(*ast.UnaryExpr)
	if !ok {
		return nil
	}
	expr = unary.X
	for {
		selector, ok := expr.(*ast.SelectorExpr)
		if !ok {
			break
		}
		expr = selector.X
	}
	ident, _ := expr.(*ast.Ident)
	return ident
}
