package migrate

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// What to write where there is too much or too little: of arguments, results and returned values.

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

func (b *breakage) raws(list []ast.Expr) []string {
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = b.raw(e)
	}
	return texts
}
