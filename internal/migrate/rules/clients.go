package rules

import (
	"go/ast"
	"go/types"

	"github.com/kctrl-dev/kctrl/internal/migrate/rewrite"
)

// clientTypes maps controller-runtime's types of clients and of call options to the types of the runtime. A package
// changes all of them or none: if it uses an option that only controller-runtime has, the result does not compile, and
// this group is not applied to the package.
var clientTypes = map[string]string{
	"pkg/client.Client":                 "client.Client",
	"pkg/client.Continue":               "client.Continue",
	"pkg/client.FieldOwner":             "client.FieldOwner",
	"pkg/client.FieldValidation":        "client.FieldValidation",
	"pkg/client.GetOption":              "client.GetOption",
	"pkg/client.GracePeriodSeconds":     "client.GracePeriodSeconds",
	"pkg/client.HasLabels":              "client.HasLabels",
	"pkg/client.InNamespace":            "client.InNamespace",
	"pkg/client.Limit":                  "client.Limit",
	"pkg/client.ListOption":             "client.ListOption",
	"pkg/client.ListOptions":            "client.ListOptions",
	"pkg/client.MatchingFields":         "client.MatchingFields",
	"pkg/client.MatchingFieldsSelector": "client.MatchingFieldsSelector",
	"pkg/client.MatchingLabels":         "client.MatchingLabels",
	"pkg/client.MatchingLabelsSelector": "client.MatchingLabelsSelector",
	"pkg/client.PropagationPolicy":      "client.PropagationPolicy",
	"pkg/client.Reader":                 "client.Reader",
	"pkg/client.StatusWriter":           "client.SubResourceWriter",
	"pkg/client.SubResourceWriter":      "client.SubResourceWriter",
	"pkg/client.Writer":                 "client.Writer",
}

// clientValues are variables and constants that are call options.
var clientValues = map[string]string{
	"pkg/client.DryRunAll":      "client.DryRunAll",
	"pkg/client.ForceOwnership": "client.ForceOwnership",
}

// clientConverters convert clients that rewritten packages exchange with other packages.
var clientConverters = []rewrite.Converter{
	{From: theirClients + ".Client", Path: theirClients, Name: "ToKctrl"},
	{From: theirClients + ".WithWatch", Path: theirClients, Name: "ToKctrl"},
	{From: rewrite.Runtime + "/client.Client", Path: theirClients, Name: "FromKctrl"},
}

// theirClients is the path of controller-runtime's client package.
const theirClients = rewrite.ControllerRuntime + "/pkg/client"

// clientType replaces the types of clients and options.
func clientType(f *rewrite.File, n *ast.SelectorExpr) bool {
	object, ok := f.Imported(n).(*types.TypeName)
	return ok && replace(f, n, clientTypes[rewrite.Key(object)])
}

// clientValue replaces values that are options.
func clientValue(f *rewrite.File, n *ast.SelectorExpr) bool {
	switch object := f.Imported(n).(type) {
	case *types.Var, *types.Const:
		return replace(f, n, clientValues[rewrite.Key(object)])
	}
	return false
}

// newClient replaces client.New(config, client.Options{Scheme: ...}). The field Scheme is required, because the runtime
// has no default scheme, and it is the only option with the same meaning in both APIs.
func newClient(f *rewrite.File, n *ast.CallExpr) bool {
	function, ok := n.Fun.(*ast.SelectorExpr)
	if !ok || len(n.Args) != 2 {
		return false
	}
	object, ok := f.Imported(function).(*types.Func)
	if !ok || rewrite.Key(object) != "pkg/client.New" {
		return false
	}
	options, ok := n.Args[1].(*ast.CompositeLit)
	if !ok || len(options.Elts) != 1 {
		return false
	}
	field, ok := options.Elts[0].(*ast.KeyValueExpr)
	if !ok {
		return false
	}
	if key, ok := field.Key.(*ast.Ident); ok && key.Name == "Scheme" {
		replace(f, function, "client.New")
		replace(f, options.Type, "client.Options")
	}
	return false // the arguments are visited next
}
