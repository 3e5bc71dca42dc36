package rules

import (
	"go/ast"
	"go/types"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/migrate/rewrite"
)

// functions maps functions of controller-runtime to runtime functions with the same behavior. The parameters of the
// runtime function accept all arguments of controller-runtime's function, and the results have identical types.
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

// constants maps constants of controller-runtime to runtime constants with the same value and type.
var constants = map[string]string{
	"pkg/controller/controllerutil.OperationResultCreated":           "controllerutil.OperationResultCreated",
	"pkg/controller/controllerutil.OperationResultNone":              "controllerutil.OperationResultNone",
	"pkg/controller/controllerutil.OperationResultUpdated":           "controllerutil.OperationResultUpdated",
	"pkg/controller/controllerutil.OperationResultUpdatedStatus":     "controllerutil.OperationResultUpdatedStatus",
	"pkg/controller/controllerutil.OperationResultUpdatedStatusOnly": "controllerutil.OperationResultUpdatedStatusOnly",
}

// alias replaces a type that is an alias with its target, which is the first type outside controller-runtime in the
// chain of aliases.
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

// targetOf returns the name of the first type outside controller-runtime in a chain of aliases. It returns nil if no
// such type exists, or if the type is generic.
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

// reconciler replaces the Reconciler interface. Values of both interfaces are assignable to each other, but slices of
// them are not. If a package assigns such slices, this group of rules is not applied to it.
func reconciler(f *rewrite.File, n *ast.SelectorExpr) bool {
	name, ok := f.Imported(n).(*types.TypeName)
	if !ok || rewrite.Key(name) != "pkg/reconcile.Reconciler" {
		return false
	}
	const pkg = rewrite.Runtime + "/reconcile"
	f.Replace(n, f.Qualified(pkg, "Reconciler")+"["+f.Qualified(pkg, "Request")+"]")
	return true
}

// call replaces the function in a call. It does not replace a function that is used as a value, because the code may
// need the exact type.
func call(f *rewrite.File, n *ast.CallExpr) bool {
	selector, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	if function, ok := f.Imported(selector).(*types.Func); ok {
		replace(f, selector, functions[rewrite.Key(function)])
	}
	return false // the arguments are visited next
}

// constant replaces a constant.
func constant(f *rewrite.File, n *ast.SelectorExpr) bool {
	object, ok := f.Imported(n).(*types.Const)
	return ok && replace(f, n, constants[rewrite.Key(object)])
}

// replace replaces a selector with a name of the runtime, such as "client.IgnoreNotFound". It does nothing for "".
func replace(f *rewrite.File, n ast.Node, name string) bool {
	pkg, name, found := strings.Cut(name, ".")
	if found {
		f.Replace(n, f.Qualified(path.Join(rewrite.Runtime, pkg), name))
	}
	return found
}

// Packages returns the runtime packages that rules may add to the imports of a file, without the path of the module.
func Packages() []string {
	// The tables do not have the packages of loggers and of the targets of aliases.
	packages := []string{
		"runtime/finalizer", "runtime/log", "runtime/object", "runtime/reconcile", "runtime/webhook/admission",
	}
	for _, table := range []map[string]string{functions, constants, clientTypes, clientValues} {
		for _, name := range table {
			pkg, _, _ := strings.Cut(name, ".")
			packages = append(packages, path.Join("runtime", pkg))
		}
	}
	slices.Sort(packages)
	return slices.Compact(packages)
}
