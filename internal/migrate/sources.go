package migrate

import (
	"cmp"
	"go/ast"
	"go/types"
	"strings"
)

// sourceRules are about sources of events.
var sourceRules = []Rule{
	{
		Name: "an assertion about a source",
		Matches: func(f *file, n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			return ok && isAssertion(spec) && isSource(f.info.TypeOf(spec.Type)) && f.isOwnType(f.info.TypeOf(spec.Values[0]))
		},
		Rewrite: func(f *file, n ast.Node) string {
			spec := n.(*ast.ValueSpec)
			f.wrapped[spec.Values[0]] = true
			return "_ " + fill("{compat/starter}.Source") + cmp.Or(f.argumentsOf(spec.Type), fill("[{reconcile}.Request]")) + " = " + f.text(spec.Values[0])
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
			return fill("{compat/starter}.SourceOf(") + f.text(n) + ")"
		},
		Reason: "what has Start becomes a source by Of",
	},
	{
		Name: "a source that is started",
		Matches: func(f *file, n ast.Node) bool {
			call, selector, key := f.method(n)
			return key == "source#Start" && len(call.Args) == 2 && isSource(f.info.TypeOf(selector.X))
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			f.note(n, "a source runs until its context ends: what it returns then is dropped, and so is why it could not start")
			return "func() error {\ngo func() { _ = " + f.text(selector.X) + ".Run(" + strings.Join(f.texts(call.Args), ", ") + ", func() {}) }()\nreturn nil\n}()"
		},
		Reason: "a source runs until its context ends",
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
			return fill("{compat/starter}.SourceOf({compat/starter}.SourceFunc") + of + "(" + f.text(call.Args[0]) + "))"
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
			args = append(args, f.leave(option, "this option of a source has no counterpart", snippets["source.WithPredicates"])+f.raw(option))
		}
	}
	return fill("{source}.Channel") + f.argumentsOf(call.Fun) + "(" + strings.Join(args, ", ") + ")"
}

// isSource reports whether a type is that of sources.
func isSource(t types.Type) bool {
	switch typeKey(t) {
	case "source.Source", "source.TypedSource", "source.SyncingSource", "source.TypedSyncingSource":
		return true
	}
	return false
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
		args[1] = fill("{handler}.Map(func(ctx {context}.Context, o {object}.Object) []{reconcile}.Request { return ") + f.operand(handled.Args[0]) + "(ctx, o.(" + t + ")) })"
	} else if f.isLiteral(h, "handler.EnqueueRequestForObject") {
		args[1] = fill("{handler}.ForObject[{object}.Object]()")
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
