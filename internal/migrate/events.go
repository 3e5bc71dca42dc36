package migrate

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// eventRules are about queues of requests as handlers see them.
var eventRules = []Rule{
	{
		Name: "a queue that a handler is given",
		Matches: func(f *file, n ast.Node) bool {
			generic, ok := n.(*ast.IndexExpr)
			return ok && (f.symbol(generic.X) == "workqueue.TypedRateLimitingInterface" || f.symbol(generic.X) == "workqueue.TypedInterface") && !f.handlesRequests(generic.Index) && !f.inHandler()
		},
		Rewrite: func(f *file, n ast.Node) string { return f.keep(n) },
		Reason:  "a queue of one's own stays client-go's",
	},
	{
		Name: "a queue that does not say what is in it",
		Matches: func(f *file, n ast.Node) bool {
			return f.symbol(n) == "workqueue.RateLimitingInterface" && f.typedQueues()
		},
		Rewrite: func(f *file, n ast.Node) string { return f.raw(n) },
		Reason:  "a queue of one's own stays client-go's",
	},
	{
		Name: "a request again, with backoff",
		Matches: func(f *file, n ast.Node) bool {
			_, selector, key := f.method(n)
			return key == "workqueue#AddRateLimited" && f.isRequestQueue(selector.X)
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			return f.text(selector.X) + ".Add(" + f.arguments(call, f.texts(call.Args)) + ")"
		},
		Reason: "an event asks at once; a failure backs off",
	},
}

// recorderRules are about events as objects of the API.
var recorderRules = []Rule{
	{
		Name: "a recorder that an interface has the methods of",
		Matches: func(f *file, n ast.Node) bool {
			key := f.symbol(n)
			field, ok := f.around(0).(*ast.Field)
			_, embedded := f.around(2).(*ast.InterfaceType)
			return ok && embedded && len(field.Names) == 0 && strings.HasSuffix(key, ".EventRecorder")
		},
		Rewrite: func(*file, ast.Node) string { return fill("{events}.Eventer") },
		Reason:  "a recorder is a struct; Eventer has its method",
	},
	{
		Name: "an assertion about a recorder",
		Matches: func(f *file, n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			return ok && isAssertion(spec) && isRecorder(typeKey(f.info.TypeOf(spec.Type))) && f.isOwnRecorder(f.info.TypeOf(spec.Values[0]))
		},
		Rewrite: func(f *file, n ast.Node) string {
			spec := n.(*ast.ValueSpec)
			f.wrapped[spec.Values[0]] = true
			of := "{events}.Eventer"
			if strings.HasPrefix(typeKey(f.info.TypeOf(spec.Type)), "record.") && declaresMethod(f.info.TypeOf(spec.Values[0]), "Event") {
				of = "{compat/eventrecorder}.CoreEventer"
			}
			return "_ " + fill(of) + " = " + f.text(spec.Values[0])
		},
		Reason: "a recorder is a struct",
	},
	{
		Name:    "an event of the old API",
		Matches: matchMethod("record#Event"),
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			if len(call.Args) != 4 {
				return f.inside(n)
			}
			a := f.texts(call.Args)
			if v := f.info.Types[call.Args[3]].Value; v != nil && strings.Contains(v.ExactString(), "%") {
				a[3] = `"%s", ` + a[3]
			} else {
				a[3] = f.formatted(call.Args[3])
			}
			return f.text(selector.X) + ".Eventf(" + f.arguments(call, related(a, 2)) + ")"
		},
		Reason: "events have a related object and an action",
	},
	{
		Name:    "an event of the old API with a format",
		Matches: matchMethod("record#Eventf"),
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			if len(call.Args) < 4 {
				return f.inside(n)
			}
			a := f.texts(call.Args)
			if len(a) == 4 {
				a[3] = f.formatted(call.Args[3])
			}
			return f.text(selector.X) + ".Eventf(" + f.arguments(call, related(a, 2)) + ")"
		},
		Reason: "events have a related object and an action",
	},
	{
		Name:    "an event of the old API with annotations",
		Matches: matchMethod("record#AnnotatedEventf"),
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			if len(call.Args) < 5 {
				return f.inside(n)
			}
			a := f.texts(call.Args)
			annotations := a[1]
			a[1] = ""
			return f.text(selector.X) + ".WithAnnotations(" + annotations + ").Eventf(" + f.arguments(call, related(a, 3)) + ")"
		},
		Reason: "events have a related object and an action",
	},
	{
		Name:    "a recorder of a broadcaster of client-go",
		Matches: matchMethod("record#NewRecorder"),
		Rewrite: func(f *file, n ast.Node) string { return fill("{compat/eventrecorder}.OfCore(") + f.inside(n) + ")" },
		Reason:  "the broadcaster goes on to write events, which a recorder of the runtime tells it",
	},
	{
		Name:    "a recorder of a broadcaster of client-go, for the new API",
		Matches: matchMethod("toolsevents#NewRecorder"),
		Rewrite: func(f *file, n ast.Node) string { return fill("{events}.Of(") + f.inside(n) + ")" },
		Reason:  "the broadcaster goes on to write events, which a recorder of the runtime tells it",
	},
	{
		Name:    "the logger of a recorder",
		Matches: matchMethod("record#WithLogger", "toolsevents#WithLogger"),
		Rewrite: func(f *file, n ast.Node) string {
			_, selector, _ := f.method(n)
			f.note(n, "left out: what writes events has the logger of the manager")
			return f.text(selector.X)
		},
		Reason: "a recorder has no logger of its own",
	},
	{
		Name: "an event whose note is no format",
		Matches: func(f *file, n ast.Node) bool {
			call, _, key := f.method(n)
			return key == "toolsevents#Eventf" && len(call.Args) == 6 && f.info.Types[call.Args[5]].Value == nil
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			return f.text(selector.X) + ".Eventf(" + f.arguments(call, append(f.texts(call.Args[:5]), f.formatted(call.Args[5]))) + ")"
		},
		Reason: "vet knows that Eventf takes a format",
	},
	{
		Name: "a recorder of one's own",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(ast.Expr)
			return ok && !f.wrapped[n] && f.info.Types[e].IsValue() && f.isOwnRecorder(f.info.TypeOf(e)) && isRecorder(typeKey(f.wanted(e)))
		},
		Rewrite: func(f *file, n ast.Node) string {
			f.wrapped[n] = true
			of := "{events}.Of("
			if f.isCoreRecorder(f.info.TypeOf(n.(ast.Expr))) {
				of = "{compat/eventrecorder}.OfCore("
			}
			return fill(of) + f.text(n) + ")"
		},
		Reason: "a recorder is a struct; Of makes one that tells another one",
	},
	{
		Name: "a recorder for another library",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok || f.wrapped[n] || !isValue(f, e) || f.typeOf(e) == "" || f.isGiven(e) {
				return false
			}
			wanted, foreign := f.place(e)
			return foreign && typeKey(wanted) == "record.EventRecorder"
		},
		Rewrite: func(f *file, n ast.Node) string {
			f.wrapped[n] = true
			text := f.text(n)
			if f.typeOf(n.(ast.Expr)) == "record.FakeRecorder" {
				text += ".Recorder"
			}
			return fill("{compat/eventrecorder}.AsCore(") + text + ")"
		},
		Reason: "other libraries want a recorder of client-go",
	},
	{
		Name: "a recorder for tests",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok || f.wrapped[n] || !f.info.Types[e].IsValue() {
				return false
			}
			return isFakeRecorder(f.typeOf(e)) && isRecorder(typeKey(f.wanted(e)))
		},
		Rewrite: func(f *file, n ast.Node) string {
			f.wrapped[n] = true
			return f.text(n) + ".Recorder"
		},
		Reason: "a recorder for tests has the one that the reconciler gets",
	},
	{
		Name: "a recorder that is asked whether it is one for tests",
		Matches: func(f *file, n ast.Node) bool {
			assertion, ok := n.(*ast.TypeAssertExpr)
			return ok && assertion.Type != nil && isFakeRecorder(f.typeOf(assertion.Type)) && isRecorder(f.typeOf(assertion.X)) && (isName(assertion.X) || !f.isPair())
		},
		Rewrite: func(f *file, n ast.Node) string {
			text := fill("{compat/eventrecorder}.TextOf(") + f.text(n.(*ast.TypeAssertExpr).X) + ")"
			if f.isPair() {
				text += ", " + text + " != nil"
			}
			return text
		},
		Reason: "a recorder is a struct, which knows the one for tests that it is of",
	},
	{
		Name: "a literal of a recorder for tests",
		Matches: func(f *file, n ast.Node) bool {
			unary, ok := n.(*ast.UnaryExpr)
			if !ok {
				return false
			}
			literal, ok := unary.X.(*ast.CompositeLit)
			return ok && isFakeRecorder(f.typeOf(literal)) && (f.roomFor(literal) != nil || keyed(literal)["Events"] == nil)
		},
		Rewrite: func(f *file, n ast.Node) string {
			room := f.roomFor(n.(*ast.UnaryExpr).X.(*ast.CompositeLit))
			if room == nil {
				return fill("{compat/eventrecorder}.NewTextRecorder(0)") // which records nothing
			}
			return fill("{compat/eventrecorder}.NewTextRecorder(") + f.text(room) + ")"
		},
		Reason: "what it records is told to its channel by a recorder",
	},
}

// declaresMethod reports whether a type has a method of its own, and none of a type that it embeds.
func declaresMethod(t types.Type, name string) bool {
	method, path, _ := types.LookupFieldOrMethod(t, true, nil, name)
	_, ok := method.(*types.Func)
	return ok && len(path) == 1
}

// isFakeRecorder reports whether a type is that of recorders for tests of client-go.
func isFakeRecorder(key string) bool {
	return key == "record.FakeRecorder" || key == "toolsevents.FakeRecorder"
}

// related adds to the arguments of an event what the old API lacks: no related object, and the reason once more as the action.
func related(args []string, reason int) []string {
	args[0] += ", nil"
	args[reason] += ", " + args[reason]
	return args
}

// formatted returns a text that is all of a note: as it is where it is constant, and else as what a format is filled with.
func (f *file) formatted(note ast.Expr) string {
	if f.info.Types[note].Value != nil {
		return f.text(note)
	}
	return `"%s", ` + f.text(note)
}

// roomFor returns how many events the channel of a recorder for tests holds that a literal makes, or nil.
func (f *file) roomFor(literal *ast.CompositeLit) ast.Expr {
	call, ok := keyed(literal)["Events"].(*ast.CallExpr)
	if !ok || !isIdent(call.Fun, "make") || len(call.Args) != 2 {
		return nil
	}
	return call.Args[1]
}

// isRecorder reports whether a type of client-go is that of recorders.
func isRecorder(key string) bool {
	library, name, _ := strings.Cut(key, ".")
	return (library == "record" || library == "toolsevents") && (name == "EventRecorder" || name == "EventRecorderLogger")
}

// isOwnRecorder reports whether a type of the project's, a struct or an interface, has the methods of a recorder.
func (f *file) isOwnRecorder(t types.Type) bool {
	name := namedOf(t)
	at := strings.LastIndex(name, ".")
	if at < 0 || !f.isOwn(name[:at]) {
		return false
	}
	method, ok := methodOf(t, "Eventf")
	return ok && method.Variadic()
}

// isCoreRecorder reports whether a recorder of the project's has written its methods in the form of client-go's tools/record. One whose
// methods are those of a recorder that it embeds has them in that of the runtime.
func (f *file) isCoreRecorder(t types.Type) bool {
	object, _, _ := types.LookupFieldOrMethod(t, true, nil, "Eventf")
	method, ok := object.(*types.Func)
	return ok && method.Pkg() != nil && f.isOwn(method.Pkg().Path()) && method.Signature().Params().Len() == 5
}

// isRequestQueue reports whether an expression is a queue of requests for a controller.
func (f *file) isRequestQueue(e ast.Expr) bool {
	if selector, ok := e.(*ast.SelectorExpr); ok && f.isEmbeddedQueueField(selector.Sel) {
		return false
	}
	named, ok := types.Unalias(f.info.TypeOf(e)).(*types.Named)
	if !ok {
		return false
	}
	if named.TypeArgs().Len() == 0 {
		return !f.typedQueues()
	}
	return isRequest(named.TypeArgs().At(0))
}

// typedQueues reports whether the queues of handlers say what is in them, as they do since v0.19. Others are not of handlers then.
func (f *file) typedQueues() bool { return f.peerObject("handler", "TypedEventHandler") != nil }

func (f *file) handlesRequests(e ast.Expr) bool { return isRequest(f.info.TypeOf(e)) }

func isRequest(t types.Type) bool {
	_, isParameter := types.Unalias(t).(*types.TypeParam)
	return isParameter || typeKey(t) == "reconcile.Request"
}

// inHandler reports whether a parameter that is looked at is the queue of a handler of events.
func (f *file) inHandler() bool {
	function, ok := f.around(2).(*ast.FuncType)
	return ok && slices.ContainsFunc(function.Params.List, func(p *ast.Field) bool { return eventTypes[eventName(f.typeOf(p.Type))] != "" })
}

// keep returns a node as it is but for what its indexes are.
func (f *file) keep(n ast.Node) string {
	generic := n.(*ast.IndexExpr)
	return f.raw(generic.X) + "[" + f.text(generic.Index) + "]"
}
