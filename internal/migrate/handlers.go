package migrate

import (
	"cmp"
	"go/ast"
	"go/types"
	"strings"
)

// handlerRules are about handlers, and what they and predicates are told.
var handlerRules = []Rule{
	{
		Name: "a handler of functions",
		Matches: func(f *file, n ast.Node) bool {
			inner := n
			if unary, ok := n.(*ast.UnaryExpr); ok {
				inner = unary.X
			}
			literal, ok := inner.(*ast.CompositeLit)
			return ok && isFuncs(f, literal, "handler") && !f.isEmbedded(n)
		},
		Rewrite: func(f *file, n ast.Node) string {
			if unary, ok := n.(*ast.UnaryExpr); ok {
				n = unary.X
			}
			return fill("{compat/eventhandler}.Of(") + f.funcs(n.(*ast.CompositeLit), "handler") + ")"
		},
		Reason: "a handler is a function; Of makes one of the four",
	},
	{
		Name: "an assertion about a handler",
		Matches: func(f *file, n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			return ok && len(spec.Names) == 1 && spec.Names[0].Name == "_" && spec.Type != nil && len(spec.Values) == 1 && isHandler(f.info.TypeOf(spec.Type)) && f.isOwnType(f.info.TypeOf(spec.Values[0]))
		},
		Rewrite: func(f *file, n ast.Node) string {
			spec := n.(*ast.ValueSpec)
			of := cmp.Or(f.argumentsOf(spec.Type), fill("[{object}.Object, {reconcile}.Request]"))
			f.wrapped[spec.Values[0]] = true
			return "_ " + fill("{compat/eventhandler}.Events") + of + " = " + f.text(spec.Values[0])
		},
		Reason: "a handler is a function; what has four methods becomes one by Of",
	},
	{
		Name: "a handler of one's own",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(ast.Expr)
			return ok && !f.wrapped[n] && f.info.Types[e].IsValue() && f.isOwnType(f.info.TypeOf(e)) && isHandler(f.wanted(e))
		},
		Rewrite: func(f *file, n ast.Node) string { return f.handlerOf(n.(ast.Expr)) },
		Reason:  "a handler is a function; what has four methods becomes one by Of",
	},
	{
		Name: "a handler of functions for a Go type",
		Matches: func(f *file, n ast.Node) bool {
			literal := literalOf(n)
			return literal != nil && f.isTypedFuncs(literal.Type, "handler")
		},
		Rewrite: func(f *file, n ast.Node) string {
			return fill("{compat/eventhandler}.Of(") + f.typedFuncs(literalOf(n), "handler") + ")"
		},
		Reason: "a handler is a function; Of makes one of the four",
	},
	{
		Name: "functions of events for a Go type, in a type",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(ast.Expr)
			field, inField := f.around(0).(*ast.Field)
			return ok && inField && len(field.Names) == 0 && f.inStruct() && (f.isTypedFuncs(e, "predicate") || f.isTypedFuncs(e, "handler"))
		},
		Rewrite: func(f *file, n ast.Node) string {
			pkg, _, _ := strings.Cut(f.symbol(genericOf(n.(ast.Expr))), ".")
			return fill("{"+methodPackages[pkg]+"}.FuncsOf") + f.argumentsOf(n.(ast.Expr))
		},
		Reason: "an embedded Funcs stays one",
	},
	{
		Name: "a generic type that is another one",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(ast.Expr)
			return ok && genericOf(e) != nil && genericTypes[f.symbol(genericOf(e))] != nil
		},
		Rewrite: func(f *file, n ast.Node) string {
			return genericTypes[f.symbol(genericOf(n.(ast.Expr)))](f.typeArguments(n.(ast.Expr)))
		},
		Reason: "the runtime has it in another form",
	},
	{
		Name:    "a handler that puts what has not changed last",
		Matches: matchCall("handler.WithLowPriorityWhenUnchanged"),
		Rewrite: func(f *file, n ast.Node) string {
			call, _ := f.called(n)
			return f.text(call.Args[0])
		},
		Reason: "a controller reconciles first what has changed, whatever the handler",
	},
	{
		Name: "a queue with priorities",
		Matches: func(f *file, n ast.Node) bool {
			assertion, ok := n.(*ast.TypeAssertExpr)
			return ok && assertion.Type != nil && genericOf(assertion.Type) != nil && f.symbol(genericOf(assertion.Type)) == "controller/priorityqueue.PriorityQueue"
		},
		Rewrite: func(f *file, n ast.Node) string {
			text := f.text(n.(*ast.TypeAssertExpr).X)
			if f.isPair() {
				text += ", true"
			}
			return text
		},
		Reason: "all queues of controllers have priorities",
	},
	{
		Name: "functions of events in a type",
		Matches: func(f *file, n ast.Node) bool {
			key := f.symbol(n)
			if key != "predicate.Funcs" && key != "handler.Funcs" {
				return false
			}
			field, ok := f.around(0).(*ast.Field)
			return ok && len(field.Names) == 0 && f.inStruct() || f.isFuncsField()
		},
		Rewrite: func(f *file, n ast.Node) string {
			return fill("{" + methodPackages[strings.TrimSuffix(f.symbol(n), ".Funcs")] + "}.Funcs")
		},
		Reason: "an embedded Funcs stays one",
	},
	{
		Name: "a handler for the object",
		Matches: func(f *file, n ast.Node) bool {
			return f.isLiteral(n, "handler.EnqueueRequestForObject") && !f.fillsObjectHandler()
		},
		Rewrite: func(f *file, n ast.Node) string {
			if unary, ok := n.(*ast.UnaryExpr); ok {
				n = unary.X
			}
			return fill("{handler}.ForObject[") + f.argumentOf(n.(*ast.CompositeLit).Type) + "]()"
		},
		Reason: "a handler is a function",
	},
	{
		Name:    "a handler for the owner",
		Matches: matchCall("handler.EnqueueRequestForOwner", "handler.TypedEnqueueRequestForOwner"),
		Rewrite: func(f *file, n ast.Node) string {
			call, _ := f.called(n)
			if len(call.Args) < 3 {
				return f.leave(n, "handler.ForOwnerOf wants scheme, mapper and owner", snippets["handler.EnqueueRequestForOwner"]) + f.inside(n)
			}
			only := "false"
			for _, option := range call.Args[3:] {
				if _, key := f.called(option); key == "handler.OnlyControllerOwner" {
					only = "true"
				}
			}
			return fill("{handler}.ForOwnerOf[") + f.argumentOf(call.Fun) + "](" + f.text(call.Args[2]) + ", " + f.text(call.Args[0]) + ", " + f.text(call.Args[1]) + ", " + only + ")"
		},
		Reason: "a handler is a function",
	},
	{
		Name: "a map function without a context",
		Matches: func(f *file, n ast.Node) bool {
			call, key := f.called(n)
			if key != "handler.EnqueueRequestsFromMapFunc" || len(call.Args) != 1 {
				return false
			}
			signature, ok := f.info.TypeOf(call.Args[0]).Underlying().(*types.Signature)
			return ok && signature.Params().Len() == 1
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, _ := f.called(n)
			return fill("{handler}.Map(func(_ {context}.Context, o {object}.Object) []{reconcile}.Request { return ") + f.operand(call.Args[0]) + "(o) })"
		},
		Reason: "a map function has a context",
	},
	{
		Name:    "typed map functions",
		Matches: matchCall("handler.TypedEnqueueRequestsFromMapFunc"),
		Rewrite: func(f *file, n ast.Node) string {
			call, _ := f.called(n)
			return fill("{handler}.Map(") + f.text(call.Args[0]) + ")"
		},
		Reason: "a map function is of a Go type",
	},
	{
		Name: "a handler is asked",
		Matches: func(f *file, n ast.Node) bool {
			_, selector, key := f.method(n)
			switch key {
			case "handler#Create", "handler#Update", "handler#Delete", "handler#Generic",
				"handler#CreateFunc", "handler#UpdateFunc", "handler#DeleteFunc", "handler#GenericFunc":
				return strings.HasPrefix(f.typeOf(selector.X), "handler.") && !f.isSelf(selector.X)
			}
			return false
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			return f.text(selector.X) + "(" + f.arguments(call, f.texts(call.Args)) + ")"
		},
		Reason: "handlers are functions",
	},
	{
		Name: "an event",
		Matches: func(f *file, n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			return ok && eventTypes[eventName(f.typeOf(literal))] != ""
		},
		Rewrite: func(f *file, n ast.Node) string {
			literal := n.(*ast.CompositeLit)
			text := f.inside(literal)
			head, body, _ := strings.Cut(text, "{")
			if literal.Type == nil {
				head = ""
			}
			separator := ", "
			if strings.HasPrefix(strings.TrimLeft(body, " \t"), "\n") {
				separator = ","
			} else if strings.HasPrefix(body, "}") {
				separator = ""
			}
			return head + "{Type: " + fill("{informer}."+eventTypes[eventName(f.typeOf(literal))]) + separator + body
		},
		Reason: "an event says what it is by its Type",
	},
}

// fillsObjectHandler reports whether what is looked at fills a field that a type embeds.
func (f *file) fillsObjectHandler() bool {
	field, ok := f.around(0).(*ast.KeyValueExpr)
	if !ok {
		return false
	}
	key, ok := field.Key.(*ast.Ident)
	return ok && isObjectHandler(key.Name)
}

var eventTypes = map[string]string{"CreateEvent": "Added", "UpdateEvent": "Updated", "DeleteEvent": "Deleted", "GenericEvent": "Generic"}

func eventName(key string) string {
	name, ok := strings.CutPrefix(key, "event.")
	if !ok {
		return ""
	}
	return strings.TrimPrefix(name, "Typed")
}

// methodPackages are the packages with the types of four methods of a handler and of a predicate.
var methodPackages = map[string]string{"handler": "compat/eventhandler", "predicate": "compat/eventfilter"}

// isFuncs reports whether a literal is of predicate.Funcs or handler.Funcs.
func isFuncs(f *file, literal *ast.CompositeLit, pkg string) bool {
	key := f.typeOf(literal)
	return key == pkg+".Funcs" || key == pkg+".TypedFuncs" && !strings.Contains(f.raw(literal)[:strings.Index(f.raw(literal), "{")], "Typed")
}

// funcs returns the literal itself.
func (f *file) funcs(literal *ast.CompositeLit, pkg string) string {
	edits := []edit{{f.offset(literal.Type.Pos()), f.offset(literal.Type.End()), fill("{" + methodPackages[pkg] + "}.Funcs")}}
	for _, element := range literal.Elts {
		edits = append(edits, f.edits(element)...)
	}
	return f.splice(literal, edits)
}

// isEmbedded reports whether a literal is the value of the field Funcs.
func (f *file) isEmbedded(ast.Node) bool {
	field, ok := f.around(0).(*ast.KeyValueExpr)
	return ok && isIdent(field.Key, "Funcs")
}

func (f *file) isFuncsField() bool {
	for i := range 3 {
		if field, ok := f.around(i).(*ast.KeyValueExpr); ok {
			return isIdent(field.Key, "Funcs")
		}
	}
	return false
}

// handlerOf returns a handler, as a function.
func (f *file) handlerOf(e ast.Expr) string {
	if f.isOwnType(f.info.TypeOf(e)) {
		f.wrapped[e] = true
		return fill("{compat/eventhandler}.Of(") + f.text(e) + ")"
	}
	return f.text(e)
}

// isHandler reports whether a type is that of handlers, of objects or of a Go type.
func isHandler(t types.Type) bool {
	key := typeKey(t)
	return key == "handler.EventHandler" || key == "handler.TypedEventHandler"
}

// genericTypes are the types that are written with type arguments and are something else in the runtime.
var genericTypes = map[string]func(args []string) string{
	"predicate.TypedPredicate":   func([]string) string { return fill("{predicate}.Predicate") },
	"predicate.TypedFuncs":       func([]string) string { return fill("{predicate}.Predicate") },
	"handler.TypedFuncs":         func(args []string) string { return fill("{handler}.Handler[") + strings.Join(args, ", ") + "]" },
	"handler.TypedMapFunc":       func(args []string) string { return fill("func({context}.Context, ") + args[0] + ") []" + args[1] },
	"controller.TypedOptions":    func([]string) string { return fill("{controller}.Options") },
	"controller.TypedController": func(args []string) string { return fill("*{controller}.Controller[") + args[0] + "]" },
	"builder.TypedBuilder":       func(args []string) string { return fill("{controller}.Builder[{object}.Object, ") + args[0] + "]" },
	"source.TypedSource":         func(args []string) string { return fill("{source}.Source[") + args[0] + "]" },
	"source.TypedSyncingSource":  func(args []string) string { return fill("{source}.Source[") + args[0] + "]" },
}

// isTypedFuncs reports whether a type is the TypedFuncs of a package, written with type arguments.
func (f *file) isTypedFuncs(e ast.Expr, pkg string) bool {
	return e != nil && genericOf(e) != nil && f.symbol(genericOf(e)) == pkg+".TypedFuncs"
}

// typedFuncs returns a literal of functions for a Go type.
func (f *file) typedFuncs(literal *ast.CompositeLit, pkg string) string {
	edits := []edit{{f.offset(literal.Type.Pos()), f.offset(literal.Type.End()), fill("{"+methodPackages[pkg]+"}.FuncsOf") + f.argumentsOf(literal.Type)}}
	f.stack = append(f.stack, literal)
	for _, element := range literal.Elts {
		edits = append(edits, f.edits(element)...)
	}
	f.stack = f.stack[:len(f.stack)-1]
	return f.splice(literal, edits)
}
