package migrate

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// cacheTypes are the interfaces of controller-runtime that types of tests may implement and that are structs in the
// runtime.
var cacheTypes = map[string]bool{"cache.Cache": true, "cache.Informers": true, "cache.Informer": true}

// doubleMethods are the methods of managers and clusters, with the names by which the runtime calls those of a double.
var doubleMethods = map[string]string{
	"GetClient":                    "Client",
	"GetScheme":                    "Scheme",
	"GetCache":                     "Cache",
	"GetConfig":                    "Config",
	"GetRESTMapper":                "RESTMapper",
	"GetEventRecorder":             "EventRecorder",
	"GetEventRecorderFor":          "EventRecorderFor",
	"GetAPIReader":                 "APIReader",
	"GetHTTPClient":                "HTTPClient",
	"GetFieldIndexer":              "FieldIndexer",
	"GetLogger":                    "Logger",
	"AddMetricsServerExtraHandler": "Handle",
	"Start":                        "Run",
}

// bridges are methods of doubles that the runtime calls in another form, with the method to add.
var bridges = map[string]laterMethod{
	"AddHealthzCheck": {
		name: "AddHealthz", doc: "calls AddHealthzCheck.", signature: "(name string, check func(*{http}.Request) error)",
		body: "_ = c.AddHealthzCheck(name, check)",
	},
	"AddReadyzCheck": {
		name: "AddReadyz", doc: "calls AddReadyzCheck.", signature: "(name string, check func(*{http}.Request) error)",
		body: "_ = c.AddReadyzCheck(name, check)",
	},
	"GetControllerOptions": {
		name: "MaxConcurrentReconciles", doc: "returns that of GetControllerOptions.", signature: "() int",
		body: "return c.GetControllerOptions().MaxConcurrentReconciles",
	},
}

// helpers are methods of managers and clusters that the interface of the runtime lacks, with the functions that take
// its place, and the methods of *manager.Manager.
var helpers = map[string]struct{ function, method string }{
	"cluster#GetAPIReader":         {"APIReader", "Live"},
	"cluster#GetHTTPClient":        {"HTTPClient", "HTTPClient"},
	"cluster#GetFieldIndexer":      {"FieldIndexer", "Cache"},
	"cluster#GetEventRecorderFor":  {"EventRecorderFor", ""},
	"recorder#GetEventRecorderFor": {"EventRecorderFor", ""},
	"manager#Elected":              {"Elected", "Elected"},
	"manager#Start":                {"Run", "Run"},
}

// doubleRules are about types of the project that implement managers, caches and clients, in tests mostly. Clients may
// have been written for a version of controller-runtime whose interfaces have fewer methods.
var doubleRules = []Rule{
	{
		Name: "what a manager has beyond the interface of the runtime",
		Matches: func(f *file, n ast.Node) bool {
			_, selector, key := f.method(n)
			return helpers[key].function != "" && !f.hasMethodOfRuntime(selector.X, key)
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, key := f.method(n)
			args := append(f.texts(call.Args), f.text(selector.X))
			if key != "manager#Start" { // in which the context is first
				args = append([]string{f.text(selector.X)}, f.texts(call.Args)...)
			}
			return fill("{compat/managers}.") + helpers[key].function + "(" + strings.Join(args, ", ") + ")"
		},
		Reason: "setup functions take an interface, which has what most of them need",
	},
	{
		Name: "a method of a double of a manager",
		Matches: func(f *file, n ast.Node) bool {
			ident, ok := n.(*ast.Ident)
			return ok && f.doubleMethod(ident) != ""
		},
		Rewrite: func(f *file, n ast.Node) string { return f.doubleMethod(n.(*ast.Ident)) },
		Reason:  "the method of the runtime's interface has another name",
	},
	{
		Name: "a field of a double with the name of a method that it gets",
		Matches: func(f *file, n ast.Node) bool {
			ident, ok := n.(*ast.Ident)
			return ok && f.doubleField(ident) != ""
		},
		Rewrite: func(f *file, n ast.Node) string { return f.doubleField(n.(*ast.Ident)) },
		Reason:  "a type cannot have a field and a method of one name",
	},
	{
		Name: "a double of a manager that has all methods",
		Matches: func(f *file, n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			return ok && !f.wrapped[n] && f.embedsNone(spec)
		},
		Rewrite: func(f *file, n ast.Node) string {
			f.wrapped[n] = true
			spec := n.(*ast.TypeSpec)
			at := f.offset(spec.Type.(*ast.StructType).Fields.Opening) + 1
			embedded := "\n" + fill("{controller}."+f.doubles[f.pkg.Types.Path()+"."+spec.Name.Name].kind) + " // nil\n"
			return f.splice(spec, append([]edit{{at, at, embedded}}, f.within(spec)...))
		},
		Reason: "the runtime's interface has methods that controller-runtime's lacks",
	},
	{
		Name: "a method of a double in another form",
		Matches: func(f *file, n ast.Node) bool {
			decl, ok := n.(*ast.FuncDecl)
			return ok && bridges[decl.Name.Name].name != "" && f.ofDouble(decl) && !f.wrapped[n]
		},
		Rewrite: func(f *file, n ast.Node) string {
			f.wrapped[n] = true
			decl := n.(*ast.FuncDecl)
			return f.inside(n) + "\n\n" + bridges[decl.Name.Name].declaration(f.raw(decl.Recv.List[0].Type)) + "\n"
		},
		Reason: "the runtime calls it in another form",
	},
	{
		Name: "an assertion that a type is a cache",
		Matches: func(f *file, n ast.Node) bool {
			decl, ok := n.(*ast.GenDecl)
			return ok && decl.Tok == token.VAR && !decl.Lparen.IsValid() && len(decl.Specs) == 1 && f.assertsCache(decl.Specs[0])
		},
		Rewrite: func(*file, ast.Node) string { return removed },
		Reason:  "a cache is a struct",
	},
	{
		Name:    "one of several assertions that a type is a cache",
		Matches: func(f *file, n ast.Node) bool { return f.assertsCache(n) },
		Rewrite: func(*file, ast.Node) string { return removed },
		Reason:  "a cache is a struct",
	},
	{
		Name: "a type of one's own as a cache",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(ast.Expr)
			return ok && !f.wrapped[n] && f.info.Types[e].IsValue() && f.isOwnType(f.info.TypeOf(e)) && cacheTypes[f.wantedKey(e)]
		},
		Rewrite: func(f *file, n ast.Node) string {
			f.wrapped[n] = true
			return f.leave(n, "a cache is a struct: a test takes that of a manager of a test server", ownCache) + f.text(n)
		},
		Reason: "a cache is a struct",
	},
	{
		Name: "which type a cache is of",
		Matches: func(f *file, n ast.Node) bool {
			assertion, ok := n.(*ast.TypeAssertExpr)
			return ok && assertion.Type != nil && f.isOwnType(f.info.TypeOf(assertion.Type)) && cacheTypes[f.typeOf(assertion.X)]
		},
		Rewrite: func(f *file, n ast.Node) string {
			return f.leave(n, "a cache is a struct: no other type is one", ownCache) + f.inside(n)
		},
		Reason: "a cache is a struct",
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

// ownCache is what to write in place of a double of a cache.
const ownCache = "m.Cache() // of a manager whose configuration is that of a test server"

// double is a type of the project that implements the interface of managers or clusters.
type double struct {
	kind string // Manager or Cluster
	// fields are the new names of fields, by the places where they are declared.
	fields map[string]string
}

// surveyDoubles finds the types of the project that implement managers and clusters.
func (p *program) surveyDoubles() {
	for _, pkg := range p.packages {
		if pkg.Types == nil || !p.isOwn(pkg.Types.Path()) {
			continue
		}
		for _, name := range pkg.Types.Scope().Names() {
			object, ok := pkg.Types.Scope().Lookup(name).(*types.TypeName)
			if !ok || object.IsAlias() {
				continue
			}
			if d := p.doubleOf(object.Type()); d != nil {
				p.doubles[namedOf(object.Type())] = d
			}
		}
	}
}

// doubleOf returns the double that a type is, or nil.
func (p *program) doubleOf(t types.Type) *double {
	declared, isStruct := t.Underlying().(*types.Struct)
	for _, kind := range []string{"Manager", "Cluster"} {
		pkg := p.peers[strings.ToLower(kind)]
		if !isStruct || pkg == nil || pkg.Scope().Lookup(kind) == nil {
			continue
		}
		of, ok := pkg.Scope().Lookup(kind).Type().Underlying().(*types.Interface)
		if !ok || !implements(types.NewPointer(t), of) {
			continue
		}
		d := &double{kind: kind, fields: map[string]string{}}
		for field := range declared.Fields() {
			if d.hasMethodOf(t, field.Name()) && !field.Embedded() {
				d.fields[p.placeOf(field)] = "own" + field.Name()
				if field.Exported() {
					d.fields[p.placeOf(field)] = "Own" + field.Name()
				}
			}
		}
		return d
	}
	return nil
}

// hasMethodOf reports whether a type declares a method that gets a name.
func (d *double) hasMethodOf(t types.Type, name string) bool {
	for old, renamed := range doubleMethods {
		if object, index, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, nil, old); renamed == name && object != nil && len(index) == 1 {
			return true
		}
	}
	return false
}

// ofDouble reports whether a declaration is of a method of a double.
func (f *file) ofDouble(decl *ast.FuncDecl) bool {
	method, ok := f.info.Defs[decl.Name].(*types.Func)
	return ok && decl.Recv != nil && f.doubles[receiver(method)] != nil
}

// doubleMethod returns the new name of a method of a double, or "".
func (f *file) doubleMethod(ident *ast.Ident) string {
	method, ok := f.info.ObjectOf(ident).(*types.Func)
	if !ok || f.doubles[receiver(method)] == nil {
		return ""
	}
	if f.runnables[receiver(method)] && method.Name() == "Start" {
		return "" // as of all runnables
	}
	return doubleMethods[method.Name()]
}

// doubleField returns the new name of a field of a double, or "".
func (f *file) doubleField(ident *ast.Ident) string {
	field, ok := f.info.ObjectOf(ident).(*types.Var)
	if !ok || !field.IsField() {
		return ""
	}
	for _, d := range f.doubles {
		if name := d.fields[f.placeOf(field)]; name != "" {
			return name
		}
	}
	return ""
}

// embedsNone reports whether a type is a double that embeds nothing which has the methods.
func (f *file) embedsNone(spec *ast.TypeSpec) bool {
	declared, ok := spec.Type.(*ast.StructType)
	if !ok || f.info.Defs[spec.Name] == nil || f.doubles[namedOf(f.info.Defs[spec.Name].Type())] == nil {
		return false
	}
	for _, field := range declared.Fields.List {
		t := f.info.TypeOf(field.Type)
		if key := typeKey(t); len(field.Names) == 0 && (key == "manager.Manager" || key == "cluster.Cluster" || f.doubles[namedOf(t)] != nil) {
			return false
		}
	}
	return true
}

// hasMethodOfRuntime reports whether the runtime's type of an expression has the method that another one of
// controller-runtime becomes: a manager that the program makes is a *manager.Manager, and the cache of every manager is
// a field indexer unless a double has one of its own.
func (f *file) hasMethodOfRuntime(e ast.Expr, key string) bool {
	switch {
	case key == "cluster#GetFieldIndexer":
		return !f.answered["GetFieldIndexer"]
	case helpers[key].method == "":
		return false
	}
	ident, ok := ast.Unparen(e).(*ast.Ident)
	return ok && f.info.ObjectOf(ident) != nil && f.made[f.placeOf(f.info.ObjectOf(ident))]
}

// surveyMade notes a variable that a statement declares as a manager which the program makes.
func (f *file) surveyMade(assign *ast.AssignStmt) {
	if assign.Tok != token.DEFINE || len(assign.Rhs) != 1 {
		return
	}
	if _, key := f.called(assign.Rhs[0]); key != "ctrl.NewManager" && key != "manager.New" {
		return
	}
	if ident, ok := assign.Lhs[0].(*ast.Ident); ok && f.info.Defs[ident] != nil {
		f.made[f.placeOf(f.info.Defs[ident])] = true
	}
}

// assertsCache reports whether a declaration only says that a type of the project is a cache.
func (f *file) assertsCache(n ast.Node) bool {
	spec, ok := n.(*ast.ValueSpec)
	return ok && isAssertion(spec) && cacheTypes[typeKey(f.info.TypeOf(spec.Type))] && f.isOwnType(f.info.TypeOf(spec.Values[0]))
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
	signature: "(ctx {context}.Context, o {object}.Object, opts ...{client}.ApplyOption) error",
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
