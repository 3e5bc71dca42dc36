package vet

import (
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

var staleStatus = &Rule{
	Name:   "stalestatus",
	Reason: "The API server rejects the write with a conflict, or the write contains an old status.",
	Hint:   "set the status on the object that the last write returned, or read it again",
	Details: "The rule reports three cases:\n\n" +
		"- A status is set before an Update or Patch of the object and written after it, although the response to the " +
		"first write has replaced it.\n" +
		"- The status of a copy is updated after an update of the original, or the reverse, so the second write sends an " +
		"old resource version.\n" +
		"- The function passed to RetryOnConflict updates an object without reading it, so all retries send the same old " +
		"resource version.",
	check: func(r *reporter) {
		for _, fn := range r.Funcs {
			checkReplaced(r, fn)
			for call := range code.Calls(fn) {
				if code.IsIn(code.Callee(&call.Call), "k8s.io/client-go/util/retry", "RetryOnConflict") {
					checkRetry(r, call)
				}
			}
		}
	},
}

// checkReplaced checks the writes of a status in a function that also writes the object.
func checkReplaced(r *reporter, fn *ssa.Function) {
	var writes []*code.Op
	for call := range code.Calls(fn) {
		if op := r.OpOf(call); op != nil && !op.Clientset && (op.Verb == code.Update || op.Verb == code.Patch) {
			writes = append(writes, op)
		}
	}
	for _, status := range writes {
		if !status.Status {
			continue
		}
		for _, whole := range writes {
			if whole.Status {
				continue
			}
			if whole.Object == status.Object {
				checkLost(r, fn, whole, status)
			} else if status.Verb == code.Update {
				checkCopy(r, fn, whole, status)
			}
		}
	}
}

// checkLost reports a write of a status that is set before whole and not after it.
func checkLost(r *reporter, fn *ssa.Function, whole, status *code.Op) {
	if _, local := whole.Object.(*ssa.Alloc); !local {
		if _, parameter := whole.Object.(*ssa.Parameter); !parameter {
			return
		}
	}
	var stores []*ssa.Store
	for store := range code.StoresTo(fn, whole.Object, "Status") {
		stores = append(stores, store)
	}
	before := slices.IndexFunc(stores, func(s *ssa.Store) bool { return code.Dominates(s, whole.Call) })
	if before < 0 {
		return
	}
	code.Walk(whole.Call, func(instr ssa.Instruction) bool {
		if instr == ssa.Instruction(status.Call) {
			r.at(r.Start(status.Call.Pos()), "the status of line %d is replaced by the answer of %s at line %d",
				r.Fset.Position(stores[before].Pos()).Line, whole.Name, r.Fset.Position(whole.Call.Pos()).Line)
			return false
		}
		if store, ok := instr.(*ssa.Store); ok {
			if base, _ := code.Path(store.Addr); base == whole.Object {
				return false
			}
		}
		return !usesObject(instr, whole.Object)
	}, nil)
}

// usesObject reports whether an instruction passes on an object, or is a call with the address of a part of it.
func usesObject(instr ssa.Instruction, object ssa.Value) bool {
	if code.Takes(instr, object) {
		return true
	}
	call, ok := instr.(ssa.CallInstruction)
	if !ok {
		return false
	}
	return slices.ContainsFunc(call.Common().Args, func(arg ssa.Value) bool {
		base, path := code.Path(code.Unwrap(arg))
		return base == object && len(path) > 0
	})
}

// checkCopy reports the update of the status of a copy that was made before another write.
func checkCopy(r *reporter, fn *ssa.Function, whole, status *code.Op) {
	var copied *ssa.Call
	if call := copyOf(status.Object, whole.Object); call != nil {
		copied = call
	} else if call := copyOf(whole.Object, status.Object); call != nil {
		copied = call
	}
	if copied == nil || !code.Dominates(copied, whole.Call) || !code.Dominates(whole.Call, status.Call) {
		return
	}
	for store := range code.StoresTo(fn, status.Object, "ResourceVersion") {
		if code.Dominates(whole.Call, store) {
			return
		}
	}
	for instr := range code.Instructions(fn) {
		if instr != ssa.Instruction(status.Call) && code.Takes(instr, status.Object) && code.Dominates(whole.Call, instr) {
			return
		}
		if call, ok := instr.(*ssa.Call); ok && calleeName(call) == "SetResourceVersion" {
			return
		}
	}
	r.at(r.Start(status.Call.Pos()), "%s at line %d made the version of this copy old", whole.Name,
		r.Fset.Position(whole.Call.Pos()).Line)
}

// copyOf returns the DeepCopy call that creates copied from original, or nil.
func copyOf(copied, original ssa.Value) *ssa.Call {
	call, ok := copied.(*ssa.Call)
	if !ok || calleeName(call) != "DeepCopy" || len(call.Call.Args) != 1 || call.Call.Args[0] != original {
		return nil
	}
	return call
}

// checkRetry reports updates in a function passed to RetryOnConflict if this function does not read the object again.
func checkRetry(r *reporter, retry *ssa.Call) {
	closure, ok := retry.Call.Args[1].(*ssa.MakeClosure)
	if !ok {
		return
	}
	fn := closure.Fn.(*ssa.Function)
	var updates []*code.Op
	for call := range code.Calls(fn) {
		op := r.OpOf(call)
		switch {
		case op != nil && op.Verb == code.Update && !op.Clientset && captured(op.Object):
			updates = append(updates, op)
		case op != nil:
			return // a read or another write may refresh the object
		case mayRead(r, call):
			return
		}
	}
	for _, op := range updates {
		r.at(r.Start(op.Call.Pos()), "each retry of %s sends the same version of the object", op.Name)
	}
}

// mayRead reports whether a call may read an object again: a call of an interface, or of code outside the standard
// library, Kubernetes' libraries and the runtimes.
func mayRead(r *reporter, call *ssa.Call) bool {
	fn := code.Callee(&call.Call)
	if fn == nil || fn.Pkg() == nil {
		_, builtin := call.Call.Value.(*ssa.Builtin)
		return !builtin
	}
	if call.Call.IsInvoke() {
		return len(call.Call.Args) > 1
	}
	path := fn.Pkg().Path()
	return !strings.HasPrefix(path, "k8s.io/") && !strings.HasPrefix(path, "sigs.k8s.io/controller-runtime/") &&
		!strings.HasPrefix(path, "github.com/kctrl-dev/kctrl/runtime/") && strings.Contains(path, ".") || fn.Pkg() == r.Pkg
}

// captured reports whether a function literal captures a value from its enclosing function.
func captured(v ssa.Value) bool {
	if load, ok := v.(*ssa.UnOp); ok {
		v = load.X
	}
	_, free := v.(*ssa.FreeVar)
	return free
}
