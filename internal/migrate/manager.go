package migrate

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// managerRules are about main functions and managers.
var managerRules = []Rule{
	{
		Name: "a probe that says yes",
		Matches: func(f *file, n ast.Node) bool {
			statement, ok := n.(*ast.IfStmt)
			return ok && f.isProbe(statement) != nil
		},
		Rewrite: func(f *file, n ast.Node) string {
			call := f.isProbe(n.(*ast.IfStmt))
			if f.isNoCheck(call.Args[1]) {
				return removed
			}
			return f.probe(call)
		},
		Reason: "/healthz and /readyz answer without a check, and /readyz waits for caches and webhooks",
	},
	{
		Name:    "a probe",
		Matches: matchMethod("manager#AddHealthzCheck", "manager#AddReadyzCheck"),
		Rewrite: func(f *file, n ast.Node) string {
			call, _, _ := f.method(n)
			if _, alone := f.around(1).(*ast.ExprStmt); alone {
				return f.probe(call)
			}
			if f.isNoCheck(call.Args[1]) {
				return "error(nil)"
			}
			return "func() error { " + f.probe(call) + "; return nil }()"
		},
		Reason: "probes are added without an error",
	},
	{
		Name:    "a certificate in files",
		Matches: matchCall("certwatcher.New"),
		Rewrite: func(f *file, n ast.Node) string {
			call, _ := f.called(n)
			return fill("{certificate}.NewFiles(") + strings.Join(f.texts(call.Args), ", ") + fill(", {slog}.Default())")
		},
		Reason: "it is read again when it has changed, and says so in a log",
	},
	{
		Name:    "a server of webhooks",
		Matches: matchCall("webhook.NewServer"),
		Rewrite: func(f *file, n ast.Node) string {
			call, _ := f.called(n)
			return f.text(call.Args[0])
		},
		Reason: "the manager makes it from its options",
	},
	{
		Name: "a registry that is asked for metrics",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(ast.Expr)
			return ok && f.symbol(n) == "metrics.Registry" && isGatherer(f.wanted(e))
		},
		Rewrite: func(*file, ast.Node) string { return fill("{prometheus}.DefaultGatherer") },
		Reason:  "collectors are registered with the registry of the library, which the manager serves too",
	},
	{
		Name: "a registry of which the metrics are gathered",
		Matches: func(f *file, n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			return ok && f.symbol(selector.X) == "metrics.Registry" && selector.Sel.Name == "Gather"
		},
		Rewrite: func(*file, ast.Node) string { return fill("{prometheus}.DefaultGatherer.Gather") },
		Reason:  "collectors are registered with the registry of the library, which the manager serves too",
	},
	{
		Name: "a field that is set when it is empty, and that the runtime has not",
		Matches: func(f *file, n ast.Node) bool {
			statement, ok := n.(*ast.IfStmt)
			if !ok || statement.Else != nil || len(statement.Body.List) != 1 {
				return false
			}
			key, _, _ := f.fieldSet(statement.Body.List[0])
			return goneFields[key] != ""
		},
		Rewrite: func(f *file, n ast.Node) string {
			key, _, _ := f.fieldSet(n.(*ast.IfStmt).Body.List[0])
			f.note(n, "left out: "+goneFields[key])
			return removed
		},
		Reason: "the runtime does it always, or in one way",
	},
	{
		Name: "whether metrics are served over TLS",
		Matches: func(f *file, n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			return ok && f.member(selector.Sel) == "metrics/server#SecureServing"
		},
		Rewrite: func(f *file, n ast.Node) string { return "!" + f.text(n.(*ast.SelectorExpr).X) + ".Insecure" },
		Reason:  "they are unless the options say otherwise",
	},
	{
		Name: "an option that may be nil",
		Matches: func(f *file, n ast.Node) bool {
			x, _ := f.comparedWithNil(n)
			return x != nil && f.emptyText(x, true) != ""
		},
		Rewrite: func(f *file, n ast.Node) string {
			x, equal := f.comparedWithNil(n)
			return f.emptyText(x, equal)
		},
		Reason: "options are values, which may be zero",
	},
	{
		Name: "no server of webhooks",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(ast.Expr)
			return ok && f.info.Types[e].IsNil() && typeKey(f.wanted(e)) == "webhook.Server"
		},
		Rewrite: func(*file, ast.Node) string { return fill("{manager}.WebhookOptions") + "{}" },
		Reason:  "the manager makes the server from its options, which may be zero",
	},
	{
		Name: "a server of webhooks that is given its options",
		Matches: func(f *file, n ast.Node) bool {
			return f.isLiteral(n, "webhook.DefaultServer") && (isPointer(n) || !f.isPointed())
		},
		Rewrite: func(f *file, n ast.Node) string {
			if unary, ok := n.(*ast.UnaryExpr); ok {
				n = unary.X
			}
			for _, element := range n.(*ast.CompositeLit).Elts {
				if field, ok := element.(*ast.KeyValueExpr); ok && isIdent(field.Key, "Options") {
					return f.text(field.Value)
				}
			}
			return fill("{manager}.WebhookOptions") + "{}"
		},
		Reason: "the manager makes the server from its options",
	},
	{
		Name: "the options of a server of webhooks",
		Matches: func(f *file, n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			return ok && f.member(selector.Sel) == "webhook#Options" && f.typeOf(selector.X) == "webhook.DefaultServer"
		},
		Rewrite: func(f *file, n ast.Node) string { return f.text(n.(*ast.SelectorExpr).X) },
		Reason:  "the manager makes the server from its options",
	},
	{
		Name: "which server of webhooks it is",
		Matches: func(f *file, n ast.Node) bool {
			assertion, ok := n.(*ast.TypeAssertExpr)
			return ok && assertion.Type != nil && f.typeOf(assertion.Type) == "webhook.DefaultServer"
		},
		Rewrite: func(f *file, n ast.Node) string {
			text := f.text(n.(*ast.TypeAssertExpr).X)
			if _, inPath := f.around(1).(*ast.SelectorExpr); inPath {
				return text // of whose fields it is one
			}
			text = "&" + text
			if assign, ok := f.around(1).(*ast.AssignStmt); ok && len(assign.Lhs) == 2 && len(assign.Rhs) == 1 {
				text += ", true"
			}
			return text
		},
		Reason: "there is one, which is its options",
	},
	{
		Name:    "whether the server of webhooks has started",
		Matches: matchMethod("webhook#StartedChecker"),
		Rewrite: func(*file, ast.Node) string { return fill("func(*{http}.Request) error { return nil }") },
		Reason:  "/readyz waits for it by itself",
	},
	{
		Name: "a check that is a function",
		Matches: func(f *file, n ast.Node) bool {
			call, key := f.called(n)
			return key == "healthz.Checker" && len(call.Args) == 1
		},
		Rewrite: func(f *file, n ast.Node) string { call, _ := f.called(n); return f.text(call.Args[0]) },
		Reason:  "a check is a function",
	},
	{
		Name: "something else that runs, which has Run for something else",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(ast.Expr)
			return ok && !f.wrapped[n] && isValue(f, e) && typeKey(f.wanted(e)) == "manager.Runnable" && f.startsOnly(e)
		},
		Rewrite: func(f *file, n ast.Node) string {
			f.wrapped[n] = true
			return fill("{compat/starter}.RunnableOf(") + f.text(n) + ")"
		},
		Reason: "a runnable has Run; RunnableOf makes one of what has Start",
	},
	{
		Name: "something else that runs",
		Matches: func(f *file, n ast.Node) bool {
			decl, ok := n.(*ast.FuncDecl)
			return ok && decl.Name.Name == "Start" && f.isRunnable(decl)
		},
		Rewrite: func(f *file, n ast.Node) string {
			decl := n.(*ast.FuncDecl)
			recv := f.raw(decl.Recv.List[0].Type)
			return f.inside(n) + "\n\n// Run is Start, under the name that a manager knows.\nfunc (r " + recv + ") Run(ctx " + fill("{context}.Context") + ") error { return r.Start(ctx) }"
		},
		Reason: "a runnable has Run",
	},
	{
		Name: "something else that runs, as an interface",
		Matches: func(f *file, n ast.Node) bool {
			field, ok := n.(*ast.Field)
			return ok && f.isRunnableField(field)
		},
		Rewrite: func(f *file, n ast.Node) string {
			return f.inside(n) + "\n// Run is Start, under the name that a manager knows.\nRun(ctx " + fill("{context}.Context") + ") error"
		},
		Reason: "a runnable has Run",
	},
	{
		Name:    "whether a result asks for more",
		Matches: matchMethod("reconcile#IsZero"),
		Rewrite: func(f *file, n ast.Node) string {
			_, selector, _ := f.method(n)
			return "(" + f.text(selector.X) + fill(" == ({reconcile}.Result") + "{}))"
		},
		Reason: "a result is compared",
	},
}

// isGatherer reports whether a type is an interface of what metrics are gathered from, and that registers nothing.
func isGatherer(t types.Type) bool {
	if t == nil {
		return false
	}
	if _, ok := t.Underlying().(*types.Interface); !ok {
		return false
	}
	_, gathers := methodOf(t, "Gather")
	_, registers := methodOf(t, "Register")
	return gathers && !registers
}

// goneFields are fields without a counterpart, and why.
var goneFields = map[string]string{
	"metrics/server#FilterProvider":      "FilterProvider; metrics over TLS always require permission",
	"manager#LeaderElectionResourceLock": "the lock is a Lease always",
}

// comparedWithNil returns what a node compares with nil, and whether it asks if it is nil.
func (f *file) comparedWithNil(n ast.Node) (x ast.Expr, equal bool) {
	binary, ok := n.(*ast.BinaryExpr)
	if !ok || binary.Op != token.EQL && binary.Op != token.NEQ {
		return nil, false
	}
	switch equal = binary.Op == token.EQL; {
	case f.info.Types[binary.Y].IsNil():
		return binary.X, equal
	case f.info.Types[binary.X].IsNil():
		return binary.Y, equal
	}
	return nil, false
}

// emptyText asks whether an option that was nil is zero, or is not; nothing for expressions that may be nil still.
func (f *file) emptyText(x ast.Expr, equal bool) string {
	if selector, ok := x.(*ast.SelectorExpr); ok {
		if zero := plainOptions[f.member(selector.Sel)]; zero != "" {
			if equal {
				return f.text(x) + " == " + zero
			}
			return f.text(x) + " != " + zero
		}
	}
	if f.typeOf(x) == "webhook.Server" {
		not := "!"
		if equal {
			not = ""
		}
		return not + fill("{reflect}.ValueOf(") + f.text(x) + ").IsZero()"
	}
	return ""
}

// isPointed reports whether the address of the node that is looked at is taken.
func (f *file) isPointed() bool {
	unary, ok := f.around(0).(*ast.UnaryExpr)
	return ok && unary.Op == token.AND
}

// isProbe returns the call in "if err := m.AddHealthzCheck(...); err != nil { ... }", else nil.
func (f *file) isProbe(statement *ast.IfStmt) *ast.CallExpr {
	assign, ok := statement.Init.(*ast.AssignStmt)
	if !ok || len(assign.Rhs) != 1 || statement.Else != nil {
		return nil
	}
	call, _, key := f.method(assign.Rhs[0])
	if key == "manager#AddHealthzCheck" || key == "manager#AddReadyzCheck" {
		return call
	}
	return nil
}

// isNoCheck reports whether a probe says nothing that the runtime does not say by itself.
func (f *file) isNoCheck(e ast.Expr) bool {
	_, _, key := f.method(e)
	return f.symbol(e) == "healthz.Ping" || key == "webhook#StartedChecker"
}

func (f *file) probe(call *ast.CallExpr) string {
	_, selector, key := f.method(call)
	name := "AddReadyz"
	if key == "manager#AddHealthzCheck" {
		name = "AddHealthz"
	}
	return f.text(selector.X) + "." + name + "(" + f.arguments(call, f.texts(call.Args)) + ")"
}

// admissionHandler returns an http.Handler for what is registered at a path.
func (f *file) admissionHandler(m string, e ast.Expr) string {
	if isAdmissionWebhook(f.typeOf(e)) {
		return fill("{webhook/admission}.NewReviewer(") + f.text(e) + ", " + m + ".Logger())"
	}
	return f.text(e)
}

// isRunnable reports whether a method is that of a type which is given to Manager.Add somewhere.
func (f *file) isRunnable(decl *ast.FuncDecl) bool {
	object, ok := f.info.Defs[decl.Name].(*types.Func)
	if !ok || decl.Recv == nil || object.Signature().Params().Len() != 1 || object.Signature().Results().Len() != 1 {
		return false
	}
	return (f.runnables[receiver(object)] || f.runsAs(object.Signature().Recv().Type())) && !f.hasMethod(object, "Run")
}

// startsOnly reports whether Start is what a manager is to call of a value: that of a library, or of a type whose Run is something else.
func (f *file) startsOnly(e ast.Expr) bool {
	t := f.info.TypeOf(e)
	if _, starts := methodOf(t, "Start"); !starts {
		return false
	}
	if f.isForeignType(t) {
		return true
	}
	call, isCall := e.(*ast.CallExpr)
	if typeKey(t) == "manager.Runnable" {
		return isCall && f.isCallOfLibrary(call)
	}
	object, _, _ := types.LookupFieldOrMethod(t, true, f.pkg.Types, "Run")
	_, runs := object.(*types.Func)
	return runs && f.isOwn(packageName(namedOf(t)))
}

// runsAs reports whether a type is, or is pointed to as, one of the interfaces that are given to Manager.Add.
func (f *file) runsAs(t types.Type) bool {
	if _, isPointer := types.Unalias(t).(*types.Pointer); !isPointer {
		t = types.NewPointer(t)
	}
	for _, declared := range f.running {
		if implements(t, declared) {
			return true
		}
	}
	return false
}

// implements is types.Implements for types that were loaded for different packages, a package and its tests: methods are told by names.
func implements(t types.Type, declared *types.Interface) bool {
	for i := range declared.NumMethods() {
		object, _, _ := types.LookupFieldOrMethod(t, true, declared.Method(i).Pkg(), declared.Method(i).Name())
		if _, ok := object.(*types.Func); !ok {
			return false
		}
	}
	return declared.NumMethods() > 0
}

// isRunnableField reports whether a method of an interface is Start of what is given to Manager.Add.
func (f *file) isRunnableField(field *ast.Field) bool {
	spec, ok := f.around(2).(*ast.TypeSpec)
	if !ok || len(field.Names) != 1 || field.Names[0].Name != "Start" || f.info.Defs[spec.Name] == nil {
		return false
	}
	return f.running[f.info.Defs[spec.Name].Pkg().Path()+"."+spec.Name.Name] != nil
}

// receiver returns the name of the type that a method is of, with its package.
func receiver(method *types.Func) string {
	recv := method.Signature().Recv()
	if recv == nil {
		return ""
	}
	return namedOf(recv.Type())
}

// namedOf returns the name of a type with its package, through pointers; "" for types without.
func namedOf(t types.Type) string {
	if t == nil {
		return ""
	}
	t = types.Unalias(t)
	if pointer, ok := t.(*types.Pointer); ok {
		t = types.Unalias(pointer.Elem())
	}
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return ""
	}
	return named.Obj().Pkg().Path() + "." + named.Obj().Name()
}

func (f *file) hasMethod(method *types.Func, name string) bool {
	object, _, _ := types.LookupFieldOrMethod(method.Signature().Recv().Type(), true, method.Pkg(), name)
	_, found := object.(*types.Func)
	return found
}
