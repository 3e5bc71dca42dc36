package migrate

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/scaffold"
)

// Libraries that the project uses go on to speak controller-runtime. Where one of them wants or gives a value of it, a conversion is written:
// a function of a package that the project gets for that, see [scaffold.PlanAdapter].

// conversion is how values of a type of controller-runtime are converted.
type conversion struct {
	// name is what the names of the functions end in that convert.
	name string
	// part is the file of the package that has them.
	part string
	// from is the function that makes a value of the runtime; without one it is that of the package. no says that there is none, and so it
	// does in to.
	from, to string
	// hosted is the function that makes of a value that a library keeps, and goes on to work with, one of the runtime where one is wanted.
	hosted string
	// each says that what is converted is a list.
	each bool
}

const no = "-"

// conversions are the types that are converted, by their names in the tables.
var conversions = map[string]conversion{
	"client.Client":              {name: "Client", part: scaffold.AdapterClient},
	"client.WithWatch":           {name: "WithWatch", part: scaffold.AdapterClient},
	"client.Reader":              {name: "Reader", part: scaffold.AdapterClient},
	"client.Writer":              {name: "Writer", part: scaffold.AdapterClient},
	"client.StatusClient":        {name: "StatusClient", part: scaffold.AdapterClient},
	"client.SubResourceWriter":   {name: "SubResourceWriter", part: scaffold.AdapterClient},
	"client.Patch":               {name: "Patch", part: scaffold.AdapterClient},
	"client.GetOption":           {name: "GetOption", part: scaffold.AdapterClient},
	"client.ListOption":          {name: "ListOption", part: scaffold.AdapterClient},
	"client.CreateOption":        {name: "CreateOption", part: scaffold.AdapterClient},
	"client.UpdateOption":        {name: "UpdateOption", part: scaffold.AdapterClient},
	"client.PatchOption":         {name: "PatchOption", part: scaffold.AdapterClient},
	"client.DeleteOption":        {name: "DeleteOption", part: scaffold.AdapterClient},
	"client.DeleteAllOfOption":   {name: "DeleteAllOfOption", part: scaffold.AdapterClient},
	"predicate.TypedPredicate":   {name: "Predicate", part: scaffold.AdapterPredicate},
	"predicate.Predicate":        {name: "Predicate", part: scaffold.AdapterPredicate},
	"predicate.TypedFuncs":       {name: "Predicate", part: scaffold.AdapterPredicate, to: no},
	"predicate.Funcs":            {name: "Predicate", part: scaffold.AdapterPredicate, to: no},
	"handler.TypedEventHandler":  {name: "EventHandler", part: scaffold.AdapterHandler, to: no},
	"handler.TypedFuncs":         {name: "EventHandler", part: scaffold.AdapterHandler, to: no},
	"handler.Funcs":              {name: "EventHandler", part: scaffold.AdapterHandler, to: no},
	"source.TypedSource":         {name: "Source", part: scaffold.AdapterSource, to: no},
	"reconcile.TypedReconciler":  {name: "Reconciler", part: scaffold.AdapterReconcile},
	"reconcile.Reconciler":       {name: "Reconciler", part: scaffold.AdapterReconcile},
	"reconcile.Request":          {name: "Request", part: scaffold.AdapterReconcile},
	"reconcile.Result":           {name: "Result", part: scaffold.AdapterReconcile},
	"workqueue.TypedRateLimiter": {name: "RateLimiter", part: scaffold.AdapterLimiter},
	"manager.Manager":            {name: "Manager", part: scaffold.AdapterManager, from: no, hosted: "FromManager"},
	"manager.Runnable":           {name: "Runnable", part: scaffold.AdapterManager, from: no},
	"cluster.Cluster":            {name: "Manager", part: scaffold.AdapterManager, from: no},
	"*metrics/server.Options":    {name: "MetricsOptions", part: scaffold.AdapterMetrics, to: no},
	"record.EventRecorder":       {from: "{compat/eventrecorder}.OfCore"},
	"toolsevents.EventRecorder":  {from: "{events}.Of"},
}

// objects are the interfaces of objects: one of controller-runtime is one of the runtime as it is, and only lists of them are others.
var objects = map[string]string{"client.Object": "Object", "cache.Object": "Object", "client.ObjectList": "ObjectList"}

// libraryRules are about what libraries want and give.
var libraryRules = []Rule{
	{
		Name:    "a type in a function that a library calls",
		Matches: func(f *file, n ast.Node) bool { return f.keptType(n) != "" },
		Rewrite: func(f *file, n ast.Node) string {
			f.stack = f.stack[:len(f.stack)-1]
			text := f.keptType(n)
			f.stack = append(f.stack, n)
			return text
		},
		Reason: "the library goes on to speak controller-runtime",
	},
	{
		Name: "an object that a type of a library is of",
		Matches: func(f *file, n ast.Node) bool {
			return f.converts && f.symbol(n) == "client.Object" && f.isOfForeignType(n)
		},
		Rewrite: func(f *file, n ast.Node) string { return f.adapterName(scaffold.AdapterClient) + ".Object" },
		Reason:  "the library goes on to speak controller-runtime",
	},
	{
		Name: "a value for a library, or of one",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(ast.Expr)
			return ok && f.crossing(e) != ""
		},
		Rewrite: func(f *file, n ast.Node) string {
			f.stack = f.stack[:len(f.stack)-1]
			convert := f.crossing(n.(ast.Expr))
			f.wrapped[n] = true
			text := f.text(n)
			delete(f.wrapped, n) // a rule around it may ask for its text again
			f.stack = append(f.stack, n)
			return convert + "(" + text + ")"
		},
		Reason: "the library goes on to speak controller-runtime",
	},
	{
		Name: "a method of a client that a type of a library embeds",
		Matches: func(f *file, n ast.Node) bool {
			_, convert := f.embedded(n)
			return convert != ""
		},
		Rewrite: func(f *file, n ast.Node) string {
			field, convert := f.embedded(n)
			selector := n.(*ast.SelectorExpr)
			return convert + "(" + f.text(selector.X) + "." + field + ")." + f.text(selector.Sel)
		},
		Reason: "the library goes on to speak controller-runtime",
	},
	{
		Name: "a method of what a library gives",
		Matches: func(f *file, n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			return ok && f.isOfLibrary(call)
		},
		Rewrite: func(f *file, n ast.Node) string {
			call := n.(*ast.CallExpr)
			selector := ast.Unparen(call.Fun).(*ast.SelectorExpr)
			return f.text(selector.X) + "." + selector.Sel.Name + "(" + strings.Join(f.texts(call.Args), ", ") + ellipsis(call) + ")"
		},
		Reason: "the library goes on to speak controller-runtime",
	},
}

// isOfForeignType reports whether what is looked at is what a generic type of a library is of.
func (f *file) isOfForeignType(n ast.Node) bool {
	generic, ok := f.around(0).(*ast.IndexExpr)
	return ok && generic.Index == n && f.info.Types[generic].IsType() && f.isForeignType(f.info.TypeOf(generic))
}

// crossing returns the function that converts an expression where it is, if it is of a library and its place is not, or the other way round.
func (f *file) crossing(e ast.Expr) string {
	if f.wrapped[e] || !f.converts || !isValue(f, e) || f.info.Types[e].IsNil() || f.isAssigned(e) {
		return ""
	}
	if _, isParen := e.(*ast.ParenExpr); isParen {
		return ""
	}
	if selector, ok := f.around(0).(*ast.SelectorExpr); ok && selector.Sel == e {
		return ""
	}
	if convert := f.passedOn(e); convert != "" {
		return convert
	}
	t, foreign := f.place(e)
	given := f.given(e)
	if foreign {
		if given != "" || f.isForeignType(f.info.TypeOf(e)) || f.isGiven(e) {
			return ""
		}
		return f.to(e, t)
	}
	if given != "" {
		return given
	}
	return f.asWanted(e)
}

// asWanted returns the function that makes of a value of a library's own type, or of one that it keeps, what is wanted in its place.
func (f *file) asWanted(e ast.Expr) string {
	c, ok := conversionOf(f.wanted(e))
	if !ok || c.each {
		return ""
	}
	if convert := f.hosting(e, c); convert != "" {
		return convert
	}
	if !f.isForeignType(f.info.TypeOf(e)) {
		return ""
	}
	return f.converter("From", c)
}

// hosting returns the function that makes a value of the runtime of one that a library keeps; empty where it keeps none.
func (f *file) hosting(e ast.Expr, c conversion) string {
	if c.hosted == "" || !f.converts || !f.convertsManagers || !f.isForeignType(f.info.TypeOf(e)) && !f.isGiven(e) {
		return ""
	}
	return f.adapterName(c.part) + "." + c.hosted
}

// isAssigned reports whether an expression is what a statement assigns to, or what a pointer is made to.
func (f *file) isAssigned(e ast.Expr) bool {
	if unary, ok := f.around(0).(*ast.UnaryExpr); ok && unary.Op == token.AND {
		_, isLiteral := e.(*ast.CompositeLit)
		return !isLiteral
	}
	assign, ok := f.around(0).(*ast.AssignStmt)
	return ok && slices.Contains(assign.Lhs, e)
}

// conversionOf returns how values of a type are converted.
func conversionOf(t types.Type) (conversion, bool) {
	if t == nil {
		return conversion{}, false
	}
	t = types.Unalias(t)
	if list, ok := t.(*types.Slice); ok {
		if named, ok := types.Unalias(list.Elem()).(*types.Named); ok && objects[typeKey(named)] != "" {
			return conversion{name: objects[typeKey(named)], part: scaffold.AdapterClient, each: true}, true
		}
		c, ok := conversionOf(list.Elem())
		ok = ok && !c.each && c.name != ""
		c.each = true
		return c, ok
	}
	if pointer, ok := t.(*types.Pointer); ok {
		c, ok := conversions["*"+typeKey(pointer.Elem())]
		return c, ok
	}
	named, ok := t.(*types.Named)
	if !ok {
		return conversion{}, false
	}
	for argument := range named.TypeArgs().Types() { // of generic types those of all objects and of requests
		if key := typeKey(argument); objects[key] == "" && key != "reconcile.Request" {
			return conversion{}, false
		}
	}
	c, ok := conversions[typeKey(named)]
	return c, ok
}

// converter returns the function that converts in a direction, and notes that the project needs it; empty if there is none.
func (f *file) converter(direction string, c conversion) string {
	if direction == "From" && c.from != "" {
		if c.from == no {
			return ""
		}
		return fill(c.from)
	}
	if c.name == "" || direction == "To" && c.to == no || c.part == scaffold.AdapterManager && !f.convertsManagers {
		return ""
	}
	convert := f.adapterName(c.part) + "." + direction + c.name
	if c.each {
		convert = f.adapterName(c.part) + ".Each(" + convert + ")"
	}
	return convert
}

// adapterName stands for the name by which the file knows the package that converts, of which it needs a part.
func (f *file) adapterName(part string) string {
	module := f.moduleOf(f.name)
	if f.adapters[module.folder] == nil {
		f.adapters[module.folder] = map[string]bool{}
	}
	f.adapters[module.folder][part] = true
	return imported(path.Join(module.path, f.adapterFolder))
}

// moduleOf returns the module of the project that a file is of.
func (p *program) moduleOf(name string) goModule {
	var around goModule
	for _, module := range p.modules {
		if module.folder == "." || strings.HasPrefix(name, module.folder+"/") {
			if around.folder == "" || around.folder == "." || len(module.folder) > len(around.folder) {
				around = module
			}
		}
	}
	return around
}

// to returns the function that makes of an expression what a place of a library wants: a type of controller-runtime, or an interface that
// has methods of one.
func (f *file) to(e ast.Expr, t types.Type) string {
	if c, ok := conversionOf(t); ok {
		if c.name == "Manager" && typeKey(f.info.TypeOf(e)) != "manager.Manager" {
			return ""
		}
		return f.converter("To", c)
	}
	if c, ok := f.wrapping(e, t); ok {
		return f.converter("To", c)
	}
	return ""
}

// wrapping returns how an expression is converted to an interface of a library: as the type of controller-runtime that has its methods.
func (f *file) wrapping(e ast.Expr, t types.Type) (conversion, bool) {
	asked, ok := t.Underlying().(*types.Interface)
	if !ok || !f.isForeignType(t) || !mentionsPeer(asked, 0) {
		return conversion{}, false
	}
	for _, name := range []string{"client.Client", "client.Reader", "client.Writer", "client.StatusClient", "client.SubResourceWriter", "client.Patch", "predicate.Predicate", "reconcile.Reconciler"} {
		pkg, name, _ := strings.Cut(name, ".")
		has, ok := f.peerObject(pkg, name).(*types.TypeName)
		if !ok {
			continue
		}
		methods, ok := has.Type().Underlying().(*types.Interface)
		if ok && types.Implements(f.info.TypeOf(e), methods) && types.Implements(has.Type(), asked) {
			return conversions[pkg+"."+name], true
		}
	}
	return conversion{}, false
}

// given returns the function that converts what an expression of a library gives.
func (f *file) given(e ast.Expr) string {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		if !f.isGiven(e) {
			return ""
		}
		c, ok := conversionOf(f.info.TypeOf(e))
		if !ok {
			return ""
		}
		return f.converter("From", c)
	}
	signature := f.librarySignature(call)
	if signature == nil || signature.Results().Len() == 0 {
		return ""
	}
	return f.oneOf(signature.Results(), "From")
}

// oneOf returns the function that converts the one of several values that is to be converted; empty if that cannot be.
func (f *file) oneOf(results *types.Tuple, direction string) string {
	at, found := 0, 0
	var c conversion
	var others []string
	for i := range results.Len() {
		if known, ok := conversionOf(results.At(i).Type()); ok {
			at, c, found = i, known, found+1
		} else if mentionsPeer(results.At(i).Type(), 0) {
			return ""
		} else {
			others = append(others, f.typeName(results.At(i).Type()))
		}
	}
	if found != 1 {
		return ""
	}
	convert := f.converter(direction, c)
	if results.Len() == 1 || convert == "" {
		return convert
	}
	of := map[[2]int]string{{0, 2}: "First", {0, 3}: "FirstOfThree", {1, 3}: "SecondOfThree"}[[2]int{at, results.Len()}]
	if of == "" {
		return ""
	}
	return f.adapterName(c.part) + "." + of + "[" + strings.Join(others, ", ") + "](" + convert + ")"
}

// passedOn returns the function that converts what a function which a library calls returns of another one, if these are several values.
func (f *file) passedOn(e ast.Expr) string {
	statement, ok := f.around(0).(*ast.ReturnStmt)
	call, isCall := e.(*ast.CallExpr)
	signature := f.keptSignature()
	if !ok || !isCall || signature == nil || len(statement.Results) != 1 || signature.Results().Len() < 2 || f.librarySignature(call) != nil {
		return ""
	}
	return f.oneOf(signature.Results(), "To")
}

// isGiven reports whether an expression is a field or a variable of a library, or a parameter of a function that one calls, of a type
// of controller-runtime.
func (f *file) isGiven(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.SelectorExpr:
		v, ok := f.info.Uses[e.Sel].(*types.Var)
		return ok && f.isForeign(v.Pkg()) && isPeerType(v.Origin().Type())
	case *ast.CallExpr:
		signature := f.librarySignature(e)
		return signature != nil && signature.Results().Len() == 1 && isPeerType(signature.Results().At(0).Type())
	case *ast.Ident:
		v, ok := f.info.Uses[e].(*types.Var)
		return ok && f.isKeptParameter(v)
	}
	return false
}

// isPeerType reports whether a type is one of controller-runtime, or one that is converted.
func isPeerType(t types.Type) bool {
	_, converted := conversionOf(t)
	return converted || mentionsPeer(t, 0)
}

// isForeign reports whether a package is of a library.
func (p *program) isForeign(pkg *types.Package) bool {
	return pkg != nil && !isPeer(pkg.Path()) && !p.isOwn(pkg.Path())
}

// isForeignType reports whether a type is one that a library declares, or a pointer to one.
func (p *program) isForeignType(t types.Type) bool {
	if t == nil {
		return false
	}
	t = types.Unalias(t)
	if pointer, ok := t.(*types.Pointer); ok {
		t = types.Unalias(pointer.Elem())
	}
	named, ok := t.(*types.Named)
	return ok && p.isForeign(named.Obj().Pkg())
}

// librarySignature returns what the function of a library that is called has declared, or nil: its types are those of controller-runtime
// after the migration too. So are those of functions of the project that a library calls.
func (f *file) librarySignature(call *ast.CallExpr) *types.Signature {
	if callee := f.callee(call); callee != nil {
		if f.isForeign(callee.Pkg()) || f.kept[callee.FullName()] || f.isOfLibrary(call) {
			return callee.Origin().Signature()
		}
		return nil
	}
	fun := ast.Unparen(call.Fun)
	t := f.info.TypeOf(fun)
	if t == nil || f.info.Types[fun].IsType() {
		return nil
	}
	signature, ok := t.Underlying().(*types.Signature)
	if !ok || !f.isForeignType(t) && !f.isGiven(fun) {
		return nil
	}
	return signature
}

// isOfLibrary reports whether a call is of a method of controller-runtime on what a library gives and nothing converts, such as a manager.
func (f *file) isOfLibrary(call *ast.CallExpr) bool {
	selector, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || !f.converts {
		return false
	}
	method, ok := f.info.Uses[selector.Sel].(*types.Func)
	if !ok || method.Signature().Recv() == nil || !isOfPeer(method.Pkg()) || !isValue(f, selector.X) {
		return false
	}
	if _, convert := f.embedded(selector); convert != "" {
		return false
	}
	if f.isForeignType(f.info.TypeOf(selector.X)) {
		return true
	}
	return f.isGiven(selector.X) && f.given(selector.X) == ""
}

// embedded returns the field by which a method of controller-runtime is one of a library's type that embeds it, and the function that
// converts that field.
func (f *file) embedded(n ast.Node) (field, convert string) {
	selector, ok := n.(*ast.SelectorExpr)
	if !ok || !f.converts || f.info.Selections[selector] == nil {
		return "", ""
	}
	selection := f.info.Selections[selector]
	if selection.Kind() != types.MethodVal || !isOfPeer(selection.Obj().Pkg()) {
		return "", ""
	}
	var names []string
	t := selection.Recv()
	for _, i := range selection.Index()[:len(selection.Index())-1] {
		if pointer, ok := t.Underlying().(*types.Pointer); ok {
			t = pointer.Elem()
		}
		fields, ok := t.Underlying().(*types.Struct)
		if !ok {
			return "", ""
		}
		through := fields.Field(i)
		names, t = append(names, through.Name()), through.Type()
		if !f.isForeign(through.Pkg()) {
			continue
		}
		if c, ok := conversionOf(t); ok {
			return strings.Join(names, "."), f.converter("From", c)
		}
	}
	return "", ""
}

// place returns the type that the place of an expression was declared with, which is looked at, and whether a library has declared it.
func (f *file) place(e ast.Expr) (t types.Type, foreign bool) {
	switch parent := f.around(0).(type) {
	case *ast.CallExpr:
		i := slices.Index(parent.Args, e)
		signature := f.librarySignature(parent)
		if i < 0 || signature == nil || signature.Params().Len() == 0 {
			return nil, false
		}
		t = parameter(signature, i, parent.Ellipsis.IsValid())
		return t, t != nil
	case *ast.KeyValueExpr:
		key, ok := parent.Key.(*ast.Ident)
		if !ok || parent.Value != e {
			return nil, false
		}
		return f.foreignVariable(f.info.Uses[key])
	case *ast.CompositeLit:
		i := slices.Index(parent.Elts, e)
		if i < 0 || f.info.TypeOf(parent) == nil {
			return nil, false
		}
		fields, ok := f.info.TypeOf(parent).Underlying().(*types.Struct)
		if !ok {
			return nil, false
		}
		return f.foreignVariable(fields.Field(i))
	case *ast.AssignStmt:
		i := slices.Index(parent.Rhs, e)
		if i < 0 || len(parent.Lhs) != len(parent.Rhs) || parent.Tok != token.ASSIGN {
			return nil, false
		}
		switch left := parent.Lhs[i].(type) {
		case *ast.SelectorExpr:
			return f.foreignVariable(f.info.Uses[left.Sel])
		case *ast.Ident:
			if v, ok := f.info.Uses[left].(*types.Var); ok && f.isKeptParameter(v) {
				return v.Type(), true
			}
		}
	case *ast.ReturnStmt:
		i := slices.Index(parent.Results, e)
		signature := f.keptSignature()
		if i < 0 || signature == nil || len(parent.Results) != signature.Results().Len() {
			return nil, false
		}
		return signature.Results().At(i).Type(), true
	}
	return nil, false
}

// foreignVariable returns the type of a field or variable that a library has declared.
func (f *file) foreignVariable(object types.Object) (types.Type, bool) {
	v, ok := object.(*types.Var)
	if !ok || !f.isForeign(v.Pkg()) {
		return nil, false
	}
	return v.Origin().Type(), true
}

// isOfPeer reports whether a package is of controller-runtime itself.
func isOfPeer(pkg *types.Package) bool {
	return pkg != nil && (pkg.Path() == peerModule || strings.HasPrefix(pkg.Path(), peerModule+"/"))
}

// mentionsPeer reports whether a type has one of controller-runtime in it.
func mentionsPeer(t types.Type, depth int) bool {
	if depth > 4 {
		return false
	}
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		if isOfPeer(t.Obj().Pkg()) {
			return true
		}
		for argument := range t.TypeArgs().Types() {
			if mentionsPeer(argument, depth+1) {
				return true
			}
		}
	case *types.Pointer:
		return mentionsPeer(t.Elem(), depth+1)
	case *types.Slice:
		return mentionsPeer(t.Elem(), depth+1)
	case *types.Array:
		return mentionsPeer(t.Elem(), depth+1)
	case *types.Map:
		return mentionsPeer(t.Key(), depth+1) || mentionsPeer(t.Elem(), depth+1)
	case *types.Chan:
		return mentionsPeer(t.Elem(), depth+1)
	case *types.Signature:
		for _, tuple := range []*types.Tuple{t.Params(), t.Results()} {
			for v := range tuple.Variables() {
				if mentionsPeer(v.Type(), depth+1) {
					return true
				}
			}
		}
	case *types.Interface:
		for method := range t.Methods() {
			if mentionsPeer(method.Signature(), depth+1) {
				return true
			}
		}
	}
	return false
}
