package migrate

import (
	"go/ast"
	"go/token"
	"go/types"
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
	return fill("{client}.Object")
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
