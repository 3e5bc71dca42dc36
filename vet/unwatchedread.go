package vet

import (
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

var unwatchedRead = &Rule{
	Name:   "unwatchedread",
	Reason: "A change of the object leads to no reconcile, so that the result stays old until something else changes.",
	Hint:   "watch the kind, and map its objects to requests",
	Details: "The rule reports a kind that a reconciler reads from controller-runtime's cache and that its builder " +
		"does not watch. It reports nothing for a controller with a watch that is not known statically, or whose " +
		"reconciler may requeue its requests. It does not report a read in a function that the reconciler of the read " +
		"kind also calls, or that other packages may call. It does not report reads while the object is deleted, and " +
		"reads of Secrets and ConfigMaps, which programs often exclude from the cache. The rule does not apply to " +
		"kctrl's runtime, whose client reads unwatched kinds directly from the API server.",
	check: func(r *reporter) {
		all := setups(r)
		trees := map[*setup][]*ssa.Function{}
		for _, s := range all {
			trees[s] = tree(r, s.reconcile)
		}
		handled := func(fn *ssa.Function, kind string) bool {
			return slices.ContainsFunc(all, func(s *setup) bool {
				return reconciles(s, kind) && slices.Contains(trees[s], fn)
			})
		}
		for _, s := range all {
			if s.unknown || within(s.reconcile, "github.com/kctrl-dev/kctrl/runtime") {
				continue
			}
			functions := trees[s]
			if slices.ContainsFunc(functions, func(fn *ssa.Function) bool { return polls(r, fn) }) {
				continue
			}
			reported := map[string]bool{}
			ending := deletes(r, functions)
			for _, fn := range functions {
				if offered(s, fn) || ending[fn] {
					continue
				}
				for call := range code.Calls(fn) {
					op := r.OpOf(call)
					if op == nil || !r.ReadsCache(op) || exempt(op.Kind) || reported[op.Kind] || watched(s, op.Kind) ||
						handled(fn, op.Kind) || deleting(call.Block()) {
						continue
					}
					reported[op.Kind] = true
					r.at(r.Start(call.Pos()), "%s reads %s, which the controller does not watch", code.Describe(s.reconcile),
						code.ShortKind(op.Kind))
				}
			}
		}
	},
}

// within reports whether a reconciler belongs to the runtime at path, by the type of its Result.
func within(reconcile *ssa.Function, path string) bool {
	result, _ := code.NameOf(reconcile.Signature.Results().At(0).Type())
	return strings.HasPrefix(result, path)
}

// offered reports whether other packages may call a function for their controllers: it is exported, and not a method of
// the reconciler.
func offered(s *setup, fn *ssa.Function) bool {
	for fn.Parent() != nil {
		fn = fn.Parent()
	}
	if recv := fn.Signature.Recv(); recv != nil {
		_, name := code.NameOf(recv.Type())
		if _, own := code.NameOf(s.reconcile.Signature.Recv().Type()); name == own {
			return false
		}
	}
	return token.IsExported(fn.Name())
}

// deletes returns the functions that the others call only while an object is deleted. The first one is the root.
func deletes(r *reporter, functions []*ssa.Function) map[*ssa.Function]bool {
	ending := map[*ssa.Function]bool{}
	for changed := true; changed; {
		changed = false
		alive := map[*ssa.Function]bool{functions[0]: true}
		for _, caller := range functions {
			for instr := range code.Instructions(caller) {
				var fn *ssa.Function
				switch x := instr.(type) {
				case ssa.CallInstruction:
					fn = r.Local(x.Common())
				case *ssa.MakeClosure:
					fn = x.Fn.(*ssa.Function)
				}
				if fn != nil && !ending[caller] && !deleting(instr.Block()) {
					alive[fn] = true
				}
			}
		}
		for _, fn := range functions {
			if !alive[fn] && !ending[fn] {
				ending[fn], changed = true, true
			}
		}
	}
	return ending
}

// deleting reports whether a block runs only if an object has a deletion timestamp.
func deleting(block *ssa.BasicBlock) bool {
	for condition, holds := range code.Branches(block) {
		switch x := condition.(type) {
		case *ssa.Call:
			if fn := code.Callee(&x.Call); fn != nil && fn.Name() == "IsZero" && len(x.Call.Args) == 1 && !holds &&
				isDeletion(x.Call.Args[0]) {
				return true
			}
		case *ssa.BinOp:
			tested := x.X
			if isNil(tested) {
				tested = x.Y
			}
			if isDeletion(tested) && (isNil(x.X) || isNil(x.Y)) && holds == (x.Op == token.NEQ) {
				return true
			}
		}
	}
	return false
}

// isDeletion reports whether a value is the deletion timestamp of an object.
func isDeletion(v ssa.Value) bool {
	switch x := v.(type) {
	case *ssa.Call:
		if x.Call.IsInvoke() {
			return x.Call.Method.Name() == "GetDeletionTimestamp"
		}
		fn := code.Callee(&x.Call)
		return fn != nil && fn.Name() == "GetDeletionTimestamp"
	case *ssa.UnOp:
		field := code.FieldVar(x.X)
		return field != nil && field.Name() == "DeletionTimestamp"
	}
	return false
}

func exempt(kind string) bool {
	return kind == "k8s.io/api/core/v1.Secret" || kind == "k8s.io/api/core/v1.ConfigMap"
}

func watched(s *setup, kind string) bool {
	return slices.ContainsFunc(s.watches, func(w *code.Watch) bool { return w.Kind == kind })
}

// reconciles reports whether a controller reconciles a kind.
func reconciles(s *setup, kind string) bool {
	return slices.ContainsFunc(s.watches, func(w *code.Watch) bool { return w.Method == "For" && w.Kind == kind })
}
