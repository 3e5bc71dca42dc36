package migrate

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// clientRules are about clients.
var clientRules = []Rule{
	{
		Name: "an object is applied",
		Matches: func(f *file, n ast.Node) bool {
			call, _, key := f.method(n)
			return key == "client#Patch" && len(call.Args) >= 3 && f.symbol(call.Args[2]) == "client.Apply"
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			args := append(f.texts(call.Args[:2]), f.texts(call.Args[3:])...)
			return f.text(selector.X) + ".Apply(" + strings.Join(args, ", ") + ellipsis(call) + ")"
		},
		Reason: "apply is a verb of its own",
	},
	{
		Name: "a configuration is applied",
		Matches: func(f *file, n ast.Node) bool {
			_, selector, key := f.method(n)
			return key == "client#Apply" && !f.isInterceptor(selector)
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			name := "ApplyConfiguration"
			receiver := selector.X
			if _, status, key := f.method(receiver); key == "client#Status" {
				name, receiver = "ApplyStatusConfiguration", status.X
			}
			args := append([]string{f.text(call.Args[0]), f.text(receiver)}, f.texts(call.Args[1:])...)
			return fill("{client}."+name+"(") + strings.Join(args, ", ") + ellipsis(call) + ")"
		},
		Reason: "Apply of a client takes objects; configurations have a function",
	},
	{
		Name:    "a configuration of an unstructured object",
		Matches: matchCall("client.ApplyConfigurationFromUnstructured"),
		Rewrite: func(f *file, n ast.Node) string {
			call, _ := f.called(n)
			return f.text(call.Args[0])
		},
		Reason: "it is one as it is",
	},
	{
		Name: "a patch with optimistic lock",
		Matches: func(f *file, n ast.Node) bool {
			call, key := f.called(n)
			return (key == "client.MergeFromWithOptions" || key == "client.StrategicMergeFrom") && len(call.Args) == 2 && f.isLiteral(call.Args[1], "client.MergeFromWithOptimisticLock")
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, key := f.called(n)
			name := "MergeFromWithOptimisticLock"
			if key == "client.StrategicMergeFrom" {
				name = "StrategicMergeFromWithOptimisticLock"
			}
			return fill("{client}."+name+"(") + f.text(call.Args[0]) + ")"
		},
		Reason: "the lock is a function of its own",
	},
	{
		Name: "a patch without options",
		Matches: func(f *file, n ast.Node) bool {
			call, key := f.called(n)
			return key == "client.MergeFromWithOptions" && len(call.Args) == 1
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, _ := f.called(n)
			return fill("{client}.MergeFrom(") + f.text(call.Args[0]) + ")"
		},
		Reason: "it is MergeFrom",
	},
	{
		Name: "a client in an interceptor",
		Matches: func(f *file, n ast.Node) bool {
			if f.symbol(n) != "client.WithWatch" {
				return false
			}
			for i := range 8 {
				field, ok := f.around(i).(*ast.KeyValueExpr)
				if !ok {
					continue
				}
				ident, ok := field.Key.(*ast.Ident)
				return ok && strings.HasPrefix(f.member(ident), "client/interceptor#") && ident.Name != "Watch"
			}
			return false
		},
		Rewrite: func(*file, ast.Node) string { return fill("{client}.Client") },
		Reason:  "an interceptor is given a client",
	},
	{
		Name:    "an object that says only its metadata, for what wants all of it",
		Matches: func(f *file, n ast.Node) bool { return f.isPartOfObject(n) && !f.wrapped[n] },
		Rewrite: func(f *file, n ast.Node) string {
			f.wrapped[n] = true
			return f.text(n) + fill(".({client}.Object)")
		},
		Reason: "owners and what they own are objects",
	},
	{
		Name: "no option",
		Matches: func(f *file, n ast.Node) bool {
			return f.isLiteral(n, "client.MergeFromWithOptimisticLock")
		},
		Rewrite: func(f *file, n ast.Node) string {
			return f.leave(n, "the lock is a function: client.MergeFromWithOptimisticLock(base)", "client.MergeFromWithOptimisticLock(base)") + f.raw(n)
		},
		Reason: "the lock is a function of its own",
	},
}

// isInterceptor reports whether a method is a field of functions.
func (f *file) isInterceptor(selector *ast.SelectorExpr) bool {
	_, isField := f.info.Uses[selector.Sel].(*types.Var)
	return isField
}

// isPartOfObject reports whether a node is an argument of a function about owners that is an interface of less than an object.
func (f *file) isPartOfObject(n ast.Node) bool {
	e, ok := n.(ast.Expr)
	call, key := f.called(f.around(0))
	if !ok || call == nil || !slices.Contains(call.Args, e) {
		return false
	}
	switch strings.TrimPrefix(key, "controller/") {
	case "controllerutil.SetControllerReference", "controllerutil.SetOwnerReference", "controllerutil.RemoveOwnerReference", "controllerutil.RemoveControllerReference",
		"ctrl.SetControllerReference", "controllerutil.HasOwnerReference":
		t := f.info.TypeOf(e)
		return namedOf(t) == "k8s.io/apimachinery/pkg/apis/meta/v1.Object" || isRuntimeObject(t)
	}
	return false
}
