package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

var unstableDesired = &Rule{
	Name:   "unstabledesired",
	Reason: "The desired state differs in each reconcile, so that each one writes, and each write causes the next one.",
	Hint:   "derive the value from the spec, keep the existing value, or sort",
	Details: "The rule reports the current time and random values in the spec, data, labels or annotations of an " +
		"object that is applied. The same applies to values that the function passed to CreateOrUpdate sets in every " +
		"call. The rule also reports a slice that is built in the order of a map and becomes part of an object without " +
		"sorting.",
	check: func(r *reporter) {
		for _, fn := range r.Funcs {
			checkUnstable(r, fn)
		}
		for _, file := range r.SourceFiles() {
			for _, decl := range file.Decls {
				if decl, ok := decl.(*ast.FuncDecl); ok && decl.Body != nil {
					checkMapOrder(r, decl.Body)
				}
			}
		}
	},
}

// checkUnstable reports stores of the current time or random values to objects that are applied.
func checkUnstable(r *reporter, fn *ssa.Function) {
	mutate := mutatesFor(r, fn)
	for instr := range code.Instructions(fn) {
		var target, value ssa.Value
		switch x := instr.(type) {
		case *ssa.Store:
			target, value = x.Addr, x.Val
		case *ssa.MapUpdate:
			target, value = x.Map, x.Value
		default:
			continue
		}
		base, path := code.Path(target)
		if len(path) == 0 || !slices.Contains([]string{"Spec", "Data", "StringData", "Labels", "Annotations"}, path[0]) {
			continue
		}
		source := ""
		code.DependsOn(value, func(v ssa.Value) bool {
			if call, ok := v.(*ssa.Call); ok && source == "" {
				source = unstable(code.Callee(&call.Call))
			}
			return source != ""
		})
		if source == "" {
			continue
		}
		if mutate && always(instr) || applied(r, fn, base) {
			r.at(instr.Pos(), "%s is in %s of the desired object", source, strings.Join(path, "."))
		}
	}
}

// unstable returns the name of a function whose result differs in each call, or "".
func unstable(fn *types.Func) string {
	if fn == nil || fn.Pkg() == nil {
		return ""
	}
	switch path := fn.Pkg().Path(); {
	case path == "time" && fn.Name() == "Now", path == "k8s.io/apimachinery/pkg/apis/meta/v1" && fn.Name() == "Now":
		return "the time"
	case path == "math/rand", path == "math/rand/v2", path == "k8s.io/apimachinery/pkg/util/rand" &&
		fn.Name() != "SafeEncodeString":
		return "a random value"
	case path == "github.com/google/uuid" && strings.HasPrefix(fn.Name(), "New") && !strings.Contains(fn.Name(), "SHA1") &&
		!strings.Contains(fn.Name(), "MD5"):
		return "a random value"
	}
	return ""
}

// mutatesFor reports whether a function literal is passed to CreateOrUpdate.
func mutatesFor(r *reporter, fn *ssa.Function) bool {
	if fn.Parent() == nil {
		return false
	}
	for call := range code.Calls(fn.Parent()) {
		op := r.OpOf(call)
		if op == nil || op.Verb != code.CreateOrUpdate {
			continue
		}
		for _, arg := range call.Call.Args {
			if closure, ok := code.Unwrap(arg).(*ssa.MakeClosure); ok && closure.Fn == fn || code.Unwrap(arg) == fn {
				return true
			}
		}
	}
	return false
}

// always reports whether every successful call of a function executes an instruction.
func always(instr ssa.Instruction) bool {
	for _, block := range instr.Parent().Blocks {
		if _, ok := block.Instrs[len(block.Instrs)-1].(*ssa.Return); ok && !instr.Block().Dominates(block) {
			return false
		}
	}
	return true
}

// applied reports whether a function applies an object.
func applied(r *reporter, fn *ssa.Function, object ssa.Value) bool {
	for call := range code.Calls(fn) {
		if op := r.OpOf(call); op != nil && op.Verb == code.Apply && op.Object == object {
			return true
		}
	}
	return false
}

// checkMapOrder reports slices that are built in the order of a map and become part of an object without sorting.
func checkMapOrder(r *reporter, body *ast.BlockStmt) {
	ast.Inspect(body, func(node ast.Node) bool {
		loop, ok := node.(*ast.RangeStmt)
		if !ok {
			return true
		}
		if _, isMap := r.TypesInfo.TypeOf(loop.X).Underlying().(*types.Map); !isMap {
			return true
		}
		for _, slice := range appended(r, loop) {
			use, field := objectUse(r, body, loop, slice)
			if use.IsValid() && !sorted(r, body, slice, field) {
				r.at(use, "%s is in the order of the map of line %d", slice.Name(), r.Fset.Position(loop.Pos()).Line)
			}
		}
		return true
	})
}

// appended returns the slices declared before a loop that the loop appends to.
func appended(r *reporter, loop *ast.RangeStmt) []types.Object {
	var found []types.Object
	ast.Inspect(loop.Body, func(node ast.Node) bool {
		assign, ok := node.(*ast.AssignStmt)
		if !ok || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 {
			return true
		}
		call, ok := assign.Rhs[0].(*ast.CallExpr)
		if !ok {
			return true
		}
		if name, ok := call.Fun.(*ast.Ident); !ok || name.Name != "append" {
			return true
		}
		if ident, ok := assign.Lhs[0].(*ast.Ident); ok {
			object := r.TypesInfo.ObjectOf(ident)
			if object != nil && object.Pos() < loop.Pos() {
				found = append(found, object)
			}
		}
		return true
	})
	return found
}

// sorted reports whether a slice, or the field that holds it, is passed to a function whose name contains sort or
// compact.
func sorted(r *reporter, body *ast.BlockStmt, slice types.Object, field string) bool {
	found := false
	ast.Inspect(body, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok || found {
			return !found
		}
		text := strings.ToLower(types.ExprString(call.Fun))
		if !strings.Contains(text, "sort") && !strings.Contains(text, "compact") {
			return true
		}
		for _, arg := range call.Args {
			ast.Inspect(arg, func(node ast.Node) bool {
				switch node := node.(type) {
				case *ast.Ident:
					found = found || r.TypesInfo.Uses[node] == slice
				case *ast.SelectorExpr:
					found = found || node.Sel.Name == field && fromAPI(r.TypesInfo.TypeOf(node.X))
				}
				return true
			})
		}
		return true
	})
	return found
}

// objectUse returns the position after a loop where a slice becomes a field of a k8s.io/api type, and the name of the
// field, or token.NoPos.
func objectUse(
	r *reporter, body *ast.BlockStmt, loop *ast.RangeStmt, slice types.Object,
) (found token.Pos, field string) {
	ast.Inspect(body, func(node ast.Node) bool {
		ident, ok := node.(*ast.Ident)
		if !ok || ident.Pos() < loop.End() || r.TypesInfo.Uses[ident] != slice || found.IsValid() {
			return true
		}
		path, _ := astutil.PathEnclosingInterval(r.FileOf(ident.Pos()), ident.Pos(), ident.End())
		if len(path) < 3 {
			return true
		}
		switch parent := path[1].(type) {
		case *ast.KeyValueExpr:
			literal, ok := path[2].(*ast.CompositeLit)
			if ok && parent.Value == ident && fromAPI(r.TypesInfo.TypeOf(literal)) {
				found, field = ident.Pos(), types.ExprString(parent.Key)
			}
		case *ast.AssignStmt:
			selector, ok := parent.Lhs[0].(*ast.SelectorExpr)
			if ok && len(parent.Lhs) == 1 && parent.Rhs[0] == ident && fromAPI(r.TypesInfo.TypeOf(selector.X)) {
				found, field = ident.Pos(), selector.Sel.Name
			}
		}
		return true
	})
	return found, field
}

// fromAPI reports whether k8s.io/api declares a type that is not a status.
func fromAPI(t types.Type) bool {
	if t == nil {
		return false
	}
	path, name := code.NameOf(t)
	return strings.HasPrefix(path, "k8s.io/api/") && !strings.HasSuffix(name, "Status")
}
