package migrate

import (
	"go/ast"
)

// testRules are about suites on an API server and the fake client.
var testRules = []Rule{
	{
		Name: "the folder of an API server's programs",
		Matches: func(f *file, n ast.Node) bool {
			statement, ok := n.(*ast.IfStmt)
			if !ok || statement.Else != nil || len(statement.Body.List) != 1 {
				return false
			}
			key, _, _ := f.fieldSet(statement.Body.List[0])
			return key == "envtest#BinaryAssetsDirectory"
		},
		Rewrite: func(*file, ast.Node) string { return removed },
		Reason:  "the API server is in memory, or compiled by kctrl",
	},
	{
		Name: "the search for an API server's programs",
		Matches: func(f *file, n ast.Node) bool {
			decl, ok := n.(*ast.FuncDecl)
			return ok && decl.Recv == nil && decl.Name.Name == "getFirstFoundEnvTestBinaryDir"
		},
		Rewrite: func(*file, ast.Node) string { return removed },
		Reason:  "the API server is in memory, or compiled by kctrl",
	},
}

// schemeRules are about API packages.
var schemeRules = []Rule{
	{
		Name:    "a builder of a scheme",
		Matches: func(f *file, n ast.Node) bool { return f.isLiteral(n, "scheme.Builder") && isPointer(n) },
		Rewrite: func(*file, ast.Node) string { return fill("{runtimepkg}.NewSchemeBuilder()") },
		Reason:  "API packages import apimachinery only",
	},
	{
		Name: "kinds for a scheme",
		Matches: func(f *file, n ast.Node) bool {
			call, selector, key := f.method(n)
			return key == "scheme#Register" && len(call.Args) > 0 && f.groupVersion(selector.X) != ""
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			gv := f.groupVersion(selector.X)
			text := f.text(selector.X) + fill(".Register(func(scheme *{runtimepkg}.Scheme) error {\nscheme.AddKnownTypes(") + gv
			for _, arg := range call.Args {
				text += ", " + f.text(arg)
			}
			return text + fill(")\n{metav1}.AddToGroupVersion(scheme, ") + gv + ")\nreturn nil\n})"
		},
		Reason: "API packages import apimachinery only",
	},
}

func isPointer(n ast.Node) bool {
	_, ok := n.(*ast.UnaryExpr)
	return ok
}

// groupVersion returns the group version of the builder of a scheme, as its package writes it.
func (f *file) groupVersion(builder ast.Expr) string {
	ident, ok := builder.(*ast.Ident)
	if !ok || f.info.Uses[ident] == nil {
		return ""
	}
	return f.groupVersions[f.info.Uses[ident].Pkg().Path()+"."+ident.Name]
}
