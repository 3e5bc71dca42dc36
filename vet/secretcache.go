package vet

import (
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

var secretCache = &Rule{
	Name:   "secretcache",
	Reason: "The process holds every Secret of the cluster in memory, and needs the right to list them all.",
	Hint:   "restrict Secrets in Options.Cache, or exclude them from the cache with Options.Client.Cache.DisableFor",
	Details: "The rule reports a controller-runtime manager whose options restrict neither its cache nor its client. " +
		"The same function must set up controllers of a package that watches Secrets, or in which a reconciler reads " +
		"Secrets with a manager's client. Metadata-only watches do not count.",
	check: func(r *reporter) {
		for _, fn := range r.Funcs {
			for call := range code.Calls(fn) {
				if !newManager(call) || !unrestricted(call) {
					continue
				}
				if place := secretsOf(r, fn); place != "" {
					r.at(r.Start(call.Pos()), "the cache of this manager holds all Secrets: %s", place)
				}
			}
		}
	},
}

// secretsOf returns a place that uses Secrets in a package with a function that fn calls, or "".
func secretsOf(r *reporter, fn *ssa.Function) string {
	for call := range code.Calls(fn) {
		callee := code.Callee(&call.Call)
		if callee == nil {
			continue
		}
		if places := r.Secrets(callee.Pkg()); len(places) > 0 {
			return places[0]
		}
	}
	return ""
}

// newManager reports whether a call creates a controller-runtime manager.
func newManager(call *ssa.Call) bool {
	if len(call.Call.Args) != 2 {
		return false
	}
	path, name := code.NameOf(call.Call.Args[1].Type())
	return name == "Options" && strings.HasSuffix(path, "controller-runtime/pkg/manager") &&
		(calleeName(call) == "NewManager" || calleeName(call) == "New")
}

// unrestricted reports whether a manager's options are a literal that configures neither the cache nor the client.
func unrestricted(call *ssa.Call) bool {
	load, ok := call.Call.Args[1].(*ssa.UnOp)
	if !ok {
		_, zero := call.Call.Args[1].(*ssa.Const)
		return zero
	}
	alloc, ok := load.X.(*ssa.Alloc)
	if !ok {
		return false
	}
	for _, use := range *alloc.Referrers() {
		switch use := use.(type) {
		case *ssa.FieldAddr:
			switch code.FieldName(use) {
			case "Cache", "Client", "NewCache", "NewClient":
				return false
			}
		case *ssa.UnOp, *ssa.DebugRef:
		default:
			return false
		}
	}
	return true
}
