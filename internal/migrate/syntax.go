package migrate

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// isLiteral reports whether a node is T{} or &T{}.
func (f *file) isLiteral(n ast.Node, key string) bool {
	if unary, ok := n.(*ast.UnaryExpr); ok {
		n = unary.X
	}
	literal, ok := n.(*ast.CompositeLit)
	if !ok {
		return false
	}
	of := f.typeOf(literal)
	pkg, name, _ := strings.Cut(key, ".")
	return of == key || of == pkg+".Typed"+name
}

func (f *file) inStruct() bool {
	_, ok := f.around(2).(*ast.StructType)
	return ok
}

// embedsIt reports whether the type that is looked at is one that a struct embeds.
func (f *file) embedsIt() bool {
	field, ok := f.around(0).(*ast.Field)
	return ok && len(field.Names) == 0 && f.inStruct()
}

// isSelf reports whether an expression is the embedded Funcs of a type of one's own.
func (f *file) isSelf(e ast.Expr) bool {
	selector, ok := e.(*ast.SelectorExpr)
	return ok && (selector.Sel.Name == "Funcs" || isObjectHandler(selector.Sel.Name) || knownPredicates[selector.Sel.Name] != "")
}

// isObjectHandler reports whether a name is that of a handler for the object of an event, as a type embeds it.
func isObjectHandler(name string) bool {
	return name == "EnqueueRequestForObject" || name == "TypedEnqueueRequestForObject"
}

// typeText returns the type of an expression as the file writes it.
func (f *file) typeText(e ast.Expr) string {
	if literal, ok := pointee(f, e).(*ast.CompositeLit); ok && literal.Type != nil {
		return "*" + f.text(literal.Type)
	}
	return f.typeName(f.info.TypeOf(e))
}

// typeName returns a type as a file writes it.
func (f *file) typeName(t types.Type) string {
	return types.TypeString(t, f.packageName)
}

// packageName returns the name by which a file knows a package.
func (f *file) packageName(p *types.Package) string {
	if p == f.pkg.Types {
		return ""
	}
	for _, spec := range f.syntax.Imports {
		if importPathOf(spec) == p.Path() {
			return f.importName(spec)
		}
	}
	return imported(p.Path())
}

// argumentOf returns the first type argument of what is written with some, else that of what is for all objects.
func (f *file) argumentOf(generic ast.Expr) string {
	switch generic := generic.(type) {
	case *ast.IndexExpr:
		return f.text(generic.Index)
	case *ast.IndexListExpr:
		return f.text(generic.Indices[0])
	}
	return fill("{object}.Object")
}

// argumentsOf returns the type arguments of what is written with some, between brackets.
func (f *file) argumentsOf(generic ast.Expr) string {
	switch generic := generic.(type) {
	case *ast.IndexExpr:
		return "[" + f.text(generic.Index) + "]"
	case *ast.IndexListExpr:
		return "[" + strings.Join(f.texts(generic.Indices), ", ") + "]"
	}
	return ""
}

// genericOf returns what is written with type arguments, or nil.
func genericOf(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.IndexExpr:
		return e.X
	case *ast.IndexListExpr:
		return e.X
	}
	return nil
}

// typeArguments returns the type arguments of what is written with some.
func (f *file) typeArguments(e ast.Expr) []string {
	switch e := e.(type) {
	case *ast.IndexExpr:
		return []string{f.text(e.Index)}
	case *ast.IndexListExpr:
		return f.texts(e.Indices)
	}
	return nil
}

// literalOf returns T{} of T{} and &T{}, else nil.
func literalOf(n ast.Node) *ast.CompositeLit {
	if unary, ok := n.(*ast.UnaryExpr); ok && unary.Op == token.AND {
		n = unary.X
	}
	literal, _ := n.(*ast.CompositeLit)
	return literal
}

// isAssertion reports whether a variable only says that a type implements an interface.
func isAssertion(spec *ast.ValueSpec) bool {
	return len(spec.Names) == 1 && spec.Names[0].Name == "_" && spec.Type != nil && len(spec.Values) == 1
}

// withField returns a literal with one field more, the first.
func (f *file) withField(literal *ast.CompositeLit, field string) string {
	at := f.offset(literal.Lbrace) + 1
	return f.splice(literal, append([]edit{{at, at, "\n" + field + ",\n"}}, f.within(literal)...)) // before what the first field becomes
}

// withoutField returns a literal without one of its fields.
func (f *file) withoutField(literal *ast.CompositeLit, field ast.Node) string {
	edits := []edit{f.removal(field)}
	f.stack = append(f.stack, literal)
	for _, child := range children(literal) {
		if child != field {
			edits = append(edits, f.edits(child)...)
		}
	}
	f.stack = f.stack[:len(f.stack)-1]
	return f.splice(literal, edits)
}

// isPair reports whether the node that is looked at gives two values to a statement.
func (f *file) isPair() bool {
	for i := range 2 { // a rule that rewrites has the node itself around it
		switch statement := f.around(i).(type) {
		case *ast.AssignStmt:
			return len(statement.Lhs) == 2 && len(statement.Rhs) == 1
		case *ast.ReturnStmt:
			return len(statement.Results) == 1
		}
	}
	return false
}

// body returns the body of the outermost function that the node is in, or nil.
func (f *file) body() ast.Node {
	for _, n := range f.stack {
		if decl, ok := n.(*ast.FuncDecl); ok && decl.Body != nil {
			return decl.Body
		}
	}
	return nil
}

// argumentsAfter returns the arguments of a call without the first n, with their line breaks and comments.
func (f *file) argumentsAfter(call *ast.CallExpr, n int) string {
	if len(call.Args) <= n {
		return ""
	}
	from, to := f.offset(call.Args[n-1].End()), f.offset(call.Rparen)
	from += strings.Index(string(f.source[from:to]), ",") + 1
	var edits []edit
	for _, arg := range call.Args[n:] {
		edits = append(edits, f.edits(arg)...)
	}
	return f.spliceRange(from, to, edits)
}

// isName reports whether an expression is a name, or one of a field.
func isName(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return true
	case *ast.SelectorExpr:
		return isName(e.X)
	case *ast.UnaryExpr:
		return e.Op == token.AND && isName(e.X)
	}
	return false
}

// isOwnType reports whether a type is a struct, or a pointer to one, that the project declares.
func (f *file) isOwnType(t types.Type) bool {
	name := namedOf(t)
	at := strings.LastIndex(name, ".")
	if at < 0 || !f.isOwn(name[:at]) {
		return false
	}
	underlying := t.Underlying()
	if pointer, ok := underlying.(*types.Pointer); ok {
		underlying = pointer.Elem().Underlying()
	}
	_, isStruct := underlying.(*types.Struct)
	return isStruct
}

func matchMethod(keys ...string) func(*file, ast.Node) bool {
	return func(f *file, n ast.Node) bool {
		_, _, key := f.method(n)
		return slices.Contains(keys, key)
	}
}

func matchCall(keys ...string) func(*file, ast.Node) bool {
	return func(f *file, n ast.Node) bool {
		_, key := f.called(n)
		return slices.Contains(keys, key)
	}
}

// texts returns expressions, rewritten.
func (f *file) texts(list []ast.Expr) []string {
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = f.text(e)
	}
	return texts
}

// arguments returns what is between the parentheses of a call, with texts in place of its arguments: the comments and line breaks between
// them stay. An argument whose text is empty goes, with the comma before it.
func (f *file) arguments(call *ast.CallExpr, texts []string) string {
	edits := make([]edit, len(texts))
	for i, text := range texts {
		from := call.Args[i].Pos()
		if text == "" && i > 0 {
			from = call.Args[i-1].End()
		}
		edits[i] = edit{f.offset(from), f.offset(call.Args[i].End()), text}
	}
	return f.spliceRange(f.offset(call.Lparen)+1, f.offset(call.Rparen), edits)
}

func ellipsis(call *ast.CallExpr) string {
	if call.Ellipsis.IsValid() {
		return "..."
	}
	return ""
}

// isCallOfLibrary reports whether a call is of a function that a library declares.
func (f *file) isCallOfLibrary(call *ast.CallExpr) bool {
	callee := f.callee(call)
	return callee != nil && f.isForeign(callee.Pkg())
}

func isValue(f *file, e ast.Expr) bool { return f.info.Types[e].IsValue() }

// callee returns the function or method that is called, or nil.
func (f *file) callee(call *ast.CallExpr) *types.Func {
	fun := ast.Unparen(call.Fun)
	switch generic := fun.(type) {
	case *ast.IndexExpr:
		fun = generic.X
	case *ast.IndexListExpr:
		fun = generic.X
	}
	switch e := fun.(type) {
	case *ast.Ident:
		callee, _ := f.info.Uses[e].(*types.Func)
		return callee
	case *ast.SelectorExpr:
		callee, _ := f.info.Uses[e.Sel].(*types.Func)
		return callee
	}
	return nil
}

// operand returns an expression that ! can stand before.
func (f *file) operand(e ast.Expr) string {
	text := f.text(e)
	switch e.(type) {
	case *ast.BinaryExpr, *ast.FuncLit:
		return "(" + text + ")"
	}
	return text
}

// boolean returns the value of a constant.
func (f *file) boolean(e ast.Expr) (value, known bool) {
	if e == nil {
		return false, false
	}
	v := f.info.Types[e].Value
	if v == nil || v.Kind() != constant.Bool {
		return false, false
	}
	return constant.BoolVal(v), true
}

// pointee returns what an expression points to, where the expression says it: &x, ptr.To(x), pointer.Bool(x).
func pointee(f *file, e ast.Expr) ast.Expr {
	switch e := ast.Unparen(e).(type) {
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return e.X
		}
	case *ast.CallExpr:
		if len(e.Args) != 1 {
			return nil
		}
		fun := e.Fun
		if generic, ok := fun.(*ast.IndexExpr); ok {
			fun = generic.X
		}
		selector, ok := fun.(*ast.SelectorExpr)
		if !ok {
			return nil
		}
		object := f.info.Uses[selector.Sel]
		if object == nil || object.Pkg() == nil {
			return nil
		}
		switch object.Pkg().Path() {
		case "k8s.io/utils/ptr", "k8s.io/utils/pointer", "github.com/aws/aws-sdk-go-v2/aws":
			return e.Args[0]
		}
	}
	return nil
}

// deref returns the value that a pointer points to.
func (f *file) deref(e ast.Expr) string {
	if inner := pointee(f, e); inner != nil {
		return f.text(inner)
	}
	if _, isPointer := types.Unalias(f.info.TypeOf(e)).(*types.Pointer); !isPointer {
		return f.text(e)
	}
	return "*" + f.text(e)
}

// address is a port as an address.
func address(f *file, value ast.Expr) string {
	if literal := f.sibling("Host"); literal != nil {
		return "BindAddress: " + fill("{net}.JoinHostPort(") + f.text(literal) + fill(", {strconv}.Itoa(") + f.text(value) + "))"
	}
	if v := f.info.Types[value].Value; v != nil {
		return `BindAddress: ":` + v.ExactString() + `"`
	}
	return "BindAddress: " + fill("{fmt}.Sprintf(") + `":%d", ` + f.text(value) + ")"
}

func isIdent(e ast.Expr, name string) bool {
	ident, ok := e.(*ast.Ident)
	return ok && ident.Name == name
}

func call0(call *ast.CallExpr) []ast.Expr {
	if call == nil {
		return nil
	}
	return call.Args
}
