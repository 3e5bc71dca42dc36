package vet

import (
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

var requeueBackoff = &Rule{
	Name:   "requeuebackoff",
	Reason: "The retries keep their rate however long the failure lasts, and load the API server.",
	Hint:   "return the error, which retries with backoff",
	Details: "The rule reports a constant RequeueAfter of less than a second. It also reports a constant RequeueAfter " +
		"of at most ten seconds if this is the only reaction to the error of a client call. It also reports a client-go " +
		"worker that calls Add instead of AddRateLimited after an error.",
	check: func(r *reporter) {
		for _, fn := range r.Funcs {
			if returnsResult(fn) {
				checkDelays(r, fn)
			}
		}
		for fn := range r.Reconciles {
			checkAdd(r, fn)
		}
	},
}

// delay returns the constant RequeueAfter of a Result, or 0 for an empty Result. It returns false if the Result is not
// constant or sets Requeue.
func delay(result ssa.Value) (time.Duration, bool) {
	if c, ok := result.(*ssa.Const); ok {
		return 0, c.Value == nil
	}
	load, ok := result.(*ssa.UnOp)
	if !ok {
		return 0, false
	}
	alloc, ok := load.X.(*ssa.Alloc)
	if !ok {
		return 0, false
	}
	var after int64
	for _, use := range *alloc.Referrers() {
		switch use := use.(type) {
		case *ssa.FieldAddr:
			for _, store := range *use.Referrers() {
				store, ok := store.(*ssa.Store)
				if !ok || code.FieldName(use) != "RequeueAfter" {
					return 0, false
				}
				if after, ok = code.Constant(store.Val); !ok {
					return 0, false
				}
			}
		case *ssa.UnOp, *ssa.DebugRef:
		default:
			return 0, false
		}
	}
	return time.Duration(after), true
}

func checkDelays(r *reporter, fn *ssa.Function) {
	for _, block := range fn.Blocks {
		ret, ok := block.Instrs[len(block.Instrs)-1].(*ssa.Return)
		if !ok || len(ret.Results) != 2 || !isNil(ret.Results[1]) {
			continue
		}
		after, known := delay(ret.Results[0])
		if !known || after <= 0 {
			continue
		}
		if after < time.Second {
			r.at(ret.Pos(), "the request returns after %s, each time", after)
			continue
		}
		if after > 10*time.Second {
			continue
		}
		if op := failedOp(r, fn, block); op != nil {
			r.at(ret.Pos(), "the error of %s at line %d leads to a retry each %s", op.Name,
				r.Fset.Position(op.Call.Pos()).Line, after)
		}
	}
}

// checkAdd reports calls of Add on a work queue after an error.
func checkAdd(r *reporter, fn *ssa.Function) {
	for call := range code.Calls(fn) {
		if !code.IsIn(code.Callee(&call.Call), "k8s.io/client-go/util/workqueue", "Add") {
			continue
		}
		for guard := range code.Guards(call.Block()) {
			test, ok := guard.(*ssa.BinOp)
			if ok && code.IsError(test.X.Type()) && testedNonNil(test.X, call.Block()) {
				r.at(r.Start(call.Pos()), "Add queues the key at once after an error")
			}
		}
	}
}
