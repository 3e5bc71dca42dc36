package migrate

import (
	"go/ast"
	"go/token"
	"go/types"
)

// standIns are the types of controller-runtime for which types of a project stand, such as mocks, and that are structs in the runtime; with
// what makes one of a stand-in.
var standIns = map[string]string{
	"manager.Manager": "{manager}.Of",
	"cluster.Cluster": "{manager}.Of",
	"cache.Cache":     "{cache}.Of",
	"cache.Informers": "{cache}.Of",
	"cache.Informer":  "{cache}.InformerOf",
}

// standInRules are about types of the project that stand for managers, caches and clients, in tests mostly. Clients may have been written for
// a version of controller-runtime whose interfaces have fewer methods.
var standInRules = []Rule{
	{
		Name: "an assertion that a type stands for another one",
		Matches: func(f *file, n ast.Node) bool {
			decl, ok := n.(*ast.GenDecl)
			return ok && decl.Tok == token.VAR && !decl.Lparen.IsValid() && len(decl.Specs) == 1 && f.assertsStandIn(decl.Specs[0])
		},
		Rewrite: func(*file, ast.Node) string { return removed },
		Reason:  "what a type stands for is a struct, which is made of it where it is wanted",
	},
	{
		Name:    "one of several assertions that a type stands for another one",
		Matches: func(f *file, n ast.Node) bool { return f.assertsStandIn(n) },
		Rewrite: func(*file, ast.Node) string { return removed },
		Reason:  "what a type stands for is a struct, which is made of it where it is wanted",
	},
	{
		Name: "a type of one's own that stands for another one",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(ast.Expr)
			return ok && !f.wrapped[n] && f.info.Types[e].IsValue() && f.isOwnType(f.info.TypeOf(e)) && standIns[f.wantedKey(e)] != ""
		},
		Rewrite: func(f *file, n ast.Node) string {
			f.wrapped[n] = true
			text := f.text(n)
			defer func(stack []ast.Node) { f.stack = stack }(f.stack)
			f.stack = f.stack[:len(f.stack)-1] // without the node itself, as where it was matched
			return fill(standIns[f.wantedKey(n.(ast.Expr))]) + "(" + text + ")"
		},
		Reason: "a struct is made of what stands for it, which it asks",
	},
	{
		Name: "which type stands for another one",
		Matches: func(f *file, n ast.Node) bool {
			assertion, ok := n.(*ast.TypeAssertExpr)
			return ok && assertion.Type != nil && f.isOwnType(f.info.TypeOf(assertion.Type)) && standIns[f.typeOf(assertion.X)] != "" && f.typeOf(assertion.X) != "cluster.Cluster"
		},
		Rewrite: func(f *file, n ast.Node) string {
			assertion := n.(*ast.TypeAssertExpr)
			return f.text(assertion.X) + ".StandIn().(" + f.text(assertion.Type) + ")"
		},
		Reason: "what was made of a stand-in has it",
	},
	{
		Name: "options of an informer that stands for another one",
		Matches: func(f *file, n ast.Node) bool {
			_, variadic := f.around(0).(*ast.Ellipsis)
			return variadic && f.symbol(n) == "cache.InformerGetOption"
		},
		Rewrite: func(*file, ast.Node) string { return "any" },
		Reason:  "informers are got without options",
	},
	{
		Name: "conversions of what stands for a manager",
		Matches: func(f *file, n ast.Node) bool {
			decl, ok := n.(*ast.FuncDecl)
			return ok && decl.Recv != nil && decl.Name.Name == "GetConverterRegistry" && decl.Type.Results.NumFields() == 1 && f.typeOf(decl.Type.Results.List[0].Type) == "webhook/conversion.Registry"
		},
		Rewrite: func(*file, ast.Node) string { return removed },
		Reason:  "nobody asks a manager for it",
	},
	{
		Name: "a reader past the cache, which something may stand for",
		Matches: func(f *file, n ast.Node) bool {
			ident, ok := n.(*ast.Ident)
			return ok && f.standsForReader && f.member(ident) == "cluster#GetAPIReader"
		},
		Rewrite: func(*file, ast.Node) string { return "APIReader" },
		Reason:  "a reader of a test's own is no client of an API server",
	},
	{
		Name:    "the options of all controllers that a manager has",
		Matches: matchMethod("manager#GetControllerOptions"),
		Rewrite: func(f *file, n ast.Node) string {
			_, selector, _ := f.method(n)
			m := f.text(selector.X)
			f.note(n, "of the options of all controllers this has MaxConcurrentReconciles alone")
			return "(" + fill("{manager}.Options{MaxConcurrentReconciles: ") + m + ".MaxConcurrentReconciles()})"
		},
		Reason: "the manager has them itself",
	},
	{
		Name: "a client of one's own that has fewer methods",
		Matches: func(f *file, n ast.Node) bool {
			decl, ok := n.(*ast.FuncDecl)
			return ok && len(f.lacking(decl)) > 0
		},
		Rewrite: func(f *file, n ast.Node) string {
			decl := n.(*ast.FuncDecl)
			text, receiver := f.inside(n), f.raw(decl.Recv.List[0].Type)
			for _, method := range f.lacking(decl) {
				text += "\n\n" + method.declaration(receiver)
			}
			return text
		},
		Reason: "clients have more methods than in older versions; nothing has called them",
	},
}

// assertsStandIn reports whether a declaration only says that a type of the project stands for one that is a struct in the runtime.
func (f *file) assertsStandIn(n ast.Node) bool {
	spec, ok := n.(*ast.ValueSpec)
	return ok && isAssertion(spec) && standIns[typeKey(f.info.TypeOf(spec.Type))] != "" && f.isOwnType(f.info.TypeOf(spec.Values[0]))
}

// wantedKey returns the name of the type that the place of an expression asks for, if that is an interface of controller-runtime.
func (f *file) wantedKey(e ast.Expr) string {
	t := f.wanted(e)
	if t == nil || !types.IsInterface(t) {
		return ""
	}
	return typeKey(t)
}

// laterMethod is one that interfaces of clients have got since v0.7.0. Whoever stands for a client and has it not was not asked for it.
type laterMethod struct{ name, doc, signature, body string }

// writerMethods are those of what writes, and of what writes a subresource.
var writerMethods = []laterMethod{{
	name:      "Apply",
	doc:       "says that it is not supported: what this stands for had none.",
	signature: "(ctx {context}.Context, o {client}.Object, opts ...{client}.ApplyOption) error",
	body:      "return {errors}.ErrUnsupported",
}}

// clientMethods are those of a whole client.
var clientMethods = []laterMethod{
	{
		name:      "SubResource",
		doc:       "returns none: what this stands for had none.",
		signature: "(name string) {client}.SubResourceClient",
		body:      "return nil",
	},
	{
		name:      "GroupVersionKindFor",
		doc:       "returns the kind of an object.",
		signature: "(o {runtimepkg}.Object) ({schema}.GroupVersionKind, error)",
		body:      "return {object}.GVK(o, c.Scheme())",
	},
	{
		name:      "IsObjectNamespaced",
		doc:       "reports whether objects of the kind of o are in namespaces.",
		signature: "(o {runtimepkg}.Object) (bool, error)",
		body:      "return {client}.IsObjectNamespaced(o, c.Scheme(), c.RESTMapper())",
	},
}

// declaration returns the method for a type.
func (m laterMethod) declaration(receiver string) string {
	return "// " + m.name + " " + m.doc + "\nfunc (c " + receiver + ") " + m.name + fill(m.signature) + " {\n" + fill(m.body) + "\n}"
}

// lacking returns the methods that the type has not which a declaration of Patch is of, if that stands for a client or a writer.
func (f *file) lacking(decl *ast.FuncDecl) []laterMethod {
	method, ok := f.info.Defs[decl.Name].(*types.Func)
	if !ok || decl.Recv == nil || decl.Name.Name != "Patch" || !isPatch(method.Signature()) || embedsClient(method) {
		return nil
	}
	has := func(names ...string) bool {
		for _, name := range names {
			if !f.hasMethod(method, name) {
				return false
			}
		}
		return true
	}
	isWriter := has("Create", "Update", "Delete", "DeleteAllOf")
	if !isWriter && (!has("Update") || has("Delete")) {
		return nil
	}
	wanted := writerMethods
	if isWriter && has("Get", "List", "Status", "Scheme", "RESTMapper") {
		wanted = append(wanted[:len(wanted):len(wanted)], clientMethods...)
	}
	var lacking []laterMethod
	for _, later := range wanted {
		if !has(later.name) {
			lacking = append(lacking, later)
		}
	}
	return lacking
}

// isPatch reports whether a method is as Patch of a client, or of what writes its subresources.
func isPatch(signature *types.Signature) bool {
	params := signature.Params()
	if !signature.Variadic() || params.Len() != 4 || typeKey(params.At(1).Type()) != "client.Object" || typeKey(params.At(2).Type()) != "client.Patch" {
		return false
	}
	option := typeKey(params.At(3).Type().(*types.Slice).Elem())
	return option == "client.PatchOption" || option == "client.SubResourcePatchOption"
}

// embedsClient reports whether the type of a method embeds something of controller-runtime, which has got the methods too.
func embedsClient(method *types.Func) bool {
	t := method.Signature().Recv().Type()
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		t = pointer.Elem()
	}
	declared, ok := t.Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for field := range declared.Fields() {
		if field.Embedded() && typeKey(field.Type()) != "" {
			return true
		}
	}
	return false
}
