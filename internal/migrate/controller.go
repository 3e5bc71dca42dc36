package migrate

import (
	"cmp"
	"go/ast"
	"go/types"
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
			return fill("{controller}.ForRequests") + requests + "(" + f.text(call.Args[1]) + ", " + f.text(call.Args[0]) + ").WithOptions(" +
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

// managerOf returns the manager of a builder: of one that a library keeps, the one of the runtime that it runs.
func (f *file) managerOf(c *chain) string {
	m := c.root.Args[0]
	if convert := f.hosting(m, conversions["manager.Manager"]); convert != "" {
		return convert + "(" + f.text(m) + ")"
	}
	return f.text(m)
}

func (f *file) buildController(c *chain) string {
	m, around := f.managerOf(c), f.managed
	f.managed = m
	defer func() { f.managed = around }()
	var out strings.Builder
	forLink, named := c.find("For"), c.find("Named")
	if forLink != nil && len(forLink.Args) > 0 {
		f.owner = fill("{handler}.ForOwnerOf[{object}.Object](") + f.text(forLink.Args[0]) + ", " + m + ".Scheme(), " + m + ".RESTMapper(), false)"
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
		out.WriteString(fill("{controller}.ForRequests[") + requests + "](" + m + ", " + f.text(named.Args[0]) + ")")
	default:
		out.WriteString(fill("{controller}.ForRequests[") + requests + "](" + m + `, "")`)
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
		return fill("{controller}.ForRequests[{reconcile}.Request](") + m + `, "").For(` + f.text(prototype) + ")"
	}
	t := f.info.TypeOf(prototype)
	switch namedOf(t) {
	case "", "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured.Unstructured", "k8s.io/apimachinery/pkg/apis/meta/v1.PartialObjectMetadata", peerModule + "/pkg/client.Object":
		return fill("{controller}.ForRequests[{reconcile}.Request](") + m + `, "").For(` + f.text(prototype) + ")"
	}
	if _, isInterface := t.Underlying().(*types.Interface); isInterface {
		return fill("{controller}.ForRequests[{reconcile}.Request](") + m + `, "").For(` + f.text(prototype) + ")"
	}
	return fill("{controller}.For[") + f.typeText(prototype) + "](" + m + ")"
}

const wholeObjects = "whole objects are watched: metav1.PartialObjectMetadata in place of the kind watches their metadata"

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
	text := fill("{controller}.ForRequests") + requests + "(" + f.text(call.Args[1]) + ", " + f.text(call.Args[0]) + ")"
	literal, field := call.Args[2].(*ast.CompositeLit), f.reconcilerOf(call.Args[2])
	reconciler := f.text(field.Value)
	if len(literal.Elts) > 1 {
		text += ".WithOptions(" + f.withoutField(literal, field) + ")"
	}
	return text + ".Build(" + reconciler + ")"
}

// unmanagedReconciler returns the reconciler that the options of a controller have which nothing manages, or nil.
func (f *file) unmanagedReconciler(call *ast.CallExpr) ast.Expr {
	options := call.Args[len(call.Args)-1]
	if field := f.reconcilerOf(options); field != nil {
		return field.Value
	}
	return f.reconcilerSet(options)
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

// link returns a call of a builder, with the dot before it.
func (f *file) link(link *ast.CallExpr) string {
	f.stack = append(f.stack, link)
	defer func() { f.stack = f.stack[:len(f.stack)-1] }()
	gap, name := f.gap(link), linkName(link)
	switch name {
	case "Owns", "Watches", "WatchesMetadata":
		if len(link.Args) > 1 && f.isLiteral(link.Args[0], "source.Channel") {
			return f.watchOfSource(gap, link)
		}
		return f.watch(name, link)
	case "WithEventFilter":
		return gap + "WithEventFilter(" + f.arguments(link, f.predicates(link.Args)) + ")"
	case "WatchesRawSource":
		if len(link.Args) > 1 && f.isOldSource(link.Args[0]) {
			return f.watchOfSource(gap, link)
		}
		if text, ok := f.rawSource(gap, link); ok {
			return text
		}
		return gap + "WatchesSource(" + f.arguments(link, f.texts(link.Args)) + ")"
	case "WithLogConstructor":
		f.note(link, "left out: the logger of a reconcile has the attributes controller, key and reconcileID")
		return ""
	case "WithOptions":
		return f.optionsOf(gap, link)
	case "For":
		return gap + "For(" + f.forLater(link.Args) + ")"
	}
	return gap + name + "(" + f.arguments(link, f.texts(link.Args)) + ")"
}

// watchOfSource returns the watch of a source that has its handler beside it.
func (f *file) watchOfSource(gap string, link *ast.CallExpr) string {
	var predicates []string
	for _, option := range link.Args[2:] {
		if call, key := f.called(option); key == "builder.WithPredicates" && !call.Ellipsis.IsValid() {
			predicates = append(predicates, f.predicates(call.Args)...)
		} else {
			predicates = append(predicates, f.text(option))
		}
	}
	return gap + "WatchesSource(" + f.oldSource(link.Args[0], link.Args[1], predicates) + ")"
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
			note += f.leave(arg, "owners that do not control are watched by handler.ForOwner", "Watches(prototype, handler.ForOwner[object.Object](ownerKind, m.RESTMapper(), false))")
		default:
			text = f.leave(arg, "this option of a watch has no counterpart", "Watches(prototype, h, predicates...)") + f.text(arg)
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
		texts = append(texts, f.leave(option, "this option of For has no counterpart", "For("+metadataPrototype+")")+f.text(option))
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
				var convert string
				if f.converts {
					convert = f.given(field.Value)
				}
				f.wrapped[field.Value], f.limits = true, true
				limiter = gap + "WithRateLimiter(" + around(convert, f.text(field.Value)) + ")"
				f.limits = false
			}
		}
	}
	return gap + "WithOptions(" + f.arguments(link, f.texts(link.Args)) + ")" + limiter
}

// around returns the call of a function, or the argument alone where there is none.
func around(function, argument string) string {
	if function == "" {
		return argument
	}
	return function + "(" + argument + ")"
}

// limiterTaken reports whether a rate limiter is given to the builder.
func (f *file) limiterTaken(e ast.Expr) bool { return f.wrapped[e] }
