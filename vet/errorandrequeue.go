package vet

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

var errorAndRequeue = &Rule{
	Name:   "errorandrequeue",
	Reason: "The controller ignores the Result if there is an error, and retries with its own backoff.",
	Hint:   "return the error alone, or handle it and return RequeueAfter with nil",
	Details: "The rule reports a return statement whose Result sets RequeueAfter or Requeue and whose error cannot be " +
		"nil, because it was compared with nil or is a new error. It checks reconcilers, and functions of the package " +
		"whose callers return the Result unchanged. It does not report a Result that is stored in a variable, or that " +
		"a caller inspects. The fix empties the Result.",
	check: func(r *reporter) {
		for _, fn := range r.Funcs {
			if !returnsResult(fn) || !reachesController(r, fn, map[*ssa.Function]bool{}) {
				continue
			}
			for _, block := range fn.Blocks {
				ret, ok := block.Instrs[len(block.Instrs)-1].(*ssa.Return)
				if !ok || len(ret.Results) != 2 || !nonNil(returned(ret, 1), block) {
					continue
				}
				if literal := requeueLiteral(r, ret.Pos()); literal != nil {
					r.fix(literal.Pos(), []analysis.SuggestedFix{emptied(literal)},
						"the error makes %s of this Result void", fieldNames(literal))
				}
			}
		}
	},
}

// returnsResult reports whether a function returns a Result and an error.
func returnsResult(fn *ssa.Function) bool {
	results := fn.Signature.Results()
	return results.Len() == 2 && code.IsResult(results.At(0).Type()) && code.IsError(results.At(1).Type())
}

// reachesController reports whether the controller certainly receives the Result of a function unchanged: the function
// is a reconciler or the package calls it, and no caller in the package inspects the Result.
func reachesController(r *reporter, fn *ssa.Function, seen map[*ssa.Function]bool) bool {
	if seen[fn] {
		return true
	}
	seen[fn] = true
	called := false
	for _, caller := range r.Funcs {
		for _, block := range caller.Blocks {
			for _, instruction := range block.Instrs {
				call, ok := instruction.(*ssa.Call)
				if !ok || !calls(&call.Call, fn) {
					continue
				}
				called = true
				if !returnsResult(caller) || inspected(call, map[ssa.Value]bool{}) || !reachesController(r, caller, seen) {
					return false
				}
			}
		}
	}
	return called || isReconciler(fn)
}

// calls reports whether a call certainly calls a function, or an instance of a generic function.
func calls(common *ssa.CallCommon, fn *ssa.Function) bool {
	callee := common.StaticCallee()
	return callee != nil && (callee == fn || callee.Origin() == fn)
}

// isReconciler reports whether a function is named Reconcile or has a request as a parameter.
func isReconciler(fn *ssa.Function) bool {
	if fn.Name() == "Reconcile" {
		return true
	}
	for p := range fn.Signature.Params().Variables() {
		if code.IsRequest(p.Type()) {
			return true
		}
	}
	return false
}

// inspected reports whether a function may do anything else with the Result in v than return it.
func inspected(v ssa.Value, seen map[ssa.Value]bool) bool {
	if seen[v] {
		return false
	}
	seen[v] = true
	for _, user := range *v.Referrers() {
		switch user := user.(type) {
		case *ssa.Return, *ssa.DebugRef:
		case *ssa.Extract:
			if user.Index == 0 && inspected(user, seen) {
				return true
			}
		case *ssa.Phi:
			if inspected(user, seen) {
				return true
			}
		case *ssa.Store:
			if user.Val == v && inspected(user.Addr, seen) {
				return true
			}
		case *ssa.UnOp: // a load of a variable
			if inspected(user, seen) {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// requeueLiteral returns the Result literal in the return statement at pos if it requeues the request, or nil.
func requeueLiteral(r *reporter, pos token.Pos) *ast.CompositeLit {
	for _, node := range r.Enclosing(pos) {
		ret, ok := node.(*ast.ReturnStmt)
		if !ok {
			continue
		}
		if len(ret.Results) != 2 {
			return nil
		}
		literal, ok := ast.Unparen(ret.Results[0]).(*ast.CompositeLit)
		if !ok || len(literal.Elts) == 0 {
			return nil
		}
		for _, element := range literal.Elts {
			pair, ok := element.(*ast.KeyValueExpr)
			if !ok {
				return nil
			}
			value := r.TypesInfo.Types[pair.Value].Value
			if key := pair.Key.(*ast.Ident).Name; key != "RequeueAfter" && key != "Requeue" {
				return nil
			}
			if value != nil && (value.String() == "0" || value.String() == "false") {
				return nil
			}
		}
		return literal
	}
	return nil
}

func fieldNames(literal *ast.CompositeLit) string {
	return literal.Elts[0].(*ast.KeyValueExpr).Key.(*ast.Ident).Name
}

func emptied(literal *ast.CompositeLit) analysis.SuggestedFix {
	return analysis.SuggestedFix{
		Message:   "Return the error with an empty Result",
		TextEdits: []analysis.TextEdit{{Pos: literal.Lbrace + 1, End: literal.Rbrace}},
	}
}

// returned returns a result of a return statement. In a function with a deferred call, results are variables that the
// statement sets and loads again.
func returned(ret *ssa.Return, index int) ssa.Value {
	load, ok := ret.Results[index].(*ssa.UnOp)
	if !ok {
		return ret.Results[index]
	}
	variable, ok := load.X.(*ssa.Alloc)
	if !ok || setByClosure(variable) {
		return load
	}
	instrs := ret.Block().Instrs
	for i := len(instrs) - 1; i >= 0; i-- {
		if store, ok := instrs[i].(*ssa.Store); ok && store.Addr == variable {
			return store.Val
		}
	}
	return load
}

// setByClosure reports whether a closure sets a variable, as deferred functions set named results.
func setByClosure(variable *ssa.Alloc) bool {
	for _, user := range *variable.Referrers() {
		closure, ok := user.(*ssa.MakeClosure)
		if !ok {
			continue
		}
		fn := closure.Fn.(*ssa.Function)
		for i, binding := range closure.Bindings {
			if binding != variable {
				continue
			}
			for _, use := range *fn.FreeVars[i].Referrers() {
				if store, ok := use.(*ssa.Store); !ok || store.Addr == fn.FreeVars[i] {
					if _, isLoad := use.(*ssa.UnOp); !isLoad {
						return true
					}
				}
			}
		}
	}
	return false
}

// nonNil reports whether an error cannot be nil in a block, because it is new or a dominating branch tested it.
func nonNil(v ssa.Value, block *ssa.BasicBlock) bool {
	switch x := v.(type) {
	case *ssa.Call:
		fn := code.Callee(&x.Call)
		if code.IsIn(fn, "errors", "New") || code.IsIn(fn, "fmt", "Errorf") {
			return true
		}
		if code.Is(fn, "pkg/reconcile", "reconcile", "TerminalError") {
			return true
		}
	case *ssa.MakeInterface:
		_, pointer := x.X.(*ssa.Alloc)
		_, value := x.X.Type().Underlying().(*types.Struct)
		return pointer || value
	}
	return testedNonNil(v, block)
}

// testedNonNil reports whether a branch on v != nil dominates a block.
func testedNonNil(v ssa.Value, block *ssa.BasicBlock) bool {
	for b := block; b != nil; b = b.Idom() {
		parent := b.Idom()
		if parent == nil || len(b.Preds) != 1 || b.Preds[0] != parent {
			continue
		}
		branch, ok := parent.Instrs[len(parent.Instrs)-1].(*ssa.If)
		if !ok {
			continue
		}
		test, ok := branch.Cond.(*ssa.BinOp)
		if !ok || !sameError(test.X, v, b) && !sameError(test.Y, v, b) || !isNil(test.X) && !isNil(test.Y) {
			continue
		}
		taken := parent.Succs[0] == b
		if test.Op == token.NEQ && taken || test.Op == token.EQL && !taken {
			return true
		}
	}
	return false
}

// sameError reports whether a tested value is v, or loads the same variable as v and the block does not set it.
func sameError(tested, v ssa.Value, block *ssa.BasicBlock) bool {
	if tested == v {
		return true
	}
	x, ok := tested.(*ssa.UnOp)
	y, isLoad := v.(*ssa.UnOp)
	if !ok || !isLoad || x.Op != token.MUL || y.Op != token.MUL || x.X != y.X || y.Block() != block {
		return false
	}
	for _, instr := range block.Instrs {
		switch instr := instr.(type) {
		case *ssa.Store:
			if instr.Addr == x.X && instr.Val != v {
				return false
			}
		case *ssa.UnOp:
			if instr == y {
				return true
			}
		}
	}
	return true
}

func isNil(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.IsNil()
}
