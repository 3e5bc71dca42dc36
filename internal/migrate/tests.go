package migrate

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
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
		Name: "a suite that makes definitions by the scheme of client-go",
		Matches: func(f *file, n ast.Node) bool {
			statement, ok := n.(ast.Stmt)
			return ok && !f.wrapped[n] && slices.Contains(listOf(f.around(0)), statement) && f.startsServer(statement) && f.leansOnDefinitions()
		},
		Rewrite: func(f *file, n ast.Node) string {
			f.wrapped[n] = true
			return "// The scheme of client-go has definitions wherever envtest is imported.\n" +
				fill("if err := {apiextensionsv1}.AddToScheme({clientgoscheme}.Scheme); err != nil {\npanic(err)\n}\n") + f.text(n)
		},
		Reason: "compat/envtest changes no scheme of others",
	},
	{
		Name: "a user of an API server",
		Matches: func(f *file, n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			return ok && selector.Sel.Name == "AddUser" && f.programsOf(selector.X) != nil
		},
		Rewrite: func(f *file, n ast.Node) string { return f.text(f.programsOf(n.(*ast.SelectorExpr).X)) + ".AddUser" },
		Reason:  "the environment has users",
	},
	{
		Name: "a field of the options of an installation of definitions",
		Matches: func(f *file, n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok || installed[selector.Sel.Name] == "" {
				return false
			}
			options, ok := selector.X.(*ast.SelectorExpr)
			return ok && f.member(options.Sel) == "envtest#CRDInstallOptions"
		},
		Rewrite: func(f *file, n ast.Node) string {
			selector := n.(*ast.SelectorExpr)
			return f.text(selector.X.(*ast.SelectorExpr).X) + "." + installed[selector.Sel.Name]
		},
		Reason: "the environment has them itself",
	},
	{
		Name: "flags of the API server",
		Matches: func(f *file, n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ExprStmt:
				return f.isOfControlPlane(n.X)
			case *ast.AssignStmt:
				return len(n.Lhs) == 1 && (f.hasTypeOfControlPlane(n.Rhs[0]) || n.Tok == token.ASSIGN && f.isOfControlPlane(n.Lhs[0]))
			}
			return false
		},
		Rewrite: func(f *file, n ast.Node) string {
			f.note(n, "left out: the flags of the API server: KCTRL_TEST_SERVER=real runs one of kctrl env, testenv.Start has options")
			return removed
		},
		Reason: "the API server is in memory, or compiled by kctrl",
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

// programsOf returns the environment whose programs an expression is, or nil.
func (f *file) programsOf(e ast.Expr) ast.Expr {
	selector, ok := e.(*ast.SelectorExpr)
	if !ok || f.member(selector.Sel) != "envtest#ControlPlane" {
		return nil
	}
	return selector.X
}

// isOfControlPlane reports whether an expression is about the programs of an environment: these, a field or a call of them, or of what
// such calls return.
func (f *file) isOfControlPlane(e ast.Expr) bool {
	if f.hasTypeOfControlPlane(e) {
		return true
	}
	switch e := e.(type) {
	case *ast.CallExpr:
		return f.isOfControlPlane(e.Fun)
	case *ast.SelectorExpr:
		return f.isOfControlPlane(e.X)
	}
	return false
}

// hasTypeOfControlPlane reports whether an expression is the programs of an environment, one of them, or its flags.
func (f *file) hasTypeOfControlPlane(e ast.Expr) bool {
	pkg, name, _ := strings.Cut(f.typeOf(e), ".")
	if pkg != "envtest" && !strings.HasPrefix(pkg, "internal/testing/") { // of which it has aliases
		return false
	}
	return slices.Contains([]string{"ControlPlane", "APIServer", "Etcd", "Arguments"}, name)
}

// fakeRules are about the fake client.
var fakeRules = []Rule{
	{
		Name:    "an option of fake clients that is left out",
		Matches: matchMethod("client/fake#WithTypeConverters"),
		Rewrite: func(f *file, n ast.Node) string {
			_, selector, _ := f.method(n)
			f.note(n, "left out: WithTypeConverters of a fake client, whose server knows the fields of built-in kinds")
			return f.text(selector.X)
		},
		Reason: "the server knows managed fields",
	},
}

// schemeRules are about API packages.
var schemeRules = []Rule{
	{
		Name: "a builder of a scheme",
		Matches: func(f *file, n ast.Node) bool {
			return f.isLiteral(n, "scheme.Builder") && (isPointer(n) || !f.isPointed())
		},
		Rewrite: func(*file, ast.Node) string { return fill("{runtimepkg}.NewSchemeBuilder()") },
		Reason:  "API packages import apimachinery only",
	},
	{
		Name:    "the type of builders of schemes",
		Matches: func(f *file, n ast.Node) bool { return f.symbol(n) == "scheme.Builder" },
		Rewrite: func(*file, ast.Node) string { return fill("{runtimepkg}.SchemeBuilder") },
		Reason:  "API packages import apimachinery only",
	},
	{
		Name: "a builder of a scheme that is passed on",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(ast.Expr)
			return ok && f.isBuilder(e) && !f.isAssigned(e) && !isBase(f.around(0), e)
		},
		Rewrite: func(f *file, n ast.Node) string { return "&" + f.inside(n) },
		Reason:  "it was a pointer",
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
	if !ok || f.info.Uses[ident] == nil || f.info.Uses[ident].Pkg() == nil {
		return ""
	}
	if local := f.groupVersions[f.placeOf(f.info.Uses[ident])]; local != "" {
		return local
	}
	return f.groupVersions[f.info.Uses[ident].Pkg().Path()+"."+ident.Name]
}

// isBuilder reports whether an expression is a variable that points to a builder of a scheme, which is a value with the migration.
func (f *file) isBuilder(e ast.Expr) bool {
	if _, isPointer := types.Unalias(f.info.TypeOf(e)).(*types.Pointer); !isPointer || f.typeOf(e) != "scheme.Builder" {
		return false
	}
	if selector, ok := e.(*ast.SelectorExpr); ok {
		e = selector.Sel
	}
	return f.groupVersion(e) != ""
}

// isBase reports whether an expression is what a selector is of, or a part of one, or what a method is called of.
func isBase(around ast.Node, e ast.Expr) bool {
	if call, ok := around.(*ast.CallExpr); ok {
		around = call.Fun
	}
	selector, ok := around.(*ast.SelectorExpr)
	return ok && (selector.X == e || selector.Sel == e)
}

// startsServer reports whether a statement starts an environment, outside of the blocks and functions in it.
func (f *file) startsServer(statement ast.Stmt) bool {
	starts := false
	ast.Inspect(statement, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause, *ast.FuncLit:
			return false
		}
		_, _, key := f.method(n)
		starts = starts || key == "envtest#Start"
		return !starts
	})
	return starts
}

// leansOnDefinitions reports whether the package has to do with CustomResourceDefinitions and with the scheme of client-go, and does not add the
// one to the other.
func (f *file) leansOnDefinitions() bool {
	var definitions, scheme bool
	for _, object := range f.info.Uses {
		if object.Pkg() == nil {
			continue
		}
		switch object.Pkg().Path() + "." + object.Name() {
		case importNicknames["apiextensionsv1"] + ".CustomResourceDefinition", importNicknames["apiextensionsv1"] + ".CustomResourceDefinitionList":
			definitions = true
		case importNicknames["clientgoscheme"] + ".Scheme":
			scheme = true
		case importNicknames["apiextensionsv1"] + ".AddToScheme":
			return false
		}
	}
	return definitions && scheme
}
