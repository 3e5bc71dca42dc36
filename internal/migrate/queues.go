package migrate

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// queueRules are about queues of requests that tests of handlers make, and what they find in them.
var queueRules = []Rule{
	{
		Name:    "a queue that a type embeds",
		Matches: func(f *file, n ast.Node) bool { return f.isEmbeddedQueue(n) },
		Rewrite: func(f *file, n ast.Node) string { return f.keep(n) },
		Reason:  "a queue of one's own stays client-go's; eventhandler.QueueOf makes one of handlers of it",
	},
	{
		Name: "a queue for a type that embeds it",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(ast.Expr)
			return ok && f.info.Types[e].IsValue() && f.requestOf(e) != nil && f.fillsEmbeddedQueue(e)
		},
		Rewrite: func(f *file, n ast.Node) string {
			if !isTestQueue(f.typeOf(n.(ast.Expr))) {
				return f.inside(n)
			}
			of := f.requestText(n.(ast.Expr))
			return fill("{clientworkqueue}.NewTypedRateLimitingQueue({clientworkqueue}.DefaultTypedControllerRateLimiter[") + of + "]())"
		},
		Reason: "a queue of one's own stays client-go's; eventhandler.QueueOf makes one of handlers of it",
	},
	{
		Name: "an assertion about a queue",
		Matches: func(f *file, n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			return ok && isAssertion(spec) && f.isQueueOfRequests(f.info.TypeOf(spec.Type)) && f.isOwnType(f.info.TypeOf(spec.Values[0]))
		},
		Rewrite: func(f *file, n ast.Node) string {
			spec := n.(*ast.ValueSpec)
			f.wrapped[spec.Values[0]] = true
			generic, ok := spec.Type.(*ast.IndexExpr)
			if !ok {
				return f.raw(n)
			}
			return "_ " + f.keep(generic) + " = " + f.text(spec.Values[0])
		},
		Reason: "a queue of one's own stays client-go's; eventhandler.QueueOf makes one of handlers of it",
	},
	{
		Name: "a queue of one's own",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(ast.Expr)
			return ok && !f.wrapped[n] && f.info.Types[e].IsValue() && f.isOwnType(f.info.TypeOf(e)) && f.isQueueOfRequests(f.wanted(e))
		},
		Rewrite: func(f *file, n ast.Node) string {
			f.wrapped[n] = true
			return fill("{compat/eventhandler}.QueueOf(") + f.text(n) + ")"
		},
		Reason: "what has the methods of client-go's queue becomes one of handlers by QueueOf",
	},
	{
		Name: "a queue of requests",
		Matches: func(f *file, n ast.Node) bool {
			call, key := f.called(n)
			return call != nil && strings.HasPrefix(key, "workqueue.New") && strings.HasSuffix(strings.TrimSuffix(key, "WithConfig"), "RateLimitingQueue") && f.requestOf(call) != nil
		},
		Rewrite: func(f *file, n ast.Node) string { return f.newQueue(n.(ast.Expr)) },
		Reason:  "the runtime has a queue of its own",
	},
	{
		Name: "a queue for tests",
		Matches: func(f *file, n ast.Node) bool {
			unary, ok := n.(*ast.UnaryExpr)
			return ok && literalOf(unary) != nil && isTestQueue(f.typeOf(unary.X)) && f.requestOf(unary.X) != nil
		},
		Rewrite: func(f *file, n ast.Node) string { return f.newQueue(n.(*ast.UnaryExpr).X) },
		Reason:  "the runtime has a queue of its own",
	},
	{
		Name: "a queue for tests as a value",
		Matches: func(f *file, n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			return ok && isTestQueue(f.typeOf(literal)) && f.requestOf(literal) != nil && f.isPlain(literal)
		},
		Rewrite: func(f *file, n ast.Node) string { return f.newQueue(n.(ast.Expr)) },
		Reason:  "the runtime has a queue of its own, which is a pointer",
	},
	{
		Name: "a pointer to a queue for tests",
		Matches: func(f *file, n ast.Node) bool {
			unary, ok := n.(*ast.UnaryExpr)
			return ok && unary.Op == token.AND && isName(unary.X) && isTestQueue(f.typeOf(unary.X)) && f.isPlain(unary.X)
		},
		Rewrite: func(f *file, n ast.Node) string { return f.text(n.(*ast.UnaryExpr).X) },
		Reason:  "the queue is a pointer itself",
	},
	{
		Name: "a queue of which more is asked than handlers ask",
		Matches: func(f *file, n ast.Node) bool {
			generic, ok := n.(*ast.IndexExpr)
			return ok && f.symbol(generic.X) == "workqueue.TypedRateLimitingInterface" && isRequest(f.info.TypeOf(generic.Index)) && f.isTaken()
		},
		Rewrite: func(f *file, n ast.Node) string {
			return fill("*{workqueue}.Queue[") + f.text(n.(*ast.IndexExpr).Index) + "]"
		},
		Reason: "the runtime has a queue of its own",
	},
	{
		Name: "what is in a queue",
		Matches: func(f *file, n ast.Node) bool {
			_, selector, key := f.method(n)
			return key == "workqueue#Get" && f.requestOf(selector.X) != nil
		},
		Rewrite: func(f *file, n ast.Node) string {
			_, selector, _ := f.method(n)
			get := f.text(selector.X) + fill(".Get({context}.Background())")
			if assign, ok := f.around(1).(*ast.AssignStmt); ok && len(assign.Lhs) == 2 && isIdent(assign.Lhs[1], "_") {
				return get
			}
			return "func() (" + f.requestText(selector.X) + ", bool) {\nitem, ok := " + get + "\nreturn item, !ok\n}()"
		},
		Reason: "a queue is waited for with a context, and says that there is an item",
	},
	{
		Name: "how often a request has failed",
		Matches: func(f *file, n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			return ok && f.member(selector.Sel) == "workqueue#NumRequeues" && f.requestOf(selector.X) != nil
		},
		Rewrite: func(f *file, n ast.Node) string { return f.text(n.(*ast.SelectorExpr).X) + ".Retries" },
		Reason:  "the queue has it under another name",
	},
}

// isPlain reports whether an expression is a value, and no pointer.
func (f *file) isPlain(e ast.Expr) bool {
	t := f.info.TypeOf(e)
	if t == nil {
		return false
	}
	_, isPointer := types.Unalias(t).(*types.Pointer)
	return !isPointer
}

func isTestQueue(key string) bool {
	return key == "controller/controllertest.TypedQueue" || key == "controller/controllertest.Queue"
}

// requestOf returns the type of the requests of a queue, or nil for a queue of something else and for one that stays client-go's.
func (f *file) requestOf(queue ast.Expr) types.Type {
	t := f.info.TypeOf(queue)
	if selector, ok := queue.(*ast.SelectorExpr); t == nil || ok && f.isEmbeddedQueueField(selector.Sel) {
		return nil
	}
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		t = pointer.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	if ok && named.TypeArgs().Len() == 0 && isTestQueue(typeKey(named)) { // before v0.19
		if request := f.peerObject("reconcile", "Request"); request != nil {
			return request.Type()
		}
	}
	if !ok || named.TypeArgs().Len() != 1 || !strings.HasPrefix(typeKey(named), "workqueue.") && !isTestQueue(typeKey(named)) || !isRequest(named.TypeArgs().At(0)) {
		return nil
	}
	return named.TypeArgs().At(0)
}

// isQueueOfRequests reports whether a type is one of client-go's interfaces of queues, of requests.
func (f *file) isQueueOfRequests(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || !strings.HasPrefix(typeKey(named), "workqueue.Typed") || !types.IsInterface(named) {
		return false
	}
	return named.TypeArgs().Len() == 1 && isRequest(named.TypeArgs().At(0))
}

// isEmbeddedQueue reports whether a node, which is looked at, is a queue of requests that a struct embeds.
func (f *file) isEmbeddedQueue(n ast.Node) bool {
	generic, ok := n.(*ast.IndexExpr)
	field, inField := f.around(0).(*ast.Field)
	_, inStruct := f.around(2).(*ast.StructType)
	return ok && inField && inStruct && len(field.Names) == 0 && f.isQueueOfRequests(f.info.TypeOf(generic))
}

// fillsEmbeddedQueue reports whether an expression, which is looked at, is put into an embedded queue of a struct of the project.
func (f *file) fillsEmbeddedQueue(e ast.Expr) bool {
	field, ok := f.around(0).(*ast.KeyValueExpr)
	if !ok || field.Value != e {
		return false
	}
	name, ok := field.Key.(*ast.Ident)
	return ok && f.isEmbeddedQueueField(name)
}

// isEmbeddedQueueField reports whether a name is of a queue of requests that a struct of the project embeds.
func (f *file) isEmbeddedQueueField(name *ast.Ident) bool {
	field, ok := f.info.Uses[name].(*types.Var)
	return ok && field.Embedded() && field.Pkg() != nil && f.isOwn(field.Pkg().Path()) && f.isQueueOfRequests(field.Type())
}

// newQueue returns an empty queue of the requests of another one.
func (f *file) newQueue(queue ast.Expr) string {
	return fill("{workqueue}.New[") + f.requestText(queue) + fill("]({workqueue}.Options{})")
}

// requestText returns the type of the requests of a queue as the file writes it.
func (f *file) requestText(queue ast.Expr) string {
	if parameter, ok := types.Unalias(f.requestOf(queue)).(*types.TypeParam); ok {
		return parameter.Obj().Name()
	}
	return fill("{reconcile}.Request")
}

// isTaken reports whether the type that is looked at is of a queue from which items are taken: a parameter that is used so, and in tests
// a variable, field or result.
func (f *file) isTaken() bool {
	field, ok := f.around(0).(*ast.Field)
	function, isParameter := f.around(2).(*ast.FuncType)
	if !ok || !isParameter || !slices.Contains(function.Params.List, field) {
		return strings.HasSuffix(f.name, "_test.go")
	}
	taken := false
	ast.Inspect(f.around(3), func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok && !slices.Contains([]string{"Add", "AddAfter", "AddRateLimited"}, selector.Sel.Name) {
			ident, ok := selector.X.(*ast.Ident)
			taken = taken || ok && slices.ContainsFunc(field.Names, func(name *ast.Ident) bool {
				return f.info.Uses[ident] != nil && f.info.Uses[ident] == f.info.Defs[name]
			})
		}
		return !taken
	})
	return taken
}
