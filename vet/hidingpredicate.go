package vet

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

var hidingPredicate = &Rule{
	Name:   "hidingpredicate",
	Reason: "The predicate drops changes that the reconciler reacts to.",
	Hint:   "combine the predicate by Or with one for what is read, or set it on the other watches only",
	Details: "The rule knows GenerationChangedPredicate and kctrl's SpecChanged, which drop changes of labels, " +
		"annotations and status. It reports one on the reconciled kind if the reconciler reads its labels or " +
		"annotations. It reports one on another watch if the reconciler reads the status of that kind. It reports " +
		"GenerationChangedPredicate on ConfigMaps and Secrets, which have no generation. Combinations by Or, and " +
		"kinds with two watches, are not reported.",
	check: func(r *reporter) {
		for _, s := range setups(r) {
			functions := tree(r, s.reconcile)
			for _, filter := range s.filters {
				for _, predicate := range variadicArguments(filter) {
					if generationOnly(predicate) {
						for _, watch := range s.watches {
							checkHidden(r, functions, watch, filter, generic(filter), twice(s, watch))
						}
					}
				}
			}
			for _, watch := range s.watches {
				for _, option := range watch.Options {
					if generationOption(option) {
						checkHidden(r, functions, watch, watch.Call, own(watch.Call), twice(s, watch))
					}
				}
			}
		}
	},
}

// twice reports whether a controller has a second watch for the kind of a watch, which may see what the first one
// drops.
func twice(s *setup, watch *code.Watch) bool {
	return slices.ContainsFunc(s.watches, func(w *code.Watch) bool { return w != watch && w.Kind == watch.Kind })
}

// own reports whether a call is one of kctrl's runtime, whose predicate accepts all changes of kinds without a
// generation.
func own(call *ssa.Call) bool {
	return !code.Is(code.Callee(&call.Call), "pkg/builder", "-", "For", "Owns", "Watches")
}

func generic(filter *ssa.Call) bool {
	return !code.Is(code.Callee(&filter.Call), "pkg/builder", "-", "WithEventFilter")
}

// variadicArguments returns the arguments of a call after the receiver.
func variadicArguments(call *ssa.Call) []ssa.Value {
	last := call.Call.Args[len(call.Call.Args)-1]
	if elements, ok := code.Elements(last); ok {
		return elements
	}
	return []ssa.Value{code.Unwrap(last)}
}

// generationOption reports whether an option of a watch, or a predicate, drops all changes but those of the generation.
func generationOption(v ssa.Value) bool {
	if generationOnly(v) {
		return true
	}
	call, ok := v.(*ssa.Call)
	if !ok || !code.Is(code.Callee(&call.Call), "pkg/builder", "-", "WithPredicates") {
		return false
	}
	return slices.ContainsFunc(variadicArguments(call), generationOnly)
}

// generationOnly reports whether a predicate, alone or by And, drops all changes but those of the generation.
func generationOnly(v ssa.Value) bool {
	v = code.Unwrap(v)
	if _, name := code.NameOf(v.Type()); name == "GenerationChangedPredicate" {
		return true
	}
	call, ok := v.(*ssa.Call)
	if !ok {
		return false
	}
	fn := code.Callee(&call.Call)
	switch {
	case code.Is(fn, "pkg/predicate", "predicate", "SpecChanged"):
		return true
	case code.Is(fn, "pkg/predicate", "predicate", "And"):
		return slices.ContainsFunc(variadicArguments(call), generationOnly)
	}
	return false
}

// checkHidden reports what the functions of a reconciler read of a kind and do not learn about.
func checkHidden(r *reporter, functions []*ssa.Function, watch *code.Watch, filter *ssa.Call, own, watchedTwice bool) {
	if watch.Kind == "" || watch.Metadata || watchedTwice {
		return
	}
	if exempt(watch.Kind) {
		if !own {
			r.at(r.Start(filter.Pos()), "the predicate drops all changes of %ss, which have no generation",
				code.ShortKind(watch.Kind))
		}
		return
	}
	fields := []string{"Status"}
	if watch.Method == "For" {
		fields = []string{"Labels", "Annotations"}
	}
	for _, fn := range functions {
		for instr := range code.Instructions(fn) {
			if field := readsField(instr, watch.Kind, fields); field != "" {
				r.at(r.Start(filter.Pos()), "the predicate hides changes of %s of %s, read at %s", field,
					code.ShortKind(watch.Kind), r.Short(instr.Pos()))
				return
			}
		}
	}
}

// readsField returns which of the fields of an object of a kind an instruction reads.
func readsField(instr ssa.Instruction, kind string, fields []string) string {
	switch x := instr.(type) {
	case *ssa.UnOp:
		address, ok := x.X.(*ssa.FieldAddr)
		if !ok || onlyWritten(x) {
			return ""
		}
		base, path := code.Path(address)
		if len(path) > 0 && slices.Contains(fields, path[0]) && code.KindOf(base.Type()) == kind {
			return path[0]
		}
	case *ssa.Call:
		name := calleeName(x)
		if name != "GetLabels" && name != "GetAnnotations" || len(x.Call.Args) != 1 || !slices.Contains(fields, name[3:]) ||
			onlyWritten(x) {
			return ""
		}
		if code.KindOf(receiverObject(x.Call.Args[0]).Type()) == kind {
			return name[3:]
		}
	}
	return ""
}

// onlyWritten reports whether a map is only changed and compared with nil.
func onlyWritten(v ssa.Value) bool {
	for _, use := range *v.Referrers() {
		switch use := use.(type) {
		case *ssa.MapUpdate, *ssa.DebugRef:
		case *ssa.BinOp:
			if !isNil(use.X) && !isNil(use.Y) {
				return false
			}
		default:
			return false
		}
	}
	return true
}
