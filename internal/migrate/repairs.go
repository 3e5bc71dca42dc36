package migrate

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/packages"
)

// What does not compile after the rules is left to the author together with what to write, which is made of the compiler's error and of the
// types at its place. Snippets are Go: an expression, statements or declarations, and a comment where something is to be taken away.

// repair is what to write for one kind of error.
type repair struct {
	// name says which errors it is for, in a few words.
	name string
	// message is what they say.
	message *regexp.Regexp
	// write returns the snippet, empty where nothing is known.
	write func(b *breakage) string
}

// repairs are the errors that are known, the more special ones first: of those that match the first that writes something does.
var repairs = []repair{
	{"a package that is not there", regexp.MustCompile(`could not import (\S+)|no required module provides package ([^\s;]+)|cannot find (?:package|module providing package) "?([^\s":]+)`), (*breakage).fetch},
	{"a type that is asked what it cannot be", regexp.MustCompile(`^impossible type (?:assertion|switch case)|is not an interface$`), (*breakage).askedType},
	{"a value of another type", regexp.MustCompile(`^cannot use `), (*breakage).otherType},
	{"a type argument that lacks something", regexp.MustCompile(`does not satisfy (\w*)`), (*breakage).typeArgument},
	{"a name that a package has not", regexp.MustCompile(`^undefined: |not exported by package`), (*breakage).otherName},
	{"a field or method that a type has not", regexp.MustCompile(`undefined \(`), (*breakage).otherMember},
	{"a field that a literal has not", regexp.MustCompile(`^unknown field `), (*breakage).otherField},
	{"other arguments", regexp.MustCompile(`^(?:not enough|too many) arguments in call`), (*breakage).otherArguments},
	{"other results", regexp.MustCompile(`^assignment mismatch`), (*breakage).otherResults},
	{"other returned values", regexp.MustCompile(`^(?:not enough|too many) return values`), (*breakage).otherReturn},
	{"what cannot be compared", regexp.MustCompile(`cannot be compared|cannot compare|mismatched types|not defined on`), (*breakage).comparison},
	{"a generic name without its types", regexp.MustCompile(`without instantiation|cannot infer|not enough type arguments|does not satisfy`), (*breakage).instantiation},
	{"a name that is declared twice", regexp.MustCompile(`^(\w+) redeclared|^\s*other declaration of (\w+)`), (*breakage).otherDeclaration},
	{"a variable that nothing uses", regexp.MustCompile(`^declared and not used: (\w+)`), func(b *breakage) string { return "_ = " + b.words[1] }},
	{"an import that nothing uses", regexp.MustCompile(`^(".+") imported (?:as \w+ )?and not used`), func(b *breakage) string { return "// without the import " + b.words[1] }},
	{"anything else", regexp.MustCompile(``), (*breakage).declaration},
}

// breakage is a place that does not compile. The stack of its file is what is around the node that was looked at last.
type breakage struct {
	*file
	// nodes are those at the place, the outermost first.
	nodes []ast.Node
	words []string
}

// snippetFor returns what to write for an error of the compiler in a file, which is nil where it could not be read.
func snippetFor(f *file, e packages.Error) string {
	b := &breakage{file: f}
	if f != nil {
		b.nodes = f.nodesAt(e.Pos)
	}
	for _, known := range repairs {
		if b.words = known.message.FindStringSubmatch(e.Msg); b.words == nil || b.nodes == nil && known.name != repairs[0].name {
			continue
		}
		if text := known.write(b); text != "" {
			return text
		}
	}
	return ""
}

// fileNamed returns the file of a name, or nil.
func fileNamed(files []*file, name string) *file {
	if i := slices.IndexFunc(files, func(f *file) bool { return f.name == name }); i >= 0 {
		return files[i]
	}
	return nil
}

// nodesAt returns the nodes at a position, the outermost first.
func (f *file) nodesAt(position string) []ast.Node {
	var line, column int
	if _, after, found := strings.Cut(position, ".go:"); found {
		fmt.Sscanf(after, "%d:%d", &line, &column)
	}
	in := f.fset.File(f.syntax.Package)
	if line < 1 || line > in.LineCount() {
		return nil
	}
	pos := in.LineStart(line) + token.Pos(max(column-1, 0))
	nodes, _ := astutil.PathEnclosingInterval(f.syntax, pos, pos)
	slices.Reverse(nodes)
	return nodes
}

// find returns the innermost node at the place that is wanted, and looks at it.
func (b *breakage) find(wanted func(n ast.Node) bool) ast.Node {
	for i, n := range slices.Backward(b.nodes) {
		if b.stack = b.nodes[:i]; wanted(n) {
			return n
		}
	}
	return nil
}

// innermost returns the innermost node of a type at the place, and looks at it.
func innermost[N ast.Node](b *breakage) (found N, ok bool) {
	b.find(func(n ast.Node) bool {
		found, ok = n.(N)
		return ok
	})
	return found, ok
}

// plainName is the name of a package in a snippet.
func (b *breakage) plainName(p *types.Package) string {
	if p == b.pkg.Types {
		return ""
	}
	for _, spec := range b.syntax.Imports {
		if importPathOf(spec) == p.Path() {
			return b.importName(spec)
		}
	}
	if isVersion.MatchString(p.Name()) {
		return path.Base(path.Dir(p.Path())) + p.Name() // as everybody names it: corev1
	}
	return p.Name()
}

var isVersion = regexp.MustCompile(`^v[0-9]`)

func (b *breakage) nameOf(t types.Type) string { return types.TypeString(t, b.plainName) }

// signatureOf returns a signature without func.
func (b *breakage) signatureOf(s *types.Signature) string {
	return strings.TrimPrefix(types.TypeString(named(s), b.plainName), "func")
}

// named is a signature whose parameters have names, so that it can be declared.
func named(s *types.Signature) *types.Signature {
	params := make([]*types.Var, s.Params().Len())
	taken := map[string]bool{}
	for i := range params {
		v := s.Params().At(i)
		name := cmp.Or(strings.Trim(v.Name(), "_"), parameterName(v.Type()))
		for taken[name] {
			name += "2"
		}
		taken[name] = true
		params[i] = types.NewVar(v.Pos(), v.Pkg(), name, v.Type())
	}
	return types.NewSignatureType(nil, nil, nil, types.NewTuple(params...), s.Results(), s.Variadic())
}

// parameterName is a name for a parameter of a type.
func parameterName(t types.Type) string {
	switch name := base(namedOf(t)); {
	case name == "Context":
		return "ctx"
	case name != "":
		return strings.ToLower(name[:1])
	}
	return "value"
}

// fetch writes how a module is got.
func (b *breakage) fetch() string {
	return "// go get " + cmp.Or(b.words[1], b.words[2], b.words[3]) + ", where a module proxy has it"
}

// otherType writes what makes a value of the type that its place wants.
func (b *breakage) otherType() string {
	value, wanted := b.misplaced()
	if wanted == nil {
		return ""
	}
	given := b.info.TypeOf(value)
	text := b.raw(value)
	if convert := b.adapting(given, wanted); convert != "" {
		return convert + "(" + text + ")"
	}
	pointer, isPointer := given.Underlying().(*types.Pointer)
	asked, isInterface := wanted.Underlying().(*types.Interface)
	_, fromInterface := given.Underlying().(*types.Interface)
	signature, isFunction := wanted.Underlying().(*types.Signature)
	switch {
	case types.AssignableTo(types.NewPointer(given), wanted):
		return "&" + text
	case isPointer && types.AssignableTo(pointer.Elem(), wanted):
		return "*" + text
	case fromInterface && isInterface, fromInterface && types.AssertableTo(given.Underlying().(*types.Interface), wanted):
		return text + ".(" + b.nameOf(wanted) + ")"
	case isInterface:
		return b.implementing(text, given, wanted, asked)
	case types.ConvertibleTo(given, wanted):
		return b.nameOf(wanted) + "(" + text + ")"
	case isFunction && isLiteral(value):
		return "func" + b.signatureOf(signature) + " {"
	case isFunction:
		return "func" + b.signatureOf(signature) + b.bodyFrom(text, given, signature)
	}
	return b.converting(text, given, wanted)
}

func isLiteral(e ast.Expr) bool {
	_, ok := ast.Unparen(e).(*ast.FuncLit)
	return ok
}

// misplaced returns the expression at the place that is of another type than is wanted there, and that type; nil where it is not known.
func (b *breakage) misplaced() (value ast.Expr, wanted types.Type) {
	b.find(func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok || b.info.TypeOf(e) == nil {
			return false
		}
		value, wanted = e, b.wanted(e)
		return wanted != nil && b.info.TypeOf(e) != types.Typ[types.Invalid] && !types.AssignableTo(b.info.TypeOf(e), wanted)
	})
	if wanted == nil || types.AssignableTo(b.info.TypeOf(value), wanted) {
		return nil, nil
	}
	return value, wanted
}

// adapting returns the function of the package that converts for libraries that converts a type to another; empty if there is none.
func (b *breakage) adapting(given, wanted types.Type) string {
	for _, pkg := range b.packages {
		if pkg.Types == nil || !slices.Contains(adapterFolders, path.Base(pkg.PkgPath)) || !b.isOwn(pkg.PkgPath) {
			continue
		}
		for _, name := range pkg.Types.Scope().Names() {
			convert, ok := pkg.Types.Scope().Lookup(name).(*types.Func)
			if !ok || convert.Signature().Params().Len() != 1 || convert.Signature().Results().Len() != 1 || convert.Signature().TypeParams() != nil {
				continue
			}
			if types.AssignableTo(given, convert.Signature().Params().At(0).Type()) && types.Identical(convert.Signature().Results().At(0).Type(), wanted) {
				return b.plainName(pkg.Types) + "." + name
			}
		}
	}
	return ""
}

// implementing writes the methods by which a value is what an interface wants: of its type, or of one around it where a library declares that.
func (b *breakage) implementing(text string, given, wanted types.Type, asked *types.Interface) string {
	if b.isOwnType(given) {
		return b.stubs("*"+strings.TrimPrefix(b.nameOf(given), "*"), given, asked)
	}
	around := "own" + base(namedOf(wanted))
	if namedOf(wanted) == "" {
		around = "adapted"
	}
	embedded := b.nameOf(given)
	if _, isBasic := given.Underlying().(*types.Basic); isBasic || namedOf(given) == "" {
		return around + "{value: " + text + "}\n\ntype " + around + " struct{ value " + embedded + " }\n\n" + b.stubs(around, types.NewStruct(nil, nil), asked)
	}
	return around + "{" + text + "}\n\ntype " + around + " struct{ " + embedded + " }\n\n" + b.stubs(around, given, asked)
}

// stubs are the methods that a type lacks for an interface, or has otherwise.
func (b *breakage) stubs(receiver string, given types.Type, asked *types.Interface) string {
	if _, known := methodOf(given, "GetObjectKind"); !known && hasMethod(asked, "GetObjectKind") && hasMethod(asked, "GetNamespace") {
		return "type " + strings.TrimPrefix(receiver, "*") + " struct { // and kctrl generate for its deep copies\n\tmetav1.TypeMeta\n\tmetav1.ObjectMeta\n}"
	}
	var list []string
	for method := range asked.Methods() {
		object, _, _ := types.LookupFieldOrMethod(given, true, method.Pkg(), method.Name())
		if has, ok := object.(*types.Func); ok && types.Identical(has.Signature(), method.Signature()) {
			continue
		}
		list = append(list, fmt.Sprintf("func (own %s) %s%s {\n\tpanic(%q)\n}", receiver, method.Name(), b.signatureOf(method.Signature()), "what is "+method.Name()+" here?"))
	}
	return strings.Join(list, "\n\n")
}

func hasMethod(asked *types.Interface, name string) bool {
	object, _, _ := types.LookupFieldOrMethod(asked, false, nil, name)
	return object != nil
}

// bodyFrom is the body of a function literal that calls a function of other parameters.
func (b *breakage) bodyFrom(text string, given types.Type, wanted *types.Signature) string {
	signature, ok := given.Underlying().(*types.Signature)
	if !ok {
		return " {\n\tpanic(\"what is done here?\")\n}"
	}
	call := text + "(" + strings.Join(b.argumentsFor(signature, valuesOf(named(wanted).Params())), ", ") + ")"
	if wanted.Results().Len() > 0 {
		call = "return " + call
	}
	return " {\n\t" + call + "\n}"
}

// converting writes a function that makes one type of another, with the fields that both have.
func (b *breakage) converting(text string, given, wanted types.Type) string {
	if anew := made[strings.TrimPrefix(namedOf(wanted), runtimePath)]; anew != "" {
		return anew + " // in place of " + oneLine(text)
	}
	name := "to" + titled(cmp.Or(base(namedOf(wanted)), "other"))
	body := "panic(\"which " + strings.ReplaceAll(b.nameOf(wanted), `"`, `'`) + " is this?\")"
	to, isStruct := structOf(wanted)
	from, _ := structOf(given)
	if isStruct && from != nil {
		var fields []string
		for field := range to.Fields() {
			if object, _, _ := types.LookupFieldOrMethod(given, true, nil, field.Name()); object != nil && field.Exported() && types.AssignableTo(object.Type(), field.Type()) {
				fields = append(fields, field.Name()+": from."+field.Name())
			}
		}
		of := b.nameOf(wanted)
		if pointer, isPointer := strings.CutPrefix(of, "*"); isPointer {
			of = "&" + pointer
		}
		if len(fields) > 0 {
			body = "return " + of + "{" + strings.Join(fields, ", ") + "}"
		}
	}
	return fmt.Sprintf("%s(%s)\n\nfunc %s(from %s) %s {\n\t%s\n}", name, text, name, b.nameOf(given), b.nameOf(wanted), body)
}

func titled(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

func structOf(t types.Type) (*types.Struct, bool) {
	if pointer, ok := t.Underlying().(*types.Pointer); ok {
		t = pointer.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	return s, ok
}

// askedType writes how a value is asked for a type that its own type excludes.
func (b *breakage) askedType() string {
	assertion, ok := innermost[*ast.TypeAssertExpr](b)
	if ok && assertion.Type != nil {
		if given := b.info.TypeOf(assertion.X); given != nil && !types.IsInterface(given) || !b.isOwnType(b.info.TypeOf(assertion.Type)) {
			return "any(" + b.raw(assertion.X) + ").(" + b.raw(assertion.Type) + ")"
		}
		asked, isInterface := b.info.TypeOf(assertion.X).Underlying().(*types.Interface)
		if !isInterface {
			return ""
		}
		return b.stubs(b.raw(assertion.Type), b.info.TypeOf(assertion.Type), asked)
	}
	statement, ok := innermost[*ast.TypeSwitchStmt](b)
	if !ok {
		return ""
	}
	head := b.raw(statement.Assign)
	before, after, _ := strings.Cut(head, ".(type)")
	name, value, assigns := strings.Cut(before, ":=")
	if !assigns {
		name, value = "", before
	} else {
		name += ":= "
	}
	return "switch " + name + "any(" + strings.TrimSpace(value) + ").(type)" + after + " {"
}

// typeArgument writes the methods that a type of the project lacks for being a type argument.
func (b *breakage) typeArgument() string {
	for _, n := range slices.Backward(b.nodes) {
		generic, arguments := argumentsOfTypes(n)
		for _, parameter := range b.typeParameters(generic) {
			asked := parameter.Constraint().Underlying().(*types.Interface)
			if b.words[1] == "comparable" && parameter.Constraint().String() == "comparable" {
				if declared := b.declaredAs(generic); declared != "" {
					return strings.Replace(declared, parameter.Obj().Name()+" comparable", parameter.Obj().Name()+" any", 1) + " // with equality.Semantic.DeepEqual in place of =="
				}
			}
			for _, argument := range arguments {
				given := b.info.TypeOf(argument)
				if asked.NumMethods() > 0 && b.isOwnType(given) && !types.Implements(given, asked) {
					return b.stubs("*"+strings.TrimPrefix(b.nameOf(given), "*"), given, asked)
				}
			}
		}
	}
	return ""
}

// argumentsOfTypes returns a generic name, and what its type arguments are or are inferred from.
func argumentsOfTypes(n ast.Node) (generic ast.Expr, arguments []ast.Expr) {
	switch n := n.(type) {
	case *ast.IndexExpr:
		return n.X, []ast.Expr{n.Index}
	case *ast.IndexListExpr:
		return n.X, n.Indices
	case *ast.CallExpr:
		return n.Fun, n.Args
	}
	return nil, nil
}

// declaredAs returns the declaration of a function of the package that an expression names, without its body.
func (b *breakage) declaredAs(function ast.Expr) string {
	switch e := function.(type) {
	case *ast.Ident:
		if object, ok := b.info.Uses[e].(*types.Func); ok && object.Pkg() == b.pkg.Types {
			return types.ObjectString(object.Origin(), b.plainName)
		}
	case *ast.SelectorExpr:
		return b.declaredAs(e.Sel)
	case *ast.IndexExpr:
		return b.declaredAs(e.X)
	case *ast.IndexListExpr:
		return b.declaredAs(e.X)
	}
	return ""
}

// typeParameters returns those of a generic name.
func (b *breakage) typeParameters(generic ast.Expr) (list []*types.TypeParam) {
	var ident *ast.Ident
	switch e := generic.(type) {
	case *ast.Ident:
		ident = e
	case *ast.SelectorExpr:
		ident = e.Sel
	case *ast.IndexExpr:
		return b.typeParameters(e.X)
	case *ast.IndexListExpr:
		return b.typeParameters(e.X)
	default:
		return nil
	}
	var params *types.TypeParamList
	switch object := b.info.Uses[ident].(type) {
	case *types.Func:
		params = object.Origin().Signature().TypeParams()
	case *types.TypeName:
		if t, ok := types.Unalias(object.Type()).(*types.Named); ok {
			params = t.TypeParams()
		}
	}
	for parameter := range params.TypeParams() {
		list = append(list, parameter)
	}
	return list
}

// otherName writes what is in place of a name that is not there.
func (b *breakage) otherName() string {
	ident, ok := innermost[*ast.Ident](b)
	if !ok {
		return ""
	}
	selector, isSelector := b.around(0).(*ast.SelectorExpr)
	if !isSelector || selector.Sel != ident {
		return b.declared(ident.Name, ident)
	}
	in, ok := selector.X.(*ast.Ident)
	if !ok {
		return ""
	}
	name, ok := b.info.Uses[in].(*types.PkgName)
	if !ok {
		return ""
	}
	if known := snippets[strings.TrimPrefix(name.Imported().Path(), runtimePath)+"."+ident.Name]; known != "" {
		return known
	}
	scope := name.Imported().Scope()
	names := slices.DeleteFunc(scope.Names(), func(n string) bool { return !token.IsExported(n) })
	if other := nearest(ident.Name, names); other != "" {
		return in.Name + "." + other
	}
	for _, other := range runtimePackages() {
		if exported(other)[ident.Name] {
			return path.Base(other) + "." + ident.Name + " // of " + runtimePath + other
		}
	}
	return b.declared(ident.Name, selector)
}

// declared is the declaration of a name that is not there, as its use wants it.
func (b *breakage) declared(name string, use ast.Expr) string {
	if call, ok := b.calling(use); ok {
		return "func " + name + b.useOf(call, call.Args) + " {\n\tpanic(\"what does " + name + " do?\")\n}"
	}
	if t := b.wantedOf(use); t != nil {
		return "var " + name + " " + b.nameOf(t)
	}
	return "type " + name + " struct{}"
}

// calling returns the call of a function that an expression at the place names.
func (b *breakage) calling(function ast.Expr) (call *ast.CallExpr, ok bool) {
	b.find(func(n ast.Node) bool {
		call, ok = n.(*ast.CallExpr)
		ok = ok && call.Fun == function
		return ok
	})
	return call, ok
}

// wantedOf returns the type that is wanted of an expression at the place, or nil.
func (b *breakage) wantedOf(e ast.Expr) types.Type {
	if b.find(func(n ast.Node) bool { return n == e }) == nil {
		return nil
	}
	return b.wanted(e)
}

// useOf is the signature that a call gives a function: its parameters are of the types of arguments, its results of those that are wanted.
func (b *breakage) useOf(call *ast.CallExpr, arguments []ast.Expr) string {
	var params, results []*types.Var
	add := func(list *[]*types.Var, t types.Type) {
		if t == nil || t == types.Typ[types.Invalid] {
			t = types.Universe.Lookup("any").Type()
		}
		*list = append(*list, types.NewParam(token.NoPos, nil, "", t))
	}
	for _, arg := range arguments {
		t := b.info.TypeOf(arg)
		if t != nil {
			t = types.Default(t)
		}
		add(&params, t)
	}
	wanted := b.wantedOf(call)
	switch parent := b.around(0).(type) {
	case *ast.AssignStmt:
		for i, left := range parent.Lhs {
			switch {
			case len(parent.Rhs) > 1 && parent.Rhs[i] != call:
			case b.raw(left) == "err":
				add(&results, types.Universe.Lookup("error").Type())
			default:
				add(&results, cmp.Or(wanted, b.info.TypeOf(left)))
			}
		}
	case *ast.ExprStmt, *ast.GoStmt, *ast.DeferStmt:
	default:
		add(&results, wanted)
	}
	return b.signatureOf(types.NewSignatureType(nil, nil, nil, types.NewTuple(params...), types.NewTuple(results...), false))
}

// otherMember writes what a type has in place of a field or method.
func (b *breakage) otherMember() string {
	selector, ok := innermost[*ast.SelectorExpr](b)
	if !ok || b.info.TypeOf(selector.X) == nil {
		return ""
	}
	on := b.info.TypeOf(selector.X)
	if known := b.memberSnippet(on, selector.Sel.Name); known != "" {
		return known
	}
	call, isCalled := b.calling(selector)
	if b.isOwnType(on) && isCalled {
		return "func (own *" + strings.TrimPrefix(b.nameOf(on), "*") + ") " + selector.Sel.Name + b.useOf(call, call.Args) + " {\n\tpanic(\"what is " + selector.Sel.Name + " here?\")\n}"
	}
	if other := nearest(selector.Sel.Name, membersOf(on)); other != "" {
		text := b.raw(selector.X) + "." + other
		object, _, _ := types.LookupFieldOrMethod(on, true, b.pkg.Types, other)
		if method, ok := object.(*types.Func); ok && !isCalled {
			text += b.callOf(method.Signature(), nil)
		} else if ok && isCalled {
			text += b.callOf(method.Signature(), call.Args)
		}
		return text
	}
	helper := strings.ToLower(selector.Sel.Name[:1]) + selector.Sel.Name[1:] + "Of"
	if isCalled {
		arguments := append([]ast.Expr{selector.X}, call.Args...)
		return helper + "(" + strings.Join(b.raws(arguments), ", ") + ")\n\nfunc " + helper + b.useOf(call, arguments) + " {\n\tpanic(\"what is it here?\")\n}"
	}
	result := "any"
	if t := b.wantedOf(selector); t != nil {
		result = b.nameOf(t)
	}
	return fmt.Sprintf("%s(%s)\n\nfunc %s(of %s) %s {\n\tpanic(\"what is it here?\")\n}", helper, b.raw(selector.X), helper, b.nameOf(on), result)
}

// memberSnippet returns what to write in place of a field or method of a type that controller-runtime's has.
func (b *breakage) memberSnippet(t types.Type, member string) string {
	name := namedOf(t)
	pkg := path.Base(packageName(name))
	return cmp.Or(memberSnippets[pkg+"."+base(name)+"#"+member], memberSnippets[pkg+"#"+member])
}

func (b *breakage) raws(list []ast.Expr) []string {
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = b.raw(e)
	}
	return texts
}

// membersOf returns the names of the exported fields and methods of a type.
func membersOf(t types.Type) []string {
	var names []string
	if _, ok := t.Underlying().(*types.Pointer); !ok && !types.IsInterface(t) {
		t = types.NewPointer(t)
	}
	set := types.NewMethodSet(t)
	for method := range set.Methods() {
		names = append(names, method.Obj().Name())
	}
	if s, ok := structOf(t); ok {
		for field := range s.Fields() {
			names = append(names, field.Name())
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return !token.IsExported(name) })
}

// nearest returns which of some names is most like one: the same but for case, a Get before it or what is around it; empty where none is.
func nearest(name string, names []string) string {
	plain := func(s string) string { return strings.ToLower(strings.TrimPrefix(s, "Get")) }
	likeness := []func(other string) bool{
		func(other string) bool { return plain(other) == plain(name) },
		func(other string) bool { return distance(plain(other), plain(name)) <= min(len(name), len(other))/4 },
		func(other string) bool {
			a, b := plain(other), plain(name)
			return min(len(a), len(b)) > 3 && (strings.HasSuffix(a, b) || strings.HasSuffix(b, a) || strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
		},
	}
	for _, like := range likeness {
		found := slices.DeleteFunc(slices.Clone(names), func(other string) bool { return other == name || !like(other) })
		if len(found) > 0 {
			return slices.MinFunc(found, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
		}
	}
	return ""
}

// distance counts the letters to change, to add or to take away between two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0]++
		for j := range len(b) {
			above := row[j+1]
			if a[i] != b[j] {
				diagonal = 1 + min(diagonal, row[j], above)
			}
			row[j+1], diagonal = diagonal, above
		}
	}
	return row[len(b)]
}

// otherField writes a literal's field that the type has, or says what it has.
func (b *breakage) otherField() string {
	field, ok := innermost[*ast.KeyValueExpr](b)
	if !ok {
		return ""
	}
	literal, ok := b.around(0).(*ast.CompositeLit)
	key, isIdent := field.Key.(*ast.Ident)
	if !ok || !isIdent || b.info.TypeOf(literal) == nil {
		return ""
	}
	t := b.info.TypeOf(literal)
	if known := b.memberSnippet(t, key.Name); known != "" {
		return known
	}
	s, ok := structOf(t)
	if !ok {
		return ""
	}
	var names, fitting []string
	for f := range s.Fields() {
		if !f.Exported() && f.Pkg() != b.pkg.Types {
			continue
		}
		names = append(names, f.Name())
		if of := b.info.TypeOf(field.Value); of != nil && types.AssignableTo(of, f.Type()) {
			fitting = append(fitting, f.Name())
		}
	}
	if other := nearest(key.Name, names); other != "" {
		return other + ": " + b.raw(field.Value)
	}
	text := "// without " + key.Name
	if len(fitting) > 0 {
		text += ": of " + b.nameOf(t) + " such a value have " + strings.Join(fitting, ", ")
	}
	return text
}

// otherArguments writes a call with the arguments that the function wants.
func (b *breakage) otherArguments() string {
	var signature *types.Signature
	call, ok := b.find(func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || b.info.TypeOf(call.Fun) == nil {
			return false
		}
		signature, ok = b.info.TypeOf(call.Fun).Underlying().(*types.Signature)
		return ok
	}).(*ast.CallExpr)
	if !ok {
		return ""
	}
	return b.raw(call.Fun) + b.callOf(signature, call.Args)
}

// value is an expression, and its type.
type value struct {
	text string
	of   types.Type
}

func valuesOf(params *types.Tuple) (list []value) {
	for v := range params.Variables() {
		list = append(list, value{v.Name(), v.Type()})
	}
	return list
}

// callOf is what stands behind the name of a function that is called: its arguments, of those that were given where they fit.
func (b *breakage) callOf(signature *types.Signature, given []ast.Expr) string {
	var has []value
	for _, e := range given {
		has = append(has, value{b.raw(e), b.info.TypeOf(e)})
	}
	return "(" + strings.Join(b.argumentsFor(signature, has), ", ") + ")"
}

// argumentsFor are arguments for a function, of the values there are as far as they fit.
func (b *breakage) argumentsFor(signature *types.Signature, has []value) []string {
	has = slices.Clone(has)
	var texts []string
	take := func(t types.Type) bool {
		i := slices.IndexFunc(has, func(v value) bool {
			return v.of != nil && v.of != types.Typ[types.Invalid] && types.AssignableTo(v.of, t)
		})
		if i < 0 {
			return false
		}
		texts, has = append(texts, has[i].text), slices.Delete(has, i, i+1)
		return true
	}
	for i := range signature.Params().Len() {
		t := signature.Params().At(i).Type()
		if signature.Variadic() && i == signature.Params().Len()-1 {
			for take(t.(*types.Slice).Elem()) {
			}
			break
		}
		switch {
		case take(t):
		case len(has) == signature.Params().Len()-i: // as many as are wanted: of other types
			texts, has = append(texts, has[0].text+" /* as "+b.nameOf(t)+" */"), has[1:]
		default:
			texts = append(texts, b.zero(t))
		}
	}
	return texts
}

// zero is the value of a type that stands for one that the author knows.
func (b *breakage) zero(t types.Type) string {
	if base(namedOf(t)) == "Context" {
		return "ctx"
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case u.Info()&types.IsString != 0:
			return `""`
		case u.Info()&types.IsBoolean != 0:
			return "false"
		case u.Info()&types.IsNumeric != 0:
			return "0"
		}
	case *types.Struct, *types.Array:
		return b.nameOf(t) + "{}"
	}
	return "nil"
}

// otherResults writes an assignment of what a function returns.
func (b *breakage) otherResults() string {
	var left []ast.Expr
	var right []ast.Expr
	tok := ":="
	switch statement := b.find(func(n ast.Node) bool {
		switch n.(type) {
		case *ast.AssignStmt, *ast.ValueSpec:
			return true
		}
		return false
	}).(type) {
	case *ast.AssignStmt:
		left, right, tok = statement.Lhs, statement.Rhs, statement.Tok.String()
	case *ast.ValueSpec:
		for _, name := range statement.Names {
			left = append(left, name)
		}
		right, tok = statement.Values, "="
	}
	if len(right) != 1 {
		return ""
	}
	results, ok := b.info.TypeOf(right[0]).(*types.Tuple)
	if !ok {
		results = types.NewTuple(types.NewParam(token.NoPos, nil, "", b.info.TypeOf(right[0])))
	}
	names := b.raws(left)
	var texts []string
	for i := range results.Len() {
		isError := base(results.At(i).Type().String()) == "error"
		at := slices.IndexFunc(names, func(name string) bool { return (name == "err") == isError })
		if at < 0 {
			texts = append(texts, map[bool]string{true: "err", false: "_"}[isError])
			continue
		}
		texts, names = append(texts, names[at]), slices.Delete(names, at, at+1)
	}
	if len(texts) == 0 {
		return b.raw(right[0])
	}
	return strings.Join(texts, ", ") + " " + tok + " " + b.raw(right[0])
}

// otherReturn writes what a function returns.
func (b *breakage) otherReturn() string {
	statement, ok := innermost[*ast.ReturnStmt](b)
	signature := b.inFunction()
	if !ok || signature == nil {
		return ""
	}
	wanted := types.NewSignatureType(nil, nil, nil, signature.Results(), nil, false)
	inside := b.callOf(wanted, statement.Results)
	return "return " + inside[1:len(inside)-1]
}

// inFunction returns the type of the function that the node is in, or nil.
func (b *breakage) inFunction() *types.Signature {
	for _, n := range slices.Backward(b.stack) {
		switch n := n.(type) {
		case *ast.FuncLit:
			signature, _ := b.info.TypeOf(n).(*types.Signature)
			return signature
		case *ast.FuncDecl:
			if declared, ok := b.info.Defs[n.Name].(*types.Func); ok {
				return declared.Signature()
			}
			return nil
		}
	}
	return nil
}

// comparison writes how two values are compared.
func (b *breakage) comparison() string {
	binary, ok := innermost[*ast.BinaryExpr](b)
	if !ok {
		return ""
	}
	x, y := b.info.TypeOf(binary.X), b.info.TypeOf(binary.Y)
	if x == nil || y == nil {
		return ""
	}
	switch {
	case binary.Op != token.EQL && binary.Op != token.NEQ, !types.Identical(x, y) && types.ConvertibleTo(y, x):
		return b.raw(binary.X) + " " + binary.Op.String() + " " + b.nameOf(x) + "(" + b.raw(binary.Y) + ")"
	}
	return map[token.Token]string{token.NEQ: "!"}[binary.Op] + "equality.Semantic.DeepEqual(" + b.raw(binary.X) + ", " + b.raw(binary.Y) + ") // k8s.io/apimachinery/pkg/api/equality"
}

// otherDeclaration writes a second declaration under another name.
func (b *breakage) otherDeclaration() string {
	name := cmp.Or(b.words[1], b.words[2])
	if field, ok := innermost[*ast.Field](b); ok && len(field.Names) == 0 {
		return "other" + titled(name) + " " + b.raw(field.Type) + " // by name, as two fields would be named " + name
	}
	return "// one of the two " + name + " is to have another name"
}

// instantiation writes a generic name with types.
func (b *breakage) instantiation() string {
	for _, n := range slices.Backward(b.nodes) {
		var generic ast.Expr
		switch n := n.(type) {
		case *ast.CallExpr:
			generic = n.Fun
		case *ast.SelectorExpr:
			generic = n
		case *ast.Ident:
			generic = n
		default:
			continue
		}
		parameters := b.typeParameters(generic)
		if len(parameters) == 0 {
			continue
		}
		var names []string
		for _, parameter := range parameters {
			names = append(names, b.argumentFor(parameter))
		}
		return b.raw(cmp.Or(genericOf(generic), generic)) + "[" + strings.Join(names, ", ") + "]"
	}
	return ""
}

// argumentFor is a type for a parameter: of the runtime's those that are for all objects and requests.
func (b *breakage) argumentFor(parameter *types.TypeParam) string {
	switch constraint := parameter.Constraint(); {
	case base(namedOf(constraint)) == "Object":
		return b.nameOf(constraint)
	case constraint.Underlying().(*types.Interface).IsComparable():
		return "reconcile.Request"
	}
	return parameter.Obj().Name()
}

// declaration writes what is declared of the name at the place: whatever the error is, the code is to become a use of that.
func (b *breakage) declaration() string {
	for _, n := range slices.Backward(b.nodes) {
		var ident *ast.Ident
		switch n := n.(type) {
		case *ast.Ident:
			ident = n
		case *ast.SelectorExpr:
			ident = n.Sel
		case *ast.CallExpr:
			if selector, ok := n.Fun.(*ast.SelectorExpr); ok {
				ident = selector.Sel
			}
		}
		if ident == nil {
			continue
		}
		object := b.info.ObjectOf(ident)
		if _, isPackage := object.(*types.PkgName); object != nil && !isPackage {
			return "// as it is declared: " + types.ObjectString(object, b.plainName)
		}
	}
	return ""
}
