package access

import (
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// reference is a part of what a value refers to. The first steps of the path, whose number is held, lead from a
// container to the reference in it: a store there replaces the reference, and does not change what it refers to.
type reference struct {
	place
	held int
}

// after returns the reference at another value with a path that may be shorter.
func (r reference) after(v ssa.Value, in part) reference {
	return reference{place{v, in}, max(0, r.held-len(r.in)+len(in))}
}

// holder returns a container that holds what r refers to, after the given steps.
func (r reference) holder(v ssa.Value, steps part) reference {
	return reference{place{v, steps + r.in}, r.held + len(steps)}
}

// refers reports whether r is not the copy of a struct or an array.
func (r reference) refers() bool {
	_, isArray := r.v.Type().Underlying().(*types.Array)
	return !isArray && (r.in[:1] == pointee || r.in[:1] == element)
}

// forward is a walk from a reference (a pointer, a map, a slice or a channel) to the code that writes through it.
type forward struct {
	*search
	seen   map[reference]bool
	stored []place // values that the program stores, without duplicates
	found  map[place]bool
}

// written returns the values that the program stores in a part of what v refers to. It follows v into closures, into
// variables and fields that hold v, and into functions that receive it.
func (s *search) written(v ssa.Value, in part) []place {
	return s.writtenTo(reference{place{v, in}, 0})
}

func (s *search) writtenTo(r reference) []place {
	w := &forward{search: s, seen: map[reference]bool{}, found: map[place]bool{}}
	if global, ok := r.v.(*ssa.Global); ok {
		for _, call := range s.passed[global] {
			w.pass(call, r)
		}
	}
	w.follow(r)
	return w.stored
}

func (w *forward) store(p place) {
	if !w.found[p] {
		w.found[p] = true
		w.stored = append(w.stored, p)
	}
}

// follow visits the users of a reference.
func (w *forward) follow(r reference) {
	if r.in == "" || len(r.in) > maxSteps || w.seen[r] || r.v.Referrers() == nil || len(w.seen) > maxPlaces {
		return
	}
	w.seen[r] = true
	for _, user := range *r.v.Referrers() {
		if !w.write(user, r) {
			w.use(user, r)
		}
	}
}

// write records the value that an instruction stores through r, and continues at the holder of r if the instruction
// stores r itself. It reports false for other instructions.
func (w *forward) write(user ssa.Instruction, r reference) bool {
	var to ssa.Value
	var values []ssa.Value
	step := element
	switch user := user.(type) {
	case *ssa.Store:
		to, values, step = user.Addr, []ssa.Value{user.Val}, pointee
	case *ssa.MapUpdate:
		to, values = user.Map, []ssa.Value{user.Value}
	case *ssa.Send:
		to, values = user.Chan, []ssa.Value{user.X}
	case *ssa.Select:
		for _, state := range user.States {
			if state.Dir == types.SendOnly && state.Chan == r.v {
				to, values = state.Chan, append(values, state.Send)
			}
		}
	default:
		return false
	}
	for _, v := range values {
		switch {
		case to == r.v && r.in[:1] == step && r.held == 0:
			w.store(place{v, r.in[1:]})
		case v == r.v && r.refers():
			w.hold(to, r, step)
		}
	}
	return true
}

func (w *forward) use(user ssa.Instruction, r reference) {
	head, rest := r.in[:1], r.in[1:]
	switch user := user.(type) {
	case *ssa.FieldAddr:
		if after, ok := step(rest, field(user.Field)); head == pointee && ok {
			w.follow(r.after(user, pointee+after))
		}
	case *ssa.IndexAddr:
		if head == element {
			w.follow(r.after(user, pointee+rest))
		} else if after, ok := step(rest, element); ok {
			w.follow(r.after(user, pointee+after))
		}
	case *ssa.Slice:
		if head == element {
			w.follow(r.after(user, r.in))
		} else if after, ok := step(rest, element); ok {
			w.follow(r.after(user, element+after))
		}
	case *ssa.UnOp:
		if user.Op == token.MUL && head == pointee || user.Op == token.ARROW && head == element {
			w.followFirst(r.after(user, rest), user.CommaOk)
		}
	case *ssa.Index:
		if head == element {
			w.follow(r.after(user, rest))
		}
	case *ssa.Lookup:
		if head == element {
			w.followFirst(r.after(user, rest), user.CommaOk)
		}
	case *ssa.Range:
		for _, next := range *user.Referrers() {
			if next, ok := next.(*ssa.Next); ok && head == element {
				w.followResult(r.after(next, rest), 2)
			}
		}
	case *ssa.Field:
		if head == field(user.Field) {
			w.follow(r.after(user, rest))
		}
	case *ssa.Phi, *ssa.ChangeType, *ssa.Convert, *ssa.MakeInterface, *ssa.ChangeInterface:
		w.follow(r.after(user.(ssa.Value), r.in))
	case *ssa.TypeAssert:
		w.followFirst(r.after(user, r.in), user.CommaOk)
	case *ssa.MakeClosure:
		fn := user.Fn.(*ssa.Function)
		for i, binding := range user.Bindings {
			if binding == r.v {
				w.follow(r.after(fn.FreeVars[i], r.in))
			}
		}
	case *ssa.Return:
		w.results(user, r)
	case ssa.CallInstruction:
		w.pass(user, r)
	}
}

// followFirst follows a value, or the first value of a tuple.
func (w *forward) followFirst(r reference, isTuple bool) {
	if isTuple {
		w.followResult(r, 0)
	} else {
		w.follow(r)
	}
}

// followResult follows one value of a tuple.
func (w *forward) followResult(tuple reference, index int) {
	for _, user := range *tuple.v.Referrers() {
		if result, ok := user.(*ssa.Extract); ok && result.Index == index {
			w.follow(tuple.after(result, tuple.in))
		}
	}
}

// results continues the walk at the calls whose result is the reference. It does not follow a variable that the
// function creates, because each call returns another one.
func (w *forward) results(ret *ssa.Return, r reference) {
	switch r.v.(type) {
	case *ssa.MakeMap, *ssa.MakeSlice, *ssa.MakeChan, *ssa.Alloc:
		return
	}
	for _, edge := range w.callers[ret.Parent()] {
		call := w.calls[edge.call]
		for i, result := range ret.Results {
			switch {
			case call == nil || result != r.v:
			case len(ret.Results) == 1:
				w.follow(r.after(call, r.in))
			default:
				w.followResult(r.after(call, r.in), i)
			}
		}
	}
}

// step returns the rest of a path that begins with the step first.
func step(path, first part) (rest part, ok bool) {
	if path == "" || path[:1] != first {
		return "", false
	}
	return path[1:], true
}

// hold continues the walk at the loads from a variable, a field or a container that holds the reference. step leads
// from a container to its elements.
func (w *forward) hold(to ssa.Value, r reference, step part) {
	switch addr := to.(type) {
	case *ssa.Global:
		for _, loaded := range w.loads[addr] {
			w.follow(r.after(loaded, r.in))
		}
	case *ssa.FieldAddr:
		if w.alike {
			for _, loaded := range w.fieldLoads[fieldAt(addr)] {
				w.follow(r.after(loaded, r.in))
			}
		}
		w.follow(r.holder(addr.X, pointee+field(addr.Field)))
	case *ssa.IndexAddr:
		steps := element
		if _, isSlice := addr.X.Type().Underlying().(*types.Slice); !isSlice {
			steps = pointee + element
		}
		w.follow(r.holder(addr.X, steps))
	default:
		w.follow(r.holder(to, step))
	}
}

// pass continues the walk in the functions that a call can execute. A value that such a function takes from its
// parameters is the argument of this call.
func (w *forward) pass(instr ssa.CallInstruction, r reference) {
	call := instr.Common()
	if b, ok := call.Value.(*ssa.Builtin); ok {
		if b.Name() == "copy" && call.Args[0] == r.v && r.in[:1] == element && r.held == 0 {
			w.store(place{call.Args[1], r.in})
		}
		return
	}
	args := call.Args
	if call.IsInvoke() {
		args = append([]ssa.Value{call.Value}, args...)
	}
	callees := w.callees(call)
	if v := instr.Value(); v != nil && len(callees) == 0 && decodes(call) {
		w.store(place{v, pointee}) // an unknown value
	}
	for _, fn := range callees {
		for i, arg := range args {
			if arg != r.v || i >= len(fn.Params) {
				continue
			}
			for _, p := range w.effects(r.after(fn.Params[i], r.in)) {
				if param, ok := p.v.(*ssa.Parameter); ok && param.Parent() == fn {
					p.v = args[slices.Index(fn.Params, param)]
				}
				w.store(p)
			}
		}
	}
}

// decodes reports whether a call of a library stores values that the program does not have as such: data, flags, or the
// contents of another map.
func decodes(call *ssa.CallCommon) bool {
	name, target := calledName(call), targetOf(call)
	if target != nil {
		name = target.Name()
	}
	switch pathOf(target) {
	case "maps":
		return name == "Copy" || name == "Insert"
	case "flag", "github.com/spf13/pflag":
		return strings.HasSuffix(name, "Var") || strings.HasSuffix(name, "VarP")
	}
	return strings.HasPrefix(name, "Unmarshal") || name == "Decode"
}

// effects returns the values that a function, and the functions that it calls, store in a part of a parameter. The
// results of functions that call each other are computed until they are complete.
func (w *forward) effects(at reference) []place {
	e := w.effectsOf[w.alike]
	if e.complete[at] || e.visited[at] {
		return e.known[at]
	}
	if e.depth > 0 {
		w.visit(e, at)
		return e.known[at]
	}
	for e.changed = true; e.changed; {
		e.changed = false
		clear(e.visited)
		w.visit(e, at)
	}
	for visited := range e.visited {
		e.complete[visited] = true
	}
	clear(e.visited)
	return e.known[at]
}

// visit computes the values for a parameter from the values that are known for others.
func (w *forward) visit(e *effects, at reference) {
	e.visited[at] = true
	e.depth++
	stored := w.writtenTo(at)
	e.depth--
	if len(stored) > len(e.known[at]) {
		e.known[at], e.changed = stored, true
	}
}

// effects are the values that functions store in parts of their parameters.
type effects struct {
	known    map[reference][]place
	complete map[reference]bool // known has all values
	visited  map[reference]bool // visited in this round of the search for all values
	depth    int                // number of parameters whose values are being computed
	changed  bool               // this round has found values
}

func newEffects() *effects {
	return &effects{
		known: map[reference][]place{}, complete: map[reference]bool{}, visited: map[reference]bool{},
	}
}
