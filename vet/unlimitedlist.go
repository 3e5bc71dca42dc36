package vet

import (
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

var unlimitedList = &Rule{
	Name:   "unlimitedlist",
	Reason: "Each reconcile makes the API server send all objects of the kind in the cluster.",
	Hint:   "read from the cache, or set a limit, a namespace or a selector",
	Details: "The rule reports a List without limit, namespace and selector that certainly reads from the API server, " +
		"in a reconciler or in a function that it calls. Typed clients of client-go, the reader of GetAPIReader, " +
		"manager.Live and client.Live read from the API server.",
	check: func(r *reporter) {
		for fn := range r.Reconciles {
			for call := range code.Calls(fn) {
				op := r.OpOf(call)
				if op == nil || op.Verb != code.List || !r.Live(op) {
					continue
				}
				if op.Clientset && clusterWide(op) || !op.Clientset && op.OptionsKnown && unlimited(op.Options) {
					r.at(r.Start(call.Pos()), "List reads every %s of the cluster live", kindOr(op.Kind, "object"))
				}
			}
		}
	},
}

func kindOr(kind, other string) string {
	if kind == "" {
		return other
	}
	return code.ShortKind(kind)
}

// unlimited reports whether no option of a List restricts the result.
func unlimited(options []ssa.Value) bool {
	for _, option := range options {
		if _, name := code.NameOf(option.Type()); name != "LiveRead" {
			return false
		}
	}
	return true
}

// clusterWide reports whether a typed client lists all namespaces without a limit or a selector.
func clusterWide(op *code.Op) bool {
	typed, ok := op.Receiver.(*ssa.Call)
	if !ok {
		return false
	}
	for _, arg := range typed.Call.Args {
		if code.IsNamed(arg.Type(), "", "") || arg == typed.Call.Value {
			continue
		}
		if basic := arg.Type().String(); basic != "string" {
			continue
		}
		namespace, known := code.ConstantString(arg)
		if !known || namespace != "" {
			return false
		}
	}
	return len(op.Options) == 1 && emptyStruct(op.Options[0])
}

// emptyStruct reports whether a ListOptions value sets no field that restricts the result.
func emptyStruct(v ssa.Value) bool {
	if _, zero := v.(*ssa.Const); zero {
		return true
	}
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return false
	}
	alloc, ok := load.X.(*ssa.Alloc)
	if !ok {
		return false
	}
	for _, use := range *alloc.Referrers() {
		switch use := use.(type) {
		case *ssa.FieldAddr:
			if name := code.FieldName(use); name == "Limit" || strings.HasSuffix(name, "Selector") || name == "Continue" {
				return false
			}
		case *ssa.UnOp, *ssa.DebugRef:
		default:
			return false
		}
	}
	return true
}
