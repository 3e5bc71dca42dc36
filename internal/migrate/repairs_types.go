package migrate

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
)

// What to write where types are other ones than are wanted.

// otherType writes what makes a value of the type that its place wants.
func (b *breakage) otherType() string {
	value, wanted := b.misplaced()
	if wanted == nil {
		return ""
	}
	given := b.info.TypeOf(value)
	text := strings.ReplaceAll(b.raw(value), "\n\n", "\n")
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
		return b.converted(wanted, text)
	case isFunction && isLiteral(value):
		return "func" + b.signatureOf(signature) + " {"
	case isFunction:
		return "func" + b.signatureOf(signature) + b.bodyFrom(text, given, signature)
	}
	return b.converting(text, given, wanted)
}

// misplaced returns the expression at the place that is of another type than is wanted there, and that type; nil where it is not known.
func (b *breakage) misplaced() (value ast.Expr, wanted types.Type) {
	b.find(func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if _, several := b.info.TypeOf(e).(*types.Tuple); several || !ok || b.info.TypeOf(e) == nil {
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

// converted is a conversion to a type.
func (b *breakage) converted(to types.Type, text string) string {
	name := b.nameOf(to)
	if strings.ContainsAny(name[:1], "*<") || strings.HasPrefix(name, "func") || strings.HasPrefix(name, "chan") {
		name = "(" + name + ")"
	}
	return name + "(" + text + ")"
}

func isLiteral(e ast.Expr) bool {
	_, ok := ast.Unparen(e).(*ast.FuncLit)
	return ok
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
		return b.stubs(b.receiverOf(given), given, asked)
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

// receiverOf is the type of the receiver of a method that a type of the project gets.
func (b *breakage) receiverOf(t types.Type) string {
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		t = pointer.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.TypeParams() == nil {
		return "*" + b.nameOf(t)
	}
	var names []string
	for parameter := range named.TypeParams().TypeParams() {
		names = append(names, parameter.Obj().Name())
	}
	return "*" + named.Obj().Name() + "[" + strings.Join(names, ", ") + "]"
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
			asked, ok := parameter.Constraint().Underlying().(*types.Interface)
			if !ok {
				continue // it does not compile either
			}
			if b.words[1] == "comparable" && parameter.Constraint().String() == "comparable" {
				if declared := b.declaredAs(generic); declared != "" {
					return strings.Replace(declared, parameter.Obj().Name()+" comparable", parameter.Obj().Name()+" any", 1) + " // with equality.Semantic.DeepEqual in place of =="
				}
			}
			for _, argument := range arguments {
				given := b.info.TypeOf(argument)
				if asked.NumMethods() > 0 && b.isOwnType(given) && !types.Implements(given, asked) {
					return b.stubs(b.receiverOf(given), given, asked)
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
	case types.IsInterface(constraint) && constraint.Underlying().(*types.Interface).IsComparable():
		return "reconcile.Request"
	}
	return parameter.Obj().Name()
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
		return b.raw(binary.X) + " " + binary.Op.String() + " " + b.converted(x, b.raw(binary.Y))
	}
	return map[token.Token]string{token.NEQ: "!"}[binary.Op] + "equality.Semantic.DeepEqual(" + b.raw(binary.X) + ", " + b.raw(binary.Y) + ") // k8s.io/apimachinery/pkg/api/equality"
}
