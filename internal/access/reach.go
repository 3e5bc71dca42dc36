package access

import (
	"cmp"
	"context"
	"go/token"
	"go/types"
	"iter"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
)

// reached is a function that the program can call.
type reached struct {
	fn   *ssa.Function
	by   *reached  // nil for roots
	from token.Pos // where by calls fn, or uses it as a value
}

// callEdge is a call of a function with a body.
type callEdge struct {
	call *ssa.CallCommon
	// invoke means that the receiver is call.Value, and not among call.Args.
	invoke bool
}

// reach finds the functions that a program can call, by rapid type analysis. It assumes that libraries call each
// function value, and each method of an interface, that they receive. Functions that are linked but not called are not
// reached.
type reach struct {
	p       *program
	found   map[*ssa.Function]*reached
	order   []*reached
	callers map[*ssa.Function][]callEdge

	converted map[types.Type]*reached // concrete types that become interfaces, with the first function that converts them
	concrete  []types.Type            // keys of converted, in order
	at        map[types.Type]token.Pos
	invokes   []invocation
	values    map[string][]*ssa.Function // functions used as values, by signature
	dynamic   map[string][]invocation    // calls of function values, by signature
	queue     []*reached

	implemented map[[2]types.Type]bool // caches whether a concrete type implements an interface
}

// invocation is a call without a static callee.
type invocation struct {
	in   *reached
	call *ssa.CallCommon
	pos  token.Pos
}

func newReach(p *program) *reach {
	return &reach{
		p: p, found: map[*ssa.Function]*reached{}, callers: map[*ssa.Function][]callEdge{},
		implemented: map[[2]types.Type]bool{}, converted: map[types.Type]*reached{}, at: map[types.Type]token.Pos{},
		values: map[string][]*ssa.Function{}, dynamic: map[string][]invocation{},
	}
}

// from follows the calls from the given functions, until the context ends.
func (r *reach) from(ctx context.Context, roots []*ssa.Function) {
	for _, fn := range roots {
		r.add(fn, nil, token.NoPos)
	}
	for len(r.queue) > 0 && ctx.Err() == nil {
		next := r.queue[0]
		r.queue = r.queue[1:]
		for instr := range instructionsOf(next.fn) {
			r.instruction(next, instr)
		}
	}
}

// instructions yields the instructions of all reached functions, each with its function.
func (r *reach) instructions() iter.Seq2[*reached, ssa.Instruction] {
	return func(yield func(*reached, ssa.Instruction) bool) {
		for _, in := range r.order {
			for instr := range instructionsOf(in.fn) {
				if !yield(in, instr) {
					return
				}
			}
		}
	}
}

// instructionsOf yields the instructions of a function.
func instructionsOf(fn *ssa.Function) iter.Seq[ssa.Instruction] {
	return func(yield func(ssa.Instruction) bool) {
		for _, block := range fn.Blocks {
			for _, instr := range block.Instrs {
				if !yield(instr) {
					return
				}
			}
		}
	}
}

// entries returns main and the initializers of a program, or all exported functions of packages without a main.
func (p *program) entries(mains []*packages.Package) []*ssa.Function {
	var roots []*ssa.Function
	for _, pkg := range mains {
		s := p.ssa.Package(pkg.Types)
		if s == nil {
			continue
		}
		if fn := s.Func("main"); fn != nil {
			roots = append(roots, fn)
		}
		if fn := s.Func("init"); fn != nil {
			roots = append(roots, fn)
		}
	}
	if len(mains) > 0 {
		return roots
	}
	for _, pkg := range p.own {
		s := p.ssa.Package(pkg.Types)
		if s == nil {
			continue
		}
		scope := pkg.Types.Scope()
		for _, name := range scope.Names() {
			switch obj := scope.Lookup(name).(type) {
			case *types.Func:
				if fn := p.ssa.FuncValue(obj); fn != nil && obj.Exported() && obj.Signature().TypeParams() == nil {
					roots = append(roots, fn)
				}
			case *types.TypeName:
				roots = append(roots, p.exportedMethods(obj)...)
			}
		}
	}
	return roots
}

func (p *program) exportedMethods(obj *types.TypeName) []*ssa.Function {
	named, ok := obj.Type().(*types.Named)
	if !ok || !obj.Exported() || named.TypeParams() != nil {
		return nil
	}
	var all []*ssa.Function
	for m := range named.Methods() {
		if fn := p.ssa.FuncValue(m); fn != nil && m.Exported() {
			all = append(all, fn)
		}
	}
	return all
}

// add records that a function is called. It skips functions without a body, which belong to libraries.
func (r *reach) add(fn *ssa.Function, by *reached, from token.Pos) {
	if fn == nil || r.found[fn] != nil || len(fn.Blocks) == 0 {
		return
	}
	next := &reached{fn: fn, by: by, from: from}
	r.found[fn] = next
	r.order = append(r.order, next)
	r.queue = append(r.queue, next)
}

func (r *reach) instruction(in *reached, instr ssa.Instruction) {
	var callee ssa.Value // operand that is called, and not used as a value
	if call, ok := instr.(ssa.CallInstruction); ok {
		common := call.Common()
		callee = common.Value
		r.call(in, common, call.Pos())
	}
	if m, ok := instr.(*ssa.MakeInterface); ok {
		r.convert(in, m.X.Type(), m.Type(), conversionAt(m, in.fn))
	}
	var operands [16]*ssa.Value
	for _, operand := range instr.Operands(operands[:0]) {
		if *operand == nil || *operand == callee {
			continue
		}
		if fn, ok := (*operand).(*ssa.Function); ok {
			r.value(in, fn, positionOf(instr, in.fn))
		}
	}
}

// conversionAt returns the position of a conversion. If the conversion is not in the source, it returns the position of
// the instruction that uses the result, such as a call.
func conversionAt(m *ssa.MakeInterface, fn *ssa.Function) token.Pos {
	if m.Pos().IsValid() {
		return m.Pos()
	}
	for _, user := range *m.Referrers() {
		if user.Pos().IsValid() {
			return user.Pos()
		}
	}
	return positionOf(m, fn)
}

// positionOf returns the position of an instruction, of one of its operands, or of its function.
func positionOf(instr ssa.Instruction, fn *ssa.Function) token.Pos {
	if instr.Pos().IsValid() {
		return instr.Pos()
	}
	var operands [16]*ssa.Value
	for _, operand := range instr.Operands(operands[:0]) {
		if *operand != nil && (*operand).Pos().IsValid() {
			return (*operand).Pos()
		}
	}
	return fn.Pos()
}

// call follows one call.
func (r *reach) call(in *reached, call *ssa.CallCommon, pos token.Pos) {
	switch {
	case call.IsInvoke():
		invoked := invocation{in, call, pos}
		r.invokes = append(r.invokes, invoked)
		for _, t := range r.concrete {
			r.invoke(invoked, t)
		}
	case call.StaticCallee() != nil:
		fn := call.StaticCallee()
		r.callers[fn] = append(r.callers[fn], callEdge{call: call})
		r.add(fn, in, pos)
	default:
		signature := signatureOf(call.Signature())
		invoked := invocation{in, call, pos}
		r.dynamic[signature] = append(r.dynamic[signature], invoked)
		for _, fn := range r.values[signature] {
			r.callers[fn] = append(r.callers[fn], callEdge{call: call})
		}
	}
}

// value records that a function is used as a value. The analysis assumes that code which receives the value calls it.
func (r *reach) value(in *reached, fn *ssa.Function, pos token.Pos) {
	signature := signatureOf(fn.Signature)
	if !slices.Contains(r.values[signature], fn) {
		r.values[signature] = append(r.values[signature], fn)
		for _, invoked := range r.dynamic[signature] {
			r.callers[fn] = append(r.callers[fn], callEdge{call: invoked.call})
		}
	}
	r.add(fn, in, pos)
}

// signatureOf returns the parameter and result types of a signature as a key.
func signatureOf(s *types.Signature) string {
	var key strings.Builder
	for _, tuple := range []*types.Tuple{s.Params(), s.Results()} {
		for v := range tuple.Variables() {
			key.WriteString(types.TypeString(v.Type(), nil))
			key.WriteByte(',')
		}
		key.WriteByte(';')
	}
	if s.Variadic() {
		key.WriteString("...")
	}
	return key.String()
}

// called are methods that libraries call after a type assertion from another interface.
var called = []string{"Default", "ValidateCreate", "ValidateUpdate", "ValidateDelete", "Start", "Run", "Reconcile",
	"Handle", "ServeHTTP"}

// convert records that a concrete type becomes an interface.
func (r *reach) convert(in *reached, concrete, to types.Type, pos token.Pos) {
	if types.IsInterface(concrete) || !r.hasBodies(concrete) {
		return
	}
	if r.converted[concrete] == nil {
		r.converted[concrete] = in
		r.at[concrete] = pos
		r.concrete = append(r.concrete, concrete)
		for _, invoked := range r.invokes {
			r.invoke(invoked, concrete)
		}
	}
	target, ok := to.Underlying().(*types.Interface)
	if !ok {
		return
	}
	if named, isNamed := types.Unalias(to).(*types.Named); isNamed && named.Obj().Pkg() != nil &&
		r.p.isRead(named.Obj().Pkg()) {
		return // only analyzed code can call the methods
	}
	methods := r.p.ssa.MethodSets.MethodSet(concrete)
	for sel := range methods.Methods() {
		name := sel.Obj().Name()
		if forwards(sel) {
			continue
		}
		if wanted, _, _ := types.LookupFieldOrMethod(target, false, sel.Obj().Pkg(), name); wanted != nil ||
			slices.Contains(called, name) {
			r.add(r.p.ssa.MethodValue(sel), in, pos)
		}
	}
}

// hasBodies reports whether the methods of a type can have bodies that are analyzed.
func (r *reach) hasBodies(t types.Type) bool {
	named := namedOf(t)
	return named == nil || named.Obj().Pkg() != nil && r.p.isRead(named.Obj().Pkg())
}

func (p *program) isRead(pkg *types.Package) bool { return p.bodies[pkg] != nil }

// body returns the function with which a concrete type implements a method of an interface, or nil if the function has
// no body or belongs to an embedded interface.
func (r *reach) body(concrete types.Type, method *types.Func) *ssa.Function {
	sel := r.p.ssa.MethodSets.MethodSet(concrete).Lookup(method.Pkg(), method.Name())
	if sel == nil || forwards(sel) {
		return nil
	}
	fn := r.p.ssa.MethodValue(sel)
	if fn == nil || len(fn.Blocks) == 0 {
		return nil
	}
	return fn
}

// invoke adds the method of a concrete type that a call of an interface method can execute.
func (r *reach) invoke(i invocation, concrete types.Type) {
	if !r.implements(concrete, i.call.Value.Type()) {
		return
	}
	fn := r.body(concrete, i.call.Method)
	if fn == nil {
		return
	}
	r.callers[fn] = append(r.callers[fn], callEdge{call: i.call, invoke: true})
	r.add(fn, i.in, i.pos)
}

func (r *reach) implements(concrete, target types.Type) bool {
	key := [2]types.Type{concrete, target}
	known, ok := r.implemented[key]
	if !ok {
		i, isInterface := target.Underlying().(*types.Interface)
		known = isInterface && types.Implements(concrete, i)
		r.implemented[key] = known
	}
	return known
}

// forwards reports whether a method belongs to an interface that is embedded in a struct. A call of such a method is a
// call of the interface.
func forwards(sel *types.Selection) bool {
	recv := sel.Obj().(*types.Func).Signature().Recv()
	return recv != nil && types.IsInterface(recv.Type())
}

// chain returns the frames from a root to a function.
func (r *reach) chain(to *reached) []Frame {
	var frames []Frame
	next := token.NoPos // where the function calls the next one
	for at := to; at != nil; at = at.by {
		if !isWrapper(at.fn) {
			frames = append(frames, Frame{Func: functionName(at.fn), Pos: r.p.at(next)})
		}
		if at.from.IsValid() {
			next = at.from
		}
	}
	slices.Reverse(frames)
	return frames
}

// isWrapper reports whether a function is not in the source, such as a promoted method or a method value.
func isWrapper(fn *ssa.Function) bool {
	return fn.Synthetic != "" && fn.Syntax() == nil && fn.Name() != "init"
}

// functionName returns the name of a function as its package writes it, such as "(*GuestbookReconciler).Reconcile".
func functionName(fn *ssa.Function) string {
	name := fn.RelString(nil)
	if fn.Parent() != nil {
		return functionName(fn.Parent()) + strings.TrimPrefix(fn.Name(), fn.Parent().Name())
	}
	name = withoutTypeArguments(strings.TrimSuffix(strings.TrimSuffix(name, "$bound"), "$thunk"))
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		prefix := ""
		if strings.HasPrefix(name, "(*") {
			prefix = "(*"
		} else if strings.HasPrefix(name, "(") {
			prefix = "("
		}
		name = prefix + name[i+1:]
	}
	return name
}

// withoutTypeArguments removes the type arguments in brackets.
func withoutTypeArguments(name string) string {
	depth := 0
	return strings.Map(func(c rune) rune {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case depth == 0:
			return c
		}
		return -1
	}, name)
}

// aliases are the variables of package controller-runtime that hold functions of its other packages.
var aliases = map[string]string{
	"NewManager": "/pkg/manager New", "SetControllerReference": "/pkg/controller/controllerutil SetControllerReference",
	"CreateOrUpdate":      "/pkg/controller/controllerutil CreateOrUpdate",
	"NewWebhookManagedBy": "/pkg/builder WebhookManagedBy",
}

// aliased returns the function that a variable of package controller-runtime holds, or nil.
func (p *program) aliased(v ssa.Value) *types.Func {
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return nil
	}
	global, ok := load.X.(*ssa.Global)
	if !ok || global.Pkg == nil || global.Pkg.Pkg.Path() != controllerRuntimePath {
		return nil
	}
	below, name, _ := strings.Cut(aliases[global.Name()], " ")
	signature, ok := global.Type().Underlying().(*types.Pointer).Elem().Underlying().(*types.Signature)
	if name == "" || !ok {
		return nil
	}
	// The program may not import the package of the function, so the function's own declaration may not be loaded.
	return types.NewFunc(global.Pos(), types.NewPackage(controllerRuntimePath+below, path.Base(below)), name, signature)
}

// runsManager reports whether the program creates a manager, or runs client-go's informers.
func (r *reach) runsManager() bool {
	for _, instr := range r.instructions() {
		if call, ok := instr.(ssa.CallInstruction); ok && r.p.isManager(call.Common()) {
			return true
		}
	}
	return false
}

// isManager reports whether a call creates or runs a manager, an informer or a reflector.
func (p *program) isManager(call *ssa.CallCommon) bool {
	fn := cmp.Or(p.aliased(call.Value), targetOf(call), call.Method)
	if fn == nil {
		return false
	}
	pkg, name := pathOf(fn), fn.Name()
	switch pkg {
	case controllerRuntimePath + "/pkg/manager", runtimePath + "/manager", runtimePath + "/registry":
		return name == "New" || name == "Main"
	case clientGoPath + "/tools/cache":
		return strings.HasPrefix(name, "Run") || strings.HasPrefix(name, "New") && !strings.HasPrefix(name, "NewListWatch")
	}
	return strings.Contains(pkg+"/", "/informers/") && name == "Start"
}
