package migrate

import (
	"cmp"
	"go/ast"
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
		Name: "a predicate of functions for a Go type",
		Matches: func(f *file, n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			return ok && literal.Type != nil && f.typeOf(literal) == "predicate.TypedFuncs"
		},
		Rewrite: func(f *file, n ast.Node) string { return f.typedPredicate(n.(*ast.CompositeLit)) },
		Reason:  "a predicate is for all kinds; Event makes one of a function for a Go type",
	},
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
			args := append(f.texts(call.Args[:3]), f.predicates(call.Args[3:])...)
			return fill("{source}.Kind") + f.argumentsOf(call.Fun) + "(" + strings.Join(args, ", ") + ellipsis(call) + ")"
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
	{
		Name:    "a typed predicate",
		Matches: func(f *file, n ast.Node) bool { return f.symbol(n) == "predicate.TypedPredicate" },
		Rewrite: func(f *file, n ast.Node) string {
			return f.leave(n, "a predicate is for all kinds: predicate.Event makes one of a function for a Go type", "predicate.Event(func(e informer.Event[*v1.Pod]) bool { return true })") + f.raw(n)
		},
		Reason: "predicates are functions",
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
	return ok && selector.Sel.Name == "Funcs"
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

// predicatesOf returns a call of WithPredicates for the options of For.
func (f *file) predicatesOf(gap string, options []ast.Expr) string {
	var text string
	for _, option := range options {
		call, key := f.called(option)
		switch {
		case key == "builder.WithPredicates":
			text += gap + "WithPredicates(" + strings.Join(f.predicates(call.Args), ", ") + ellipsis(call) + ")"
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
		texts[i] = f.text(e)
		if f.isOwnType(f.info.TypeOf(e)) {
			texts[i] = fill("{predicate}.Of(") + texts[i] + ")"
		}
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

// typedPredicate makes a predicate of functions for a Go type.
func (f *file) typedPredicate(literal *ast.CompositeLit) string {
	edits := []edit{{f.offset(literal.Type.Pos()), f.offset(literal.Type.End()), fill("{predicate}.Funcs")}}
	for _, element := range literal.Elts {
		if field, ok := element.(*ast.KeyValueExpr); ok {
			edits = append(edits, edit{f.offset(field.Value.Pos()), f.offset(field.Value.End()), fill("{predicate}.Event(") + f.text(field.Value) + ")"})
		}
	}
	return fill("{predicate}.Of(") + f.splice(literal, edits) + ")"
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
		from, to := f.offset(field.Pos()), f.offset(field.End())
		edits := slices.DeleteFunc(f.within(literal), func(e edit) bool { return from <= e.from && e.to <= to })
		text += ".WithOptions(" + f.splice(literal, append(edits, f.removal(field))) + ")"
	}
	return text + ".Build(" + reconciler + ")"
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
			f.note(arg, "whole objects are watched: metav1.PartialObjectMetadata in place of the kind watches their metadata")
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
	return key == "builder.WatchesOption" || key == "builder.OwnsOption"
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
