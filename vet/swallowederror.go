package vet

import (
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

var swallowedError = &Rule{
	Name:   "swallowederror",
	Reason: "The controller takes the reconcile for a success, and does not retry.",
	Hint:   "return the error",
	Details: "The rule reports a write whose returned error is discarded, in a reconciler and in the functions that it " +
		"calls, including those in other packages of the module. It also reports a reconciler that ignores or only logs " +
		"the error of a client call, and then returns an empty Result with nil. It does not report an error that the code " +
		"inspects, for example with IsNotFound, or records in a condition or an event. It does not report an error that " +
		"is assigned to the blank identifier.",
	check: func(r *reporter) {
		for fn := range r.Reconciles {
			for call := range code.Calls(fn) {
				if op := r.OpOf(call); op != nil && r.Drops(call, op) {
					r.at(r.Start(call.Pos()), "the error of %s is dropped", op.Name)
				}
				if s := r.Summary(&call.Call); s != nil && s.Drops != "" && r.Local(&call.Call) == nil {
					r.at(r.Start(call.Pos()), "%s drops the error of %s", code.Callee(&call.Call).Name(), s.Drops)
				}
			}
		}
		for _, fn := range r.Funcs {
			if code.IsReconciler(fn) {
				checkSwallowed(r, fn)
			}
		}
	},
}

// checkSwallowed reports return statements with an empty Result and nil after the error of a client call.
func checkSwallowed(r *reporter, fn *ssa.Function) {
	for _, block := range fn.Blocks {
		ret, ok := block.Instrs[len(block.Instrs)-1].(*ssa.Return)
		if !ok || len(ret.Results) != 2 || !isNil(ret.Results[1]) {
			continue
		}
		if empty, known := delay(ret.Results[0]); !known || empty != 0 {
			continue
		}
		if op := failedOp(r, fn, block); op != nil {
			r.at(ret.Pos(), "the error of %s at line %d is lost", op.Name, r.Fset.Position(op.Call.Pos()).Line)
		}
	}
}

// failedOp returns the client call whose error guards a block, if the code ignores or only logs the error, or nil.
func failedOp(r *reporter, fn *ssa.Function, block *ssa.BasicBlock) *code.Op {
	for call := range code.Calls(fn) {
		op := r.OpOf(call)
		if op == nil {
			continue
		}
		failure := errorOf(call)
		if failure == nil || !testedNonNil(failure, block) || !onlyLogged(failure) || !onlyLogs(failure, block) {
			continue
		}
		return op
	}
	return nil
}

// errorOf returns the error among the results of a call, or nil.
func errorOf(call *ssa.Call) ssa.Value {
	if code.IsError(call.Type()) {
		return call
	}
	for _, use := range *call.Referrers() {
		if extract, ok := use.(*ssa.Extract); ok && code.IsError(extract.Type()) {
			return extract
		}
	}
	return nil
}

// onlyLogged reports whether the only uses of an error are comparisons with nil and arguments of loggers.
func onlyLogged(failure ssa.Value) bool {
	for _, use := range *failure.Referrers() {
		switch use := use.(type) {
		case *ssa.BinOp, *ssa.DebugRef:
		case *ssa.Call:
			if !logs(&use.Call) {
				return false
			}
		case *ssa.MakeInterface, *ssa.ChangeInterface:
			if !onlyLogArgument(use.(ssa.Value)) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// onlyLogArgument reports whether the only uses of a value are variadic arguments of loggers.
func onlyLogArgument(v ssa.Value) bool {
	for _, use := range *v.Referrers() {
		store, ok := use.(*ssa.Store)
		if !ok {
			return false
		}
		at, ok := store.Addr.(*ssa.IndexAddr)
		if !ok {
			return false
		}
		for _, use := range *at.X.Referrers() {
			slice, ok := use.(*ssa.Slice)
			if !ok {
				continue
			}
			for _, use := range *slice.Referrers() {
				if call, ok := use.(*ssa.Call); !ok || !logs(&call.Call) {
					return false
				}
			}
		}
	}
	return true
}

// onlyLogs reports whether the code between the test of an error and the end of a block only logs.
func onlyLogs(failure ssa.Value, block *ssa.BasicBlock) bool {
	for b := block; b != nil; b = b.Idom() {
		for _, instr := range b.Instrs {
			switch instr := instr.(type) {
			case *ssa.Call:
				if !logs(&instr.Call) {
					return false
				}
			case *ssa.MapUpdate, *ssa.Send, *ssa.Go, *ssa.Defer:
				return false
			case *ssa.Store:
				if base, _ := code.Path(instr.Addr); code.IsObject(base.Type()) {
					return false
				}
			}
		}
		if b.Idom() == nil || testsError(b.Idom(), failure) {
			return true
		}
	}
	return true
}

// testsError reports whether a block ends with a test of an error.
func testsError(block *ssa.BasicBlock, failure ssa.Value) bool {
	branch, ok := block.Instrs[len(block.Instrs)-1].(*ssa.If)
	if !ok {
		return false
	}
	test, ok := branch.Cond.(*ssa.BinOp)
	return ok && (test.X == failure || test.Y == failure)
}

// logs reports whether a call belongs to a logging package or is print, println or len.
func logs(common *ssa.CallCommon) bool {
	if builtin, ok := common.Value.(*ssa.Builtin); ok {
		return strings.HasPrefix(builtin.Name(), "print") || builtin.Name() == "len"
	}
	fn := code.Callee(common)
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	path := fn.Pkg().Path()
	for _, logger := range []string{"github.com/go-logr/logr", "log/slog", "log", "k8s.io/klog/v2", "go.uber.org/zap",
		"github.com/sirupsen/logrus", "sigs.k8s.io/controller-runtime/pkg/log"} {
		if path == logger || strings.HasPrefix(path, logger+"/") {
			return true
		}
	}
	return false
}
