package code

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// IsReconciler reports whether a function has the signature of a reconciler or of a part of one: it takes a context and
// returns a Result and an error.
func IsReconciler(fn *ssa.Function) bool {
	results, params := fn.Signature.Results(), fn.Signature.Params()
	return results.Len() == 2 && IsResult(results.At(0).Type()) && IsError(results.At(1).Type()) && params.Len() > 0 &&
		IsContext(params.At(0).Type())
}

// isWorker reports whether a function takes a key from a work queue of client-go and marks it done.
func isWorker(fn *ssa.Function) bool {
	var gets, done bool
	for instr := range Instructions(fn) {
		if call, ok := instr.(ssa.CallInstruction); ok {
			callee := Callee(call.Common())
			gets = gets || IsIn(callee, clientGo+"/util/workqueue", "Get")
			done = done || IsIn(callee, clientGo+"/util/workqueue", "Done")
		}
	}
	for _, literal := range fn.AnonFuncs {
		for call := range Calls(literal) {
			done = done || IsIn(Callee(&call.Call), clientGo+"/util/workqueue", "Done")
		}
	}
	return gets && done
}

// findReconciles sets Reconciles to the functions that reconcilers of the package call.
func (p *Package) findReconciles() {
	p.Reconciles = map[*ssa.Function]*ssa.Function{}
	var queue []*ssa.Function
	listed := map[*ssa.Function]bool{}
	for _, fn := range p.Funcs {
		listed[fn] = true
	}
	add := func(fn, caller *ssa.Function) {
		if fn != nil && p.Reconciles[fn] == nil && listed[fn] {
			p.Reconciles[fn] = caller
			queue = append(queue, fn)
		}
	}
	for _, fn := range p.Funcs {
		if IsReconciler(fn) || isWorker(fn) {
			add(fn, fn)
		}
	}
	for len(queue) > 0 {
		fn := queue[0]
		queue = queue[1:]
		for instr := range Instructions(fn) {
			switch x := instr.(type) {
			case *ssa.Call:
				add(p.Local(&x.Call), fn)
			case *ssa.Defer:
				add(p.Local(&x.Call), fn)
			case *ssa.MakeClosure:
				if !startsGoroutine(x) {
					add(local(x.Fn.(*ssa.Function)), fn)
				}
			}
		}
	}
}

// startsGoroutine reports whether a go statement starts a function literal.
func startsGoroutine(closure *ssa.MakeClosure) bool {
	return slices.ContainsFunc(*closure.Referrers(), func(use ssa.Instruction) bool {
		_, started := use.(*ssa.Go)
		return started
	})
}

// findReaders finds the struct fields that the package sets to a client, and where each client reads from.
func (p *Package) findReaders() {
	p.fields = map[*types.Var]reader{}
	for _, fn := range p.Funcs {
		for instr := range Instructions(fn) {
			store, ok := instr.(*ssa.Store)
			if !ok {
				continue
			}
			field := FieldVar(store.Addr)
			if field == nil {
				continue
			}
			if r := p.sourceReader(Unwrap(store.Val)); r != unknownReader {
				if before, known := p.fields[field]; known && before != r {
					r = unknownReader
				}
				p.fields[field] = r
			}
		}
	}
}

// sourceReader returns where a client reads from, if a library function returned the client.
func (p *Package) sourceReader(v ssa.Value) reader {
	if extract, ok := v.(*ssa.Extract); ok {
		v = extract.Tuple
	}
	call, ok := v.(*ssa.Call)
	if !ok {
		return unknownReader
	}
	fn := Callee(&call.Call)
	if fn == nil || fn.Pkg() == nil {
		return unknownReader
	}
	switch path := fn.Pkg().Path(); {
	case within(path, peerPath) && fn.Name() == "GetAPIReader", path == runtimePath+"/manager" && fn.Name() == "Live",
		path == peerPath+"/pkg/client" && fn.Name() == "New":
		return liveReader
	case within(path, peerPath) && fn.Name() == "GetClient",
		within(path, runtimePath) && fn.Name() == "Client" && fn.Signature().Recv() != nil:
		return cachedReader
	}
	return unknownReader
}

// Reader returns where a client reads from.
func (p *Package) Reader(v ssa.Value) reader {
	if v == nil {
		return unknownReader
	}
	v = Unwrap(v)
	if path, name := NameOf(v.Type()); path == runtimePath+"/client" && name == "REST" {
		return liveReader
	}
	if r := p.sourceReader(v); r != unknownReader {
		return r
	}
	if load, ok := v.(*ssa.UnOp); ok && load.Op == token.MUL {
		if field := FieldVar(load.X); field != nil {
			if r, known := p.fields[field]; known {
				return r
			}
			switch strings.ToLower(field.Name()) {
			case "apireader", "livereader", "uncachedreader", "apiclient", "liveclient", "uncachedclient":
				return liveReader
			}
		}
	}
	path, name := NameOf(v.Type())
	if name == "Client" && (path == peerPath+"/pkg/client" || path == runtimePath+"/client") {
		return cachedReader
	}
	return unknownReader
}

// Live reports whether a call certainly reads from the API server instead of a cache.
func (p *Package) Live(op *Op) bool {
	if op.Clientset || p.Reader(op.Receiver) == liveReader {
		return true
	}
	for _, option := range op.Options {
		if IsNamed(option.Type(), runtimePath+"/client", "LiveRead") {
			return true
		}
	}
	return false
}

// ReadsCache reports whether a call reads a kind through the client of a manager, which reads from the cache.
func (p *Package) ReadsCache(op *Op) bool {
	return op.Reads() && op.Kind != "" && !op.Status && !op.Clientset && op.OptionsKnown && !p.Live(op) &&
		p.Reader(op.Receiver) == cachedReader
}

// findHandlers finds the parameters that receive cached objects from libraries, such as the parameters of event
// handlers.
func (p *Package) findHandlers() {
	p.handlers = map[*ssa.Parameter]bool{}
	for _, fn := range append([]*ssa.Function{p.initial}, p.Funcs...) {
		for instr := range Instructions(fn) {
			switch x := instr.(type) {
			case *ssa.Store:
				if field, ok := x.Addr.(*ssa.FieldAddr); ok && handlerStruct(field.X.Type()) {
					p.handler(x.Val)
				}
			case *ssa.Call:
				if handlerFunc(Callee(&x.Call)) {
					for _, arg := range x.Call.Args {
						p.handler(arg)
					}
				}
			}
		}
	}
}

func handlerStruct(t types.Type) bool {
	path, name := NameOf(t)
	switch path {
	case clientGo + "/tools/cache":
		return name == "ResourceEventHandlerFuncs" || name == "ResourceEventHandlerDetailedFuncs" ||
			name == "FilteringResourceEventHandler"
	case peerPath + "/pkg/predicate", peerPath + "/pkg/handler":
		return name == "Funcs" || name == "TypedFuncs"
	}
	return false
}

func handlerFunc(fn *types.Func) bool {
	return Is(fn, "pkg/handler", "handler", "EnqueueRequestsFromMapFunc", "TypedEnqueueRequestsFromMapFunc", "ForObject",
		"Map") || Is(fn, "pkg/predicate", "predicate", "NewPredicateFuncs", "NewTypedPredicateFuncs", "Object", "Event")
}

// handler records the parameters of a function value that receive cached objects.
func (p *Package) handler(v ssa.Value) {
	v = Unwrap(v)
	var fn *ssa.Function
	skip := 0
	switch x := v.(type) {
	case *ssa.Function:
		fn = x
	case *ssa.MakeClosure:
		fn = x.Fn.(*ssa.Function)
	}
	if fn != nil && fn.Synthetic != "" && fn.Object() != nil { // a method value
		if object, ok := fn.Object().(*types.Func); ok {
			fn, skip = p.Prog.FuncValue(object), 1
		}
	}
	if fn == nil || len(fn.Params) < skip {
		return
	}
	for _, param := range fn.Params[skip:] {
		if IsContext(param.Type()) {
			continue
		}
		path, name := NameOf(param.Type())
		isEvent := strings.HasSuffix(name, "Event") && (within(path, peerPath) || within(path, runtimePath))
		_, isAny := param.Type().Underlying().(*types.Interface)
		if isEvent || isAny && path != peerPath+"/pkg/handler" && !within(path, clientGo) && !queueType(name) ||
			IsObject(param.Type()) {
			p.handlers[param] = true
		}
	}
}

func queueType(name string) bool {
	return strings.Contains(name, "Queue") || strings.Contains(name, "RateLimiting")
}

// Scope is the fact that a kind is cluster-scoped or namespaced.
type Scope struct{ Cluster bool }

// AFact implements [analysis.Fact]. A Scope is a fact about a type.
func (*Scope) AFact() {}

func (s *Scope) String() string { return "scope" }

// findScopes reads the scope of each kind in the package from its markers, and exports it to importing packages.
func (p *Package) findScopes() {
	for _, file := range p.Files {
		for _, decl := range file.Decls {
			decl, ok := decl.(*ast.GenDecl)
			if !ok || decl.Tok != token.TYPE || len(decl.Specs) != 1 {
				continue
			}
			spec := decl.Specs[0].(*ast.TypeSpec)
			object := p.TypesInfo.Defs[spec.Name]
			n, isNamed := object.Type().(*types.Named)
			if !isNamed || !hasField(n, "ObjectMeta") {
				continue
			}
			root, cluster := markersBefore(file, decl)
			if root {
				p.ExportObjectFact(object, &Scope{Cluster: cluster})
			}
		}
	}
}

// markersBefore reports whether the markers above a declaration declare a kind, and whether it is cluster-scoped.
func markersBefore(file *ast.File, decl *ast.GenDecl) (root, cluster bool) {
	var previous token.Pos
	for _, other := range file.Decls {
		if other.End() < decl.Pos() {
			previous = max(previous, other.End())
		}
	}
	for _, group := range file.Comments {
		if group.Pos() < previous || group.Pos() > decl.Pos() {
			continue
		}
		for _, comment := range group.List {
			text := strings.TrimSpace(strings.TrimPrefix(comment.Text, "//"))
			root = root || strings.HasPrefix(text, "+kubebuilder:object:root=true") ||
				strings.HasPrefix(text, "+kubebuilder:resource") || strings.HasPrefix(text, "+genclient")
			cluster = cluster || strings.HasPrefix(text, "+genclient:nonNamespaced") ||
				strings.HasPrefix(text, "+kubebuilder:resource") && strings.Contains(strings.ToLower(text), "scope=cluster") ||
				strings.HasPrefix(text, "+kubebuilder:resource") && strings.Contains(strings.ToLower(text), "scope=\"cluster\"")
		}
	}
	return root, cluster
}

// clusterKinds are the built-in cluster-scoped kinds that operators create.
var clusterKinds = []string{
	"k8s.io/api/core/v1.Namespace", "k8s.io/api/core/v1.Node", "k8s.io/api/core/v1.PersistentVolume",
	"k8s.io/api/rbac/v1.ClusterRole", "k8s.io/api/rbac/v1.ClusterRoleBinding", "k8s.io/api/storage/v1.StorageClass",
	"k8s.io/api/scheduling/v1.PriorityClass",
	"k8s.io/api/admissionregistration/v1.ValidatingWebhookConfiguration",
	"k8s.io/api/admissionregistration/v1.MutatingWebhookConfiguration",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.CustomResourceDefinition",
}

// ScopeOf reports whether the objects of a type are cluster-scoped. known is false if their scope is not known.
func (p *Package) ScopeOf(t types.Type) (cluster, known bool) {
	kind := KindOf(t)
	if slices.Contains(clusterKinds, kind) {
		return true, true
	}
	n := named(t)
	if n == nil {
		return false, false
	}
	var fact Scope
	if p.ImportObjectFact(n.Obj(), &fact) {
		return fact.Cluster, true
	}
	for _, group := range []string{"core", "apps", "batch", "networking", "rbac", "policy", "autoscaling"} {
		if within(n.Obj().Pkg().Path(), "k8s.io/api/"+group) {
			return false, true
		}
	}
	return false, false
}

// Kinds is a fact about the kinds that a package uses.
type Kinds struct {
	// Secrets are the positions of code that makes controller-runtime's cache hold Secrets.
	Secrets []string
}

// AFact implements [analysis.Fact]. Kinds is a fact about a package.
func (*Kinds) AFact() {}

func (k *Kinds) String() string { return "kinds" }

const secretKind = "k8s.io/api/core/v1.Secret"

// findKinds exports the reconcilers and watches that make a manager's cache hold Secrets.
func (p *Package) findKinds() {
	var kinds Kinds
	for _, fn := range p.Funcs {
		if p.Reconciles[fn] == fn && peerReconciler(fn) && slices.Contains(p.summaries[fn].Reads, secretKind) {
			kinds.Secrets = append(kinds.Secrets, Describe(fn)+" at "+p.Short(fn.Pos())+" reads them")
		}
		for call := range Calls(fn) {
			if watch := WatchOf(call); watch != nil && watch.Kind == secretKind && !watch.Metadata &&
				within(Callee(&call.Call).Pkg().Path(), peerPath) {
				kinds.Secrets = append(kinds.Secrets, watch.Method+" at "+p.Short(call.Pos())+" watches them")
			}
		}
	}
	if len(kinds.Secrets) > 0 {
		p.ExportPackageFact(&kinds)
	}
}

// peerReconciler reports whether a function is a reconciler of controller-runtime.
func peerReconciler(fn *ssa.Function) bool {
	return IsReconciler(fn) && IsNamed(fn.Signature.Results().At(0).Type(), peerPath+"/pkg/reconcile", "Result")
}

// Secrets returns the positions in a package of code that makes a manager's cache hold Secrets.
func (p *Package) Secrets(pkg *types.Package) []string {
	var kinds Kinds
	if pkg == nil || !p.ImportPackageFact(pkg, &kinds) {
		return nil
	}
	return kinds.Secrets
}

// Watch is a builder call that declares a watch.
type Watch struct {
	Call   *ssa.Call
	Method string
	// Kind is "" if it is not known statically.
	Kind     string
	Metadata bool
	// Options are the remaining arguments, such as predicates.
	Options []ssa.Value
}

// WatchOf returns the watch that a builder call declares, or nil.
func WatchOf(call *ssa.Call) *Watch {
	fn := Callee(&call.Call)
	if fn == nil || fn.Pkg() == nil || fn.Signature().Recv() == nil && fn.Name() != "For" {
		return nil
	}
	if !within(fn.Pkg().Path(), peerPath+"/pkg/builder") && fn.Pkg().Path() != runtimePath+"/controller" {
		return nil
	}
	switch fn.Name() {
	case "For", "Owns", "OwnsOptional", "Watches", "WatchesOptional", "WatchesMetadata":
	case "WatchesRawSource", "WatchesSource":
		return &Watch{Call: call, Method: fn.Name()}
	default:
		return nil
	}
	w := &Watch{Call: call, Method: fn.Name(), Metadata: fn.Name() == "WatchesMetadata"}
	_, args := arguments(&call.Call)
	if fn.Signature().Recv() == nil { // controller.For[T](manager)
		if static := call.Call.StaticCallee(); static != nil && len(static.TypeArgs()) > 0 {
			w.Kind = KindOf(static.TypeArgs()[0])
		}
		return w
	}
	if len(args) == 0 {
		return w
	}
	w.Kind = KindOf(Unwrap(args[0]).Type())
	if options, ok := Elements(args[len(args)-1]); ok {
		w.Options = options
		for _, option := range options {
			if load, ok := option.(*ssa.UnOp); ok {
				if global, ok := load.X.(*ssa.Global); ok && global.Name() == "OnlyMetadata" {
					w.Metadata = true
				}
			}
		}
	}
	return w
}
