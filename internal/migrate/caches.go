package migrate

import (
	"go/ast"
	"strings"
)

// newCache makes options of the function that makes a manager's cache. One that does more than to choose options stays.
func newCache(f *file, value ast.Expr) string {
	switch call, key := f.called(value); {
	case key == "cache.MultiNamespacedCacheBuilder" && len(call.Args) == 1:
		return "Namespaces: " + f.text(call.Args[0])
	case key == "cache.BuilderWithOptions" && len(call.Args) == 1 && f.sibling("Cache") == nil:
		return "Cache: " + f.withUncached(call.Args[0])
	case f.symbol(value) == "cache.New" || f.info.Types[value].IsNil():
		return removed
	}
	if literal, ok := value.(*ast.FuncLit); ok && f.sibling("Cache") == nil {
		if text := f.cacheOptions(literal); text != "" {
			return "Cache: " + text
		}
	}
	return f.leave(value, "the manager makes its cache itself, of the options Cache and Namespaces", "Cache: cache.Options{ByKind: kinds}, Namespaces: namespaces") + "NewCache: " + f.raw(value)
}

// withUncached returns the options of a cache with the kinds that are not cached, which are beside the function that makes it, or were set
// before it.
func (f *file) withUncached(options ast.Expr) string {
	literal, ok := options.(*ast.CompositeLit)
	if !ok {
		return f.text(options)
	}
	if kinds := f.sibling("ClientDisableCacheFor"); kinds != nil {
		return f.withField(literal, "DisableFor: "+f.text(kinds))
	}
	if _, _, target := f.fieldSet(f.around(0)); target != nil && f.disablesKinds() {
		return f.withField(literal, "DisableFor: "+f.text(target)+".Cache.DisableFor")
	}
	return f.text(options)
}

// uncachedBefore is the list of kinds that a manager did not cache before v0.15.
func uncachedBefore(f *file, value ast.Expr) string {
	switch maker := f.sibling("NewCache").(type) {
	case *ast.CallExpr:
		if _, key := f.called(maker); key == "cache.BuilderWithOptions" {
			return removed
		}
	case *ast.FuncLit:
		return removed
	}
	return uncachedPrefix() + f.text(value) + "}"
}

// uncachedPrefix begins options of a cache that say only what is not cached.
func uncachedPrefix() string { return "Cache: " + fill("{cache}.Options{DisableFor: ") }

// uncached makes of the options of a client what is not to be cached. Where there are options of the cache, these have it: see
// [uncachedKinds].
func uncached(f *file, value ast.Expr) string {
	kinds := disabled(value)
	if kinds == nil {
		f.note(value, "left out: of the options of the manager's client the runtime has only Cache.DisableFor")
		return removed
	}
	switch f.sibling("Cache").(type) {
	case nil:
		return uncachedPrefix() + f.text(kinds) + "}"
	case *ast.CompositeLit:
		return removed
	}
	f.note(f.around(0), "left out: put it into Cache: DisableFor: "+oneLine(f.raw(kinds)))
	return removed
}

// disabled returns the kinds that the options of a client do not cache, or nil.
func disabled(options ast.Node) ast.Expr {
	var kinds ast.Expr
	if options == nil {
		return nil
	}
	ast.Inspect(options, func(n ast.Node) bool {
		if field, ok := n.(*ast.KeyValueExpr); ok && isIdent(field.Key, "DisableFor") {
			kinds = field.Value
		}
		return true
	})
	return kinds
}

// uncachedKinds are the rules for options of the cache beside which those of the client say what is not cached, which is one of these here.
var uncachedKinds = []Rule{
	{
		Name: "what is not cached",
		Matches: func(f *file, n ast.Node) bool {
			field, ok := n.(*ast.KeyValueExpr)
			if !ok || !isIdent(field.Key, "Cache") {
				return false
			}
			key, _, _ := f.fieldSet(n)
			_, literal := field.Value.(*ast.CompositeLit)
			return literal && key == "manager#Cache" && disabled(f.sibling("Client")) != nil
		},
		Rewrite: func(f *file, n ast.Node) string {
			literal := n.(*ast.KeyValueExpr).Value.(*ast.CompositeLit)
			return "Cache: " + f.withField(literal, "DisableFor: "+f.text(disabled(f.sibling("Client"))))
		},
		Reason: "the cache has it",
	},
	{
		Name: "what is not cached, set by itself",
		Matches: func(f *file, n ast.Node) bool {
			key, value, target := f.fieldSet(n)
			return key == "client#Cache" && target != nil && f.ofManager(target) != nil && disabled(value) != nil
		},
		Rewrite: func(f *file, n ast.Node) string {
			_, value, target := f.fieldSet(n)
			return f.text(f.ofManager(target)) + ".Cache.DisableFor = " + f.text(disabled(value))
		},
		Reason: "the cache has it",
	},
	{
		Name: "the list of what is not cached",
		Matches: func(f *file, n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok || f.member(selector.Sel) != "client#DisableFor" {
				return false
			}
			cached, ok := selector.X.(*ast.SelectorExpr)
			return ok && f.member(cached.Sel) == "client#Cache" && f.ofManager(cached.X) != nil
		},
		Rewrite: func(f *file, n ast.Node) string {
			return f.text(f.ofManager(n.(*ast.SelectorExpr).X.(*ast.SelectorExpr).X)) + ".Cache.DisableFor"
		},
		Reason: "the cache has it",
	},
	{
		Name: "options of the cache that are set where something is not cached",
		Matches: func(f *file, n ast.Node) bool {
			key, _, target := f.fieldSet(n)
			return key == "manager#Cache" && target != nil && f.disablesKinds()
		},
		Rewrite: func(f *file, n ast.Node) string {
			_, value, target := f.fieldSet(n)
			cached := f.text(target) + ".Cache"
			if literal, ok := value.(*ast.CompositeLit); ok {
				return cached + " = " + f.withField(literal, "DisableFor: "+cached+".DisableFor")
			}
			return cached + ", " + cached + ".DisableFor = " + f.text(value) + ", " + cached + ".DisableFor"
		},
		Reason: "what is not cached is one of them, and stays",
	},
}

// ofManager returns the options of the manager whose options of a client an expression is, or nil.
func (f *file) ofManager(options ast.Expr) ast.Expr {
	if selector, ok := options.(*ast.SelectorExpr); ok && f.member(selector.Sel) == "manager#Client" {
		return selector.X
	}
	return nil
}

// disablesKinds reports whether the function that is looked at says somewhere what is not cached.
func (f *file) disablesKinds() bool {
	for _, n := range f.stack {
		if function, ok := n.(*ast.FuncDecl); ok {
			return disabled(function.Body) != nil || f.sets(function.Body, "manager#ClientDisableCacheFor")
		}
	}
	return false
}

// sets reports whether a field is set in a node.
func (f *file) sets(body ast.Node, field string) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		key, _, _ := f.fieldSet(n)
		found = found || key == field
		return !found
	})
	return found
}

// cacheOptions returns the options of a function that sets some and makes a cache of them; "" for one that does something else.
func (f *file) cacheOptions(function *ast.FuncLit) string {
	if function.Type.Params.NumFields() != 2 || len(function.Body.List) == 0 {
		return ""
	}
	last, ok := function.Body.List[len(function.Body.List)-1].(*ast.ReturnStmt)
	if !ok || len(last.Results) != 1 {
		return ""
	}
	params := parametersOf(function.Type)
	if len(params) != 2 || params[1].Name == "_" {
		return ""
	}
	options, end := params[1].Name, ""
	call, key := f.called(last.Results[0])
	if builder, made := f.calledBy(last.Results[0]); made == "cache.MultiNamespacedCacheBuilder" && len(builder.Args) == 1 {
		call, key = last.Results[0].(*ast.CallExpr), "cache.New"
		end = options + ".Namespaces = " + f.text(builder.Args[0]) + "\n"
	}
	if key != "cache.New" || len(call.Args) != 2 || !f.isUseOf(call.Args[0], params[0]) || !f.isUseOf(call.Args[1], params[1]) {
		return ""
	}
	if countUses(f, function, params[0]) != 1 || returns(function) != 1 {
		return ""
	}
	if kinds := f.sibling("ClientDisableCacheFor"); kinds != nil {
		end += options + ".DisableFor = " + f.text(kinds) + "\n"
	}
	var body strings.Builder
	f.stack = append(f.stack, function, function.Body)
	for _, statement := range function.Body.List[:len(function.Body.List)-1] {
		body.WriteString(f.text(statement) + "\n")
	}
	f.stack = f.stack[:len(f.stack)-2]
	begin := "var " + options + fill(" {cache}.Options\n")
	if _, _, target := f.fieldSet(f.around(0)); target != nil { // what is set already
		begin = options + " := " + f.text(target) + ".Cache\n"
	}
	return fill("func() {cache}.Options ") + "{\n" + begin + body.String() + end + "return " + options + "\n}()"
}

// parametersOf returns the names of the parameters of a function.
func parametersOf(function *ast.FuncType) []*ast.Ident {
	var names []*ast.Ident
	for _, field := range function.Params.List {
		names = append(names, field.Names...)
	}
	return names
}

// calledBy returns the call whose result a call calls, as in f(x)(y), and what it is of.
func (f *file) calledBy(e ast.Expr) (*ast.CallExpr, string) {
	outer, ok := e.(*ast.CallExpr)
	if !ok {
		return nil, ""
	}
	return f.called(outer.Fun)
}

// isUseOf reports whether an expression is a variable, by its name.
func (f *file) isUseOf(e ast.Expr, variable *ast.Ident) bool {
	ident, ok := e.(*ast.Ident)
	return ok && f.info.Uses[ident] != nil && f.info.Uses[ident] == f.info.Defs[variable]
}

func countUses(f *file, n ast.Node, variable *ast.Ident) (count int) {
	ast.Inspect(n, func(n ast.Node) bool {
		if e, ok := n.(*ast.Ident); ok && f.isUseOf(e, variable) {
			count++
		}
		return true
	})
	return count
}

// returns counts the return statements of a function, and of those in it.
func returns(function *ast.FuncLit) (count int) {
	ast.Inspect(function.Body, func(n ast.Node) bool {
		if _, ok := n.(*ast.ReturnStmt); ok {
			count++
		}
		return true
	})
	return count
}

// selectorOf makes of the selector of all kinds the options that a cache has for it.
func selectorOf(f *file, value ast.Expr) string {
	literal, ok := value.(*ast.CompositeLit)
	if !ok {
		return f.leave(value, "a cache has DefaultLabels and DefaultFields", "DefaultLabels: selector") + "DefaultSelector: " + f.raw(value)
	}
	var fields []string
	if labels := keyed(literal)["Label"]; labels != nil {
		fields = append(fields, "DefaultLabels: "+f.text(labels))
	}
	if selected := keyed(literal)["Field"]; selected != nil {
		fields = append(fields, "DefaultFields: "+f.text(selected))
	}
	if len(fields) == 0 {
		return removed
	}
	return strings.Join(fields, ",\n")
}
