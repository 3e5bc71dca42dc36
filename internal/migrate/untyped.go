package migrate

import (
	"go/ast"
	"go/types"
	"slices"
)

// Defaulters and validators of any object become those of the kind that they are registered for, where nothing else of the project asks them
// about any object. Where something does, such as a test with a table of objects, they stay as they are, and are registered by
// untyped.DefaulterOf and untyped.ValidatorOf.

// webhookMethods are the methods of defaulters and validators.
var webhookMethods = []string{"Default", "ValidateCreate", "ValidateUpdate", "ValidateDelete"}

// becomesTyped reports whether the methods of a defaulter or validator, of which this is the name, get the Go type of their kind.
func (p *program) becomesTyped(name string) bool { return p.untyped[name] != nil && !p.anyObject[name] }

// registerUntyped notes that a defaulter or validator is registered for a kind.
func (f *file) registerUntyped(t, kind types.Type) {
	name := namedOf(t)
	if !f.isOwnType(t) {
		return // what has the methods is not rewritten
	}
	if f.untyped[name] != nil && namedOf(f.untyped[name]) != namedOf(kind) || types.IsInterface(kind) {
		f.anyObject[name] = true
	}
	f.untyped[name] = kind
	for _, method := range webhookMethods {
		object, _, _ := types.LookupFieldOrMethod(t, true, nil, method)
		if declared, ok := object.(*types.Func); ok && takesAnyObject(declared) && receiver(declared) != name {
			f.anyObject[name] = true
		}
	}
}

// surveyUntyped finds the defaulters and validators that are asked about any object.
func (p *program) surveyUntyped(files []*file) {
	if len(p.untyped) == 0 {
		return
	}
	for _, f := range files {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if n == nil {
				f.stack = f.stack[:len(f.stack)-1]
				return true
			}
			if name := f.askedAboutAny(n); name != "" {
				f.anyObject[name] = true
			}
			f.stack = append(f.stack, n)
			return true
		})
	}
}

// askedAboutAny returns the name of a defaulter or validator that a node asks about any object, or gives to somebody who may; else "".
func (f *file) askedAboutAny(n ast.Node) string {
	if selector, ok := n.(*ast.SelectorExpr); ok && slices.Contains(webhookMethods, selector.Sel.Name) {
		method, ok := f.info.Uses[selector.Sel].(*types.Func)
		if !ok || f.untyped[receiver(method)] == nil || !takesAnyObject(method) {
			return ""
		}
		call, ok := f.around(0).(*ast.CallExpr)
		if ok && call.Fun == selector && f.isAbout(call, method.Signature(), f.untyped[receiver(method)]) {
			return ""
		}
		return receiver(method)
	}
	e, ok := n.(ast.Expr)
	spec, isSpec := f.around(0).(*ast.ValueSpec)
	if !ok || !isValue(f, e) || isSpec && isAssertion(spec) {
		return ""
	}
	name := namedOf(f.info.TypeOf(e))
	if f.untyped[name] == nil || !isUntypedInterface(f.wanted(e)) && !f.isOwnInterfaceOfWebhooks(f.wanted(e)) {
		return ""
	}
	if call, ok := f.around(0).(*ast.CallExpr); ok {
		if _, _, key := f.method(call); key == "builder#WithCustomDefaulter" || key == "builder#WithCustomValidator" || key == "builder#WithDefaulter" || key == "builder#WithValidator" {
			return ""
		}
	}
	return name
}

// isOwnInterfaceOfWebhooks reports whether a type is an interface of the project's with a method of defaulters or validators of any object.
func (f *file) isOwnInterfaceOfWebhooks(t types.Type) bool {
	if t == nil || !types.IsInterface(t) {
		return false
	}
	return slices.ContainsFunc(webhookMethods, func(name string) bool {
		object, _, _ := types.LookupFieldOrMethod(t, true, f.pkg.Types, name)
		method, ok := object.(*types.Func)
		return ok && takesAnyObject(method)
	})
}

// isAbout reports whether a call gives a method that takes any object only objects of a kind. Nil is none: as a pointer it would be one.
func (f *file) isAbout(call *ast.CallExpr, signature *types.Signature, kind types.Type) bool {
	for i, arg := range call.Args {
		if i >= signature.Params().Len() || !isRuntimeObject(signature.Params().At(i).Type()) {
			continue
		}
		t := f.info.TypeOf(arg)
		if _, isPointer := types.Unalias(t).(*types.Pointer); !isPointer || namedOf(t) != namedOf(kind) {
			return false
		}
	}
	return len(call.Args) == signature.Params().Len()
}

// staysUntyped reports whether a type has a method that takes any object, after the migration too.
func (f *file) staysUntyped(t types.Type, name string) bool {
	if t == nil {
		return false
	}
	object, _, _ := types.LookupFieldOrMethod(t, true, f.pkg.Types, name)
	method, ok := object.(*types.Func)
	return ok && takesAnyObject(method) && !f.becomesTyped(receiver(method))
}
