package migrate

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// What watches were in versions before 0.19: a source that has no handler, which is an argument beside it, and handlers without a context.

// oldWatchRules are about such sources and handlers outside of builders.
var oldWatchRules = []Rule{
	{
		Name: "a watch of a source and a handler",
		Matches: func(f *file, n ast.Node) bool {
			call, _, key := f.method(n)
			return key == "controller#Watch" && len(call.Args) >= 2 && f.isOldSource(call.Args[0]) && f.manager() != ""
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			predicates := f.predicates(call.Args[2:])
			if call.Ellipsis.IsValid() {
				predicates = []string{predicates[0] + "..."}
			}
			return f.text(selector) + "(" + f.oldSource(call.Args[0], call.Args[1], predicates) + ")"
		},
		Reason: "a source has its handler",
	},
	{
		Name: "a handler for the owner that is a literal",
		Matches: func(f *file, n ast.Node) bool {
			return f.isLiteral(n, "handler.EnqueueRequestForOwner") && f.manager() != ""
		},
		Rewrite: func(f *file, n ast.Node) string {
			fields, only := keyed(literalOf(n)), "false"
			if is := fields["IsController"]; is != nil {
				only = f.text(is)
			}
			if fields["OwnerType"] == nil {
				return f.leave(n, "a handler for owners says of which kind", "handler.ForOwner[object.Object](ownerKind, m.RESTMapper(), true)") + f.raw(n)
			}
			m := f.manager()
			return fill("{handler}.ForOwnerOf[{object}.Object](") + f.text(fields["OwnerType"]) + ", " + m + ".Scheme(), " + m + ".RESTMapper(), " + only + ")"
		},
		Reason: "a handler is a function",
	},
	{
		Name: "a function of a handler without a context",
		Matches: func(f *file, n ast.Node) bool {
			field, ok := n.(*ast.KeyValueExpr)
			if !ok || !strings.HasPrefix(f.member(identOf(field.Key)), "handler#") {
				return false
			}
			signature, ok := f.info.TypeOf(field.Value).(*types.Signature)
			return ok && isOldHandler(signature)
		},
		Rewrite: func(f *file, n ast.Node) string {
			field := n.(*ast.KeyValueExpr)
			if literal, ok := field.Value.(*ast.FuncLit); ok {
				return f.raw(field.Key) + ": " + f.withContext(literal, literal.Type)
			}
			return f.raw(field.Key) + fill(": func(_ {context}.Context, e {informer}.Event[{object}.Object], q {handler}.Queue[{reconcile}.Request]) { ") + f.operand(field.Value) + "(e, q) }"
		},
		Reason: "handlers have a context",
	},
	{
		Name: "a method of a handler without a context",
		Matches: func(f *file, n ast.Node) bool {
			decl, ok := n.(*ast.FuncDecl)
			return ok && decl.Recv != nil && f.isOldHandlerMethod(decl.Name)
		},
		Rewrite: func(f *file, n ast.Node) string { return f.withContext(n, n.(*ast.FuncDecl).Type) },
		Reason:  "handlers have a context",
	},
	{
		Name: "a rate limiter of a controller, of any requests",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(ast.Expr)
			return ok && f.limiterName(n) != "" && (f.limits || typeKey(f.wanted(e)) == "ratelimiter.RateLimiter")
		},
		Rewrite: func(f *file, n ast.Node) string {
			limits := f.limits
			f.limits = true
			defer func() { f.limits = limits }()
			name := n
			if call, ok := n.(*ast.CallExpr); ok {
				name = call.Fun
			} else {
				name = literalOf(n).Type
			}
			text := f.inside(n)
			return strings.Replace(text, f.raw(name), f.limiterName(n), 1)
		},
		Reason: "rate limiters are of a type of requests",
	},
	{
		Name: "a handler that is asked without a context",
		Matches: func(f *file, n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return false
			}
			selector, ok := call.Fun.(*ast.SelectorExpr)
			return ok && f.isOldHandlerMethod(selector.Sel)
		},
		Rewrite: func(f *file, n ast.Node) string {
			call := n.(*ast.CallExpr)
			selector := call.Fun.(*ast.SelectorExpr)
			asked := f.text(selector)
			if strings.HasPrefix(f.typeOf(selector.X), "handler.") && !f.isSelf(selector.X) {
				asked = f.text(selector.X) // a function
			}
			return asked + fill("({context}.TODO(), ") + strings.Join(f.texts(call.Args), ", ") + ")"
		},
		Reason: "handlers have a context",
	},
}

// limiters are the rate limiters of client-go that are of any requests, and those of a type.
var limiters = map[string]string{
	"DefaultControllerRateLimiter":         "DefaultTypedControllerRateLimiter",
	"DefaultItemBasedRateLimiter":          "DefaultTypedItemBasedRateLimiter",
	"NewItemExponentialFailureRateLimiter": "NewTypedItemExponentialFailureRateLimiter",
	"NewItemFastSlowRateLimiter":           "NewTypedItemFastSlowRateLimiter",
	"NewMaxOfRateLimiter":                  "NewTypedMaxOfRateLimiter",
	"NewWithMaxWaitRateLimiter":            "NewTypedWithMaxWaitRateLimiter",
	"BucketRateLimiter":                    "TypedBucketRateLimiter",
}

// limiterName returns the name of the rate limiter of a type that a node makes one of any requests of; else "".
func (f *file) limiterName(n ast.Node) string {
	_, key := f.called(n)
	if literal := literalOf(n); literal != nil && literal.Type != nil {
		key = f.symbol(literal.Type)
	}
	if name := limiters[strings.TrimPrefix(key, "workqueue.")]; name != "" && strings.HasPrefix(key, "workqueue.") {
		return fill("{clientworkqueue}." + name + "[{reconcile}.Request]")
	}
	return ""
}

// isOldSource reports whether an expression is a source without a handler: &source.Kind{Type: x}, source.Kind(cache, x), &source.Channel{Source: c}.
func (f *file) isOldSource(e ast.Expr) bool {
	call, key := f.called(e)
	return key == "source.Kind" && len(call.Args) == 2 || f.isLiteral(e, "source.Kind") && f.manager() != "" || f.isLiteral(e, "source.Channel")
}

// oldSource returns a source with its handler and predicates.
func (f *file) oldSource(e, handler ast.Expr, predicates []string) string {
	args := strings.Join(append([]string{f.handlerOf(handler)}, predicates...), ", ")
	if call, _ := f.called(e); call != nil {
		return fill("{source}.Kind[{object}.Object](") + strings.Join(f.texts(call.Args), ", ") + ", " + args + ")"
	}
	fields := keyed(literalOf(e))
	if f.isLiteral(e, "source.Kind") {
		return fill("{source}.Kind[{object}.Object](") + f.manager() + ".Cache(), " + f.text(fields["Type"]) + ", " + args + ")"
	}
	return fill("{source}.Channel(") + f.text(fields["Source"]) + ", " + args + ")"
}

// manager returns the manager of the builder that is rewritten, or the one that the function knows by a name: that of what makes its
// controller, or a parameter; else "".
func (f *file) manager() string {
	if f.managed != "" {
		return f.managed
	}
	var found string
	if f.body() != nil {
		ast.Inspect(f.body(), func(n ast.Node) bool {
			switch call, key := f.called(n); {
			case found != "" || call == nil:
			case key == "controller.New" && len(call.Args) == 3 && isName(call.Args[1]):
				found = f.raw(call.Args[1])
			case (key == "ctrl.NewControllerManagedBy" || key == "builder.ControllerManagedBy") && isName(call.Args[0]):
				found = f.raw(call.Args[0])
			}
			return found == ""
		})
	}
	for _, n := range slices.Backward(f.stack) {
		decl, ok := n.(*ast.FuncDecl)
		if !ok || found != "" {
			continue
		}
		for _, field := range decl.Type.Params.List {
			if f.typeOf(field.Type) == "manager.Manager" && len(field.Names) == 1 {
				found = field.Names[0].Name
			}
		}
	}
	return found
}

// isOldHandler reports whether a function is told an event and a queue, and no context.
func isOldHandler(signature *types.Signature) bool {
	if signature.Params().Len() != 2 || eventTypes[eventName(typeKey(signature.Params().At(0).Type()))] == "" {
		return false
	}
	queue := typeKey(signature.Params().At(1).Type())
	return queue == "workqueue.RateLimitingInterface" || queue == "workqueue.TypedRateLimitingInterface"
}

// isOldHandlerMethod reports whether a name is that of a method of a handler, without a context.
func (f *file) isOldHandlerMethod(name *ast.Ident) bool {
	object := f.info.Uses[name]
	if object == nil {
		object = f.info.Defs[name]
	}
	method, ok := object.(*types.Func)
	return ok && method.Signature().Recv() != nil && slices.Contains([]string{"Create", "Update", "Delete", "Generic"}, name.Name) && isOldHandler(method.Signature())
}

// withContext returns a function with a context before its parameters.
func (f *file) withContext(n ast.Node, function *ast.FuncType) string {
	at := f.offset(function.Params.Opening) + 1
	context := fill("_ {context}.Context, ")
	if len(function.Params.List[0].Names) == 0 {
		context = fill("{context}.Context, ")
	}
	return f.splice(n, append([]edit{{at, at, context}}, f.within(n)...)) // before the type of the first parameter
}

func identOf(e ast.Expr) *ast.Ident {
	ident, _ := e.(*ast.Ident)
	if ident == nil {
		return &ast.Ident{}
	}
	return ident
}
