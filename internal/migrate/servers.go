package migrate

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// serverRules are about the server of webhooks of a manager, which is told handlers: the manager itself is, by webhook.Handle.
var serverRules = []Rule{
	{
		Name: "a variable that is the server of webhooks",
		Matches: func(f *file, n ast.Node) bool {
			assign, ok := n.(*ast.AssignStmt)
			return ok && f.isServer(assign)
		},
		Rewrite: func(*file, ast.Node) string { return removed },
		Reason:  "the server is the manager's",
	},
	{
		Name: "a path of the server of webhooks",
		Matches: func(f *file, n ast.Node) bool {
			statement, ok := n.(*ast.ExprStmt)
			return ok && f.registered(statement.X) != nil
		},
		Rewrite: func(f *file, n ast.Node) string {
			call := f.registered(n.(*ast.ExprStmt).X)
			m := f.text(f.servedBy(call.Fun.(*ast.SelectorExpr).X))
			f.managed = m
			defer func() { f.managed = "" }()
			failed := "panic(err)"
			if t := f.function(); t != nil && t.Results != nil && t.Results.NumFields() == 1 && isIdent(t.Results.List[0].Type, "error") {
				failed = "return err"
			}
			handler := f.admissionHandler(m, call.Args[1])
			if callee := f.callee(call); callee != nil && callee.FullName() == "(*net/http.ServeMux).HandleFunc" {
				handler = fill("{http}.HandlerFunc(") + handler + ")"
			}
			return "if err := " + fill("{webhook}.Handle(") + m + ", " + f.text(call.Args[0]) + ", " + handler + "); err != nil {\n" + failed + "\n}"
		},
		Reason: "the server is the manager's",
	},
	{
		Name: "a server of webhooks that a function is given",
		Matches: func(f *file, n ast.Node) bool {
			field, ok := f.around(0).(*ast.Field)
			return ok && field.Type == n && len(field.Names) == 1 && f.info.Defs[field.Names[0]] != nil && f.registering[f.placeOf(f.info.Defs[field.Names[0]])]
		},
		Rewrite: func(*file, ast.Node) string { return fill("{controller}.Manager") },
		Reason:  "the server is the manager's",
	},
	{
		Name: "a server of webhooks for a function",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(ast.Expr)
			return ok && f.isPassedServer(e)
		},
		Rewrite: func(f *file, n ast.Node) string { return f.text(f.serves(n.(ast.Expr))) },
		Reason:  "the server is the manager's",
	},
}

// registered returns the call m.GetWebhookServer().Register(path, handler), or that of a variable which the server is given, or of Handle and
// HandleFunc of its WebhookMux; else nil.
func (f *file) registered(e ast.Expr) *ast.CallExpr {
	call, selector, key := f.method(e)
	if selector == nil || len(call.Args) != 2 {
		return nil
	}
	_, ofMux := f.muxOf(selector.X)
	callee := f.callee(call)
	handles := ofMux && callee != nil && (callee.Name() == "Handle" || callee.Name() == "HandleFunc")
	if key != "webhook#Register" && !handles || f.servedBy(selector.X) == nil {
		return nil
	}
	return call
}

// servedBy returns the manager whose server of webhooks an expression is, or whose server's mux, or nil.
func (f *file) servedBy(e ast.Expr) ast.Expr {
	if server, ok := f.muxOf(e); ok {
		e = server
	}
	return f.serves(e)
}

// muxOf returns the server of webhooks whose mux an expression is.
func (f *file) muxOf(e ast.Expr) (server ast.Expr, ok bool) {
	_, selector, key := f.method(e)
	if key != "webhook#WebhookMux" {
		return nil, false
	}
	return selector.X, true
}

// serves returns the manager whose server of webhooks an expression is, or nil.
func (f *file) serves(e ast.Expr) ast.Expr {
	if _, selector, key := f.method(e); key == "manager#GetWebhookServer" {
		return selector.X
	}
	if ident, ok := e.(*ast.Ident); ok {
		return f.servers[f.info.Uses[ident]]
	}
	return nil
}

// isServer reports whether a statement gives the server of webhooks to a variable by which it is only told handlers.
func (f *file) isServer(assign *ast.AssignStmt) bool {
	ident, m := f.givenServer(assign)
	if m == nil {
		return false
	}
	return f.onlyRegisters(f.syntax, f.info.Defs[ident])
}

// onlyRegisters reports whether a variable is nothing in a node but a server of webhooks that is told handlers.
func (f *file) onlyRegisters(n ast.Node, server types.Object) bool {
	registering := true
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			_, isVariable := n.X.(*ast.Ident)
			return !isVariable || !slices.Contains([]string{"Register", "StartedChecker", "WebhookMux"}, n.Sel.Name)
		case *ast.CallExpr:
			passed := slices.IndexFunc(n.Args, func(e ast.Expr) bool {
				ident, ok := e.(*ast.Ident)
				return ok && f.info.Uses[ident] == server
			})
			return passed < 0 || !f.takesServer(n, passed)
		case *ast.Ident:
			registering = registering && (server == nil || f.info.Uses[n] != server)
		}
		return registering
	})
	return registering
}

// surveyServers finds the parameters of functions of the project that are servers of webhooks and only told handlers: the manager is given in
// their place.
func (f *file) surveyServers() {
	for _, decl := range f.syntax.Decls {
		function, ok := decl.(*ast.FuncDecl)
		if !ok || function.Body == nil {
			continue
		}
		for _, field := range function.Type.Params.List {
			for _, name := range field.Names {
				server := f.info.Defs[name]
				if len(field.Names) == 1 && f.symbol(field.Type) == "webhook.Server" && server != nil && f.onlyRegisters(function.Body, server) {
					f.servers[server], f.registering[f.placeOf(server)] = name, true
				}
			}
		}
	}
}

// takesServer reports whether an argument of a call is for a parameter that the manager is given in place of its server of webhooks.
func (f *file) takesServer(call *ast.CallExpr, argument int) bool {
	callee := f.callee(call)
	if callee == nil || callee.Signature().Params().Len() <= argument {
		return false
	}
	return f.registering[f.placeOf(callee.Origin().Signature().Params().At(argument))]
}

// isPassedServer reports whether an expression is the server of a manager, for a parameter that is given the manager.
func (f *file) isPassedServer(e ast.Expr) bool {
	call, ok := f.around(0).(*ast.CallExpr)
	if !ok || f.serves(e) == nil {
		return false
	}
	at := slices.Index(call.Args, e)
	return at >= 0 && f.takesServer(call, at)
}

// givenServer returns the variable that a statement gives the server of webhooks of a manager to, and the manager; or nil.
func (f *file) givenServer(assign *ast.AssignStmt) (*ast.Ident, ast.Expr) {
	if assign.Tok != token.DEFINE || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 {
		return nil, nil
	}
	ident, ok := assign.Lhs[0].(*ast.Ident)
	_, selector, key := f.method(assign.Rhs[0])
	if !ok || key != "manager#GetWebhookServer" {
		return nil, nil
	}
	return ident, selector.X
}
