package migrate

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// clientRules are about clients.
var clientRules = []Rule{
	{
		Name: "the content type of an apply",
		Matches: func(f *file, n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return false
			}
			selector, ok := call.Fun.(*ast.SelectorExpr)
			return ok && selector.Sel.Name == "Type" && f.symbol(selector.X) == "client.Apply"
		},
		Rewrite: func(*file, ast.Node) string { return fill("{types}.ApplyPatchType") },
		Reason:  "an apply is a call of its own",
	},
	{
		Name:    "a client that reads from a cache, before version 0.15",
		Matches: func(f *file, n ast.Node) bool { return f.delegating(n) != nil },
		Rewrite: func(f *file, n ast.Node) string {
			input := f.delegating(n)
			return fill("{client}.NewClient(") + f.text(input["CacheReader"]) + ", " + f.text(input["Client"]) + "), error(nil)"
		},
		Reason: "the cache is an argument",
	},
	{
		Name: "a mapper, before version 0.15",
		Matches: func(f *file, n ast.Node) bool {
			call, key := f.called(n)
			return (key == "client/apiutil.NewDynamicRESTMapper" || key == "client/apiutil.NewDiscoveryRESTMapper") && len(call.Args) > 0 &&
				(len(call.Args) != 2 || namedOf(f.info.TypeOf(call.Args[1])) != "net/http.Client" && !f.info.Types[call.Args[1]].IsNil())
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, _ := f.called(n)
			return fill("{client}.NewMapper(") + f.text(call.Args[0]) + ", nil)"
		},
		Reason: "a mapper asks the API server when it has to",
	},
	{
		Name: "an object is applied",
		Matches: func(f *file, n ast.Node) bool {
			call, _, key := f.method(n)
			return key == "client#Patch" && len(call.Args) >= 3 && f.symbol(call.Args[2]) == "client.Apply"
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			if !slices.ContainsFunc(call.Args[3:], f.isPatchOption) {
				args := slices.Concat(f.texts(call.Args[:2]), []string{""}, f.texts(call.Args[3:]))
				return f.text(selector.X) + ".Apply(" + f.arguments(call, args) + ")"
			}
			options := strings.Join(f.texts(call.Args[3:]), ", ") + ellipsis(call)
			args := append(f.texts(call.Args[:2]), fill("{client}.AsApplyOptions(")+options+")...")
			return f.text(selector.X) + ".Apply(" + strings.Join(args, ", ") + ")"
		},
		Reason: "apply is a verb of its own",
	},
	{
		Name: "a configuration is applied",
		Matches: func(f *file, n ast.Node) bool {
			call, selector, key := f.method(n)
			return (key == "client#Apply" || f.isOwnApply(call, selector)) && !f.isInterceptor(selector) && len(call.Args) > 1 && !f.isApplied(call.Args[1])
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			args := f.texts(call.Args)
			args[0] += ", " + f.text(selector.X)
			return fill("{client}.ApplyConfiguration(") + f.arguments(call, args) + ")"
		},
		Reason: "Apply of a client takes objects; configurations have a function",
	},
	{
		Name: "what a client of one's own, or an interceptor, is told to apply",
		Matches: func(f *file, n ast.Node) bool {
			field, ok := f.around(0).(*ast.Field)
			if !ok || field.Type != n {
				return false
			}
			function, ok := f.around(2).(*ast.FuncType)
			return ok && (f.appliedField(function, f.around(3)) == field || f.appliedField(function, f.applyMethod()) == field)
		},
		Rewrite: func(*file, ast.Node) string { return fill("{object}.Object") },
		Reason:  "Apply of a client takes objects; configurations have a function",
	},
	{
		Name: "what a client of one's own, or an interceptor, watches",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok || !f.info.Types[e].IsType() || namedOf(f.info.TypeOf(e)) != "k8s.io/apimachinery/pkg/watch.Interface" {
				return false
			}
			switch around := f.around(0).(type) {
			case *ast.TypeAssertExpr:
				return f.inWatch() // of a mock
			case *ast.ValueSpec:
				return f.inWatch() && len(around.Values) == 0
			}
			field, isField := f.around(0).(*ast.Field)
			if !isField {
				return false
			}
			function, ok := f.around(2).(*ast.FuncType)
			return ok && function.Results != nil && slices.Contains(function.Results.List, field) && f.watches(function)
		},
		Rewrite: func(*file, ast.Node) string { return fill("{client}.Stream[{object}.Object]") },
		Reason:  "a watch is a stream of events",
	},
	{
		Name: "a watch",
		Matches: func(f *file, n ast.Node) bool {
			call, selector, key := f.method(n)
			return key == "client#Watch" && !f.wrapped[n] && !f.isInterceptor(selector) && len(call.Args) >= 2 && !f.inWatch()
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			args := f.texts(call.Args)
			args[0] += ", " + f.text(selector.X)
			return fill("{compat/watchchannel}.Open(") + f.arguments(call, args) + ")"
		},
		Reason: "a watch of a client is a stream; watchchannel.Open has its events come by a channel",
	},
	{
		Name: "a client that reads from a cache of the program's own",
		Matches: func(f *file, n ast.Node) bool {
			call, key := f.called(n)
			return key == "client.New" && len(call.Args) == 2 && f.readerOf(call.Args[1]) != nil
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, _ := f.called(n)
			options := call.Args[1].(*ast.CompositeLit)
			reader := f.text(f.readerOf(options))
			if disabled(options) != nil {
				f.note(options, "left out: DisableFor of a client, which DisableFor of its cache is")
			}
			return fill("{client}.NewCached(") + f.text(call.Args[0]) + ", " + f.withoutField(options, fieldOf(options, "Cache")) + ", " + reader + ")"
		},
		Reason: "the cache is an argument",
	},
	{
		Name: "a client that a variable does not keep",
		Matches: func(f *file, n ast.Node) bool {
			call, key := f.called(n)
			return key == "client.New" && call != nil && !f.wrapped[n] && f.isReplaced(n)
		},
		Rewrite: func(f *file, n ast.Node) string {
			f.wrapped[n] = true
			return fill("func() ({client}.Client, error) { return ") + f.text(n) + " }()"
		},
		Reason: "what New returns is of a type of its own",
	},
	{
		Name: "the options of a subresource",
		Matches: func(f *file, n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			return ok && strings.HasPrefix(f.typeOf(literal), "client.SubResource") && len(literal.Elts) == 1 && f.innerOptions(literal) != nil
		},
		Rewrite: func(f *file, n ast.Node) string { return f.text(f.innerOptions(n.(*ast.CompositeLit))) },
		Reason:  "they are those of all writes",
	},
	{
		Name: "whether an option is set",
		Matches: func(f *file, n ast.Node) bool {
			star, ok := n.(*ast.StarExpr)
			if !ok {
				return false
			}
			selector, ok := star.X.(*ast.SelectorExpr)
			return ok && plainOptions[f.member(selector.Sel)] != ""
		},
		Rewrite: func(f *file, n ast.Node) string { return f.text(n.(*ast.StarExpr).X) },
		Reason:  "options are values, which may be zero",
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
			field, ok := f.around(0).(*ast.Field)
			if !ok || field.Type != n || f.symbol(n) != "client.WithWatch" {
				return false
			}
			function, ok := f.around(2).(*ast.FuncType)
			return ok && f.intercepts(function)
		},
		Rewrite: func(*file, ast.Node) string { return fill("{client}.Client") },
		Reason:  "an interceptor is given a client",
	},
	{
		Name: "an interceptor in front of a client that watches",
		Matches: func(f *file, n ast.Node) bool {
			call, key := f.called(n)
			return key == "client/interceptor.NewClient" && !f.wrapped[n] && typeKey(f.wanted(call)) == "client.WithWatch"
		},
		Rewrite: func(f *file, n ast.Node) string {
			f.wrapped[n] = true
			return f.inside(n) + fill(".({client}.WithWatch)")
		},
		Reason: "an intercepted client watches if the one below it does",
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

// delegating returns the fields of what client.NewDelegatingClient is given, if it has a cache and a client and nothing that is not cached.
func (f *file) delegating(n ast.Node) map[string]ast.Expr {
	call, key := f.called(n)
	if key != "client.NewDelegatingClient" || len(call.Args) != 1 || !f.isPair() {
		return nil
	}
	literal, ok := call.Args[0].(*ast.CompositeLit)
	if !ok {
		return nil
	}
	fields := keyed(literal)
	if len(fields) != 2 || fields["CacheReader"] == nil || fields["Client"] == nil {
		return nil
	}
	return fields
}

// fieldOf returns the field of a literal that has a name, or nil.
func fieldOf(literal *ast.CompositeLit, name string) *ast.KeyValueExpr {
	for _, element := range literal.Elts {
		if field, ok := element.(*ast.KeyValueExpr); ok && isIdent(field.Key, name) {
			return field
		}
	}
	return nil
}

// readerOf returns the cache that the options of a client have it read from, or nil.
func (f *file) readerOf(options ast.Expr) ast.Expr {
	literal, ok := options.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	field := fieldOf(literal, "Cache")
	if field == nil {
		return nil
	}
	cached, ok := pointee(f, field.Value).(*ast.CompositeLit)
	if !ok {
		return nil
	}
	reader := keyed(cached)["Reader"]
	if reader == nil || f.info.Types[reader].IsNil() {
		return nil
	}
	return reader
}

// innerOptions returns the options that those of a subresource have in them, if they have nothing else.
func (f *file) innerOptions(literal *ast.CompositeLit) ast.Expr {
	for _, name := range []string{"UpdateOptions", "PatchOptions", "CreateOptions", "ApplyOptions"} {
		if inner, ok := keyed(literal)[name].(*ast.CompositeLit); ok {
			return inner
		}
	}
	return nil
}

// isReplaced reports whether a call gives the first value to a new variable that is given another one later.
func (f *file) isReplaced(n ast.Node) bool {
	assign, ok := f.around(0).(*ast.AssignStmt)
	if !ok || assign.Tok != token.DEFINE || len(assign.Lhs) != 2 || f.body() == nil {
		return false
	}
	name, ok := assign.Lhs[0].(*ast.Ident)
	if !ok || f.info.Defs[name] == nil {
		return false
	}
	replaced := false
	ast.Inspect(f.body(), func(n ast.Node) bool {
		other, ok := n.(*ast.AssignStmt)
		if !ok || other == assign || len(other.Lhs) != len(other.Rhs) {
			return true
		}
		for _, left := range other.Lhs {
			ident, ok := left.(*ast.Ident)
			replaced = replaced || ok && f.info.Uses[ident] == f.info.Defs[name]
		}
		return true
	})
	return replaced
}

// plainOptions are fields that were pointers, with what they are compared with in place of nil.
var plainOptions = map[string]string{
	"client#PropagationPolicy": `""`, "client#Force": "false",
	"manager#LeaseDuration": "0", "manager#RenewDeadline": "0", "manager#RetryPeriod": "0", "manager#GracefulShutdownTimeout": "0",
	"cache#SyncPeriod": "0",
}

// inWatch reports whether the node is in a function that has the type of Watch, which returns what is watched as it is.
func (f *file) inWatch() bool {
	function := f.function()
	return function != nil && f.watches(function)
}

// isPatchOption reports whether an expression is any option of a patch, or some.
func (f *file) isPatchOption(e ast.Expr) bool {
	t := f.info.TypeOf(e)
	if list, ok := t.Underlying().(*types.Slice); ok {
		t = list.Elem()
	}
	key := typeKey(t)
	return key == "client.PatchOption" || key == "client.SubResourcePatchOption"
}

// isInterceptor reports whether a method is a field of functions.
func (f *file) isInterceptor(selector *ast.SelectorExpr) bool {
	_, isField := f.info.Uses[selector.Sel].(*types.Var)
	return isField
}

// appliedField returns the parameter by which a function is told what to apply, if the function is an Apply method, as
// those of clients are, or one of an interceptor. around is what the type of the function stands in.
func (f *file) appliedField(function *ast.FuncType, around ast.Node) *ast.Field {
	last := variadic(function)
	if last == nil {
		return nil
	}
	option := f.typeOf(last.Elt)
	if option != "client.ApplyOption" && option != "client.SubResourceApplyOption" || !isApplyMethod(around) && !f.intercepts(function) {
		return nil
	}
	for _, field := range function.Params.List {
		if isConfiguration(f.info.TypeOf(field.Type)) && len(field.Names) < 2 {
			return field
		}
	}
	return nil
}

// applyMethod returns the method that applies in which the node is, such as that of a mock, which asks for functions with the same parameters.
func (f *file) applyMethod() ast.Node {
	for _, n := range f.stack {
		decl, ok := n.(*ast.FuncDecl)
		if ok && isApplyMethod(decl) && f.appliedField(decl.Type, decl) != nil {
			return decl
		}
	}
	return nil
}

// isApplyMethod reports whether a node declares a method called Apply, of a type or of an interface.
func isApplyMethod(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		return n.Recv != nil && n.Name.Name == "Apply"
	case *ast.Field:
		return len(n.Names) == 1 && n.Names[0].Name == "Apply"
	}
	return false
}

func isConfiguration(t types.Type) bool {
	return namedOf(t) == "k8s.io/apimachinery/pkg/runtime.ApplyConfiguration"
}

// intercepts reports whether a function has the parameters of one of an interceptor: a context, the client below, or that and the name of
// a subresource, and options at the end.
func (f *file) intercepts(function *ast.FuncType) bool {
	last := variadic(function)
	if last == nil || !strings.HasPrefix(f.typeOf(last.Elt), "client.") || len(function.Params.List) < 3 || namedOf(f.info.TypeOf(function.Params.List[0].Type)) != "context.Context" {
		return false
	}
	switch f.typeOf(function.Params.List[1].Type) {
	case "client.WithWatch":
		return !f.watches(function)
	case "client.Client":
		return strings.HasPrefix(f.typeOf(last.Elt), "client.SubResource") && types.Identical(f.info.TypeOf(function.Params.List[2].Type), types.Typ[types.String])
	}
	return false
}

// watches reports whether a function has the type of Watch, of a client or an interceptor.
func (f *file) watches(function *ast.FuncType) bool {
	last := variadic(function)
	return last != nil && f.typeOf(last.Elt) == "client.ListOption" && function.Results != nil && len(function.Results.List) == 2 &&
		namedOf(f.info.TypeOf(function.Results.List[0].Type)) == "k8s.io/apimachinery/pkg/watch.Interface"
}

// variadic returns the type of the last parameter of a function that takes any number of them, or nil.
func variadic(function *ast.FuncType) *ast.Ellipsis {
	if function.Params.NumFields() == 0 {
		return nil
	}
	last, _ := function.Params.List[len(function.Params.List)-1].Type.(*ast.Ellipsis)
	return last
}

// isOwnApply reports whether a call is of the Apply method of a type of the project's that is as that of a client.
func (f *file) isOwnApply(call *ast.CallExpr, selector *ast.SelectorExpr) bool {
	if call == nil || selector == nil || selector.Sel.Name != "Apply" {
		return false
	}
	method, ok := f.info.Uses[selector.Sel].(*types.Func)
	if !ok || method.Pkg() == nil || !f.isOwn(method.Pkg().Path()) {
		return false
	}
	parameters := method.Signature().Params()
	if !method.Signature().Variadic() || parameters.Len() != 3 || !isConfiguration(parameters.At(1).Type()) {
		return false
	}
	option := typeKey(parameters.At(2).Type().(*types.Slice).Elem())
	return option == "client.ApplyOption" || option == "client.SubResourceApplyOption"
}

// isApplied reports whether an expression is the parameter by which the function that it is in is told what to apply, see [file.appliedField].
func (f *file) isApplied(e ast.Expr) bool {
	ident, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return false
	}
	for i, n := range f.stack {
		var function *ast.FuncType
		switch n := n.(type) {
		case *ast.FuncDecl:
			function = n.Type
		case *ast.FuncLit:
			function = n.Type
		default:
			continue
		}
		field := f.appliedField(function, f.stack[i])
		if field != nil && len(field.Names) == 1 && f.info.Defs[field.Names[0]] == f.info.Uses[ident] {
			return true
		}
	}
	return false
}
