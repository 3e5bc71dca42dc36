package vet

import (
	"go/ast"

	"golang.org/x/tools/go/ssa"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

var storedContext = &Rule{
	Name:   "storedcontext",
	Reason: "A context in a struct belongs to another call: it may have ended, or never ends.",
	Hint:   "pass the context of Reconcile as a parameter",
	Details: "The rule reports a field of type context.Context in a type with a Reconcile method. It also reports a " +
		"client call that takes its context from a field, in a function that has a context parameter.",
	check: func(r *reporter) {
		for _, fn := range r.Funcs {
			if fn.Name() == "Reconcile" && code.IsReconciler(fn) && fn.Signature.Recv() != nil {
				reportContextField(r, fn)
			}
			if contextParameter(fn) == nil {
				continue
			}
			for call := range code.Calls(fn) {
				op := r.OpOf(call)
				if op == nil || op.Context == nil {
					continue
				}
				if load, ok := op.Context.(*ssa.UnOp); ok {
					if field := code.FieldVar(load.X); field != nil {
						r.at(r.Start(call.Pos()), "%s uses the context in field %s instead of %s", op.Name, field.Name(),
							contextParameter(fn).Name())
					}
				}
			}
		}
	},
}

// reportContextField reports the fields of type context.Context in a reconciler.
func reportContextField(r *reporter, reconcile *ssa.Function) {
	_, name := code.NameOf(reconcile.Signature.Recv().Type())
	for _, file := range r.SourceFiles() {
		for _, decl := range file.Decls {
			general, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range general.Specs {
				spec, ok := spec.(*ast.TypeSpec)
				if !ok || spec.Name.Name != name {
					continue
				}
				definition, ok := spec.Type.(*ast.StructType)
				if !ok {
					continue
				}
				for _, field := range definition.Fields.List {
					if code.IsContext(r.TypesInfo.TypeOf(field.Type)) {
						r.at(field.Pos(), "%s stores a context", name)
					}
				}
			}
		}
	}
}
