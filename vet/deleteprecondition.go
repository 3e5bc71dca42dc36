package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

var deletePrecondition = &Rule{
	Name:   "deleteprecondition",
	Reason: "The cache may still show a predecessor: the delete then hits a new object of the same name.",
	Hint:   "pass client.Preconditions with the UID of the object that was read",
	Details: "The rule reports a Delete without preconditions of an object that was read from the cache, if the delete " +
		"depends on a field of that object. It does not report a delete that does not depend on the state of the object. " +
		"The fix adds the precondition.",
	check: func(r *reporter) {
		for _, fn := range r.Funcs {
			for call := range code.Calls(fn) {
				op := r.OpOf(call)
				if op == nil || op.Verb != code.Delete || op.Clientset || !op.OptionsKnown || preconditions(op.Options) {
					continue
				}
				if !fromCache(r, fn, op) {
					continue
				}
				if field := decidedBy(op); field != "" {
					r.fix(r.Start(call.Pos()), preconditionFix(r, call), "this Delete depends on %s of the cached object", field)
				}
			}
		}
	},
}

// preconditions reports whether the options of a Delete may contain preconditions.
func preconditions(options []ssa.Value) bool {
	return slices.ContainsFunc(options, func(option ssa.Value) bool {
		_, name := code.NameOf(option.Type())
		return name != "GracePeriodSeconds" && name != "PropagationPolicy" && !strings.HasPrefix(name, "DryRun")
	})
}

// fromCache reports whether the same function reads the object of a delete from the cache and does not write it later.
// After a write, the object holds the response of the API server.
func fromCache(r *reporter, fn *ssa.Function, del *code.Op) bool {
	target := container(del.Object)
	var read ssa.Instruction
	for call := range code.Calls(fn) {
		op := r.OpOf(call)
		switch {
		case op == nil || !code.Dominates(call, del.Call):
		case op.Object == target && r.ReadsCache(op):
			read = call
		case op.Object == del.Object && read != nil && slices.Contains(answered, op.Verb) && code.Dominates(read, call):
			read = nil
		}
	}
	return read != nil
}

// answered are the verbs after which an object holds the response of the API server.
var answered = []code.Verb{code.Create, code.Update, code.Patch}

// container returns the list that contains an object, or the object itself.
func container(object ssa.Value) ssa.Value {
	at, ok := object.(*ssa.IndexAddr)
	if !ok {
		if alloc := rangeCopy(object); alloc != nil {
			at = alloc
		} else {
			return object
		}
	}
	load, ok := at.X.(*ssa.UnOp)
	if !ok {
		return object
	}
	items, ok := load.X.(*ssa.FieldAddr)
	if !ok {
		return object
	}
	return items.X
}

// rangeCopy returns the list element that a loop variable copies, or nil.
func rangeCopy(v ssa.Value) *ssa.IndexAddr {
	alloc, ok := v.(*ssa.Alloc)
	if !ok {
		return nil
	}
	var at *ssa.IndexAddr
	for _, use := range *alloc.Referrers() {
		store, ok := use.(*ssa.Store)
		if !ok || store.Addr != alloc {
			continue
		}
		load, ok := store.Val.(*ssa.UnOp)
		if !ok || load.Op != token.MUL || at != nil {
			return nil
		}
		if at, ok = load.X.(*ssa.IndexAddr); !ok {
			return nil
		}
	}
	return at
}

// decidedBy returns the field of the object on which the delete depends, because a dominating branch tests it, or "".
func decidedBy(op *code.Op) string {
	for guard := range code.Guards(op.Call.Block()) {
		field := ""
		code.DependsOn(guard, func(v ssa.Value) bool {
			if !before(v, guard) {
				return false
			}
			switch x := v.(type) {
			case *ssa.FieldAddr:
				base, path := code.Path(x)
				if len(path) == 0 || !sameObject(base, op.Object) || slices.Contains(path, "DeletionTimestamp") ||
					path[0] == "Name" || path[0] == "Namespace" || path[0] == "Items" {
					return false
				}
				field = strings.Join(path, ".")
				return true
			case *ssa.Call:
				if code.IsIn(code.Callee(&x.Call), "k8s.io/apimachinery/pkg/apis/meta/v1", "IsControlledBy") &&
					sameObject(receiverObject(x.Call.Args[0]), op.Object) {
					field = "the owner"
					return true
				}
			}
			return false
		})
		if field != "" {
			return field
		}
	}
	return ""
}

// before reports whether an instruction may run before the one that computes a condition.
func before(v, condition ssa.Value) bool {
	x, isInstruction := v.(ssa.Instruction)
	y, ok := condition.(ssa.Instruction)
	return !isInstruction || !ok || x.Block() == nil || x.Parent() != y.Parent() || code.Reaches(x.Block(), y.Block())
}

func receiverObject(v ssa.Value) ssa.Value {
	v = code.Unwrap(v)
	if field, ok := v.(*ssa.FieldAddr); ok && code.FieldVar(field).Anonymous() {
		return field.X
	}
	return v
}

// sameObject reports whether two pointers refer to the same object or to the same element of a list.
func sameObject(a, b ssa.Value) bool {
	if a == b {
		return true
	}
	x, isElement := a.(*ssa.IndexAddr)
	y, ok := b.(*ssa.IndexAddr)
	return isElement && ok && x.Index == y.Index && container(x) == container(y)
}

// preconditionFix returns a fix that appends the precondition to the arguments, if the file imports package client.
func preconditionFix(r *reporter, call *ssa.Call) []analysis.SuggestedFix {
	expr := r.CallAt(call.Pos())
	if expr == nil || len(expr.Args) < 2 || expr.Ellipsis.IsValid() {
		return nil
	}
	target := ast.Unparen(expr.Args[1])
	if unary, ok := target.(*ast.UnaryExpr); ok && unary.Op == token.AND {
		target = unary.X
	}
	t := r.TypesInfo.TypeOf(target)
	field, _, _ := types.LookupFieldOrMethod(t, true, r.Pkg, "UID")
	if _, ok := field.(*types.Var); !ok {
		return nil
	}
	name := clientName(r, expr.Pos(), code.Callee(&call.Call).Pkg().Path())
	if name == "" {
		return nil
	}
	last := expr.Args[len(expr.Args)-1]
	text := ", " + name + ".Preconditions{UID: &" + types.ExprString(target) + ".UID}"
	return []analysis.SuggestedFix{{
		Message:   "Delete only the object that was read",
		TextEdits: []analysis.TextEdit{{Pos: last.End(), End: last.End(), NewText: []byte(text)}},
	}}
}

// clientName returns the name that the file at pos uses for the client package at path, or "".
func clientName(r *reporter, pos token.Pos, path string) string {
	for _, spec := range r.FileOf(pos).Imports {
		if strings.Trim(spec.Path.Value, `"`) != path || !strings.HasSuffix(path, "/client") {
			continue
		}
		if spec.Name == nil {
			return "client"
		}
		return spec.Name.Name
	}
	return ""
}
