package migrate

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// controllerRules are about the builder, predicates and handlers.
var controllerRules = []Rule{
	{
		Name: "a controller",
		Matches: func(f *file, n ast.Node) bool {
			c := f.chain(n)
			return c != nil && (c.key == "ctrl.NewControllerManagedBy" || c.key == "builder.ControllerManagedBy" || c.key == "builder.TypedControllerManagedBy")
		},
		Rewrite: func(f *file, n ast.Node) string { return f.buildController(f.chain(n)) },
		Reason:  "a controller is of a Go type: controller.For[*T](m)",
	},
	{
		Name:    "what a controller watches",
		Matches: matchMethod("builder#Owns", "builder#Watches", "builder#WatchesMetadata", "builder#WithEventFilter", "builder#For", "builder#WithLogConstructor"),
		Rewrite: func(f *file, n ast.Node) string {
			_, selector, _ := f.method(n)
			return f.text(selector.X) + f.link(n.(*ast.CallExpr))
		},
		Reason: "predicates are further arguments",
	},
	{
		Name:    "predicates as an option of a watch",
		Matches: matchCall("builder.WithPredicates"),
		Rewrite: func(f *file, n ast.Node) string {
			call, _ := f.called(n)
			if len(call.Args) == 1 && !call.Ellipsis.IsValid() {
				return f.predicates(call.Args)[0]
			}
			return fill("{predicate}.And(") + strings.Join(f.predicates(call.Args), ", ") + ellipsis(call) + ")"
		},
		Reason: "predicates are further arguments of a watch",
	},
	{
		Name: "a predicate of functions",
		Matches: func(f *file, n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			return ok && isFuncs(f, literal, "predicate") && !f.isEmbedded(n)
		},
		Rewrite: func(f *file, n ast.Node) string {
			return fill("{predicate}.Of(") + f.funcs(n.(*ast.CompositeLit), "predicate") + ")"
		},
		Reason: "a predicate is a function; Of makes one of the four",
	},
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
			return fill("{handler}.Of(") + f.funcs(n.(*ast.CompositeLit), "handler") + ")"
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
			of := cmp.Or(f.argumentsOf(spec.Type), fill("[{client}.Object, {reconcile}.Request]"))
			f.wrapped[spec.Values[0]] = true
			return "_ " + fill("{handler}.Events") + of + " = " + f.text(spec.Values[0])
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
		Name: "an assertion about a predicate",
		Matches: func(f *file, n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			return ok && isAssertion(spec) && isPredicate(f.info.TypeOf(spec.Type)) && f.isOwnType(f.info.TypeOf(spec.Values[0]))
		},
		Rewrite: func(f *file, n ast.Node) string {
			spec := n.(*ast.ValueSpec)
			f.wrapped[spec.Values[0]] = true
			filter := fill("{predicate}.Filter")
			if of := f.argumentsOf(spec.Type); of != "" {
				filter = fill("{predicate}.FilterOf") + of
			}
			return "_ " + filter + " = " + f.text(spec.Values[0])
		},
		Reason: "a predicate is a function; what has four methods becomes one by Of",
	},
	{
		Name: "a predicate of one's own",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(ast.Expr)
			return ok && !f.wrapped[n] && f.info.Types[e].IsValue() && f.isOwnType(f.info.TypeOf(e)) && isPredicate(f.wanted(e))
		},
		Rewrite: func(f *file, n ast.Node) string { return f.predicates([]ast.Expr{n.(ast.Expr)})[0] },
		Reason:  "a predicate is a function; what has four methods becomes one by Of",
	},
	{
		Name: "a predicate of functions for a Go type",
		Matches: func(f *file, n ast.Node) bool {
			literal := literalOf(n)
			return literal != nil && f.isTypedFuncs(literal.Type, "predicate")
		},
		Rewrite: func(f *file, n ast.Node) string {
			return fill("{predicate}.Of(") + f.typedFuncs(literalOf(n), "predicate") + ")"
		},
		Reason: "a predicate is for all kinds; Of makes one of functions for a Go type",
	},
	{
		Name: "a handler of functions for a Go type",
		Matches: func(f *file, n ast.Node) bool {
			literal := literalOf(n)
			return literal != nil && f.isTypedFuncs(literal.Type, "handler")
		},
		Rewrite: func(f *file, n ast.Node) string {
			return fill("{handler}.Of(") + f.typedFuncs(literalOf(n), "handler") + ")"
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
			return fill("{"+pkg+"}.FuncsOf") + f.argumentsOf(n.(ast.Expr))
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
		Name: "an assertion about a source",
		Matches: func(f *file, n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			return ok && isAssertion(spec) && isSource(f.info.TypeOf(spec.Type)) && f.isOwnType(f.info.TypeOf(spec.Values[0]))
		},
		Rewrite: func(f *file, n ast.Node) string {
			spec := n.(*ast.ValueSpec)
			f.wrapped[spec.Values[0]] = true
			return "_ " + fill("{source}.Starter") + cmp.Or(f.argumentsOf(spec.Type), fill("[{reconcile}.Request]")) + " = " + f.text(spec.Values[0])
		},
		Reason: "what has Start becomes a source by Of",
	},
	{
		Name: "a source of one's own",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(ast.Expr)
			return ok && !f.wrapped[n] && f.info.Types[e].IsValue() && f.isOwnType(f.info.TypeOf(e)) && isSource(f.wanted(e))
		},
		Rewrite: func(f *file, n ast.Node) string {
			f.wrapped[n] = true
			return fill("{source}.Of(") + f.text(n) + ")"
		},
		Reason: "what has Start becomes a source by Of",
	},
	{
		Name: "a source that is a function",
		Matches: func(f *file, n ast.Node) bool {
			call, key := f.called(n)
			return (key == "source.Func" || key == "source.TypedFunc") && len(call.Args) == 1
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, _ := f.called(n)
			of := cmp.Or(f.argumentsOf(call.Fun), fill("[{reconcile}.Request]"))
			return fill("{source}.Of({source}.StartFunc") + of + "(" + f.text(call.Args[0]) + "))"
		},
		Reason: "what has Start becomes a source by Of",
	},
	{
		Name: "a source of a channel",
		Matches: func(f *file, n ast.Node) bool {
			call, key := f.called(n)
			return (key == "source.Channel" || key == "source.TypedChannel") && len(call.Args) >= 2
		},
		Rewrite: func(f *file, n ast.Node) string { return f.channelSource(n.(*ast.CallExpr)) },
		Reason:  "predicates are further arguments",
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
		Name: "a known predicate in a type",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(ast.Expr)
			field, inField := f.around(0).(*ast.Field)
			return ok && inField && len(field.Names) == 0 && f.inStruct() && knownPredicates[f.knownSymbol(e)] != ""
		},
		Rewrite: func(f *file, n ast.Node) string { return fill("{predicate}." + f.knownSymbol(n.(ast.Expr))) },
		Reason:  "what is embedded has methods",
	},
	{
		Name: "a known predicate that a type has",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(ast.Expr)
			field, inField := f.around(0).(*ast.KeyValueExpr)
			if !ok || !inField || f.knownPredicate(n) == "" {
				return false
			}
			key, isName := field.Key.(*ast.Ident)
			return isName && field.Value == e && knownPredicates[key.Name] != "" && f.info.Types[e].IsValue()
		},
		Rewrite: func(f *file, n ast.Node) string {
			return fill("{predicate}."+f.around(1).(*ast.KeyValueExpr).Key.(*ast.Ident).Name) + "{}"
		},
		Reason: "what is embedded has methods"},
	{
		Name: "predicates together, with their Go type",
		Matches: func(f *file, n ast.Node) bool {
			generic, ok := n.(*ast.IndexExpr)
			return ok && slices.Contains([]string{"predicate.And", "predicate.Or", "predicate.Not"}, f.symbol(generic.X))
		},
		Rewrite: func(f *file, n ast.Node) string { return f.text(n.(*ast.IndexExpr).X) },
		Reason:  "a predicate is for all kinds",
	},
	{
		Name: "a source of a kind",
		Matches: func(f *file, n ast.Node) bool {
			call, key := f.called(n)
			return (key == "source.Kind" || key == "source.TypedKind") && len(call.Args) > 2
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, _ := f.called(n)
			edits := []edit{{f.offset(call.Fun.Pos()), f.offset(call.Fun.End()), fill("{source}.Kind") + f.argumentsOf(call.Fun)}}
			for i, arg := range call.Args {
				if i < 3 {
					edits = append(edits, f.edits(arg)...)
					continue
				}
				edits = append(edits, edit{f.offset(arg.Pos()), f.offset(arg.End()), f.predicates([]ast.Expr{arg})[0]})
			}
			return f.splice(call, edits)
		},
		Reason: "predicates are functions",
	},
	{
		Name: "a controller without a builder",
		Matches: func(f *file, n ast.Node) bool {
			call, key := f.called(n)
			return (key == "controller.New" || key == "controller.NewTyped") && len(call.Args) == 3 && f.reconcilerOf(call.Args[2]) != nil
		},
		Rewrite: func(f *file, n ast.Node) string { return f.controllerOf(n.(*ast.CallExpr)) },
		Reason:  "a builder makes controllers of any requests",
	},
	{
		Name: "a controller without a builder, whose options are a variable",
		Matches: func(f *file, n ast.Node) bool {
			call, key := f.called(n)
			return (key == "controller.New" || key == "controller.NewTyped") && len(call.Args) == 3 && f.reconcilerSet(call.Args[2]) != nil
		},
		Rewrite: func(f *file, n ast.Node) string {
			call := n.(*ast.CallExpr)
			requests := cmp.Or(f.argumentsOf(call.Fun), fill("[{reconcile}.Request]"))
			return fill("{controller}.Of") + requests + "(" + f.text(call.Args[1]) + ", " + f.text(call.Args[0]) + ").WithOptions(" +
				f.text(call.Args[2]) + ").Build(" + f.text(f.reconcilerSet(call.Args[2])) + ")"
		},
		Reason: "a builder makes controllers of any requests",
	},
	{
		Name: "the reconciler among the options of a controller",
		Matches: func(f *file, n ast.Node) bool {
			key, value, _ := f.fieldSet(n)
			return key == "controller#Reconciler" && f.isReconcilerTaken(n, value)
		},
		Rewrite: func(*file, ast.Node) string { return removed },
		Reason:  "it is given to what makes the controller",
	},
	{
		Name: "a controller that nothing manages",
		Matches: func(f *file, n ast.Node) bool {
			call, key := f.called(n)
			return (key == "controller.NewUnmanaged" || key == "controller.NewTypedUnmanaged") && len(call.Args) >= 2 && f.unmanagedReconciler(call) != nil && f.isPair()
		},
		Rewrite: func(f *file, n ast.Node) string {
			call := n.(*ast.CallExpr)
			reconciler := f.text(f.unmanagedReconciler(call))
			options := call.Args[len(call.Args)-1]
			text := f.text(options)
			if literal, ok := options.(*ast.CompositeLit); ok {
				text = f.withoutField(literal, f.reconcilerOf(literal))
			}
			return fill("{controller}.New") + f.argumentsOf(call.Fun) + "(" + f.text(call.Args[0]) + ", " + reconciler + ", " + text + "), error(nil)"
		},
		Reason: "a controller is run by who has it",
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
			return fill("{" + strings.TrimSuffix(f.symbol(n), ".Funcs") + "}.Funcs")
		},
		Reason: "an embedded Funcs stays one",
	},
	{
		Name:    "a known predicate",
		Matches: func(f *file, n ast.Node) bool { return f.knownPredicate(n) != "" },
		Rewrite: func(f *file, n ast.Node) string { return fill(f.knownPredicate(n)) },
		Reason:  "predicates are functions",
	},
	{
		Name:    "a handler for the object",
		Matches: func(f *file, n ast.Node) bool { return f.isLiteral(n, "handler.EnqueueRequestForObject") },
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
				return f.leave(n, "handler.ForOwnerOf wants scheme, mapper and owner", "") + f.inside(n)
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
			return fill("{handler}.Map(func(_ {context}.Context, o {client}.Object) []{reconcile}.Request { return ") + f.operand(call.Args[0]) + "(o) })"
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
		Name: "a predicate is asked",
		Matches: func(f *file, n ast.Node) bool {
			_, selector, key := f.method(n)
			switch key {
			case "predicate#Create", "predicate#Update", "predicate#Delete", "predicate#Generic":
				return strings.HasPrefix(f.typeOf(selector.X), "predicate.") && !f.isSelf(selector.X)
			}
			return false
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			return f.text(selector.X) + "(" + strings.Join(f.texts(call.Args), ", ") + ")"
		},
		Reason: "predicates are functions",
	},
	{
		Name: "a handler is asked",
		Matches: func(f *file, n ast.Node) bool {
			_, selector, key := f.method(n)
			switch key {
			case "handler#Create", "handler#Update", "handler#Delete", "handler#Generic":
				return strings.HasPrefix(f.typeOf(selector.X), "handler.") && !f.isSelf(selector.X)
			}
			return false
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			return f.text(selector.X) + "(" + strings.Join(f.texts(call.Args), ", ") + ")"
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

var eventTypes = map[string]string{"CreateEvent": "Added", "UpdateEvent": "Updated", "DeleteEvent": "Deleted", "GenericEvent": "Sync"}

func eventName(key string) string {
	name, ok := strings.CutPrefix(key, "event.")
	if !ok {
		return ""
	}
	return strings.TrimPrefix(name, "Typed")
}

// known predicates, and what they are now.
var knownPredicates = map[string]string{
	"GenerationChangedPredicate":      "{predicate}.SpecChanged()",
	"LabelChangedPredicate":           "{predicate}.LabelsChanged()",
	"AnnotationChangedPredicate":      "{predicate}.AnnotationsChanged()",
	"ResourceVersionChangedPredicate": "{predicate}.ResourceVersionChanged()",
}

func (f *file) knownPredicate(n ast.Node) string {
	inner := n
	if unary, ok := n.(*ast.UnaryExpr); ok {
		inner = unary.X
	}
	literal, ok := inner.(*ast.CompositeLit)
	if !ok {
		return ""
	}
	name, ok := strings.CutPrefix(f.typeOf(literal), "predicate.")
	if !ok {
		return ""
	}
	return knownPredicates[strings.TrimPrefix(name, "Typed")]
}

// isLiteral reports whether a node is T{} or &T{}.
func (f *file) isLiteral(n ast.Node, key string) bool {
	if unary, ok := n.(*ast.UnaryExpr); ok {
		n = unary.X
	}
	literal, ok := n.(*ast.CompositeLit)
	if !ok {
		return false
	}
	of := f.typeOf(literal)
	pkg, name, _ := strings.Cut(key, ".")
	return of == key || of == pkg+".Typed"+name
}

// isFuncs reports whether a literal is of predicate.Funcs or handler.Funcs.
func isFuncs(f *file, literal *ast.CompositeLit, pkg string) bool {
	key := f.typeOf(literal)
	return key == pkg+".Funcs" || key == pkg+".TypedFuncs" && !strings.Contains(f.raw(literal)[:strings.Index(f.raw(literal), "{")], "Typed")
}

// funcs returns the literal itself.
func (f *file) funcs(literal *ast.CompositeLit, pkg string) string {
	edits := []edit{{f.offset(literal.Type.Pos()), f.offset(literal.Type.End()), fill("{" + pkg + "}.Funcs")}}
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

func (f *file) inStruct() bool {
	_, ok := f.around(2).(*ast.StructType)
	return ok
}

// isSelf reports whether an expression is the embedded Funcs of a type of one's own.
func (f *file) isSelf(e ast.Expr) bool {
	selector, ok := e.(*ast.SelectorExpr)
	return ok && (selector.Sel.Name == "Funcs" || knownPredicates[selector.Sel.Name] != "")
}

// chain is calls one after the other: root(...).a(...).b(...).
type chain struct {
	root  *ast.CallExpr
	key   string // of the function that the root calls
	links []*ast.CallExpr
}

func (f *file) chain(n ast.Node) *chain {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil
	}
	c := &chain{}
	for {
		if _, key := f.called(call); key != "" {
			c.root, c.key = call, key
			return c
		}
		selector, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return nil
		}
		next, ok := ast.Unparen(selector.X).(*ast.CallExpr)
		if !ok {
			return nil
		}
		c.links = append([]*ast.CallExpr{call}, c.links...)
		call = next
	}
}

func linkName(call *ast.CallExpr) string { return call.Fun.(*ast.SelectorExpr).Sel.Name }

// find returns the first link of a name, or nil.
func (c *chain) find(name string) *ast.CallExpr {
	for _, link := range c.links {
		if linkName(link) == name {
			return link
		}
	}
	return nil
}

// ends reports whether a chain of a builder makes its controller, so that the builder is given to nobody.
func (c *chain) ends() bool {
	name := linkName(c.links[len(c.links)-1])
	return name == "Complete" || name == "Build"
}

// gap returns what stands between two calls: white space and comments.
func (f *file) gap(link *ast.CallExpr) string {
	selector := link.Fun.(*ast.SelectorExpr)
	return string(f.source[f.offset(selector.X.End()):f.offset(selector.Sel.Pos())])
}

func (f *file) buildController(c *chain) string {
	m := f.text(c.root.Args[0])
	var out strings.Builder
	forLink, named := c.find("For"), c.find("Named")
	if forLink != nil && len(forLink.Args) > 0 {
		f.owner = fill("{handler}.ForOwnerOf[{client}.Object](") + f.text(forLink.Args[0]) + ", " + m + ".Scheme(), " + m + ".RESTMapper(), false)"
		defer func() { f.owner = "" }()
	}
	requests := fill("{reconcile}.Request")
	if generic, ok := c.root.Fun.(*ast.IndexExpr); ok {
		requests = f.text(generic.Index)
	}
	switch {
	case forLink != nil && len(forLink.Args) > 0:
		out.WriteString(f.controllerFor(c, m, forLink.Args[0]))
	case named != nil:
		out.WriteString(fill("{controller}.Of[") + requests + "](" + m + ", " + f.text(named.Args[0]) + ")")
	default:
		out.WriteString(fill("{controller}.ManagedBy(") + m + ")")
	}
	for _, link := range c.links {
		switch {
		case link == forLink:
			out.WriteString(f.predicatesOf(f.gap(link), link.Args[1:]))
		case link == named && forLink == nil:
		default:
			out.WriteString(f.link(link))
		}
	}
	return out.String()
}

// controllerFor returns the head of a builder for a prototype.
func (f *file) controllerFor(c *chain, m string, prototype ast.Expr) string {
	if f.namesBuilder && !c.ends() {
		return fill("{controller}.ForPrototype[{client}.Object](") + m + ", " + f.text(prototype) + ")"
	}
	t := f.info.TypeOf(prototype)
	switch namedOf(t) {
	case "", "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured.Unstructured", "k8s.io/apimachinery/pkg/apis/meta/v1.PartialObjectMetadata", peerModule + "/pkg/client.Object":
		return fill("{controller}.ForPrototype(") + m + ", " + f.text(prototype) + ")"
	}
	if _, isInterface := t.Underlying().(*types.Interface); isInterface {
		return fill("{controller}.ForPrototype(") + m + ", " + f.text(prototype) + ")"
	}
	return fill("{controller}.For[") + f.typeText(prototype) + "](" + m + ")"
}

// typeText returns the type of an expression as the file writes it.
func (f *file) typeText(e ast.Expr) string {
	if literal, ok := pointee(f, e).(*ast.CompositeLit); ok && literal.Type != nil {
		return "*" + f.text(literal.Type)
	}
	return f.typeName(f.info.TypeOf(e))
}

// typeName returns a type as a file writes it.
func (f *file) typeName(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == f.pkg.Types {
			return ""
		}
		for _, spec := range f.syntax.Imports {
			if importPathOf(spec) == p.Path() {
				return f.importName(spec)
			}
		}
		return imported(p.Path())
	})
}

const wholeObjects = "whole objects are watched: metav1.PartialObjectMetadata in place of the kind watches their metadata"

// predicatesOf returns a call of WithPredicates for the options of For.
func (f *file) predicatesOf(gap string, options []ast.Expr) string {
	var text string
	for _, option := range options {
		call, key := f.called(option)
		switch {
		case key == "builder.WithPredicates":
			text += gap + "WithPredicates(" + strings.Join(f.predicates(call.Args), ", ") + ellipsis(call) + ")"
		case f.symbol(option) == "builder.OnlyMetadata":
			f.note(option, wholeObjects)
		case isWatchOption(f.info.TypeOf(option)):
			text += gap + "WithPredicates(" + f.text(option)
			if _, list := f.info.TypeOf(option).Underlying().(*types.Slice); list {
				text += "..."
			}
			text += ")"
		default:
			text += f.leave(option, "this option of For has no counterpart", "controller.ForPrototype(m, &metav1.PartialObjectMetadata{TypeMeta: ...})")
		}
	}
	return text
}

// predicates returns predicates, each as a function.
func (f *file) predicates(list []ast.Expr) []string {
	texts := make([]string, len(list))
	for i, e := range list {
		if f.isOwnType(f.info.TypeOf(e)) {
			f.wrapped[e] = true
			texts[i] = fill("{predicate}.Of(") + f.text(e) + ")"
			continue
		}
		texts[i] = f.text(e)
	}
	return texts
}

// handlerOf returns a handler, as a function.
func (f *file) handlerOf(e ast.Expr) string {
	if f.isOwnType(f.info.TypeOf(e)) {
		f.wrapped[e] = true
		return fill("{handler}.Of(") + f.text(e) + ")"
	}
	return f.text(e)
}

// isHandler reports whether a type is that of handlers, of objects or of a Go type.
func isHandler(t types.Type) bool {
	key := typeKey(t)
	return key == "handler.EventHandler" || key == "handler.TypedEventHandler"
}

// argumentOf returns the first type argument of what is written with some, else that of what is for all objects.
func (f *file) argumentOf(generic ast.Expr) string {
	switch generic := generic.(type) {
	case *ast.IndexExpr:
		return f.text(generic.Index)
	case *ast.IndexListExpr:
		return f.text(generic.Indices[0])
	}
	return fill("{client}.Object")
}

// argumentsOf returns the type arguments of what is written with some, between brackets.
func (f *file) argumentsOf(generic ast.Expr) string {
	switch generic := generic.(type) {
	case *ast.IndexExpr:
		return "[" + f.text(generic.Index) + "]"
	case *ast.IndexListExpr:
		return "[" + strings.Join(f.texts(generic.Indices), ", ") + "]"
	}
	return ""
}

// genericTypes are the types that are written with type arguments and are something else in the runtime.
var genericTypes = map[string]func(args []string) string{
	"predicate.TypedPredicate":   func([]string) string { return fill("{predicate}.Predicate") },
	"predicate.TypedFuncs":       func([]string) string { return fill("{predicate}.Predicate") },
	"handler.TypedFuncs":         func(args []string) string { return fill("{handler}.Handler[") + strings.Join(args, ", ") + "]" },
	"handler.TypedMapFunc":       func(args []string) string { return fill("func({context}.Context, ") + args[0] + ") []" + args[1] },
	"controller.TypedOptions":    func([]string) string { return fill("{controller}.Options") },
	"controller.TypedController": func(args []string) string { return fill("*{controller}.Controller[") + args[0] + "]" },
	"builder.TypedBuilder":       func(args []string) string { return fill("{controller}.Builder[{client}.Object, ") + args[0] + "]" },
	"source.TypedSource":         func(args []string) string { return fill("{source}.Source[") + args[0] + "]" },
	"source.TypedSyncingSource":  func(args []string) string { return fill("{source}.Source[") + args[0] + "]" },
}

// genericOf returns what is written with type arguments, or nil.
func genericOf(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.IndexExpr:
		return e.X
	case *ast.IndexListExpr:
		return e.X
	}
	return nil
}

// typeArguments returns the type arguments of what is written with some.
func (f *file) typeArguments(e ast.Expr) []string {
	switch e := e.(type) {
	case *ast.IndexExpr:
		return []string{f.text(e.Index)}
	case *ast.IndexListExpr:
		return f.texts(e.Indices)
	}
	return nil
}

// literalOf returns T{} of T{} and &T{}, else nil.
func literalOf(n ast.Node) *ast.CompositeLit {
	if unary, ok := n.(*ast.UnaryExpr); ok && unary.Op == token.AND {
		n = unary.X
	}
	literal, _ := n.(*ast.CompositeLit)
	return literal
}

// isTypedFuncs reports whether a type is the TypedFuncs of a package, written with type arguments.
func (f *file) isTypedFuncs(e ast.Expr, pkg string) bool {
	return e != nil && genericOf(e) != nil && f.symbol(genericOf(e)) == pkg+".TypedFuncs"
}

// typedFuncs returns a literal of functions for a Go type.
func (f *file) typedFuncs(literal *ast.CompositeLit, pkg string) string {
	edits := []edit{{f.offset(literal.Type.Pos()), f.offset(literal.Type.End()), fill("{"+pkg+"}.FuncsOf") + f.argumentsOf(literal.Type)}}
	f.stack = append(f.stack, literal)
	for _, element := range literal.Elts {
		edits = append(edits, f.edits(element)...)
	}
	f.stack = f.stack[:len(f.stack)-1]
	return f.splice(literal, edits)
}

// channelSource returns a source of a channel: what is sent waits in the channel itself.
func (f *file) channelSource(call *ast.CallExpr) string {
	args := f.texts(call.Args[:2])
	for _, option := range call.Args[2:] {
		inner, key := f.called(option)
		switch key {
		case "source.WithPredicates":
			args = append(args, f.predicates(inner.Args)...)
			if inner.Ellipsis.IsValid() {
				args[len(args)-1] += "..."
			}
		case "source.WithBufferSize":
			f.note(option, "left out: the events wait in the channel itself, which can be made with room for them")
		default:
			args = append(args, f.leave(option, "this option of a source has no counterpart", "")+f.raw(option))
		}
	}
	return fill("{source}.Channel") + f.argumentsOf(call.Fun) + "(" + strings.Join(args, ", ") + ")"
}

// isAssertion reports whether a variable only says that a type implements an interface.
func isAssertion(spec *ast.ValueSpec) bool {
	return len(spec.Names) == 1 && spec.Names[0].Name == "_" && spec.Type != nil && len(spec.Values) == 1
}

// isPredicate reports whether a type is that of predicates, of objects or of a Go type.
func isPredicate(t types.Type) bool {
	key := typeKey(t)
	return key == "predicate.Predicate" || key == "predicate.TypedPredicate"
}

// isSource reports whether a type is that of sources.
func isSource(t types.Type) bool {
	switch typeKey(t) {
	case "source.Source", "source.TypedSource", "source.SyncingSource", "source.TypedSyncingSource":
		return true
	}
	return false
}

// knownSymbol returns the name of a known predicate's type without what it is typed by, such as GenerationChangedPredicate; else "".
func (f *file) knownSymbol(e ast.Expr) string {
	if generic := genericOf(e); generic != nil {
		e = generic
	}
	name, ok := strings.CutPrefix(f.symbol(e), "predicate.")
	if !ok {
		return ""
	}
	return strings.TrimPrefix(name, "Typed")
}

// reconcilerOf returns the field of the options of a controller that has its reconciler, or nil.
func (f *file) reconcilerOf(options ast.Expr) *ast.KeyValueExpr {
	literal, ok := options.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	for _, element := range literal.Elts {
		if field, ok := element.(*ast.KeyValueExpr); ok && isIdent(field.Key, "Reconciler") {
			return field
		}
	}
	return nil
}

// controllerOf returns the builder of a controller that is made without one.
func (f *file) controllerOf(call *ast.CallExpr) string {
	requests := cmp.Or(f.argumentsOf(call.Fun), fill("[{reconcile}.Request]"))
	text := fill("{controller}.Of") + requests + "(" + f.text(call.Args[1]) + ", " + f.text(call.Args[0]) + ")"
	literal, field := call.Args[2].(*ast.CompositeLit), f.reconcilerOf(call.Args[2])
	reconciler := f.text(field.Value)
	if len(literal.Elts) > 1 {
		text += ".WithOptions(" + f.withoutField(literal, field) + ")"
	}
	return text + ".Build(" + reconciler + ")"
}

// withoutField returns a literal without one of its fields.
func (f *file) withoutField(literal *ast.CompositeLit, field ast.Node) string {
	edits := []edit{f.removal(field)}
	f.stack = append(f.stack, literal)
	for _, child := range children(literal) {
		if child != field {
			edits = append(edits, f.edits(child)...)
		}
	}
	f.stack = f.stack[:len(f.stack)-1]
	return f.splice(literal, edits)
}

// unmanagedReconciler returns the reconciler that the options of a controller have which nothing manages, or nil.
func (f *file) unmanagedReconciler(call *ast.CallExpr) ast.Expr {
	options := call.Args[len(call.Args)-1]
	if field := f.reconcilerOf(options); field != nil {
		return field.Value
	}
	return f.reconcilerSet(options)
}

// isPair reports whether the node that is looked at gives two values to a statement.
func (f *file) isPair() bool {
	for i := range 2 { // a rule that rewrites has the node itself around it
		switch statement := f.around(i).(type) {
		case *ast.AssignStmt:
			return len(statement.Lhs) == 2 && len(statement.Rhs) == 1
		case *ast.ReturnStmt:
			return len(statement.Results) == 1
		}
	}
	return false
}

// reconcilerSet returns the reconciler that a variable of options is given in the function that it is in, if it is one that may be
// named elsewhere there: what it is named by does not change.
func (f *file) reconcilerSet(options ast.Expr) ast.Expr {
	ident, ok := options.(*ast.Ident)
	if !ok || f.info.Uses[ident] == nil {
		return nil
	}
	variable := f.info.Uses[ident]
	var found []ast.Expr
	ast.Inspect(f.body(), func(n ast.Node) bool {
		assign, ok := n.(*ast.AssignStmt)
		if !ok || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 {
			return true
		}
		switch left := assign.Lhs[0].(type) {
		case *ast.Ident:
			if field := f.reconcilerOf(assign.Rhs[0]); field != nil && (f.info.Defs[left] == variable || f.info.Uses[left] == variable) {
				found = append(found, field.Value)
			}
		case *ast.SelectorExpr:
			if of, ok := left.X.(*ast.Ident); ok && f.info.Uses[of] == variable && f.member(left.Sel) == "controller#Reconciler" {
				found = append(found, assign.Rhs[0])
			}
		}
		return true
	})
	if len(found) != 1 || !isName(found[0]) {
		return nil
	}
	return found[0]
}

// isReconcilerTaken reports whether what makes a controller in the function takes the reconciler that a node sets among its options.
func (f *file) isReconcilerTaken(n ast.Node, reconciler ast.Expr) bool {
	if f.body() == nil {
		return false
	}
	taken := false
	ast.Inspect(f.body(), func(n ast.Node) bool {
		if call, key := f.called(n); call != nil && strings.HasPrefix(key, "controller.New") && len(call.Args) >= 2 {
			taken = taken || f.reconcilerSet(call.Args[len(call.Args)-1]) == reconciler
		}
		return !taken
	})
	return taken
}

// body returns the body of the outermost function that the node is in, or nil.
func (f *file) body() ast.Node {
	for _, n := range f.stack {
		if decl, ok := n.(*ast.FuncDecl); ok && decl.Body != nil {
			return decl.Body
		}
	}
	return nil
}

// isName reports whether an expression is a name, or one of a field.
func isName(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return true
	case *ast.SelectorExpr:
		return isName(e.X)
	case *ast.UnaryExpr:
		return e.Op == token.AND && isName(e.X)
	}
	return false
}

// isOwnType reports whether a type is a struct, or a pointer to one, that the project declares.
func (f *file) isOwnType(t types.Type) bool {
	name := namedOf(t)
	at := strings.LastIndex(name, ".")
	if at < 0 || !f.isOwn(name[:at]) {
		return false
	}
	underlying := t.Underlying()
	if pointer, ok := underlying.(*types.Pointer); ok {
		underlying = pointer.Elem().Underlying()
	}
	_, isStruct := underlying.(*types.Struct)
	return isStruct
}

// link returns a call of a builder, with the dot before it.
func (f *file) link(link *ast.CallExpr) string {
	f.stack = append(f.stack, link)
	defer func() { f.stack = f.stack[:len(f.stack)-1] }()
	gap, name := f.gap(link), linkName(link)
	switch name {
	case "Owns", "Watches", "WatchesMetadata":
		return f.watch(name, link)
	case "WithEventFilter":
		return gap + "WithEventFilter(" + strings.Join(f.predicates(link.Args), ", ") + ")"
	case "WatchesRawSource":
		if text, ok := f.rawSource(gap, link); ok {
			return text
		}
		return gap + "WatchesSource(" + strings.Join(f.texts(link.Args), ", ") + ")"
	case "WithLogConstructor":
		f.note(link, "left out: the logger of a reconcile has the attributes controller, key and reconcileID")
		return ""
	case "WithOptions":
		return f.optionsOf(gap, link)
	case "For":
		return gap + "For(" + f.forLater(link.Args) + ")"
	}
	return gap + name + "(" + strings.Join(f.texts(link.Args), ", ") + ellipsis(link) + ")"
}

// watch returns a call of Owns or Watches: what is between its arguments stays.
func (f *file) watch(name string, link *ast.CallExpr) string {
	selector := link.Fun.(*ast.SelectorExpr)
	note := ""
	var edits []edit
	for i, arg := range link.Args {
		from, to := f.offset(arg.Pos()), f.offset(arg.End())
		var text string
		switch call, key := f.called(arg); {
		case i == 0:
			text = f.watched(arg)
		case i == 1 && name != "Owns":
			text = f.handlerOf(arg)
		case key == "builder.WithPredicates" && call.Ellipsis.IsValid():
			text = f.text(call.Args[0]) + "..."
		case key == "builder.WithPredicates":
			text = strings.Join(f.predicates(call.Args), ", ")
		case isWatchOption(f.info.TypeOf(arg)) && key == "" && f.symbol(arg) == "":
			text = f.text(arg) // which is a predicate, or some
		case f.symbol(arg) == "builder.OnlyMetadata" && name == "Watches":
			name = "WatchesMetadata"
		case f.symbol(arg) == "builder.OnlyMetadata":
			f.note(arg, wholeObjects)
		case f.symbol(arg) == "builder.MatchEveryOwner" && f.owner != "":
			name = "Watches"
			edits[0].text += ", " + f.owner
		case f.symbol(arg) == "builder.MatchEveryOwner":
			note += f.leave(arg, "owners that do not control are watched by handler.ForOwner", "Watches(prototype, handler.ForOwner[client.Object](ownerKind, m.RESTMapper(), false))")
		default:
			text = f.leave(arg, "this option of a watch has no counterpart", "") + f.text(arg)
		}
		if text == "" {
			from = f.offset(link.Args[i-1].End()) // with the comma before it
		}
		edits = append(edits, edit{from, to, text})
	}
	at := f.offset(selector.Sel.Pos())
	edits = append(edits, edit{at, f.offset(selector.Sel.End()), note + name})
	return f.spliceRange(f.offset(selector.X.End()), f.offset(link.End()), edits)
}

// forLater returns the arguments of For of a builder that somebody else has begun.
func (f *file) forLater(args []ast.Expr) string {
	texts := []string{f.text(args[0])}
	for _, option := range args[1:] {
		if call, key := f.called(option); key == "builder.WithPredicates" && !call.Ellipsis.IsValid() {
			texts = append(texts, f.predicates(call.Args)...)
			continue
		}
		if f.symbol(option) == "builder.OnlyMetadata" {
			f.note(option, wholeObjects)
			continue
		}
		if _, list := f.info.TypeOf(option).Underlying().(*types.Slice); !list && isWatchOption(f.info.TypeOf(option)) {
			texts = append(texts, f.text(option))
			continue
		}
		texts = append(texts, f.leave(option, "this option of For has no counterpart", "For(&metav1.PartialObjectMetadata{TypeMeta: ...})")+f.text(option))
	}
	return strings.Join(texts, ", ")
}

// isWatchOption reports whether a type is that of the options of a watch, or of several.
func isWatchOption(t types.Type) bool {
	if t == nil {
		return false
	}
	if list, ok := t.Underlying().(*types.Slice); ok {
		t = list.Elem()
	}
	key := typeKey(t)
	return key == "builder.WatchesOption" || key == "builder.OwnsOption" || key == "builder.ForOption" || key == "builder.Predicates"
}

// watched returns what is watched: of the oldest form, &source.Kind{Type: x}, the x.
func (f *file) watched(e ast.Expr) string {
	if literal, ok := pointee(f, e).(*ast.CompositeLit); ok && f.typeOf(literal) == "source.Kind" {
		for _, element := range literal.Elts {
			if field, ok := element.(*ast.KeyValueExpr); ok && isIdent(field.Key, "Type") {
				return f.text(field.Value)
			}
		}
	}
	return f.text(e)
}

// rawSource makes of a watch of a source of a kind one of the kind, if it is of the manager's cache.
func (f *file) rawSource(gap string, link *ast.CallExpr) (string, bool) {
	if len(link.Args) != 1 {
		return "", false
	}
	call, key := f.called(link.Args[0])
	if key != "source.Kind" || len(call.Args) < 3 {
		return "", false
	}
	prototype, h := call.Args[1], call.Args[2]
	args := []string{f.text(prototype), f.handlerOf(h)}
	if handled, of := f.called(h); of == "handler.TypedEnqueueRequestsFromMapFunc" {
		t := f.typeText(prototype)
		args[1] = fill("{handler}.Map(func(ctx {context}.Context, o {client}.Object) []{reconcile}.Request { return ") + f.operand(handled.Args[0]) + "(ctx, o.(" + t + ")) })"
	} else if f.isLiteral(h, "handler.EnqueueRequestForObject") {
		args[1] = fill("{handler}.ForObject[{client}.Object]()")
	} else if f.typeOf(h) == "handler.EventHandler" {
		args[1] = f.handlerOf(h)
	} else {
		return "", false
	}
	for _, p := range call.Args[3:] {
		args = append(args, f.predicates([]ast.Expr{p})...)
	}
	return gap + "Watches(" + strings.Join(args, ", ") + ")", true
}

// optionsOf returns WithOptions, and WithRateLimiter for the limiter that is among them.
func (f *file) optionsOf(gap string, link *ast.CallExpr) string {
	var limiter string
	if literal, ok := link.Args[0].(*ast.CompositeLit); ok {
		for _, element := range literal.Elts {
			field, ok := element.(*ast.KeyValueExpr)
			if !ok || !isIdent(field.Key, "RateLimiter") {
				continue
			}
			if call, key := f.called(field.Value); call == nil || !strings.Contains(key, "RateLimiter") || !strings.HasPrefix(key, "workqueue.") || strings.Contains(key, "MaxOf") || strings.Contains(key, "Bucket") {
				f.wrapped[field.Value] = true
				limiter = gap + "WithRateLimiter(" + f.text(field.Value) + ")"
			}
		}
	}
	return gap + "WithOptions(" + strings.Join(f.texts(link.Args), ", ") + ")" + limiter
}

// limiterTaken reports whether a rate limiter is given to the builder.
func (f *file) limiterTaken(e ast.Expr) bool { return f.wrapped[e] }
