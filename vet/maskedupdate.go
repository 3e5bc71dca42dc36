package vet

import (
	"golang.org/x/tools/go/ssa"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

var maskedUpdate = &Rule{
	Name:   "maskedupdate",
	Reason: "The object lacks the fields that were not read, so that an update would remove them from the API server.",
	Hint:   "read the whole object, or send a patch of what changed",
	Details: "The rule reports Update and Create of a PartialObjectMetadata. It also reports Update of an object whose " +
		"metadata was copied from a PartialObjectMetadata.",
	check: func(r *reporter) {
		for _, fn := range r.Funcs {
			for call := range code.Calls(fn) {
				op := r.OpOf(call)
				if op == nil || op.Object == nil || op.Verb != code.Update && op.Verb != code.Create {
					continue
				}
				switch {
				case isPartial(op.Object):
					r.at(r.Start(call.Pos()), "%s sends an object of which only the metadata was read", op.Name)
				case op.Verb == code.Update && copiesMetadata(fn, op.Object):
					r.at(r.Start(call.Pos()), "Update sends an object that has only the metadata of a PartialObjectMetadata")
				}
			}
		}
	},
}

func isPartial(v ssa.Value) bool {
	return code.IsNamed(v.Type(), "k8s.io/apimachinery/pkg/apis/meta/v1", "PartialObjectMetadata")
}

// copiesMetadata reports whether a function fills only the ObjectMeta of an object, from a PartialObjectMetadata.
func copiesMetadata(fn *ssa.Function, object ssa.Value) bool {
	if _, local := object.(*ssa.Alloc); !local {
		return false
	}
	copied := false
	for instr := range code.Instructions(fn) {
		store, ok := instr.(*ssa.Store)
		if !ok {
			continue
		}
		field, ok := store.Addr.(*ssa.FieldAddr)
		if !ok || field.X != object || code.FieldName(field) != "ObjectMeta" {
			continue
		}
		load, ok := store.Val.(*ssa.UnOp)
		if !ok {
			return false
		}
		from, ok := load.X.(*ssa.FieldAddr)
		if !ok || !isPartial(from.X) {
			return false
		}
		copied = true
	}
	return copied && !readInto(fn, object)
}

// readInto reports whether a function passes an object to any call other than Update.
func readInto(fn *ssa.Function, object ssa.Value) bool {
	for call := range code.Calls(fn) {
		if name := calleeName(call); name != "Update" && code.Takes(call, object) {
			return true
		}
	}
	return false
}
