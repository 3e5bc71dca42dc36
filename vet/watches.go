package vet

import (
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

// setup is a chain of builder calls that sets up one controller.
type setup struct {
	watches []*code.Watch
	// unknown reports whether the controller may have watches that are not known statically.
	unknown bool
	// filters are the calls of WithEventFilter and WithPredicates.
	filters   []*ssa.Call
	reconcile *ssa.Function
}

// setups returns the controllers that a package sets up, if their reconciler is a type of the package. It skips
// functions that set up several controllers.
func setups(r *reporter) []*setup {
	var all []*setup
	for _, fn := range r.Funcs {
		s := &setup{}
		completes := 0
		for call := range code.Calls(fn) {
			if watch := code.WatchOf(call); watch != nil {
				s.watches = append(s.watches, watch)
				s.unknown = s.unknown || watch.Kind == ""
				continue
			}
			callee := code.Callee(&call.Call)
			s.unknown = s.unknown || handsOn(call)
			if !code.Is(callee, "pkg/builder", "controller", "WithEventFilter", "WithPredicates", "Complete", "Build") &&
				!code.Is(callee, "pkg/controller", "controller", "Watch") {
				continue
			}
			switch callee.Name() {
			case "WithEventFilter":
				s.filters = append(s.filters, call)
			case "WithPredicates":
				if callee.Signature().Recv() != nil {
					s.filters = append(s.filters, call)
				}
			case "Watch":
				s.unknown = true
			default:
				s.unknown = s.unknown || callee.Name() == "Build" && !onlyError(call)
				completes++
				s.reconcile = reconcileOf(r, call)
			}
		}
		// Without a watch, another function may have added the watches to the builder.
		if completes == 1 && s.reconcile != nil && len(s.watches) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// handsOn reports whether a call passes a builder to another function, which may add watches.
func handsOn(call *ssa.Call) bool {
	for i, arg := range call.Call.Args {
		path, name := code.NameOf(arg.Type())
		receiver := i == 0 && call.Call.Signature().Recv() != nil
		if (name == "Builder" || name == "TypedBuilder") && !receiver && strings.HasSuffix(path, "/builder") {
			return true
		}
	}
	return false
}

// onlyError reports whether a function uses only the error among the results of a call.
func onlyError(call *ssa.Call) bool {
	for _, use := range *call.Referrers() {
		if extract, ok := use.(*ssa.Extract); ok && extract.Index == 0 && len(*extract.Referrers()) > 0 {
			return false
		}
	}
	return true
}

// reconcileOf returns the Reconcile method of the argument of Complete, or nil if another package declares it.
func reconcileOf(r *reporter, complete *ssa.Call) *ssa.Function {
	args := complete.Call.Args
	if len(args) == 0 {
		return nil
	}
	t := code.Unwrap(args[len(args)-1]).Type()
	method, _, _ := types.LookupFieldOrMethod(t, true, r.Pkg, "Reconcile")
	fn, ok := method.(*types.Func)
	if !ok || fn.Pkg() != r.Pkg {
		return nil
	}
	return r.Prog.FuncValue(fn)
}

// tree returns a function and all functions of the package that it calls, directly or indirectly.
func tree(r *reporter, root *ssa.Function) []*ssa.Function {
	seen := map[*ssa.Function]bool{root: true}
	all := []*ssa.Function{root}
	add := func(fn *ssa.Function) {
		if fn != nil && !seen[fn] {
			seen[fn] = true
			all = append(all, fn)
		}
	}
	for i := 0; i < len(all); i++ {
		for instr := range code.Instructions(all[i]) {
			switch x := instr.(type) {
			case ssa.CallInstruction:
				add(r.Local(x.Common()))
			case *ssa.MakeClosure:
				add(x.Fn.(*ssa.Function))
			}
		}
	}
	return all
}

// polls reports whether a function may return a Result that requeues the request.
func polls(r *reporter, fn *ssa.Function) bool {
	for instr := range code.Instructions(fn) {
		switch x := instr.(type) {
		case *ssa.Store:
			if field, ok := x.Addr.(*ssa.FieldAddr); ok && code.IsResult(field.X.Type()) {
				return true
			}
		case *ssa.Call:
			results := x.Call.Signature().Results()
			for result := range results.Variables() {
				if code.IsResult(result.Type()) && r.Local(&x.Call) == nil {
					return true
				}
			}
		case *ssa.UnOp:
			if global, ok := x.X.(*ssa.Global); ok && code.IsResult(global.Type()) {
				return true
			}
		}
	}
	return false
}
