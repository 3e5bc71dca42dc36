package access

import (
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// part is a path into a value, outermost step first. A step leads to the target of a pointer, to the elements of a
// slice, an array or a map, or to a field of a struct. Empty means the value itself.
type part string

const (
	pointee part = "*"
	element part = "e"
)

// field returns the step to a field of a struct, which is one byte.
func field(i int) part { return part([]byte{byte(128 + i)}) }

// place is a part of a value.
type place struct {
	v  ssa.Value
	in part
}

// flow follows values backward.
type flow struct {
	*reach
	// stores are the values that the program stores in fields, by field.
	stores map[fieldOf][]ssa.Value
	// globals are the values that the program stores in package variables.
	globals map[*ssa.Global][]ssa.Value
	// loads are the references that the program loads from package variables, and fieldLoads those from fields.
	loads      map[*ssa.Global][]ssa.Value
	fieldLoads map[fieldOf][]ssa.Value
	// captures are the closures that the program creates from functions.
	captures map[*ssa.Function][]*ssa.MakeClosure
	// selected caches the values that constant keys select in map literals. It has no values for a lookup whose key
	// depends on the lookup.
	selected map[*ssa.Lookup][]ssa.Value
	// passed are the calls that receive the address of a package variable.
	passed map[*ssa.Global][]ssa.CallInstruction
	// calls are the instructions of calls.
	calls map[*ssa.CallCommon]*ssa.Call
	// effectsOf caches what functions store in parts of their parameters, by search.alike.
	effectsOf map[bool]*effects
}

// fieldOf identifies a field of a struct type.
type fieldOf struct {
	structure, name string
}

// maxPlaces bounds one search. A search that exceeds the bound is incomplete.
const maxPlaces = 20_000

// maxSteps bounds the length of a path into a value.
const maxSteps = 12

func newFlow(r *reach) *flow {
	f := &flow{
		reach: r, stores: map[fieldOf][]ssa.Value{}, globals: map[*ssa.Global][]ssa.Value{},
		loads: map[*ssa.Global][]ssa.Value{}, fieldLoads: map[fieldOf][]ssa.Value{},
		captures: map[*ssa.Function][]*ssa.MakeClosure{}, selected: map[*ssa.Lookup][]ssa.Value{},
		effectsOf: map[bool]*effects{true: newEffects(), false: newEffects()},
		calls:     map[*ssa.CallCommon]*ssa.Call{}, passed: map[*ssa.Global][]ssa.CallInstruction{},
	}
	for _, instr := range r.instructions() {
		f.note(instr)
	}
	return f
}

func (f *flow) note(instr ssa.Instruction) {
	if call, ok := instr.(ssa.CallInstruction); ok {
		for _, arg := range call.Common().Args {
			if global, ok := arg.(*ssa.Global); ok {
				f.passed[global] = append(f.passed[global], call)
			}
		}
	}
	switch instr := instr.(type) {
	case *ssa.MakeClosure:
		fn := instr.Fn.(*ssa.Function)
		f.captures[fn] = append(f.captures[fn], instr)
	case *ssa.Call:
		f.calls[instr.Common()] = instr
	case *ssa.UnOp:
		switch addr := instr.X.(type) {
		case *ssa.FieldAddr:
			key := fieldAt(addr)
			f.fieldLoads[key] = append(f.fieldLoads[key], instr)
		case *ssa.Global:
			f.loads[addr] = append(f.loads[addr], instr)
		}
	case *ssa.Store:
		switch addr := instr.Addr.(type) {
		case *ssa.FieldAddr:
			key := fieldAt(addr)
			f.stores[key] = append(f.stores[key], instr.Val)
		case *ssa.Global:
			f.globals[addr] = append(f.globals[addr], instr.Val)
		}
	}
}

func fieldAt(addr *ssa.FieldAddr) fieldOf {
	structure, _ := structOf(addr.X.Type())
	return fieldOf{types.TypeString(addr.X.Type().Underlying().(*types.Pointer).Elem(), nil),
		structure.Field(addr.Field).Name()}
}

// search is one search for the origins of a value.
type search struct {
	*flow
	// alike means that a field of a struct can have each value that the program stores in this field of any struct of the
	// type. Otherwise, the search follows only the structs that it finds, and can miss origins.
	alike bool
	found []place
	seen  map[place]bool
}

// origins returns the places that a value can come from. It does not follow places for which until returns true.
// complete is false if the search exceeds its bounds.
func (f *flow) origins(at place, alike bool, until func(place) bool) (found []place, complete bool) {
	s := &search{flow: f, alike: alike, seen: map[place]bool{}}
	queue := []place{at}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		if s.seen[next] {
			continue
		}
		s.seen[next] = true
		if len(s.seen) > maxPlaces || len(next.in) > maxSteps {
			return s.found, false
		}
		if until != nil && until(next) {
			s.found = append(s.found, next)
			continue
		}
		before, ok := s.before(next)
		if !ok {
			s.found = append(s.found, next)
			continue
		}
		queue = append(queue, before...)
	}
	return s.found, true
}

// before returns the places that a value comes from directly, or false if the place is an origin.
func (s *search) before(p place) ([]place, bool) {
	switch v := p.v.(type) {
	case *ssa.MakeInterface:
		return []place{{v.X, p.in}}, p.in != ""
	case *ssa.ChangeInterface:
		return []place{{v.X, p.in}}, true
	case *ssa.ChangeType:
		return []place{{v.X, p.in}}, true
	case *ssa.Convert:
		return []place{{v.X, p.in}}, true
	case *ssa.TypeAssert:
		return []place{{v.X, p.in}}, true
	case *ssa.Phi:
		return each(v.Edges, p.in), true
	case *ssa.Parameter:
		return s.arguments(v, p.in)
	case *ssa.FreeVar:
		return s.bound(v, p.in)
	case *ssa.Extract:
		return s.extracted(v, p.in)
	case *ssa.UnOp:
		switch v.Op {
		case token.MUL:
			return []place{{v.X, pointee + p.in}}, true
		case token.ARROW:
			return []place{{v.X, element + p.in}}, true
		}
	case *ssa.Field:
		return []place{{v.X, field(v.Field) + p.in}}, true
	case *ssa.Index:
		return []place{{v.X, element + p.in}}, true
	case *ssa.Lookup:
		if _, known := s.selected[v]; !known {
			s.selected[v] = nil
			s.selected[v] = s.chosen(v)
		}
		if chosen := s.selected[v]; len(chosen) > 0 {
			return each(chosen, p.in), true
		}
		return []place{{v.X, element + p.in}}, true
	case *ssa.Call:
		all, ok := s.results(v, 0, p.in)
		return append(all, s.written(v, p.in)...), ok
	}
	if p.in == "" {
		return nil, false
	}
	head, rest := p.in[:1], p.in[1:]
	switch {
	case head == pointee:
		return s.pointed(p.v, rest)
	case head == element:
		return s.elements(p.v, rest)
	}
	return nil, isConst(p.v)
}

func isConst(v ssa.Value) bool { _, ok := v.(*ssa.Const); return ok }

func each(values []ssa.Value, in part) []place {
	all := make([]place, len(values))
	for i, v := range values {
		all[i] = place{v, in}
	}
	return all
}

// chosen returns the values that constant keys of the program select in a map literal, or nil if the key may not be
// constant. The zero value is always a possible key, because a field can be unset.
func (s *search) chosen(lookup *ssa.Lookup) (values []ssa.Value) {
	made, ok := lookup.X.(*ssa.MakeMap)
	if !ok {
		return nil
	}
	origins, complete := s.origins(place{lookup.Index, ""}, true, nil)
	keys := map[string]bool{"0": true, `""`: true}
	for _, p := range origins {
		key, ok := p.v.(*ssa.Const)
		if !ok || key.Value == nil || p.in != "" {
			return nil
		}
		keys[key.Value.ExactString()] = true
	}
	for _, user := range *made.Referrers() {
		switch user := user.(type) {
		case *ssa.MapUpdate:
			key, ok := user.Key.(*ssa.Const)
			if !ok || key.Value == nil {
				return nil
			}
			if keys[key.Value.ExactString()] {
				values = append(values, user.Value)
			}
		case *ssa.Lookup:
		default:
			return nil // other code may change the map
		}
	}
	if !complete || len(origins) == 0 {
		return nil
	}
	return values
}

// arguments returns the arguments that callers pass for a parameter.
func (s *search) arguments(v *ssa.Parameter, in part) (all []place, ok bool) {
	fn := v.Parent()
	index := -1
	for i, param := range fn.Params {
		if param == v {
			index = i
		}
	}
	for _, edge := range s.callers[fn] {
		i := index
		if edge.invoke {
			if i--; i < 0 {
				all = append(all, place{edge.call.Value, in})
				continue
			}
		}
		if i < len(edge.call.Args) {
			all = append(all, place{edge.call.Args[i], in})
		}
	}
	return all, len(all) > 0
}

// bound returns the values that closures capture.
func (s *search) bound(v *ssa.FreeVar, in part) (all []place, ok bool) {
	fn := v.Parent()
	for i, free := range fn.FreeVars {
		if free != v {
			continue
		}
		for _, closure := range s.captures[fn] {
			all = append(all, place{closure.Bindings[i], in})
		}
	}
	if strings.HasPrefix(string(in), string(pointee)) {
		all = append(all, s.written(v, in)...)
	}
	return all, len(all) > 0
}

// extracted returns the places that one value of a tuple comes from.
func (s *search) extracted(v *ssa.Extract, in part) ([]place, bool) {
	switch tuple := v.Tuple.(type) {
	case *ssa.Call:
		all, ok := s.results(tuple, v.Index, in)
		return append(all, s.written(v, in)...), ok
	case *ssa.TypeAssert:
		return []place{{tuple.X, in}}, v.Index == 0
	case *ssa.Lookup:
		return []place{{tuple.X, element + in}}, v.Index == 0
	case *ssa.UnOp:
		return []place{{tuple.X, element + in}}, v.Index == 0
	case *ssa.Next:
		if r, ok := tuple.Iter.(*ssa.Range); ok && v.Index == 2 {
			return []place{{r.X, element + in}}, true
		}
	}
	return nil, false
}

// results returns the results of a call, if the called functions have bodies.
func (s *search) results(call *ssa.Call, index int, in part) (all []place, ok bool) {
	common := call.Common()
	if b, isBuiltin := common.Value.(*ssa.Builtin); isBuiltin {
		if b.Name() == "append" && strings.HasPrefix(string(in), string(element)) {
			return each(common.Args, in), true
		}
		return nil, false
	}
	switch calledName(common) {
	case "DeepCopyObject", "DeepCopy", "ApplyConfigurationFromUnstructured":
		if common.IsInvoke() {
			return []place{{common.Value, in}}, true
		}
		if len(common.Args) == 1 {
			return []place{{common.Args[0], in}}, true
		}
	}
	for _, fn := range s.callees(common) {
		for _, block := range fn.Blocks {
			if ret, isReturn := block.Instrs[len(block.Instrs)-1].(*ssa.Return); isReturn && index < len(ret.Results) {
				all = append(all, place{returned(ret.Results[index], common, fn), in})
			}
		}
	}
	return all, len(all) > 0
}

// returned returns the argument of a call if a function returns the parameter, and otherwise the result itself.
func returned(result ssa.Value, call *ssa.CallCommon, fn *ssa.Function) ssa.Value {
	v := result
	for {
		switch converted := v.(type) {
		case *ssa.ChangeInterface:
			v = converted.X
			continue
		case *ssa.Parameter:
			args := call.Args
			if call.IsInvoke() {
				args = append([]ssa.Value{call.Value}, args...)
			}
			if i := slices.Index(fn.Params, converted); i >= 0 && i < len(args) {
				return args[i]
			}
		}
		return result
	}
}

// targetOf returns the declaration of the function that a call statically calls, or nil.
func targetOf(call *ssa.CallCommon) *types.Func {
	fn := call.StaticCallee()
	if fn == nil {
		return nil
	}
	if origin := fn.Origin(); origin != nil {
		fn = origin
	}
	target, _ := fn.Object().(*types.Func)
	return target
}

// pathOf returns the import path of the package of a function, or "".
func pathOf(fn *types.Func) string {
	if fn == nil || fn.Pkg() == nil {
		return ""
	}
	return fn.Pkg().Path()
}

func calledName(call *ssa.CallCommon) string {
	if call.IsInvoke() {
		return call.Method.Name()
	}
	if fn := call.StaticCallee(); fn != nil {
		return fn.Name()
	}
	return ""
}

// callees returns the functions with bodies that a call can execute.
func (s *search) callees(call *ssa.CallCommon) []*ssa.Function {
	if fn := call.StaticCallee(); fn != nil {
		if len(fn.Blocks) == 0 {
			return nil
		}
		return []*ssa.Function{fn}
	}
	var all []*ssa.Function
	if !call.IsInvoke() {
		return s.values[signatureOf(call.Signature())]
	}
	for _, t := range s.concrete {
		if !s.implements(t, call.Value.Type()) {
			continue
		}
		if fn := s.body(t, call.Method); fn != nil {
			all = append(all, fn)
		}
	}
	return all
}

// pointed returns the places that the target of a pointer comes from.
func (s *search) pointed(v ssa.Value, in part) ([]place, bool) {
	switch v := v.(type) {
	case *ssa.Alloc:
		return s.written(v, pointee+in), true
	case *ssa.Global:
		return append(each(s.globals[v], in), s.written(v, pointee+in)...), len(s.globals[v]) > 0
	case *ssa.FieldAddr:
		if !s.alike {
			return []place{{v.X, pointee + field(v.Field) + in}}, true
		}
		stored := each(s.stores[fieldAt(v)], in)
		stored = append(stored, s.written(v, pointee+in)...)
		return append(stored, s.written(v.X, pointee+field(v.Field)+in)...), len(stored) > 0
	case *ssa.IndexAddr:
		if _, isSlice := v.X.Type().Underlying().(*types.Slice); isSlice {
			return []place{{v.X, element + in}}, true
		}
		return []place{{v.X, pointee + element + in}}, true
	}
	return nil, isConst(v)
}

// elements returns the elements of a slice, a map or a channel.
func (s *search) elements(v ssa.Value, in part) ([]place, bool) {
	switch v := v.(type) {
	case *ssa.Slice:
		if _, isSlice := v.X.Type().Underlying().(*types.Slice); isSlice {
			return []place{{v.X, element + in}}, true
		}
		return []place{{v.X, pointee + element + in}}, true
	case *ssa.MakeMap, *ssa.MakeSlice, *ssa.MakeChan:
		return s.written(v, element+in), true
	}
	return nil, isConst(v)
}
