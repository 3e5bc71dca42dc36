package vet

import (
	"strings"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

var cacheMutation = &Rule{
	Name:   "cachemutation",
	Reason: "Everyone who reads the cache sees the change, and the API server does not have it.",
	Hint:   "change a DeepCopy of the object",
	Details: "The rule reports changes of objects that belong to a cache. These objects come from client-go's listers " +
		"and stores, from cache.View and the listers of kctrl's runtime, and from reads with UnsafeDisableDeepCopy. Event " +
		"handlers, map functions and predicates receive such objects as parameters. The rule follows values through " +
		"variables, wrappers of listers and functions that change a parameter. It does not report a value that may also " +
		"come from another source.",
	check: func(r *reporter) {
		for _, fn := range r.Funcs {
			for _, m := range r.Mutations(fn, r.Cached()) {
				what := "an object of the cache"
				if _, path := code.Path(m.Target); len(path) > 0 {
					what = strings.Join(path, ".") + " of " + what
				}
				if m.Via != "" {
					r.at(r.Start(m.Pos), "%s changes %s", m.Via, what)
				} else {
					r.at(m.Pos, "this changes %s", what)
				}
			}
		}
	},
}
