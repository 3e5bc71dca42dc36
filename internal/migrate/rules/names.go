package rules

import (
	"go/ast"
	"go/types"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/migrate/rewrite"
)

// functions are functions of controller-runtime, and those of the runtime with the same behavior. The parameters of the
// latter accept all arguments of the former, and the results are identical.
var functions = map[string]string{
	"pkg/client.IgnoreAlreadyExists":                       "client.IgnoreAlreadyExists",
	"pkg/client.IgnoreNotFound":                            "client.IgnoreNotFound",
	"pkg/client.ObjectKeyFromObject":                       "object.KeyOf",
	"pkg/client.RawPatch":                                  "client.RawPatch",
	"pkg/controller/controllerutil.AddFinalizer":           "controllerutil.AddFinalizer",
	"pkg/controller/controllerutil.ContainsFinalizer":      "controllerutil.ContainsFinalizer",
	"pkg/controller/controllerutil.HasControllerReference": "controllerutil.HasControllerReference",
	"pkg/controller/controllerutil.RemoveFinalizer":        "controllerutil.RemoveFinalizer",
}

// constants are constants of controller-runtime with the value and the type of those of the runtime.
var constants = map[string]string{
	"pkg/controller/controllerutil.OperationResultCreated":           "controllerutil.OperationResultCreated",
	"pkg/controller/controllerutil.OperationResultNone":              "controllerutil.OperationResultNone",
	"pkg/controller/controllerutil.OperationResultUpdated":           "controllerutil.OperationResultUpdated",
	"pkg/controller/controllerutil.OperationResultUpdatedStatus":     "controllerutil.OperationResultUpdatedStatus",
	"pkg/controller/controllerutil.OperationResultUpdatedStatusOnly": "controllerutil.OperationResultUpdatedStatusOnly",
}

// alias replaces a type that is an alias by its target: the first type outside of controller-runtime that the chain of
// aliases reaches.
func alias(f *rewrite.File, n *ast.SelectorExpr) bool {
	name, ok := f.Imported(n).(*types.TypeName)
	if !ok || !name.IsAlias() {
		return false
	}
	target := targetOf(name.Type())
	if target == nil || strings.Contains(target.Pkg().Path(), "/internal/") {
		return false
	}
	f.Replace(n, f.Qualified(target.Pkg().Path(), target.Name()))
	return true
}

// targetOf returns the name of the first type outside of controller-runtime in a chain of aliases, nil if there is none
// or if it is generic.
func targetOf(t types.Type) *types.TypeName {
	for {
		switch typed := t.(type) {
		case *types.Alias:
			if typed.TypeArgs().Len() > 0 {
				return nil
			}
			if !rewrite.IsControllerRuntime(typed.Obj().Pkg()) {
				return typed.Obj()
			}
			t = typed.Rhs()
		case *types.Named:
			if typed.TypeArgs().Len() > 0 || typed.Obj().Pkg() == nil || rewrite.IsControllerRuntime(typed.Obj().Pkg()) {
				return nil
			}
			return typed.Obj()
		default:
			return nil
		}
	}
}

// reconciler replaces the interface of reconcilers. Values of both interfaces are assignable to each other, but slices
// of them are not; then the package is rewritten without this group of rules.
func reconciler(f *rewrite.File, n *ast.SelectorExpr) bool {
	name, ok := f.Imported(n).(*types.TypeName)
	if !ok || rewrite.Key(name) != "pkg/reconcile.Reconciler" {
		return false
	}
	const pkg = rewrite.Runtime + "/reconcile"
	f.Replace(n, f.Qualified(pkg, "Reconciler")+"["+f.Qualified(pkg, "Request")+"]")
	return true
}

// call replaces the function of a call. A function that is used as a value may need its exact type, and stays.
func call(f *rewrite.File, n *ast.CallExpr) bool {
	selector, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	if function, ok := f.Imported(selector).(*types.Func); ok {
		replace(f, selector, functions[rewrite.Key(function)])
	}
	return false // the arguments follow
}

// constant replaces a constant.
func constant(f *rewrite.File, n *ast.SelectorExpr) bool {
	object, ok := f.Imported(n).(*types.Const)
	return ok && replace(f, n, constants[rewrite.Key(object)])
}

// replace replaces a selector by a name of the runtime, such as "client.IgnoreNotFound". It does nothing for "".
func replace(f *rewrite.File, n ast.Node, name string) bool {
	pkg, name, found := strings.Cut(name, ".")
	if found {
		f.Replace(n, f.Qualified(path.Join(rewrite.Runtime, pkg), name))
	}
	return found
}

// Packages returns the packages of the runtime that rules can make a file import, without the path of the module.
func Packages() []string {
	// The packages of loggers and of the targets of aliases are not in tables.
	packages := []string{"runtime/finalizer", "runtime/log", "runtime/object", "runtime/reconcile"}
	for _, table := range []map[string]string{functions, constants, clientTypes, clientValues} {
		for _, name := range table {
			pkg, _, _ := strings.Cut(name, ".")
			packages = append(packages, path.Join("runtime", pkg))
		}
	}
	slices.Sort(packages)
	return slices.Compact(packages)
}
