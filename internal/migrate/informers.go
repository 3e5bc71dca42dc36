package migrate

import (
	"go/ast"
	"go/token"
	"strings"
)

// informerRules are about informers that a program asks a cache for, and adds handlers to. The handlers stay: those of client-go are
// of the type that the runtime takes.
var informerRules = []Rule{
	{
		Name: "a cache of the program's own",
		Matches: func(f *file, n ast.Node) bool {
			call, key := f.called(n)
			return key == "cache.New" && len(call.Args) == 2 && (f.configured(call.Args[0]) == nil || f.isPair())
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, _ := f.called(n)
			options := f.text(call.Args[1])
			if m := f.configured(call.Args[0]); m != nil && f.hasMethodOfRuntime(m, "cluster#GetAPIReader") {
				return fill("{cache}.New(") + f.text(m) + ".Live(), " + options + "), error(nil)"
			}
			return fill("{cache}.ForConfig(") + f.text(call.Args[0]) + ", " + f.connection(call.Args[1]) + ", " + options + ")"
		},
		Reason: "a cache has a client, whose writes its reads see",
	},
	{
		Name: "an informer of a cache",
		Matches: func(f *file, n ast.Node) bool {
			call, _, key := f.method(n)
			return key == "cache#GetInformer" && len(call.Args) >= 2
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			if len(call.Args) > 2 {
				f.note(n, "left out: what gets an informer does not wait for it, its Wait does")
			}
			return f.text(selector.X) + ".Informer(" + f.text(call.Args[1]) + ")"
		},
		Reason: "a kind is declared, and asks nobody",
	},
	{
		Name: "whether a cache had not started",
		Matches: func(f *file, n ast.Node) bool {
			assign, ok := n.(*ast.AssignStmt)
			if !ok || len(assign.Lhs) != 2 || len(assign.Rhs) != 1 || !isIdent(assign.Lhs[0], "_") {
				return false
			}
			assertion, ok := assign.Rhs[0].(*ast.TypeAssertExpr)
			return ok && assertion.Type != nil && f.typeOf(assertion.Type) == "cache.ErrCacheNotStarted"
		},
		Rewrite: func(f *file, n ast.Node) string {
			assign := n.(*ast.AssignStmt)
			return f.text(assign.Lhs[1]) + " " + assign.Tok.String() + fill(" {errors}.Is(") + f.text(assign.Rhs[0].(*ast.TypeAssertExpr).X) + fill(", {cache}.ErrNotRunning)")
		},
		Reason: "the error is a value",
	},
	{
		Name: "an informer of a kind",
		Matches: func(f *file, n ast.Node) bool {
			call, _, key := f.method(n)
			return key == "cache#GetInformerForKind" && len(call.Args) >= 2
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			if len(call.Args) > 2 {
				f.note(n, "left out: what gets an informer does not wait for it, its Wait does")
			}
			return f.text(selector.X) + ".InformerForKind(" + f.text(call.Args[1]) + ")"
		},
		Reason: "a kind is declared, and asks nobody",
	},
	{
		Name: "an informer that is removed",
		Matches: func(f *file, n ast.Node) bool {
			call, _, key := f.method(n)
			return key == "cache#RemoveInformer" && len(call.Args) == 2
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			return f.text(selector.X) + ".RemoveInformer(" + f.text(call.Args[1]) + ")"
		},
		Reason: "it asks nobody",
	},
	{
		Name: "a cache that has not synced",
		Matches: func(f *file, n ast.Node) bool {
			not, ok := n.(*ast.UnaryExpr)
			return ok && not.Op == token.NOT && f.isWait(not.X)
		},
		Rewrite: func(f *file, n ast.Node) string { return f.waits(n.(*ast.UnaryExpr).X) + " != nil" },
		Reason:  "the error says what has not synced, and why",
	},
	{
		Name:    "a cache that has synced",
		Matches: func(f *file, n ast.Node) bool { return f.isWait(n) },
		Rewrite: func(f *file, n ast.Node) string {
			switch parent := f.around(1).(type) {
			case *ast.BinaryExpr:
				if parent.Op == token.EQL || parent.Op == token.NEQ {
					return "(" + f.waits(n) + " == nil)"
				}
			case *ast.ExprStmt:
				return "_ = " + f.waits(n)
			}
			return f.waits(n) + " == nil"
		},
		Reason: "the error says what has not synced, and why",
	},
}

// isWait reports whether a node asks whether a cache has synced.
func (f *file) isWait(n ast.Node) bool {
	call, _, key := f.method(n)
	return key == "cache#WaitForCacheSync" && len(call.Args) == 1
}

func (f *file) waits(n ast.Node) string {
	call, selector, _ := f.method(n)
	return f.text(selector.X) + ".Wait(" + f.text(call.Args[0]) + ")"
}

// configured returns the manager or cluster whose configuration an expression is, or nil.
func (f *file) configured(config ast.Expr) ast.Expr {
	if _, selector, key := f.method(config); key == "cluster#GetConfig" {
		return selector.X
	}
	return nil
}

// connection returns the options of the client of a cache, which are among its own.
func (f *file) connection(options ast.Expr) string {
	literal, ok := options.(*ast.CompositeLit)
	if ident, isName := options.(*ast.Ident); isName {
		literal, ok = f.givenLiteral(ident)
	}
	var fields []string
	for _, name := range []string{"Scheme", "Mapper", "HTTPClient"} {
		if value := keyed(literalOrNone(literal, ok))[name]; value != nil {
			fields = append(fields, name+": "+f.text(value))
		}
	}
	return fill("{client}.Options{") + strings.Join(fields, ", ") + "}"
}

func literalOrNone(literal *ast.CompositeLit, ok bool) *ast.CompositeLit {
	if !ok {
		return &ast.CompositeLit{}
	}
	return literal
}

// givenLiteral returns the literal that a variable of the function is declared with.
func (f *file) givenLiteral(variable *ast.Ident) (literal *ast.CompositeLit, ok bool) {
	if f.body() == nil {
		return nil, false
	}
	ast.Inspect(f.body(), func(n ast.Node) bool {
		if assign, is := n.(*ast.AssignStmt); is && len(assign.Lhs) == 1 && len(assign.Rhs) == 1 {
			if name, is := assign.Lhs[0].(*ast.Ident); is && f.info.Defs[name] != nil && f.info.Defs[name] == f.info.Uses[variable] {
				literal, ok = assign.Rhs[0].(*ast.CompositeLit)
			}
		}
		return !ok
	})
	return literal, ok
}
