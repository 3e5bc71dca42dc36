package vet

import (
	"regexp"

	"golang.org/x/tools/go/ssa"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

var finalizerOrder = &Rule{
	Name:   "finalizerorder",
	Reason: "If the cleanup fails or the process stops in between, the object is gone before its cleanup.",
	Hint:   "clean up first, and remove the finalizer after the cleanup succeeded",
	Details: "The rule reports cleanup that follows RemoveFinalizer and the write of the object. Cleanup is a Delete " +
		"of another object, or a call of a function that takes a context, returns an error, and has a name such as " +
		"cleanUp, deleteBucket or teardown.",
	check: func(r *reporter) {
		for _, fn := range r.Funcs {
			for call := range code.Calls(fn) {
				if code.Is(code.Callee(&call.Call), "pkg/controller/controllerutil", "controllerutil", "RemoveFinalizer") {
					checkCleanup(r, call)
				}
			}
		}
	},
}

// checkCleanup reports cleanup after the write that follows the removal of a finalizer.
func checkCleanup(r *reporter, removal *ssa.Call) {
	object := code.Unwrap(removal.Call.Args[0])
	stored := storeOf(r, removal, object)
	if stored == nil {
		return
	}
	code.Walk(stored, func(instr ssa.Instruction) bool {
		call, ok := instr.(*ssa.Call)
		if !ok || !code.Dominates(stored, call) {
			return true
		}
		if what := cleanup(r, call, object); what != "" {
			r.at(r.Start(call.Pos()), "%s follows the removal of the finalizer at line %d", what,
				r.Fset.Position(removal.Pos()).Line)
			return false
		}
		return true
	}, nil)
}

// storeOf returns the first call that writes the object and that only code after the given call can reach, or nil.
func storeOf(r *reporter, after *ssa.Call, object ssa.Value) *ssa.Call {
	var stored *ssa.Call
	code.Walk(after, func(instr ssa.Instruction) bool {
		call, ok := instr.(*ssa.Call)
		if !ok || stored != nil {
			return stored == nil
		}
		op := r.OpOf(call)
		if op != nil && op.Writes() && !op.Status && op.Object == object && code.Dominates(after, call) {
			stored = call
		}
		return stored == nil
	}, nil)
	return stored
}

var cleanupName = regexp.MustCompile(`^(?i:cleanup|finalize|teardown|deprovision|destroy|delete)`)

// cleanup returns the name of a call that cleans up, or "".
func cleanup(r *reporter, call *ssa.Call, object ssa.Value) string {
	if op := r.OpOf(call); op != nil {
		if (op.Verb == code.Delete || op.Verb == code.DeleteAllOf) && op.Object != object {
			return op.Name
		}
		return ""
	}
	fn := code.Callee(&call.Call)
	if fn == nil || fn.Pkg() == nil || !cleanupName.MatchString(fn.Name()) {
		return ""
	}
	params, results := fn.Signature().Params(), fn.Signature().Results()
	if params.Len() == 0 || !code.IsContext(params.At(0).Type()) || results.Len() == 0 ||
		!code.IsError(results.At(results.Len()-1).Type()) {
		return ""
	}
	return fn.Name()
}
