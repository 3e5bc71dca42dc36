package migrate

import (
	"go/ast"
	"go/token"
)

// informerRules are about informers that a program asks a cache for, and adds handlers to. The handlers stay: those of client-go are
// of the type that the runtime takes.
var informerRules = []Rule{
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
		Name: "an informer of a kind without a Go type",
		Matches: func(f *file, n ast.Node) bool {
			_, _, key := f.method(n)
			return key == "cache#GetInformerForKind"
		},
		Rewrite: func(f *file, n ast.Node) string {
			return f.leave(n, "an informer is of a Go type", "cache.Informer(&corev1.Pod{})") + f.inside(n)
		},
		Reason: "a kind is declared by an object of it",
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
			switch f.around(0).(type) {
			case *ast.BinaryExpr, *ast.UnaryExpr:
				return "(" + f.waits(n) + " == nil)"
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
