package vet

import (
	"regexp"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

var lateFinalizer = &Rule{
	Name:   "latefinalizer",
	Reason: "If the object is deleted before the finalizer is stored, nothing cleans up what the reconcile created.",
	Hint:   "store the finalizer before the first side effect, and before the function returns",
	Details: "The rule reports a reconciler that adds a finalizer and then returns without an error on a path that " +
		"does not write the object. It assumes that a function that receives the object writes it. The rule also reports " +
		"a Create before AddFinalizer if the created object has no owner reference.",
	check: func(r *reporter) {
		for _, fn := range r.Funcs {
			for call := range code.Calls(fn) {
				if !code.Is(code.Callee(&call.Call), "pkg/controller/controllerutil", "controllerutil", "AddFinalizer") {
					continue
				}
				if code.IsReconciler(fn) {
					checkStored(r, fn, call)
				}
				checkEffects(r, fn, call)
			}
		}
	},
}

// checkStored reports paths from AddFinalizer to a return on which nothing writes the object.
func checkStored(r *reporter, fn *ssa.Function, added *ssa.Call) {
	object := code.Unwrap(added.Call.Args[0])
	switch object.(type) {
	case *ssa.Parameter, *ssa.UnOp: // the caller, a function literal or another structure may hold the object too
		return
	}
	if kept(fn, object) {
		return
	}
	// Only the true branch of a test of AddFinalizer's result, or of a variable with it, can be taken.
	changed := func(from *ssa.BasicBlock, i int) bool {
		branch, ok := from.Instrs[len(from.Instrs)-1].(*ssa.If)
		if !ok || i == 0 {
			return true
		}
		_, noted := branch.Cond.(*ssa.Phi)
		return branch.Cond != added && !noted
	}
	code.Walk(added, func(instr ssa.Instruction) bool {
		if ret, ok := instr.(*ssa.Return); ok && len(ret.Results) == 2 && isNil(ret.Results[1]) {
			r.at(ret.Pos(), "the finalizer of line %d is not stored before this return", r.Fset.Position(added.Pos()).Line)
		}
		return !usesObject(instr, object)
	}, changed)
}

// kept reports whether a deferred call, a function literal or a variable holds an object.
func kept(fn *ssa.Function, object ssa.Value) bool {
	for instr := range code.Instructions(fn) {
		switch instr.(type) {
		case *ssa.Defer, *ssa.MakeClosure, *ssa.Store:
			if code.Takes(instr, object) {
				return true
			}
		}
	}
	return false
}

var provisionName = regexp.MustCompile(`^(Create|Provision|Allocate)[A-Z]`)

// checkEffects reports objects and external resources that a function creates before it adds a finalizer.
func checkEffects(r *reporter, fn *ssa.Function, added *ssa.Call) {
	object := code.Unwrap(added.Call.Args[0])
	for call := range code.Calls(fn) {
		if !code.Dominates(call, added) {
			continue
		}
		line := r.Fset.Position(added.Pos()).Line
		if op := r.OpOf(call); op != nil {
			if op.Verb == code.Create && op.Object != nil && op.Object != object && !owned(fn, op.Object) {
				r.at(r.Start(call.Pos()), "Create comes before the finalizer of line %d", line)
			}
			continue
		}
		// An interface that the package declares usually represents an external system.
		callee := code.Callee(&call.Call)
		if call.Call.IsInvoke() && callee.Pkg() == r.Pkg && provisionName.MatchString(callee.Name()) &&
			callee.Signature().Params().Len() > 0 && code.IsContext(callee.Signature().Params().At(0).Type()) {
			r.at(r.Start(call.Pos()), "%s comes before the finalizer of line %d", callee.Name(), line)
		}
	}
}

// owned reports whether a function sets the owner of an object, or another function may have set it.
func owned(fn *ssa.Function, object ssa.Value) bool {
	if _, known := object.(*ssa.Alloc); !known {
		return true
	}
	for instr := range code.Instructions(fn) {
		call, ok := instr.(*ssa.Call)
		if ok && slices.Contains([]string{"SetControllerReference", "SetOwnerReference", "SetOwnerReferences"},
			calleeName(call)) && code.Takes(instr, object) {
			return true
		}
		if store, ok := instr.(*ssa.Store); ok {
			if base, path := code.Path(store.Addr); base == object && slices.Contains(path, "OwnerReferences") {
				return true
			}
		}
	}
	return false
}

func calleeName(call *ssa.Call) string {
	if fn := code.Callee(&call.Call); fn != nil {
		return fn.Name()
	}
	if load, ok := call.Call.Value.(*ssa.UnOp); ok { // ctrl.SetControllerReference is a variable
		if global, ok := load.X.(*ssa.Global); ok {
			return global.Name()
		}
	}
	return ""
}
