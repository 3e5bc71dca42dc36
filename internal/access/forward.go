package access

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// forward is a walk from a reference (a pointer, a map, a slice or a channel) to the code that writes through it.
type forward struct {
	*search
	seen   map[place]bool
	stored []place // values that the program stores
}

// written returns the values that the program stores in a part of what v refers to. It follows v into closures, into
// variables and fields that hold v, and into functions that receive it.
func (s *search) written(v ssa.Value, in part) []place {
	w := &forward{search: s, seen: map[place]bool{}}
	w.follow(v, in)
	return w.stored
}

// follow visits the users of a reference v. in is the part of v that the walk looks for.
func (w *forward) follow(v ssa.Value, in part) {
	at := place{v, in}
	if in == "" || w.seen[at] || v.Referrers() == nil || len(w.seen) > maxPlaces {
		return
	}
	w.seen[at] = true
	for _, user := range *v.Referrers() {
		w.use(user, v, in)
	}
}

func (w *forward) use(user ssa.Instruction, v ssa.Value, in part) {
	head, rest := in[:1], in[1:]
	switch user := user.(type) {
	case *ssa.Store:
		if user.Addr == v && head == pointee {
			w.stored = append(w.stored, place{user.Val, rest})
		}
		if user.Val == v {
			w.hold(user.Addr, in)
		}
	case *ssa.MapUpdate:
		if user.Map == v && head == element {
			w.stored = append(w.stored, place{user.Value, rest})
		}
	case *ssa.Send:
		if user.Chan == v && head == element {
			w.stored = append(w.stored, place{user.X, rest})
		}
	case *ssa.FieldAddr:
		if after, ok := step(rest, field(user.Field)); head == pointee && ok {
			w.follow(user, pointee+after)
		}
	case *ssa.IndexAddr:
		if head == element {
			w.follow(user, pointee+rest)
		} else if after, ok := step(rest, element); ok {
			w.follow(user, pointee+after)
		}
	case *ssa.Slice:
		if head == element {
			w.follow(user, in)
		} else if after, ok := step(rest, element); ok {
			w.follow(user, element+after)
		}
	case *ssa.UnOp:
		if user.Op == token.MUL && head == pointee || user.Op == token.ARROW && head == element {
			w.follow(user, rest)
		}
	case *ssa.Lookup, *ssa.Index:
		if head == element {
			w.follow(user.(ssa.Value), rest)
		}
	case *ssa.Field:
		if head == field(user.Field) {
			w.follow(user, rest)
		}
	case *ssa.Phi, *ssa.ChangeType, *ssa.Convert, *ssa.MakeInterface, *ssa.ChangeInterface:
		w.follow(user.(ssa.Value), in)
	case *ssa.TypeAssert:
		if !user.CommaOk {
			w.follow(user, in)
			return
		}
		for _, result := range *user.Referrers() {
			if result, ok := result.(*ssa.Extract); ok && result.Index == 0 {
				w.follow(result, in)
			}
		}
	case *ssa.MakeClosure:
		fn := user.Fn.(*ssa.Function)
		for i, binding := range user.Bindings {
			if binding == v {
				w.follow(fn.FreeVars[i], in)
			}
		}
	case ssa.CallInstruction:
		w.pass(user.Common(), v, in)
	}
}

// step returns the rest of a path that begins with the step first.
func step(path, first part) (rest part, ok bool) {
	if path == "" || path[:1] != first {
		return "", false
	}
	return path[1:], true
}

// hold continues the walk at the loads from a variable or a field that holds the reference.
func (w *forward) hold(addr ssa.Value, in part) {
	switch addr := addr.(type) {
	case *ssa.Global:
		for _, loaded := range w.loads[addr] {
			w.follow(loaded, in)
		}
	case *ssa.FieldAddr:
		if w.alike {
			for _, loaded := range w.fieldLoads[fieldAt(addr)] {
				w.follow(loaded, in)
			}
		}
		w.follow(addr.X, pointee+field(addr.Field)+in)
	case *ssa.Alloc:
		w.follow(addr, pointee+in)
	}
}

// pass continues the walk in the functions that a call can execute. A value that such a function takes from its
// parameters is the argument of this call.
func (w *forward) pass(call *ssa.CallCommon, v ssa.Value, in part) {
	if b, ok := call.Value.(*ssa.Builtin); ok {
		if b.Name() == "copy" && call.Args[0] == v && in[:1] == element {
			w.stored = append(w.stored, place{call.Args[1], in})
		}
		return
	}
	args := call.Args
	if call.IsInvoke() {
		args = append([]ssa.Value{call.Value}, args...)
	}
	for _, fn := range w.callees(call) {
		for i, arg := range args {
			if arg != v || i >= len(fn.Params) {
				continue
			}
			for _, p := range w.effects(fn.Params[i], in) {
				if param, ok := p.v.(*ssa.Parameter); ok && param.Parent() == fn {
					p.v = args[slices.Index(fn.Params, param)]
				}
				w.stored = append(w.stored, p)
			}
		}
	}
}

// effects returns the values that a function, and the functions that it calls, store in a part of a parameter.
func (w *forward) effects(param *ssa.Parameter, in part) []place {
	at, known := place{param, in}, w.effectsOf[w.alike]
	if _, ok := known[at]; !ok {
		known[at] = nil // a recursive call adds nothing
		known[at] = w.written(param, in)
	}
	return known[at]
}
