package vet

import (
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

var unwatchedRead = &Rule{
	Name:   "unwatchedread",
	Reason: "A change of the object leads to no reconcile, so that the result stays old until something else changes.",
	Hint:   "watch the kind, and map its objects to requests",
	Details: "The rule reports a kind that a reconciler reads from the cache of controller-runtime and that " +
		"its builder does not watch. It reports nothing if a watch is not known statically, or if any reconcile " +
		"asks for another one after a time. It does not report Secrets and ConfigMaps, which programs often " +
		"exclude from the cache. With kctrl's runtime, a client reads kinds without a watch live.",
	check: func(r *reporter) {
		for _, s := range setups(r) {
			if s.unknown || within(s.reconcile, "github.com/kctrl-dev/kctrl/runtime") {
				continue
			}
			functions := tree(r, s.reconcile)
			if slices.ContainsFunc(functions, func(fn *ssa.Function) bool { return polls(r, fn) }) {
				continue
			}
			reported := map[string]bool{}
			for _, fn := range functions {
				for call := range code.Calls(fn) {
					op := r.OpOf(call)
					if op == nil || !r.ReadsCache(op) || exempt(op.Kind) || reported[op.Kind] || watched(s, op.Kind) {
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

// within reports whether a reconciler is one of the runtime at path.
func within(reconcile *ssa.Function, path string) bool {
	result, _ := code.NameOf(reconcile.Signature.Results().At(0).Type())
	return strings.HasPrefix(result, path)
}

func exempt(kind string) bool {
	return kind == "k8s.io/api/core/v1.Secret" || kind == "k8s.io/api/core/v1.ConfigMap"
}

func watched(s *setup, kind string) bool {
	return slices.ContainsFunc(s.watches, func(w *code.Watch) bool { return w.Kind == kind })
}
