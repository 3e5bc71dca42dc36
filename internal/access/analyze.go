package access

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// Analyze returns the requests that the programs among the packages can send. It skips code that does not compile, and
// reports it in Result.Problems. It fails if it cannot load the packages, or if no packages match.
func Analyze(ctx context.Context, cfg Config) (*Result, error) {
	if cfg.Cache.Dir == "" {
		return analyze(ctx, cfg)
	}
	key, keyed := cfg.key(ctx)
	cached := &Result{}
	if keyed && cfg.Cache.GetValue(key, cached) {
		return cached, nil
	}
	result, err := analyze(ctx, cfg)
	if err == nil && keyed {
		cfg.Cache.PutValue(key, result)
	}
	return result, err
}

func analyze(ctx context.Context, cfg Config) (*Result, error) {
	p, err := load(ctx, cfg)
	if err != nil {
		return nil, err
	}
	p.build()
	p.skipped()
	mains, r := p.programs(ctx, len(cfg.Patterns) > 0 && !slices.Contains(cfg.Patterns, "./..."))
	a := &analysis{
		flow: newFlow(r), kinds: newKinds(p), ignored: p.ignores(), watched: map[Resource]bool{}, known: map[string]bool{},
	}
	for in, instr := range r.instructions() {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		switch instr := instr.(type) {
		case ssa.CallInstruction:
			a.visit(in, instr)
		case *ssa.Store:
			a.store(in, instr)
		}
	}
	a.libraryReviews(mains)
	a.settle()
	a.finishWebhooks(mains)
	unknown := a.roles()
	result := &Result{Accesses: a.found, Webhooks: a.webhooks, UnknownRoles: unknown, Problems: p.problems}
	if len(cfg.Patterns) == 0 || slices.Contains(cfg.Patterns, "./...") {
		if result.Modules = p.modulesBelow(); len(result.Modules) > 0 {
			result.Webhooks.unknown("module " + result.Modules[0] + " was not analyzed")
		}
	}
	for _, pkg := range mains {
		result.Roots = append(result.Roots, pkg.PkgPath)
	}
	result.Packages = p.linked(mains)
	slices.SortFunc(result.Accesses, compare)
	return result, ctx.Err()
}

// analysis collects the accesses of reached calls.
type analysis struct {
	*flow
	kinds   *kinds
	ignored map[token.Position]string // reasons in //kctrl:ignore rbac: comments, by line
	found   []Access
	known   map[string]bool
	reads   []Access          // reads with kctrl's clients, which settle decides when all watched kinds are known
	watched map[Resource]bool // kinds with an informer in kctrl's runtime

	webhooks Webhooks

	settings *settings       // nil until the analysis finds an unstructured object
	options  *clientSettings // nil until the analysis finds a cached read
}

// site is a call under analysis.
type site struct {
	*analysis
	in     *reached
	call   *ssa.CallCommon
	value  *ssa.Call // nil for go and defer statements
	pos    token.Pos
	target *types.Func
	callee *ssa.Function // nil for calls of interface methods
	name   string        // of the target: "client.Writer.Create"
	pkg    string        // import path of the target
	recv   string        // name of the target's receiver type, or ""
	client ssa.Value     // client that is an argument of the call; nil means the receiver
}

func (a *analysis) visit(in *reached, instr ssa.CallInstruction) {
	call := instr.Common()
	s := &site{analysis: a, in: in, call: call, pos: instr.Pos()}
	s.value, _ = instr.(*ssa.Call)
	if call.IsInvoke() {
		s.target = call.Method
	} else if fn := a.p.aliased(call.Value); fn != nil {
		s.target = fn
	} else if fn := call.StaticCallee(); fn != nil && len(fn.Blocks) == 0 {
		s.callee, s.target = fn, targetOf(call)
	}
	if s.target == nil || s.target.Pkg() == nil {
		return
	}
	s.pkg = s.target.Pkg().Path()
	if recv := s.target.Signature().Recv(); recv != nil {
		_, s.recv = typeName(recv.Type())
	}
	s.name = s.target.Pkg().Name() + "." + s.target.Name()
	if s.recv != "" {
		s.name = s.target.Pkg().Name() + "." + s.recv + "." + s.target.Name()
	}
	for _, know := range libraryCalls {
		if know(s) {
			return
		}
	}
}

// libraryCalls recognize the calls that send requests or serve webhooks. Each function reports whether it recognizes
// the target, and records its requests or webhooks.
var libraryCalls = []func(*site) bool{
	(*site).servesWebhooks,
	(*site).objectClient, (*site).subresourceClient, (*site).watchers, (*site).utilities, (*site).recorders,
	(*site).managers, (*site).typedClient, (*site).dynamicClient, (*site).restRequest, (*site).informerFactory,
}

// arg returns the i-th argument after the receiver, or nil.
func (s *site) arg(i int) ssa.Value {
	if !s.call.IsInvoke() && s.target.Signature().Recv() != nil {
		i++
	}
	if i >= len(s.call.Args) {
		return nil
	}
	return s.call.Args[i]
}

// receiver returns the value whose method is called, or nil.
func (s *site) receiver() ssa.Value {
	switch {
	case s.client != nil:
		return s.client
	case s.call.IsInvoke():
		return s.call.Value
	case s.target.Signature().Recv() != nil && len(s.call.Args) > 0:
		return s.call.Args[0]
	}
	return nil
}

// typeArgument returns a type argument of a generic function, or nil.
func (s *site) typeArgument(i int) types.Type {
	if s.callee == nil || i >= len(s.callee.TypeArgs()) {
		return nil
	}
	return s.callee.TypeArgs()[i]
}

// add records an access for each verb and each kind.
func (s *site) add(all []Access, reason string, verbs ...string) {
	for _, access := range all {
		for _, verb := range verbs {
			access.Verb, access.Reason = verb, reason
			s.record(access)
		}
	}
}

// record records an access at the site, if it is not recorded yet.
func (s *site) record(access Access) {
	access.Site = s.site()
	s.keep(access)
}

func (a *analysis) keep(access Access) {
	key := fmt.Sprint(access.Site.Pos, access.Verb, access.Resource, access.Names, access.Unproven, access.Namespace,
		access.Granted, access.Optional)
	if !a.known[key] {
		a.known[key] = true
		a.found = append(a.found, access)
	}
}

func (s *site) site() Site { return s.siteIn(s.in, s.p.at(s.pos), s.name) }

// siteIn returns the site of a call at a position of a function, with its chain and the reason in its //kctrl:ignore
// comment.
func (a *analysis) siteIn(in *reached, pos token.Position, call string) Site {
	chain := a.chain(in)
	if len(chain) > 0 {
		chain[len(chain)-1].Pos = pos
	}
	// A call in a library has the position of the project's call into the library.
	at := a.project(pos, chain)
	above := token.Position{Filename: at.Filename, Line: at.Line - 1}
	ignored := cmp.Or(a.ignored[token.Position{Filename: at.Filename, Line: at.Line}], a.ignored[above])
	return Site{Pos: at, Call: call, Chain: chain, Ignored: ignored}
}

// project returns the position of the last frame of the chain whose call is in the analyzed directory.
func (a *analysis) project(pos token.Position, chain []Frame) token.Position {
	for i := len(chain) - 1; i >= 0; i-- {
		if name := chain[i].Pos.Filename; name != "" && !strings.HasPrefix(name, "/") {
			return chain[i].Pos
		}
	}
	return pos
}

// IgnorePrefix begins a comment that exempts a call or a marker from kctrl rbac.
const IgnorePrefix = "//kctrl:ignore rbac:"

// ignores returns the reasons of comments that exempt calls, by file and line.
func (p *program) ignores() map[token.Position]string {
	found := map[token.Position]string{}
	for _, pkg := range p.own {
		for _, file := range pkg.Syntax {
			for _, group := range file.Comments {
				p.ignoresIn(group, found)
			}
		}
	}
	return found
}

func (p *program) ignoresIn(group *ast.CommentGroup, found map[token.Position]string) {
	for _, comment := range group.List {
		if why, ok := strings.CutPrefix(comment.Text, IgnorePrefix); ok {
			at := p.at(comment.Pos())
			found[token.Position{Filename: at.Filename, Line: at.Line}] = strings.TrimSpace(why)
		}
	}
}

// settle records the requests of reads with kctrl's clients. Watched kinds are read from informers, and all other kinds
// directly from the API server.
func (a *analysis) settle() {
	for _, access := range a.reads {
		verbs, reason := []string{access.Verb}, reasonUnwatched
		if a.watched[access.Resource] {
			verbs, reason = []string{List, Watch}, reasonCached
		}
		for _, verb := range verbs {
			access.Verb, access.Reason = verb, reason
			a.keep(access)
		}
	}
}

// The values of Access.Reason.
const (
	reasonCached    = "a cached read lists and watches"
	reasonLive      = "a live read"
	reasonUnwatched = "a read of a kind that nothing watches is live"
	reasonInformer  = "an informer lists and watches"
	reasonWrite     = "a write"
	reasonApply     = "an apply patches, and creates what does not exist"
	reasonStatus    = "a write of a subresource"
	reasonOwner     = "an owner reference that blocks the deletion of its owner needs update on the owner's finalizers"
	reasonEvents    = "a recorder creates events, and patches repeated ones"
	reasonLease     = "leader election reads, creates and updates its lease"
	reasonMetrics   = "the metrics server asks the API server who a client is and what it may read"
)

// access returns an access without a verb for a kind.
func (k kind) access(subresource string) Access {
	name := k.Plural
	if subresource != "" {
		name += "/" + subresource
	}
	return Access{Resource: Resource{k.Group, name}, Scope: k.Scope, Guessed: k.Guessed}
}

// objects returns an access without a verb for each kind that an object, a list or an apply configuration can have.
func (s *site) objects(v ssa.Value, subresource string) (all []Access) {
	if v == nil {
		return nil
	}
	if others, forwards := s.forwarded(v); forwards {
		for _, argument := range others {
			all = append(all, s.objects(argument, subresource)...)
		}
		return all
	}
	found, complete := s.types(v)
	for _, t := range found {
		all = append(all, s.kindsOf(t, v, subresource)...)
	}
	if !complete || len(found) == 0 {
		all = append(all, unproven("the kind of the object is not known: "+s.expression(v), subresource))
	}
	names, doubt := s.names(v), s.doubt(v)
	for i := range all {
		if len(found) == 1 && complete {
			all[i].Names = names
		}
		if doubt != "" {
			all[i].Doubt = doubt
		}
	}
	return all
}

// doubt returns the reason why the call may not send a request for each kind that v can have, or "".
func (s *site) doubt(v ssa.Value) string {
	if s.passesOn(v) {
		return "the call is in a wrapper of a client, which receives objects of several kinds"
	}
	if !s.call.IsInvoke() {
		return ""
	}
	clients, complete := s.flow.types(place{s.call.Value, ""})
	doubt := ""
	for _, t := range clients {
		fn := s.body(t, s.call.Method)
		at := 1 + slices.Index(s.call.Args, v) // after the receiver
		if fn == nil || at >= len(fn.Params) || s.sends(fn, fn.Params[at]) {
			return ""
		}
		doubt = functionName(fn) + " may send another request or none"
	}
	if !complete {
		return ""
	}
	return doubt
}

// sends reports whether a method of a wrapper calls the same method of a client with the object that it received.
func (s *site) sends(fn *ssa.Function, object *ssa.Parameter) bool {
	received := func(p place) bool { return p.v == object }
	for instr := range instructionsOf(fn) {
		call, ok := instr.(ssa.CallInstruction)
		if !ok || calledName(call.Common()) != fn.Name() {
			continue
		}
		for _, arg := range call.Common().Args {
			if from, _ := s.origins(place{arg, ""}, true, received); slices.ContainsFunc(from, received) {
				return true
			}
		}
	}
	return false
}

// forwarded reports whether v is a parameter of a method that calls the same method of another client or cache, as
// wrappers do. A caller that calls the wrapper through the interface has its own site. others are the arguments of the
// remaining callers.
func (s *site) forwarded(v ssa.Value) (others []ssa.Value, forwards bool) {
	param, ok := v.(*ssa.Parameter)
	if !ok || !s.call.IsInvoke() {
		return nil, false
	}
	fn := param.Parent()
	at := slices.Index(fn.Params, param)
	if at == 0 || !s.wraps(fn) {
		return nil, false
	}
	for _, edge := range s.callers[fn] {
		switch {
		case !edge.invoke && at < len(edge.call.Args):
			others = append(others, edge.call.Args[at])
		case edge.invoke && edge.call.Method.Pkg() != s.target.Pkg():
			others = append(others, edge.call.Args[at-1])
		}
	}
	return others, true
}

// passesOn reports whether the call is in a method of a client, and v may be an object that its caller created.
func (s *site) passesOn(v ssa.Value) bool {
	if inClient, _ := clientSignature(s.in.fn.Signature); !inClient {
		return false
	}
	roots := s.roots(v)
	return len(roots) == 0 || slices.ContainsFunc(roots, func(root ssa.Value) bool {
		alloc, ok := root.(*ssa.Alloc)
		return !ok || alloc.Parent() != s.in.fn
	})
}

// wraps reports whether fn is the method of another type with the name and the signature of the called method.
func (s *site) wraps(fn *ssa.Function) bool {
	return fn.Signature.Recv() != nil && fn.Name() == s.target.Name() &&
		types.Identical(withoutReceiver(fn.Signature), withoutReceiver(s.target.Signature()))
}

func withoutReceiver(signature *types.Signature) *types.Signature {
	return types.NewSignatureType(nil, nil, nil, signature.Params(), signature.Results(), signature.Variadic())
}

func unproven(why, subresource string) Access {
	a := Access{Unproven: why}
	if subresource != "" {
		a.Resource.Name = "/" + subresource
	}
	return a
}

// kindsOf returns an access without a verb for each kind of a Go type. For unstructured objects, these are the kinds
// that the program sets.
func (s *site) kindsOf(t types.Type, v ssa.Value, subresource string) []Access {
	if isUntyped(t) {
		gvks, complete := s.gvks(v)
		all := s.ofKinds(gvks, complete, subresource, "the kind of "+shortType(t)+" is not a constant")
		for i := range gvks {
			all[i].untyped = true
			if len(gvks) > 1 && s.inLibrary() {
				all[i].Doubt = "a library chooses one of several kinds by its options"
			}
		}
		return all
	}
	found, why := s.kinds.of(t)
	if why != "" {
		return []Access{unproven(why, subresource)}
	}
	return []Access{found.access(subresource)}
}

// ofKinds returns an access without a verb for each kind. If there may be others, the last access is unproven for the
// reason why.
func (s *site) ofKinds(gvks []gvk, complete bool, subresource, why string) (all []Access) {
	for _, g := range gvks {
		all = append(all, s.kinds.named(g.group, g.kind).access(subresource))
	}
	if !complete || len(gvks) == 0 {
		all = append(all, unproven(why, subresource))
	}
	return all
}

// inLibrary reports whether the call is in another module.
func (s *site) inLibrary() bool {
	file := filepath.ToSlash(s.p.at(s.pos).Filename)
	return filepath.IsAbs(file) || strings.HasPrefix(file, "vendor/") || strings.HasPrefix(file, "third_party/")
}

// isUntyped reports whether objects of a Go type contain their kind as data.
func isUntyped(t types.Type) bool {
	pkg, name := typeName(t)
	name = strings.TrimSuffix(name, "List")
	return within(pkg, "k8s.io/apimachinery") && (name == "Unstructured" || name == "PartialObjectMetadata")
}

func shortType(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string { return p.Name() })
}

// expression describes the origin of a value for a message.
func (s *site) expression(v ssa.Value) string {
	found, _ := s.origins(place{v, ""}, true, func(p place) bool { return p.in == "" && !types.IsInterface(p.v.Type()) })
	for _, p := range found {
		if p.in == "" && !types.IsInterface(p.v.Type()) {
			continue
		}
		switch v := p.v.(type) {
		case *ssa.Call:
			return "it comes from a call of " + calledName(v.Common())
		case *ssa.Extract:
			if call, ok := v.Tuple.(*ssa.Call); ok {
				return "it comes from a call of " + calledName(call.Common())
			}
		case *ssa.Parameter:
			return "it is the parameter " + v.Name() + " of " + functionName(v.Parent())
		case *ssa.FieldAddr:
			t := v.X.Type().Underlying().(*types.Pointer).Elem()
			return "it is the field " + fieldAt(v).name + " of " + shortType(t)
		}
	}
	return "it is a value of " + shortType(v.Type())
}

// types returns the concrete types of a value. complete is false if the value can have other types.
func (s *site) types(v ssa.Value) (found []types.Type, complete bool) {
	return s.flow.types(place{v, ""})
}

// types returns the concrete types of a place. complete is false if the place can have other types.
func (f *flow) types(at place) (found []types.Type, complete bool) {
	origins, complete := f.origins(at, true, func(p place) bool {
		_, isInterface := p.v.(*ssa.MakeInterface)
		return p.in == "" && !isInterface && !types.IsInterface(p.v.Type())
	})
	for _, p := range origins {
		t := p.v.Type()
		switch v := p.v.(type) {
		case *ssa.Const:
			if v.Value == nil && types.IsInterface(t) || p.in != "" {
				continue
			}
		case *ssa.MakeInterface:
			t = v.X.Type()
		case *ssa.TypeAssert:
			t = v.AssertedType
		case *ssa.Extract:
			if made := prototype(v); made != nil {
				t = made
			}
		}
		if p.in != "" || types.IsInterface(t) {
			complete = false
			continue
		}
		if !slices.ContainsFunc(found, func(known types.Type) bool { return types.Identical(known, t) }) {
			found = append(found, t)
		}
	}
	return found, complete
}

// prototype returns T if v is the first result of handler.For[T], which is a new object, and nil otherwise.
func prototype(v *ssa.Extract) types.Type {
	call, ok := v.Tuple.(*ssa.Call)
	if !ok || v.Index != 0 {
		return nil
	}
	fn := call.Common().StaticCallee()
	if fn == nil || len(fn.TypeArgs()) == 0 || pathOf(targetOf(call.Common())) != runtimePath+"/handler" {
		return nil
	}
	return fn.TypeArgs()[0]
}

// constants returns the constant strings that a place can have. complete is false if it can have other values.
func (f *flow) constants(at place, alike bool) (found []string, complete bool) {
	origins, complete := f.origins(at, alike, nil)
	for _, p := range origins {
		c, ok := p.v.(*ssa.Const)
		switch {
		case !ok:
			complete = false
		case c.Value != nil && c.Value.Kind() == constant.String && !slices.Contains(found, constant.StringVal(c.Value)):
			found = append(found, constant.StringVal(c.Value))
		}
	}
	return found, complete
}

// constant returns the constant string of a place if it can have only one value, or "".
func (f *flow) constant(at place) string {
	if found, complete := f.constants(at, false); complete && len(found) == 1 {
		return found[0]
	}
	return ""
}
