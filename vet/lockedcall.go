package vet

import (
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

var lockedCall = &Rule{
	Name:   "lockedcall",
	Reason: "Other workers wait for the lock as long as the API server takes to answer.",
	Hint:   "copy what you need under the lock, and call the API server after the unlock",
	Details: "The rule reports the first write, uncached read or sleep between Lock and Unlock of a mutex, in a " +
		"reconciler and in the functions that it calls. With a deferred Unlock, the function holds the lock until it " +
		"returns. The mutex must be a field of the receiver or a package variable, because a mutex from a map may belong " +
		"to one object.",
	check: func(r *reporter) {
		for fn := range r.Reconciles {
			for call := range code.Calls(fn) {
				if mutexMethod(&call.Call, "Lock") || mutexMethod(&call.Call, "RLock") {
					checkLocked(r, call)
				}
			}
		}
	},
}

func mutexMethod(common *ssa.CallCommon, name string) bool {
	fn := code.Callee(common)
	return code.IsIn(fn, "sync", name) && fn.Signature().Recv() != nil && len(common.Args) > 0 &&
		strings.HasSuffix(fn.FullName(), "Mutex)."+name)
}

// checkLocked reports the first slow call while the mutex of lock is locked.
func checkLocked(r *reporter, lock *ssa.Call) {
	mutex := lock.Call.Args[0]
	if !shared(lock.Parent(), mutex) {
		return
	}
	reported := false
	code.Walk(lock, func(instr ssa.Instruction) bool {
		call, ok := instr.(*ssa.Call)
		if !ok || reported {
			return !reported
		}
		if mutexMethod(&call.Call, "Unlock") || mutexMethod(&call.Call, "RUnlock") {
			return !code.Same(call.Call.Args[0], mutex)
		}
		if what := slow(r, call); what != "" {
			reported = true
			r.at(r.Start(call.Pos()), "%s while the lock of line %d is held", what, r.Fset.Position(lock.Pos()).Line)
		}
		return true
	}, nil)
}

// shared reports whether all workers share a mutex, because it is a field of the receiver or a package variable. A
// mutex from a call or a map may belong to one object.
func shared(fn *ssa.Function, mutex ssa.Value) bool {
	for {
		field, ok := mutex.(*ssa.FieldAddr)
		if !ok {
			break
		}
		mutex = field.X
	}
	_, global := mutex.(*ssa.Global)
	return global || fn.Signature.Recv() != nil && len(fn.Params) > 0 && mutex == ssa.Value(fn.Params[0])
}

// slow returns the name of a call that waits for the API server or sleeps, or "".
func slow(r *reporter, call *ssa.Call) string {
	if op := r.OpOf(call); op != nil {
		if !op.Reads() || r.Live(op) {
			return op.Name
		}
		return ""
	}
	if sleeps := r.Sleep(&call.Call); sleeps != "" {
		return sleeps
	}
	if s := r.Summary(&call.Call); s != nil {
		name := code.Callee(&call.Call).Name()
		if s.Requests != "" {
			return name + " calls " + s.Requests
		}
		if s.Sleeps != "" {
			return name + " calls " + s.Sleeps
		}
	}
	return ""
}
