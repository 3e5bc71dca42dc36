package migrate

import (
	"go/ast"
	"go/types"
)

// standInRules are about types of the project that stand for clients, such as mocks, and were written for a version of
// controller-runtime whose interfaces have fewer methods.
var standInRules = []Rule{
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
