package vet

import "github.com/kctrl-dev/kctrl/vet/internal/code"

var blockingSleep = &Rule{
	Name:   "blockingsleep",
	Reason: "A sleeping reconcile occupies a worker, and other objects wait for it.",
	Hint:   "return RequeueAfter, or watch what you wait for",
	Details: "The rule reports time.Sleep and the polling functions of package wait in a reconciler and in the " +
		"functions that it calls. It follows calls into other packages of the module, but not goroutines.",
	check: func(r *reporter) {
		for fn, caller := range r.Reconciles {
			for call := range code.Calls(fn) {
				if sleeps := r.Sleep(&call.Call); sleeps != "" {
					by := ""
					if caller != fn {
						by = ", which " + code.Describe(caller) + " calls"
					}
					r.at(r.Start(call.Pos()), "%s blocks %s%s", sleeps, code.Describe(fn), by)
				}
				if s := r.Summary(&call.Call); s != nil && s.Sleeps != "" && r.Local(&call.Call) == nil {
					r.at(r.Start(call.Pos()), "%s blocks %s by %s", code.Callee(&call.Call).Name(), code.Describe(fn), s.Sleeps)
				}
			}
		}
	},
}
