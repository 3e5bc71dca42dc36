package vet

import (
	"golang.org/x/tools/go/ssa"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

var foreignOwner = &Rule{
	Name:   "foreignowner",
	Reason: "The garbage collector deletes an object whose owner is in another namespace, as if the owner were missing.",
	Hint:   "create the object in the namespace of the owner, or use labels and a finalizer",
	Details: "The rule reports SetControllerReference and SetOwnerReference if the owner is namespaced, and the object " +
		"is cluster-scoped or has a constant namespace. The rule knows the scope of built-in kinds, and reads the scope " +
		"of the module's kinds from their markers.",
	check: func(r *reporter) {
		for _, fn := range r.Funcs {
			for call := range code.Calls(fn) {
				if name := calleeName(call); (name == "SetControllerReference" || name == "SetOwnerReference") &&
					len(call.Call.Args) >= 3 {
					checkOwner(r, fn, call)
				}
			}
		}
	},
}

func checkOwner(r *reporter, fn *ssa.Function, call *ssa.Call) {
	owner, object := code.Unwrap(call.Call.Args[0]), code.Unwrap(call.Call.Args[1])
	if cluster, known := r.ScopeOf(owner.Type()); !known || cluster {
		return
	}
	kind := code.ShortKind(code.KindOf(owner.Type()))
	if cluster, known := r.ScopeOf(object.Type()); known && cluster {
		r.at(r.Start(call.Pos()), "a namespaced %s cannot own a cluster-scoped %s", kind,
			code.ShortKind(code.KindOf(object.Type())))
		return
	}
	for store := range code.StoresTo(fn, object, "Namespace") {
		if namespace, ok := code.ConstantString(store.Val); ok && namespace != "" {
			r.at(r.Start(call.Pos()), "the object is in namespace %q, and its owner %s in any namespace", namespace, kind)
		}
	}
}
