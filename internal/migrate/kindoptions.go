package migrate

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

func byObject(f *file, value ast.Expr) string { return "ByKind: " + f.kindsText(value) }

// kindsText returns a list of the options of kinds for a map of them.
func (f *file) kindsText(value ast.Expr) string {
	literal, ok := value.(*ast.CompositeLit)
	if !ok {
		return f.text(value)
	}
	edits := []edit{{f.offset(literal.Pos()), f.offset(literal.Lbrace), fill("[]{cache}.KindOptions")}}
	for _, element := range literal.Elts {
		if kind, ok := element.(*ast.KeyValueExpr); ok {
			edits = append(edits, edit{f.offset(kind.Pos()), f.offset(kind.End()), f.kindText(kind.Key, kind.Value)})
		}
	}
	return f.splice(literal, edits)
}

// kindText returns the options of a kind, in a list of them.
func (f *file) kindText(kind, options ast.Expr) string {
	if literal, ok := options.(*ast.CompositeLit); ok {
		return f.commentsOf(literal) + "{Object: " + f.text(kind) + f.kindOptions(literal) + "}"
	}
	return fill("func(o {cache}.KindOptions, kind {object}.Object) {cache}.KindOptions {\no.Object = kind\nreturn o\n}(") + f.text(options) + ", " + f.text(kind) + ")"
}

// commentsOf returns the comments between the fields of a literal, each on a line of its own.
func (f *file) commentsOf(literal *ast.CompositeLit) string {
	var text string
	for _, comment := range f.syntax.Comments {
		inside := literal.Lbrace < comment.Pos() && comment.End() <= literal.Rbrace
		if inside && !slices.ContainsFunc(literal.Elts, func(e ast.Expr) bool { return e.Pos() <= comment.Pos() && comment.End() <= e.End() }) {
			text += f.raw(comment) + "\n"
		}
	}
	return text
}

// isKinds reports whether a type is a map of the options of kinds.
func isKinds(t types.Type) bool {
	if t == nil {
		return false
	}
	kinds, ok := types.Unalias(t).(*types.Map)
	return ok && typeKey(kinds.Elem()) == "cache.ByObject"
}

// kindRules are about the options of kinds outside of those of a cache.
var kindRules = []Rule{
	{
		Name: "the options of a kind",
		Matches: func(f *file, n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			return ok && literal.Type != nil && f.typeOf(literal) == "cache.ByObject"
		},
		Rewrite: func(f *file, n ast.Node) string {
			return fill("{cache}.KindOptions{") + strings.TrimPrefix(f.kindOptions(n.(*ast.CompositeLit)), ", ") + "}"
		},
		Reason: "they say which kind it is",
	},
	{
		Name: "the options of kinds",
		Matches: func(f *file, n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			return ok && isKinds(f.info.TypeOf(literal))
		},
		Rewrite: func(f *file, n ast.Node) string { return f.kindsText(n.(*ast.CompositeLit)) },
		Reason:  "they are a list, which says of each which kind it is",
	},
	{
		Name: "options of kinds among others",
		Matches: func(f *file, n ast.Node) bool {
			statement, ok := n.(*ast.ExprStmt)
			if !ok {
				return false
			}
			call, ok := statement.X.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 || !isKinds(f.info.TypeOf(call.Args[0])) {
				return false
			}
			callee := f.callee(call)
			return callee != nil && callee.FullName() == "maps.Copy"
		},
		Rewrite: func(f *file, n ast.Node) string {
			call := n.(*ast.ExprStmt).X.(*ast.CallExpr)
			list := f.text(call.Args[0])
			return list + " = append(" + list + ", " + f.text(call.Args[1]) + "...)"
		},
		Reason: "they are a list, which says of each which kind it is",
	},
	{
		Name: "all options of kinds",
		Matches: func(f *file, n ast.Node) bool {
			loop, ok := n.(*ast.RangeStmt)
			return ok && isKinds(f.info.TypeOf(loop.X)) && loop.Tok == token.DEFINE && !f.setsKinds(loop.Body)
		},
		Rewrite: func(f *file, n ast.Node) string { return f.rangeOfKinds(n.(*ast.RangeStmt)) },
		Reason:  "they are a list, which says of each which kind it is",
	},
	{
		Name: "an empty map of the options of kinds",
		Matches: func(f *file, n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			return ok && isIdent(call.Fun, "make") && isKinds(f.info.TypeOf(call))
		},
		Rewrite: func(*file, ast.Node) string { return fill("[]{cache}.KindOptions{}") },
		Reason:  "they are a list, which says of each which kind it is",
	},
	{
		Name: "the type of the options of kinds",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(*ast.MapType)
			return ok && isKinds(f.info.TypeOf(e))
		},
		Rewrite: func(*file, ast.Node) string { return fill("[]{cache}.KindOptions") },
		Reason:  "they are a list, which says of each which kind it is",
	},
	{
		Name: "one more of the options of kinds",
		Matches: func(f *file, n ast.Node) bool {
			assign, ok := n.(*ast.AssignStmt)
			if !ok || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 || assign.Tok != token.ASSIGN {
				return false
			}
			index, ok := assign.Lhs[0].(*ast.IndexExpr)
			return ok && isKinds(f.info.TypeOf(index.X))
		},
		Rewrite: func(f *file, n ast.Node) string {
			assign := n.(*ast.AssignStmt)
			index := assign.Lhs[0].(*ast.IndexExpr)
			list, option := f.text(index.X), f.kindText(index.Index, assign.Rhs[0])
			comments, option := splitComments(option)
			if strings.HasPrefix(option, "{") {
				option = fill("{cache}.KindOptions") + option
			}
			return comments + list + " = append(" + list + ", " + option + ")"
		},
		Reason: "they are a list, which says of each which kind it is",
	},
}

// setsKinds reports whether options of kinds are set in a node.
func (f *file) setsKinds(body ast.Node) bool {
	sets := false
	ast.Inspect(body, func(n ast.Node) bool {
		if index, ok := n.(*ast.IndexExpr); ok && isKinds(f.info.TypeOf(index.X)) {
			sets = true
		}
		return !sets
	})
	return sets
}

// rangeOfKinds returns a loop over the list of the options of kinds, in which the kind is a field of them.
func (f *file) rangeOfKinds(loop *ast.RangeStmt) string {
	options, first := "optionsOfKind", ""
	if loop.Value != nil && !isIdent(loop.Value, "_") {
		options = f.raw(loop.Value)
	}
	if loop.Key != nil && !isIdent(loop.Key, "_") {
		first = "\n" + f.raw(loop.Key) + " := " + options + ".Object"
	} else if options == "optionsOfKind" {
		options = "_"
	}
	body := strings.TrimPrefix(f.text(loop.Body), "{")
	return "for _, " + options + " := range " + f.text(loop.X) + " {" + first + body
}

// kindOptions returns the fields of a cache.KindOptions for those of a cache.ByObject, each after a comma.
func (f *file) kindOptions(options *ast.CompositeLit) string {
	var scope, rest string
	for _, element := range options.Elts {
		field, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		key, _ := field.Key.(*ast.Ident)
		switch {
		case key == nil:
		case key.Name == "Label":
			scope += "Labels: " + f.text(field.Value) + ", "
		case key.Name == "Field":
			scope += "Fields: " + f.text(field.Value) + ", "
		case key.Name == "Namespaces":
			rest += ", " + namespacesOf(f, field.Value)
		case key.Name == "Transform":
			if !f.stripsManagedFields(field.Value) {
				rest += ", Transform: " + f.transform(field.Value)
			}
		default:
			f.note(field, "left out: "+key.Name+" of a kind")
		}
	}
	if scope != "" {
		rest = ", Scope: " + fill("{client}.Scope{") + strings.TrimSuffix(scope, ", ") + "}" + rest
	}
	return rest
}

// namespacesOf makes the namespaces of a kind.
func namespacesOf(f *file, value ast.Expr) string { return "ByNamespace: " + f.text(value) }

// stripsManagedFields reports whether a transform does what is always done.
func (f *file) stripsManagedFields(transform ast.Expr) bool {
	_, key := f.called(transform)
	return strings.HasSuffix(key, ".TransformStripManagedFields")
}

// transform makes a function of objects of one of anything.
func (f *file) transform(value ast.Expr) string {
	return fill("func(cached {object}.Object) ({object}.Object, error) {\n") +
		"transformed, err := " + f.operand(value) + "(cached)\n" +
		fill("out, _ := transformed.({object}.Object)\n") +
		"return out, err\n}"
}

func transformed(f *file, value ast.Expr) string {
	if f.stripsManagedFields(value) {
		return removed
	}
	f.note(f.around(0), "left out: a transform is set for each kind, in cache.KindOptions")
	return removed
}
