package code

import (
	"go/constant"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// The import paths of the libraries whose functions the rules recognize.
const (
	runtimePath = "github.com/kctrl-dev/kctrl/runtime"
	peerPath    = "sigs.k8s.io/controller-runtime"
	clientGo    = "k8s.io/client-go"
	metaPath    = "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Verb is the operation of a call on the API server.
type Verb string

// The verbs of clients. CreateOrUpdate also represents CreateOrPatch in package controllerutil.
const (
	Get            Verb = "get"
	List           Verb = "list"
	Create         Verb = "create"
	Update         Verb = "update"
	Patch          Verb = "patch"
	Apply          Verb = "apply"
	Delete         Verb = "delete"
	DeleteAllOf    Verb = "deletecollection"
	CreateOrUpdate Verb = "create or update"
)

// verbs maps the methods of clients to verbs.
var verbs = map[string]Verb{
	"Get": Get, "List": List, "Create": Create, "Update": Update, "Patch": Patch, "Apply": Apply, "Delete": Delete,
	"DeleteAllOf": DeleteAllOf, "DeleteCollection": DeleteAllOf, "UpdateStatus": Update, "ApplyStatus": Apply,
}

// reader is where a client reads from.
type reader int

const (
	unknownReader reader = iota
	cachedReader
	liveReader
)

// Op is a call of a client.
type Op struct {
	Call ssa.CallInstruction
	Verb Verb
	// Object is the object or list in the call, without a conversion to an interface. For client-go's typed clients, it
	// is nil unless the call sends an object.
	Object ssa.Value
	// Context is the context of the call.
	Context ssa.Value
	// Kind is the kind of the object as "package.Name", without the suffix "List", or "" if it is not known.
	Kind string
	// Name is the name of the called method.
	Name string
	// Status reports whether the call reads or writes a subresource.
	Status bool
	// Clientset reports whether the client is a typed client of client-go, which always reads from the API server and
	// takes its options as a struct.
	Clientset bool
	// Options are the optional arguments. OptionsKnown is false if the call passes a slice whose elements are not known.
	Options      []ssa.Value
	OptionsKnown bool
	// Receiver is the client.
	Receiver ssa.Value
}

// Reads reports whether the call reads.
func (o *Op) Reads() bool { return o.Verb == Get || o.Verb == List }

// Writes reports whether the call writes an object. It returns false for deletes.
func (o *Op) Writes() bool { return !o.Reads() && o.Verb != Delete && o.Verb != DeleteAllOf }

// Callee returns the function or interface method that a call statically refers to, or nil.
func Callee(common *ssa.CallCommon) *types.Func {
	if common.IsInvoke() {
		return common.Method
	}
	if fn := common.StaticCallee(); fn != nil {
		if fn.Origin() != nil {
			fn = fn.Origin()
		}
		callee, _ := fn.Object().(*types.Func)
		return callee
	}
	return nil
}

// arguments returns the receiver of a call, which may be nil, and the other arguments.
func arguments(common *ssa.CallCommon) (ssa.Value, []ssa.Value) {
	if common.IsInvoke() {
		return common.Value, common.Args
	}
	if common.Signature().Recv() != nil && len(common.Args) > 0 {
		return common.Args[0], common.Args[1:]
	}
	return nil, common.Args
}

// OfControllerRuntime reports whether controller-runtime declares a function.
func OfControllerRuntime(fn *types.Func) bool {
	return fn != nil && fn.Pkg() != nil && within(fn.Pkg().Path(), peerPath)
}

// Is reports whether fn is a function or method with one of the names in a package of either runtime, such as
// Is(fn, "pkg/controller/controllerutil", "controllerutil", "AddFinalizer"). peer and own are relative to the import
// paths of controller-runtime and of kctrl's runtime.
func Is(fn *types.Func, peer, own string, names ...string) bool {
	return fn != nil && fn.Pkg() != nil && slices.Contains(names, fn.Name()) &&
		(within(fn.Pkg().Path(), peerPath+"/"+peer) || within(fn.Pkg().Path(), runtimePath+"/"+own))
}

// IsIn reports whether fn is a function or method with one of the names in the package at path.
func IsIn(fn *types.Func, path string, names ...string) bool {
	return fn != nil && fn.Pkg() != nil && strings.TrimPrefix(fn.Pkg().Path(), "vendor/") == path &&
		(len(names) == 0 || slices.Contains(names, fn.Name()))
}

// OpOf returns the client operation of a call, or nil if the call is not a client call.
func (p *Package) OpOf(call ssa.CallInstruction) *Op {
	common := call.Common()
	fn := Callee(common)
	if fn == nil || fn.Pkg() == nil {
		return nil
	}
	recv, args := arguments(common)
	op := &Op{Call: call, Name: fn.Name(), Receiver: recv}
	switch path := fn.Pkg().Path(); {
	case within(path, peerPath+"/pkg/client") || path == runtimePath+"/client" || path == runtimePath+"/cache":
		return p.clientOp(op, fn, args)
	case Is(fn, "pkg/controller/controllerutil", "controllerutil", "CreateOrUpdate", "CreateOrPatch", "ApplyIfDifferent",
		"ApplyStatusIfDifferent"):
		return helperOp(op, fn, args)
	case strings.Contains(path, "/typed/"):
		return clientsetOp(op, fn, args)
	}
	return nil
}

// clientOp completes the operation of a client.Client method.
func (p *Package) clientOp(op *Op, fn *types.Func, args []ssa.Value) *Op {
	verb, ok := verbs[fn.Name()]
	recv := fn.Signature().Recv()
	if !ok || recv == nil || len(args) < 2 || !IsContext(args[0].Type()) {
		return nil
	}
	op.Verb, op.Context = verb, args[0]
	if n := named(recv.Type()); n != nil {
		op.Status = strings.HasPrefix(n.Obj().Name(), "SubResource") || strings.HasPrefix(n.Obj().Name(), "Status")
	}
	rest := args[1:]
	if verb == Get && !op.Status {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return nil
	}
	op.Object = Unwrap(rest[0])
	op.Kind = KindOf(op.Object.Type())
	op.Options, op.OptionsKnown = variadic(args[len(args)-1], fn)
	return op
}

// helperOp completes the operation of a controllerutil function that writes.
func helperOp(op *Op, fn *types.Func, args []ssa.Value) *Op {
	if len(args) < 3 {
		return nil
	}
	op.Verb, op.Context, op.Receiver, op.Object = CreateOrUpdate, args[0], args[1], Unwrap(args[2])
	if strings.HasPrefix(fn.Name(), "Apply") {
		op.Verb = Apply
		op.Status = strings.HasPrefix(fn.Name(), "ApplyStatus")
	}
	op.Kind, op.OptionsKnown = KindOf(op.Object.Type()), true
	return op
}

// clientsetOp completes the operation of a method of a typed client, from client-go or generated.
func clientsetOp(op *Op, fn *types.Func, args []ssa.Value) *Op {
	verb, ok := verbs[fn.Name()]
	if !ok || len(args) < 2 || !IsContext(args[0].Type()) {
		return nil
	}
	op.Verb, op.Context, op.Clientset = verb, args[0], true
	op.Status = strings.HasSuffix(fn.Name(), "Status")
	op.Options, op.OptionsKnown = args[len(args)-1:], true
	if op.Writes() && verb != Patch {
		op.Object = Unwrap(args[1])
		op.Kind = KindOf(op.Object.Type())
	} else if results := fn.Signature().Results(); results.Len() > 0 {
		op.Kind = KindOf(results.At(0).Type())
	}
	return op
}

// variadic returns the elements of the last argument of a variadic call, and whether they are known.
func variadic(last ssa.Value, fn *types.Func) ([]ssa.Value, bool) {
	if !fn.Signature().Variadic() {
		return nil, true
	}
	return Elements(last)
}

// Elements returns the elements of the slice that the compiler allocates for variadic arguments. It returns false for
// any other slice.
func Elements(v ssa.Value) ([]ssa.Value, bool) {
	if c, ok := v.(*ssa.Const); ok {
		return nil, c.IsNil()
	}
	slice, ok := v.(*ssa.Slice)
	if !ok {
		return nil, false
	}
	array, ok := slice.X.(*ssa.Alloc)
	if !ok {
		return nil, false
	}
	var elements []ssa.Value
	for _, use := range *array.Referrers() {
		at, ok := use.(*ssa.IndexAddr)
		if !ok {
			continue
		}
		for _, store := range *at.Referrers() {
			if store, ok := store.(*ssa.Store); ok && store.Addr == at {
				elements = append(elements, Unwrap(store.Val))
			}
		}
	}
	return elements, true
}

// Unwrap removes conversions that keep the value.
func Unwrap(v ssa.Value) ssa.Value {
	for {
		switch x := v.(type) {
		case *ssa.MakeInterface:
			v = x.X
		case *ssa.ChangeInterface:
			v = x.X
		case *ssa.ChangeType:
			v = x.X
		default:
			return v
		}
	}
}

// named returns the named type of t or of its pointer's element, or nil.
func named(t types.Type) *types.Named {
	t = types.Unalias(t)
	if pointer, ok := t.(*types.Pointer); ok {
		t = types.Unalias(pointer.Elem())
	}
	n, _ := t.(*types.Named)
	return n
}

// IsNamed reports whether t, or the type that it points to, is the named type of the package at path.
func IsNamed(t types.Type, path, name string) bool {
	n := named(t)
	return n != nil && n.Obj().Name() == name && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == path
}

// NameOf returns the import path and the name of the named type of t, or of the type that it points to, or "".
func NameOf(t types.Type) (path, name string) {
	n := named(t)
	if n == nil || n.Obj().Pkg() == nil {
		return "", ""
	}
	return n.Obj().Pkg().Path(), n.Obj().Name()
}

// IsContext reports whether t is context.Context.
func IsContext(t types.Type) bool { return IsNamed(t, "context", "Context") }

// IsResult reports whether t is the type reconcile.Result of either runtime.
func IsResult(t types.Type) bool {
	return IsNamed(t, peerPath+"/pkg/reconcile", "Result") || IsNamed(t, runtimePath+"/reconcile", "Result")
}

// IsRequest reports whether t is the type of a reconcile request.
func IsRequest(t types.Type) bool {
	return IsNamed(t, peerPath+"/pkg/reconcile", "Request") || IsNamed(t, runtimePath+"/reconcile", "Request")
}

// IsError reports whether t is the type error.
func IsError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }

// KindOf returns the kind of an object type, or of the items of a list type, as "package.Name". It returns "" for an
// interface, for objects without a static kind and for other types.
func KindOf(t types.Type) string {
	n := named(t)
	if n == nil || n.Obj().Pkg() == nil || !isObject(n) {
		return ""
	}
	path, name := n.Obj().Pkg().Path(), n.Obj().Name()
	if path == metaPath || strings.HasSuffix(path, "meta/v1/unstructured") {
		return ""
	}
	if hasField(n, "Items") {
		name = strings.TrimSuffix(name, "List")
	}
	return path + "." + name
}

// ShortKind returns the name of a kind that KindOf returned, without the package.
func ShortKind(kind string) string { return kind[strings.LastIndexByte(kind, '.')+1:] }

// isObject reports whether a struct has the metadata of an object or of a list.
func isObject(n *types.Named) bool { return hasField(n, "ObjectMeta") || hasField(n, "ListMeta") }

func hasField(n *types.Named, name string) bool {
	s, ok := n.Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for field := range s.Fields() {
		if field.Name() == name {
			return true
		}
	}
	return false
}

// IsObject reports whether t is an object type, a pointer to one, or an interface of objects.
func IsObject(t types.Type) bool {
	if n := named(t); n != nil {
		if hasField(n, "ObjectMeta") {
			return true
		}
		if _, ok := n.Underlying().(*types.Interface); !ok && n.Obj().Name() != "Unstructured" {
			return false
		}
	}
	set := types.NewMethodSet(t)
	return set.Lookup(nil, "GetResourceVersion") != nil
}

// FieldName returns the name of the field that an address or a value selects, or "".
func FieldName(v ssa.Value) string {
	switch x := v.(type) {
	case *ssa.FieldAddr:
		return structOf(x.X.Type()).Field(x.Field).Name()
	case *ssa.Field:
		return structOf(x.X.Type()).Field(x.Field).Name()
	}
	return ""
}

// FieldVar returns the field that an address or a value selects, or nil.
func FieldVar(v ssa.Value) *types.Var {
	switch x := v.(type) {
	case *ssa.FieldAddr:
		return structOf(x.X.Type()).Field(x.Field)
	case *ssa.Field:
		return structOf(x.X.Type()).Field(x.Field)
	}
	return nil
}

func structOf(t types.Type) *types.Struct {
	t = types.Unalias(t)
	if pointer, ok := t.Underlying().(*types.Pointer); ok {
		t = pointer.Elem()
	}
	s, _ := t.Underlying().(*types.Struct)
	return s
}

// Path returns the object that contains an address, as its pointer or variable, and the names of the fields from the
// object to the address, such as ["Spec", "Replicas"].
func Path(addr ssa.Value) (base ssa.Value, path []string) {
	for {
		addr = Unwrap(addr)
		switch x := addr.(type) {
		case *ssa.FieldAddr:
			if IsObject(addr.Type().Underlying().(*types.Pointer).Elem()) {
				return addr, path
			}
			if field := FieldVar(x); !field.Anonymous() {
				path = slices.Insert(path, 0, field.Name())
			}
			addr = x.X
		case *ssa.IndexAddr:
			if IsObject(addr.Type().Underlying().(*types.Pointer).Elem()) {
				return addr, path
			}
			addr = x.X
		case *ssa.UnOp:
			if _, loads := x.X.(*ssa.FieldAddr); !loads {
				return addr, path
			}
			if IsObject(x.Type()) {
				return addr, path
			}
			addr = x.X
		case *ssa.Slice:
			addr = x.X
		case *ssa.Alloc:
			next := literalTarget(x)
			if next == nil {
				return addr, path
			}
			addr = next
		default:
			return addr, path
		}
	}
}

// literalTarget returns the address that a struct literal is copied to, or nil. SSA builds a nested literal in a
// separate variable.
func literalTarget(literal *ssa.Alloc) ssa.Value {
	if literal.Comment != "complit" || literal.Heap || IsObject(literal.Type().Underlying().(*types.Pointer).Elem()) {
		return nil
	}
	for _, use := range *literal.Referrers() {
		load, ok := use.(*ssa.UnOp)
		if !ok {
			continue
		}
		for _, use := range *load.Referrers() {
			if store, ok := use.(*ssa.Store); ok && store.Val == load {
				return store.Addr
			}
		}
	}
	return nil
}

// Constant returns the value of a constant integer.
func Constant(v ssa.Value) (int64, bool) {
	c, ok := v.(*ssa.Const)
	if !ok || c.Value == nil || c.Value.Kind() != constant.Int {
		return 0, false
	}
	return c.Int64(), true
}

// ConstantString returns the value of a constant string.
func ConstantString(v ssa.Value) (string, bool) {
	c, ok := v.(*ssa.Const)
	if !ok || c.Value == nil || c.Value.Kind() != constant.String {
		return "", false
	}
	return constant.StringVal(c.Value), true
}
