package code

import (
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// Depth is how much of the memory that a value refers to belongs to a cache.
type Depth int

// A pointer into a cache is Deep. A value is Shallow if its own memory belongs to the function, but its pointers, maps
// and slices refer to the cache: for example, a struct copied from a cached object, or a lister's list of pointers.
// Other values are Private.
const (
	Private Depth = iota
	Shallow
	Deep
)

// Tracer follows values back to their sources. A value that can also come from another source is Private.
type Tracer struct {
	// Source returns the depth of a value that comes directly from a source, and Private for all other values.
	Source func(ssa.Value) Depth

	known map[ssa.Value]Depth
}

// Depth returns the depth of a value.
func (t *Tracer) Depth(v ssa.Value) Depth {
	if t.known == nil {
		t.known = map[ssa.Value]Depth{}
	}
	if d, ok := t.known[v]; ok {
		return d
	}
	t.known[v] = Private // the result for a value that depends on itself other than through phis
	d := t.Source(v)
	if d == Private {
		d = t.derived(v)
	}
	t.known[v] = d
	return d
}

func (t *Tracer) derived(v ssa.Value) Depth {
	switch x := v.(type) {
	case *ssa.Alloc:
		return t.variable(x)
	case *ssa.FieldAddr:
		return t.Depth(x.X)
	case *ssa.IndexAddr:
		return t.Depth(x.X)
	case *ssa.UnOp:
		return t.load(x)
	case *ssa.Phi:
		return t.all(leaves(x))
	case *ssa.TypeAssert:
		return t.Depth(x.X)
	case *ssa.Extract:
		if assert, ok := x.Tuple.(*ssa.TypeAssert); ok && x.Index == 0 {
			return t.Depth(assert.X)
		}
	case *ssa.Lookup:
		return inside(t.Depth(x.X), x.Type())
	case *ssa.Field:
		return inside(t.Depth(x.X), x.Type())
	case *ssa.Slice:
		return t.Depth(x.X)
	case *ssa.MakeInterface:
		return t.Depth(x.X)
	case *ssa.ChangeInterface:
		return t.Depth(x.X)
	case *ssa.ChangeType:
		return t.Depth(x.X)
	case *ssa.Call:
		return t.accessor(x)
	}
	return Private
}

// accessor returns the depth of a map or slice that an accessor of metav1.ObjectMeta returns.
func (t *Tracer) accessor(call *ssa.Call) Depth {
	fn := Callee(&call.Call)
	if !IsIn(fn, metaPath, "GetLabels", "GetAnnotations", "GetOwnerReferences", "GetFinalizers", "GetObjectMeta") ||
		call.Call.IsInvoke() || len(call.Call.Args) == 0 {
		return Private
	}
	return inside(t.Depth(call.Call.Args[0]), call.Type())
}

// load returns the depth of the value at an address.
func (t *Tracer) load(x *ssa.UnOp) Depth {
	if x.Op != token.MUL {
		return Private
	}
	if alloc, ok := x.X.(*ssa.Alloc); ok {
		d := t.Depth(alloc)
		if isStruct(x.Type()) {
			return inside(d, x.Type())
		}
		return d
	}
	d := t.Depth(x.X)
	if d == Shallow && FieldName(x.X) == "Items" {
		return Shallow // the list and its elements are copies
	}
	return inside(d, x.Type())
}

// inside returns the depth of a part of a value of depth d.
func inside(d Depth, t types.Type) Depth {
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Map, *types.Slice, *types.Interface:
		if d > Private {
			return Deep
		}
	case *types.Struct, *types.Array:
		if d > Private {
			return Shallow
		}
	}
	return Private
}

// variable returns the depth of the memory of a struct variable, and the depth of the value in any other variable.
func (t *Tracer) variable(alloc *ssa.Alloc) Depth {
	var stored []ssa.Value
	for _, use := range *alloc.Referrers() {
		switch use := use.(type) {
		case *ssa.Store:
			if use.Addr != alloc {
				return Private
			}
			stored = append(stored, use.Val)
		case *ssa.UnOp, *ssa.DebugRef, *ssa.FieldAddr, *ssa.IndexAddr:
		case *ssa.MakeClosure:
			if !isStruct(alloc.Type().Underlying().(*types.Pointer).Elem()) {
				return Private
			}
		default:
			if !isStruct(alloc.Type().Underlying().(*types.Pointer).Elem()) {
				return Private
			}
		}
	}
	d := t.all(stored)
	if isStruct(alloc.Type().Underlying().(*types.Pointer).Elem()) && d == Deep {
		return Shallow
	}
	return d
}

// leaves returns the values that a phi can have, directly or through other phis.
func leaves(phi *ssa.Phi) []ssa.Value {
	var found []ssa.Value
	seen := map[*ssa.Phi]bool{phi: true}
	queue := []*ssa.Phi{phi}
	for len(queue) > 0 {
		for _, edge := range queue[0].Edges {
			next, ok := edge.(*ssa.Phi)
			switch {
			case !ok:
				found = append(found, edge)
			case !seen[next]:
				seen[next] = true
				queue = append(queue, next)
			}
		}
		queue = queue[1:]
	}
	return found
}

// all returns the least depth of the values. It ignores nil values.
func (t *Tracer) all(values []ssa.Value) Depth {
	least, found := Deep, false
	for _, v := range values {
		if c, ok := v.(*ssa.Const); ok && c.IsNil() {
			continue
		}
		d := t.Depth(v)
		if d == Private {
			return Private
		}
		least, found = min(least, d), true
	}
	if !found {
		return Private
	}
	return least
}

func isStruct(t types.Type) bool {
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

// Cached returns a tracer whose sources are the objects of caches.
func (p *Package) Cached() *Tracer { return &Tracer{Source: p.cached} }

// cached returns the depth of the results of listers, stores and caches, and of the parameters of event handlers.
func (p *Package) cached(v ssa.Value) Depth {
	switch x := v.(type) {
	case *ssa.Parameter:
		if !p.handlers[x] {
			return Private
		}
		if isStruct(x.Type()) {
			return Shallow
		}
		return Deep
	case *ssa.Call:
		return p.resultDepth(x, 0)
	case *ssa.Extract:
		if call, ok := x.Tuple.(*ssa.Call); ok {
			return p.resultDepth(call, x.Index)
		}
	case *ssa.Alloc:
		return p.sharedRead(x)
	}
	return Private
}

// resultDepth returns the depth of a result of a call.
func (p *Package) resultDepth(call *ssa.Call, index int) Depth {
	fn := Callee(&call.Call)
	if fn == nil || fn.Pkg() == nil {
		return Private
	}
	if d := libraryResult(fn); d != Private {
		if index > 0 {
			return Private
		}
		return d
	}
	if s := p.Summary(call.Common()); s != nil && index < len(s.Shared) {
		return s.Shared[index]
	}
	return Private
}

// libraryResult returns the depth of the first result of a library function, such as a lister's method.
func libraryResult(fn *types.Func) Depth {
	recv := fn.Signature().Recv()
	path := fn.Pkg().Path()
	switch {
	case recv == nil:
		if path == runtimePath+"/cache" && fn.Name() == "View" {
			return Deep
		}
		return Private
	case path == clientGo+"/tools/cache":
		if _, name := NameOf(recv.Type()); name != "Store" && name != "Indexer" {
			return Private
		}
		return map[string]Depth{
			"GetByKey": Deep, "Get": Deep, "List": Shallow, "ByIndex": Shallow, "Index": Shallow,
		}[fn.Name()]
	case path == runtimePath+"/informer":
		if _, name := NameOf(recv.Type()); name == "Store" || name == "Lister" {
			return map[string]Depth{"Get": Deep, "List": Shallow}[fn.Name()]
		}
	}
	_, name := NameOf(recv.Type())
	lister := strings.HasSuffix(name, "Lister") || name == "ResourceIndexer"
	if !lister || !strings.Contains(path, "/listers") || fn.Signature().Results().Len() != 2 {
		return Private
	}
	return map[string]Depth{"Get": Deep, "List": Shallow}[fn.Name()]
}

// sharedRead returns Shallow for an object that a client reads from the cache without a copy.
func (p *Package) sharedRead(alloc *ssa.Alloc) Depth {
	for _, use := range *alloc.Referrers() {
		for _, call := range callsWith(use) {
			op := p.OpOf(call)
			if op == nil || !op.Reads() || op.Object != alloc {
				continue
			}
			for _, option := range op.Options {
				if unsafeOption(option) {
					return Shallow
				}
			}
		}
	}
	return Private
}

// callsWith returns the call that an instruction is, or the calls that use the interface that it creates.
func callsWith(use ssa.Instruction) []ssa.CallInstruction {
	switch use := use.(type) {
	case ssa.CallInstruction:
		return []ssa.CallInstruction{use}
	case *ssa.MakeInterface:
		var calls []ssa.CallInstruction
		for _, next := range *use.Referrers() {
			calls = append(calls, callsWith(next)...)
		}
		return calls
	}
	return nil
}

// unsafeOption reports whether a read option makes the client return objects of the cache without a copy.
func unsafeOption(option ssa.Value) bool {
	path, name := NameOf(option.Type())
	switch {
	case path == runtimePath+"/client" && name == "SharedRead":
		c, ok := option.(*ssa.Const)
		return ok && c.Value != nil && c.Value.String() == "true"
	case path == peerPath+"/pkg/client":
		load, ok := option.(*ssa.UnOp)
		if !ok {
			return false
		}
		global, ok := load.X.(*ssa.Global)
		return ok && global.Name() == "UnsafeDisableDeepCopy"
	}
	return false
}

// Mutation is a change of a value's memory.
type Mutation struct {
	Pos token.Pos
	// Target is the changed address, map or slice.
	Target ssa.Value
	// Via is the function that makes the change, or "".
	Via string
}

// Mutations returns the changes that a function makes to memory whose depth is Deep.
func (p *Package) Mutations(fn *ssa.Function, t *Tracer) []Mutation {
	var all []Mutation
	add := func(pos token.Pos, target ssa.Value, via string) {
		if t.Depth(target) == Deep {
			all = append(all, Mutation{pos, target, via})
		}
	}
	for instr := range Instructions(fn) {
		switch x := instr.(type) {
		case *ssa.Store:
			if _, variable := x.Addr.(*ssa.Alloc); !variable {
				add(x.Pos(), x.Addr, "")
			}
		case *ssa.MapUpdate:
			add(x.Pos(), x.Map, "")
		case *ssa.Call:
			for _, i := range p.changed(x) {
				if i < len(x.Call.Args) {
					add(x.Pos(), x.Call.Args[i], calleeName(&x.Call))
				}
			}
			if x.Call.IsInvoke() && setter(x.Call.Method) {
				add(x.Pos(), x.Call.Value, x.Call.Method.Name())
			}
		}
	}
	return all
}

func calleeName(common *ssa.CallCommon) string {
	if builtin, ok := common.Value.(*ssa.Builtin); ok {
		return builtin.Name()
	}
	if fn := Callee(common); fn != nil {
		return fn.Name()
	}
	return ""
}

// setter reports whether a method is a setter of an apimachinery type, such as metav1.Object.
func setter(fn *types.Func) bool {
	return fn.Pkg() != nil && within(fn.Pkg().Path(), "k8s.io/apimachinery/pkg") && strings.HasPrefix(fn.Name(), "Set") &&
		fn.Name() != "SetGroupVersionKind"
}

// changed returns the indices of the arguments that a call changes, where the receiver comes first.
func (p *Package) changed(call *ssa.Call) []int {
	if builtin, ok := call.Call.Value.(*ssa.Builtin); ok {
		switch builtin.Name() {
		case "delete", "copy", "clear":
			return []int{0}
		}
		return nil
	}
	fn := Callee(&call.Call)
	if fn == nil || fn.Pkg() == nil || call.Call.IsInvoke() {
		return nil
	}
	switch path := fn.Pkg().Path(); {
	case path == "sort" && (strings.HasPrefix(fn.Name(), "S") && fn.Name() != "Search"):
		return []int{0}
	case path == "slices" && (strings.HasPrefix(fn.Name(), "Sort") && fn.Name() != "Sorted" || fn.Name() == "Reverse"):
		return []int{0}
	case path == "k8s.io/apimachinery/pkg/api/meta" && (strings.HasSuffix(fn.Name(), "StatusCondition") &&
		(strings.HasPrefix(fn.Name(), "Set") || strings.HasPrefix(fn.Name(), "Remove"))):
		return []int{0}
	case within(path, "k8s.io/apimachinery/pkg") && fn.Signature().Recv() != nil && setter(fn):
		return []int{0}
	case strings.HasSuffix(path, "meta/v1/unstructured") && (strings.HasPrefix(fn.Name(), "SetNested") ||
		fn.Name() == "RemoveNestedField"):
		return []int{0}
	case Is(fn, "pkg/controller/controllerutil", "controllerutil", "AddFinalizer", "RemoveFinalizer"):
		return []int{0}
	case Is(fn, "pkg/controller/controllerutil", "controllerutil", "SetControllerReference", "SetOwnerReference"):
		return []int{1}
	}
	if s := p.Summary(call.Common()); s != nil {
		return s.Mutates
	}
	return nil
}
