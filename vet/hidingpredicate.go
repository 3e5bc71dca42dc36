package vet

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

var hidingPredicate = &Rule{
	Name:   "hidingpredicate",
	Reason: "The predicate drops changes that the reconciler reacts to.",
	Hint:   "combine the predicate by Or with one that accepts these changes, or set it on the other watches only",
	Details: "The rule checks GenerationChangedPredicate and kctrl's SpecChanged, which drop changes of labels, " +
		"annotations and status. It reports three cases:\n\n" +
		"- The predicate filters the reconciled kind, and the reconciler reads labels or annotations of this kind.\n" +
		"- The predicate filters another watched kind, and the reconciler reads the status of this kind.\n" +
		"- GenerationChangedPredicate filters ConfigMaps or Secrets, which have no generation.\n\n" +
		"The rule does not report combinations by Or, or kinds with two watches.",
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

// twice reports whether a controller has a second watch for the kind of a watch. The second watch may deliver the
// changes that the predicate of the first one drops.
func twice(s *setup, watch *code.Watch) bool {
	return slices.ContainsFunc(s.watches, func(w *code.Watch) bool { return w != watch && w.Kind == watch.Kind })
}

// own reports whether a call belongs to kctrl's runtime, whose predicate accepts all changes of kinds without a
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

// generationOption reports whether a watch option or a predicate drops all changes except changes of the generation.
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

// generationOnly reports whether a predicate, alone or in an And, drops all changes except changes of the generation.
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

// checkHidden reports a field of a kind that the functions of a reconciler read and whose changes the predicate drops.
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

// readsField returns the one of fields that an instruction reads from an object of a kind, or "".
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

// onlyWritten reports whether the only uses of a map are changes and comparisons with nil.
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
