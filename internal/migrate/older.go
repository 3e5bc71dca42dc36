package migrate

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// What controller-runtime had in versions before 0.16, which kubebuilder's layout v3 is of.

// oldWebhook writes the options of the server of webhooks that were the manager's own: all of them in the place of the first one.
func oldWebhook(name string) func(f *file, value ast.Expr) string {
	return func(f *file, value ast.Expr) string {
		if _, alone := f.around(0).(*ast.AssignStmt); alone {
			return "Webhook." + map[string]func(*file, ast.Expr) string{
				"Port": address, "Host": host, "CertDir": wrapped("CertDir: ", ""),
			}[name](f, value)
		}
		if f.sibling("WebhookServer") != nil {
			return removed // a server that is given is not told of them
		}
		var fields []string
		first := true
		for _, other := range []string{"Host", "Port", "CertDir"} {
			v := f.sibling(other)
			if v == nil {
				continue
			}
			if first && other != name {
				return removed
			}
			first = false
			switch {
			case other == "Host" && f.sibling("Port") == nil:
				fields = append(fields, host(f, v))
			case other == "Port":
				fields = append(fields, address(f, v))
			case other == "CertDir":
				fields = append(fields, "CertDir: "+f.text(v))
			}
		}
		return "Webhook: " + fill("{manager}.WebhookOptions{") + strings.Join(fields, ", ") + "}"
	}
}

// plainMetrics says where metrics are served, and that it is without TLS, as it was where nothing asks for it.
func plainMetrics(f *file, value ast.Expr) string {
	text := "BindAddress: " + f.text(value)
	assign, assigned := f.around(0).(*ast.AssignStmt)
	if v := f.info.Types[value].Value; v != nil && v.ExactString() == `"0"` || assigned && f.choosesTLS(assign) || !assigned && f.sibling("SecureServing") != nil {
		return text
	}
	return text + ",\nInsecure: true"
}

// oldMetrics says where metrics are served, which was an option of the manager itself.
func oldMetrics(f *file, value ast.Expr) string {
	text := plainMetrics(f, value)
	if _, assigned := f.around(0).(*ast.AssignStmt); assigned {
		return "Metrics." + strings.Replace(text, "Insecure: ", "Metrics.Insecure: ", 1)
	}
	return "Metrics: " + fill("{manager}.MetricsOptions{") + strings.Replace(text, "\n", " ", 1) + "}"
}

// choosesTLS reports whether something says if metrics are served over TLS, other than after the assignment of their address and on a condition:
// in the same function, or anywhere else in the package, from where the options may come.
func (f *file) choosesTLS(assign *ast.AssignStmt) bool {
	chooses := false
	if block, ok := f.around(1).(*ast.BlockStmt); ok {
		chooses = slices.ContainsFunc(block.List, func(statement ast.Stmt) bool {
			key, _, _ := f.fieldSet(statement)
			return key == "metrics/server#SecureServing"
		})
	}
	for ident, object := range f.info.Uses {
		field, ok := object.(*types.Var)
		if !ok || !field.IsField() || field.Name() != "SecureServing" || short(field.Pkg().Path()) != "metrics/server" {
			continue
		}
		after := assign.End() <= ident.Pos() && ident.Pos() < f.declaration().End()
		chooses = chooses || !after
	}
	return chooses
}

// declaration returns the declaration that the node which is looked at is in.
func (f *file) declaration() ast.Node {
	return f.stack[slices.IndexFunc(f.stack, func(n ast.Node) bool { _, ok := n.(ast.Decl); return ok })]
}

// olderRules are about suites and webhooks of that time.
var olderRules = []Rule{{
	Name:    "a server of webhooks that is a literal",
	Matches: func(f *file, n ast.Node) bool { return isPointer(n) && f.isLiteral(n, "webhook.Server") },
	Rewrite: func(f *file, n ast.Node) string { return f.text(n.(*ast.UnaryExpr).X) },
	Reason:  "the manager makes the server from its options",
}, {
	Name:    "an object that is its own webhook",
	Matches: func(f *file, n ast.Node) bool { return f.selfWebhook(n) != "" },
	Rewrite: func(f *file, n ast.Node) string { return fill("{compat/untyped}." + f.selfWebhook(n)) },
	Reason:  "Defaulter and Validator are of a Go type",
}, {
	Name: "a suite with the reporter of envtest",
	Matches: func(f *file, n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 3 {
			return false
		}
		name := call.Fun
		if selector, ok := name.(*ast.SelectorExpr); ok {
			name = selector.Sel
		}
		reporters, ok := call.Args[2].(*ast.CompositeLit)
		return ok && isIdent(name, "RunSpecsWithDefaultAndCustomReporters") && !slices.ContainsFunc(reporters.Elts, func(e ast.Expr) bool {
			return f.typeOf(e) != "envtest/printer.NewlineReporter"
		})
	},
	Rewrite: func(f *file, n ast.Node) string {
		call := n.(*ast.CallExpr)
		name := strings.Replace(f.raw(call.Fun), "RunSpecsWithDefaultAndCustomReporters", "RunSpecs", 1)
		return name + "(" + strings.Join(f.texts(call.Args[:2]), ", ") + ")"
	},
	Reason: "the reporter was for another version of Ginkgo",
}}

// selfWebhook returns the name of the interface of objects that are their own defaulters or validators, which had the names of the
// typed ones until version 0.20.
func (f *file) selfWebhook(n ast.Node) string {
	key := f.symbol(n)
	name := base(key)
	if !slices.Contains([]string{"webhook.Defaulter", "webhook.Validator", "webhook/admission.Defaulter", "webhook/admission.Validator"}, key) {
		return ""
	}
	e, ok := n.(ast.Expr)
	if !ok {
		return ""
	}
	named, ok := types.Unalias(f.info.TypeOf(e)).(*types.Named)
	if !ok || named.TypeParams().Len() > 0 {
		return ""
	}
	method, ok := methodOf(named, map[string]string{"Defaulter": "Default", "Validator": "ValidateCreate"}[name])
	if !ok || method.Params().Len() > 0 || name == "Validator" && method.Results().Len() != 2 {
		return ""
	}
	return "Self" + name
}
