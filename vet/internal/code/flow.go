package code

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// Dominates reports whether every path to b executes a before b.
func Dominates(a, b ssa.Instruction) bool {
	if a.Block() != b.Block() {
		return a.Block().Dominates(b.Block())
	}
	return indexOf(a) < indexOf(b)
}

func indexOf(instr ssa.Instruction) int {
	for i, other := range instr.Block().Instrs {
		if other == instr {
			return i
		}
	}
	return -1
}

// Walk visits each instruction that can follow start, once. visit returns false to end a path. edge, which may be nil,
// reports whether a path can continue from a block to its i-th successor.
func Walk(start ssa.Instruction, visit func(ssa.Instruction) bool, edge func(from *ssa.BasicBlock, i int) bool) {
	seen := map[*ssa.BasicBlock]bool{}
	var enter func(block *ssa.BasicBlock, from int)
	enter = func(block *ssa.BasicBlock, from int) {
		for _, instr := range block.Instrs[from:] {
			if !visit(instr) {
				return
			}
		}
		for i, next := range block.Succs {
			if !seen[next] && (edge == nil || edge(block, i)) {
				seen[next] = true
				enter(next, 0)
			}
		}
	}
	enter(start.Block(), indexOf(start)+1)
}

// Reaches reports whether control may flow from one block to another, or whether they are the same block.
func Reaches(from, to *ssa.BasicBlock) bool {
	seen := map[*ssa.BasicBlock]bool{from: true}
	queue := []*ssa.BasicBlock{from}
	for i := 0; i < len(queue); i++ {
		if queue[i] == to {
			return true
		}
		for _, next := range queue[i].Succs {
			if !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	return false
}

// Branches yields the conditions of the branches that dominate a block, and whether the condition is true there.
func Branches(block *ssa.BasicBlock) func(yield func(condition ssa.Value, holds bool) bool) {
	return func(yield func(ssa.Value, bool) bool) {
		for b := block; b.Idom() != nil; b = b.Idom() {
			parent := b.Idom()
			branch, ok := parent.Instrs[len(parent.Instrs)-1].(*ssa.If)
			if ok && len(b.Preds) == 1 && b.Preds[0] == parent && !yield(branch.Cond, parent.Succs[0] == b) {
				return
			}
		}
	}
}

// Guards yields the conditions of the branches that dominate a block.
func Guards(block *ssa.BasicBlock) func(yield func(ssa.Value) bool) {
	return func(yield func(ssa.Value) bool) {
		for condition := range Branches(block) {
			if !yield(condition) {
				return
			}
		}
	}
}

// DependsOn reports whether a value is computed, in a limited number of steps, from a value that match accepts. A phi
// depends on such a value only if all its edges do.
func DependsOn(v ssa.Value, match func(ssa.Value) bool) bool {
	seen := map[ssa.Value]bool{}
	var depends func(v ssa.Value, steps int) bool
	depends = func(v ssa.Value, steps int) bool {
		if v == nil || seen[v] || steps == 0 {
			return false
		}
		seen[v] = true
		if match(v) {
			return true
		}
		if phi, ok := v.(*ssa.Phi); ok {
			for _, edge := range phi.Edges {
				delete(seen, edge)
				if !depends(edge, steps-1) {
					return false
				}
			}
			return len(phi.Edges) > 0
		}
		instr, ok := v.(ssa.Instruction)
		if !ok {
			return false
		}
		for _, operand := range instr.Operands(nil) {
			if *operand != nil && depends(*operand, steps-1) {
				return true
			}
		}
		return contents(v, func(part ssa.Value) bool { return depends(part, steps-1) })
	}
	return depends(v, 16)
}

// contents reports whether match accepts a value that is stored in a new array, map or struct.
func contents(v ssa.Value, match func(ssa.Value) bool) bool {
	switch v.(type) {
	case *ssa.Alloc, *ssa.MakeMap, *ssa.IndexAddr, *ssa.FieldAddr:
	default:
		return false
	}
	if v.Referrers() == nil {
		return false
	}
	for _, use := range *v.Referrers() {
		switch use := use.(type) {
		case *ssa.Store:
			if use.Addr == v && match(use.Val) {
				return true
			}
		case *ssa.MapUpdate:
			if use.Map == v && (match(use.Value) || match(use.Key)) {
				return true
			}
		case *ssa.IndexAddr:
			if _, whole := v.(*ssa.Alloc); whole && contents(use, match) {
				return true
			}
		case *ssa.FieldAddr:
			if _, whole := v.(*ssa.Alloc); whole && contents(use, match) {
				return true
			}
		}
	}
	return false
}

// Takes reports whether an instruction passes v, or an interface with v, to code that may change or keep it: a call, a
// store or a closure.
func Takes(instr ssa.Instruction, v ssa.Value) bool {
	switch x := instr.(type) {
	case ssa.CallInstruction:
		for _, arg := range x.Common().Args {
			if Unwrap(arg) == v {
				return true
			}
			if elements, ok := Elements(arg); ok {
				for _, element := range elements {
					if element == v {
						return true
					}
				}
			}
		}
		return x.Common().IsInvoke() && Unwrap(x.Common().Value) == v
	case *ssa.Store:
		return Unwrap(x.Val) == v
	case *ssa.MakeClosure:
		for _, binding := range x.Bindings {
			if binding == v {
				return true
			}
		}
	}
	return false
}

// Same reports whether two values are the same variable, or the same field of the same object.
func Same(a, b ssa.Value) bool {
	a, b = Unwrap(a), Unwrap(b)
	if a == b {
		return true
	}
	switch x := a.(type) {
	case *ssa.FieldAddr:
		y, ok := b.(*ssa.FieldAddr)
		return ok && x.Field == y.Field && Same(x.X, y.X)
	case *ssa.UnOp:
		y, ok := b.(*ssa.UnOp)
		return ok && x.Op == y.Op && Same(x.X, y.X)
	}
	return false
}

// StoresTo yields the stores to a field of an object, or to a part of this field.
func StoresTo(fn *ssa.Function, object ssa.Value, field string) func(yield func(*ssa.Store) bool) {
	return func(yield func(*ssa.Store) bool) {
		for instr := range Instructions(fn) {
			store, ok := instr.(*ssa.Store)
			if !ok {
				continue
			}
			if base, path := Path(store.Addr); base == object && len(path) > 0 && path[0] == field && !yield(store) {
				return
			}
		}
	}
}

// HasMethod reports whether t or a pointer to it has a method with a name.
func HasMethod(t types.Type, name string) bool {
	method, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
	_, ok := method.(*types.Func)
	return ok
}
