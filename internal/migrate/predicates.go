package migrate

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// predicateRules are about predicates: functions, where the peer has interfaces of four methods.
var predicateRules = []Rule{
	{
		Name:    "predicates as an option of a watch",
		Matches: matchCall("builder.WithPredicates"),
		Rewrite: func(f *file, n ast.Node) string {
			call, _ := f.called(n)
			if len(call.Args) == 1 && !call.Ellipsis.IsValid() {
				return f.predicates(call.Args)[0]
			}
			return fill("{predicate}.And(") + f.arguments(call, f.predicates(call.Args)) + ")"
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
			return fill("{compat/eventfilter}.Of(") + f.funcs(n.(*ast.CompositeLit), "predicate") + ")"
		},
		Reason: "a predicate is a function; Of makes one of the four",
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
			filter := fill("{compat/eventfilter}.Filter")
			if of := f.argumentsOf(spec.Type); of != "" {
				filter = fill("{compat/eventfilter}.FilterOf") + of
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
			return fill("{compat/eventfilter}.Of(") + f.typedFuncs(literalOf(n), "predicate") + ")"
		},
		Reason: "a predicate is for all kinds; Of makes one of functions for a Go type",
	},
	{
		Name: "a known predicate in a type",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(ast.Expr)
			field, inField := f.around(0).(*ast.Field)
			return ok && inField && len(field.Names) == 0 && f.inStruct() && knownPredicates[f.knownSymbol(e)] != ""
		},
		Rewrite: func(f *file, n ast.Node) string { return fill("{compat/eventfilter}." + f.knownSymbol(n.(ast.Expr))) },
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
			return fill("{compat/eventfilter}."+f.around(1).(*ast.KeyValueExpr).Key.(*ast.Ident).Name) + "{}"
		},
		Reason: "what is embedded has methods",
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
		Name:    "a known predicate",
		Matches: func(f *file, n ast.Node) bool { return f.knownPredicate(n) != "" },
		Rewrite: func(f *file, n ast.Node) string { return fill(f.knownPredicate(n)) },
		Reason:  "predicates are functions",
	},
	{
		Name: "a predicate is asked",
		Matches: func(f *file, n ast.Node) bool {
			_, selector, key := f.method(n)
			switch key {
			case "predicate#Create", "predicate#Update", "predicate#Delete", "predicate#Generic",
				"predicate#CreateFunc", "predicate#UpdateFunc", "predicate#DeleteFunc", "predicate#GenericFunc":
				return strings.HasPrefix(f.typeOf(selector.X), "predicate.") && !f.isSelf(selector.X)
			}
			return false
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			return f.text(selector.X) + "(" + f.arguments(call, f.texts(call.Args)) + ")"
		},
		Reason: "predicates are functions",
	},
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

// predicatesOf returns a call of WithPredicates for the options of For.
func (f *file) predicatesOf(gap string, options []ast.Expr) string {
	var text string
	for _, option := range options {
		call, key := f.called(option)
		switch {
		case key == "builder.WithPredicates":
			text += gap + "WithPredicates(" + f.arguments(call, f.predicates(call.Args)) + ")"
		case f.symbol(option) == "builder.OnlyMetadata":
			f.note(option, wholeObjects)
		case isWatchOption(f.info.TypeOf(option)):
			text += gap + "WithPredicates(" + f.text(option)
			if _, list := f.info.TypeOf(option).Underlying().(*types.Slice); list {
				text += "..."
			}
			text += ")"
		default:
			text += f.leave(option, "this option of For has no counterpart", `controller.ForRequests[reconcile.Request](m, "").For(`+metadataPrototype+")")
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
			texts[i] = fill("{compat/eventfilter}.Of(") + f.text(e) + ")"
			continue
		}
		texts[i] = f.text(e)
	}
	return texts
}

// isPredicate reports whether a type is that of predicates, of objects or of a Go type.
func isPredicate(t types.Type) bool {
	key := typeKey(t)
	return key == "predicate.Predicate" || key == "predicate.TypedPredicate"
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
