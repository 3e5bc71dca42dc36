package vet

import (
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

var contextBackground = &Rule{
	Name:   "contextbackground",
	Reason: "The call continues after the manager has stopped or the reconcile has timed out, and has no logger.",
	Hint:   "pass the context of the function",
	Details: "The rule reports a client call with context.Background or context.TODO, even if WithCancel or WithValue " +
		"wraps it, in a function that has a context parameter. It does not report contexts with a timeout, deferred calls " +
		"and goroutines, which may outlive the parameter on purpose. It does not report reads from controller-runtime's " +
		"cache, which ignore the context. The fix passes the parameter.",
	check: func(r *reporter) {
		for _, fn := range r.Funcs {
			parameter := contextParameter(fn)
			if parameter == nil {
				continue
			}
			for call := range code.Calls(fn) {
				op := r.OpOf(call)
				if op == nil || op.Context == nil || ignoresContext(r, op) {
					continue
				}
				if origin := freshContext(op.Context); origin != nil {
					r.fix(r.Start(origin.Pos()), passed(r, origin, parameter), "%s uses context.%s instead of %s", op.Name,
						code.Callee(&origin.Call).Name(), parameter.Name())
				}
			}
		}
	},
}

// ignoresContext reports whether a call reads from controller-runtime's cache.
func ignoresContext(r *reporter, op *code.Op) bool {
	return r.ReadsCache(op) && code.OfControllerRuntime(code.Callee(op.Call.Common()))
}

// contextParameter returns the named context parameter of a function, or nil.
func contextParameter(fn *ssa.Function) *types.Var {
	for param := range fn.Signature.Params().Variables() {
		if code.IsContext(param.Type()) && param.Name() != "" && param.Name() != "_" {
			return param
		}
	}
	return nil
}

// freshContext returns the call of context.Background or context.TODO that creates a context, or nil.
func freshContext(v ssa.Value) *ssa.Call {
	if extract, ok := v.(*ssa.Extract); ok {
		v = extract.Tuple
	}
	call, ok := v.(*ssa.Call)
	if !ok {
		return nil
	}
	fn := code.Callee(&call.Call)
	switch {
	case code.IsIn(fn, "context", "Background", "TODO"):
		return call
	case code.IsIn(fn, "context", "WithCancel", "WithValue"):
		return freshContext(call.Call.Args[0])
	}
	return nil
}

// passed returns a fix that replaces the call with the parameter, or nil if another variable hides the parameter.
func passed(r *reporter, origin *ssa.Call, parameter *types.Var) []analysis.SuggestedFix {
	call := r.CallAt(origin.Pos())
	if call == nil {
		return nil
	}
	scope := r.Pkg.Scope().Innermost(call.Pos())
	if scope == nil {
		return nil
	}
	if _, found := scope.LookupParent(parameter.Name(), call.Pos()); found != parameter {
		return nil
	}
	return []analysis.SuggestedFix{{
		Message:   "Pass " + parameter.Name(),
		TextEdits: []analysis.TextEdit{{Pos: call.Pos(), End: call.End(), NewText: []byte(parameter.Name())}},
	}}
}
