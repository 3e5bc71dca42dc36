package access

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Webhooks describe the paths of the admission webhooks that the programs may serve. They include paths that the
// programs do not serve, but lack none.
type Webhooks struct {
	// Unknown is the reason why the programs may serve any path, or empty.
	Unknown string
	// Paths are the constants of the reached functions that may contain the path of a webhook, in order.
	Paths []string
	// Kinds are the kinds with webhooks at the default paths.
	Kinds []WebhookKind
}

// WebhookKind is a kind with webhooks at the default paths of the builders: /mutate-GROUP-VERSION-KIND and
// /validate-GROUP-VERSION-KIND.
type WebhookKind struct {
	Name string
	// Versions are the versions that the kind may have. Empty means any.
	Versions             []schema.GroupVersion
	Mutating, Validating bool
}

// MayServe reports whether the programs may serve a path. False is certain.
func (w Webhooks) MayServe(path string) bool {
	return w.Unknown != "" ||
		slices.ContainsFunc(w.Paths, func(known string) bool { return strings.Contains(known, path) }) ||
		slices.ContainsFunc(w.Kinds, func(k WebhookKind) bool { return k.mayServe(path) })
}

func (k WebhookKind) mayServe(path string) bool {
	version, isMutating := strings.CutPrefix(path, "/mutate-")
	version, isValidating := strings.CutPrefix(version, "/validate-")
	version, isOfKind := strings.CutSuffix(version, "-"+strings.ToLower(k.Name))
	if !isOfKind || !(isMutating && k.Mutating || isValidating && k.Validating) {
		return false
	}
	return len(k.Versions) == 0 || slices.ContainsFunc(k.Versions, func(gv schema.GroupVersion) bool {
		return version == strings.ReplaceAll(gv.Group, ".", "-")+"-"+gv.Version
	})
}

// unknown records why the programs may serve any path. It keeps the first reason.
func (w *Webhooks) unknown(why string) {
	if w.Unknown == "" {
		w.Unknown = why
	}
}

// finishWebhooks adds what does not depend on single calls: constants, and code that the analysis has not read.
func (a *analysis) finishWebhooks(mains []*packages.Package) {
	w := &a.webhooks
	switch {
	case len(a.p.problems) > 0:
		w.unknown("not all code was analyzed")
	case !a.runsManager():
		w.unknown("no program runs a manager")
	default:
		w.unknown(a.p.otherServers(mains))
	}
	texts := map[string]bool{}
	for _, instr := range a.instructions() {
		noteConstants(instr, texts)
	}
	w.Paths = slices.Sorted(maps.Keys(texts))
}

// noteConstants adds the constant operands of an instruction that may contain a path.
func noteConstants(instr ssa.Instruction, texts map[string]bool) {
	var operands [16]*ssa.Value
	for _, operand := range instr.Operands(operands[:0]) {
		if c, ok := (*operand).(*ssa.Const); ok && c.Value != nil && c.Value.Kind() == constant.String {
			if text := constant.StringVal(c.Value); strings.Contains(text, "/") {
				texts[text] = true
			}
		}
	}
}

// otherServers returns the reason why code outside of the reached functions may serve webhooks, or "".
func (p *program) otherServers(mains []*packages.Package) string {
	for _, pkg := range p.own {
		for _, used := range pkg.TypesInfo.Uses {
			if isServer(used) {
				return "package " + pkg.PkgPath + " has its own HTTP server"
			}
		}
		if pkg.Name == "main" && !slices.Contains(mains, pkg) && p.unread(pkg, p.hasWebhooks) != "" {
			return "the program " + pkg.PkgPath + " was not analyzed"
		}
	}
	for _, main := range mains {
		if path := p.unread(main, p.isUnread); path != "" {
			return "package " + path + " was not analyzed"
		}
	}
	return ""
}

// unread returns the path of a package that a program links and for which is returns true, or "". It does not enter
// libraries that the analysis recognizes.
func (p *program) unread(main *packages.Package, is func(*packages.Package) bool) (found string) {
	p.visit([]*packages.Package{main}, func(pkg *packages.Package) bool {
		if found != "" || isFramework(pkg.PkgPath) {
			return false
		}
		if is(pkg) {
			found = pkg.PkgPath
		}
		return true
	})
	return found
}

// isUnread reports whether a package is not analyzed and may register webhooks. The libraries of API servers only call
// webhooks.
func (p *program) isUnread(pkg *packages.Package) bool {
	read := slices.ContainsFunc(p.read, func(r *packages.Package) bool { return r.PkgPath == pkg.PkgPath })
	return !read && !within(pkg.PkgPath, "k8s.io/apiserver") && p.hasWebhooks(pkg)
}

// hasWebhooks reports whether a package imports a manager, a webhook server or the requests of webhooks.
func (p *program) hasWebhooks(pkg *packages.Package) bool {
	for path := range pkg.Imports {
		switch below, isRuntime := strings.CutPrefix(path, runtimePath+"/"); {
		case isRuntime && slices.Contains([]string{"manager", "controller", "registry", "webhook", "webhook/server",
			"webhook/admission"}, below),
			path == controllerRuntimePath, within(path, controllerRuntimePath+"/pkg/manager"),
			within(path, controllerRuntimePath+"/pkg/webhook"), within(path, controllerRuntimePath+"/pkg/builder"),
			within(path, "k8s.io/api/admission"):
			return true
		}
	}
	return false
}

// serverNames are the names of functions and types with which a program serves HTTP requests itself, by package.
var serverNames = map[string][]string{
	"net/http": {"Server", "ServeMux", "NewServeMux", "DefaultServeMux", "Handle", "HandleFunc", "ListenAndServe",
		"ListenAndServeTLS", "Serve", "ServeTLS"},
	"k8s.io/api/admission/v1":                        {"AdmissionReview"},
	"k8s.io/api/admission/v1beta1":                   {"AdmissionReview"},
	controllerRuntimePath + "/pkg/webhook":           {"WebhookMux"},
	controllerRuntimePath + "/pkg/webhook/admission": {"StandaloneWebhook"},
}

// isServer reports whether a program that uses an object may serve webhooks without a webhook server of the libraries.
func isServer(used types.Object) bool {
	return used.Pkg() != nil && slices.Contains(serverNames[used.Pkg().Path()], used.Name())
}

// The methods of webhook builders that add a handler or set the path of one kind of webhooks.
var (
	mutatingMethods   = []string{"WithDefaulter", "WithCustomDefaulter", "WithMutatingHandler"}
	validatingMethods = []string{"WithValidator", "WithCustomValidator", "WithValidatingHandler"}
	mutatePaths       = []string{"WithMutatePath", "WithDefaulterCustomPath", "WithCustomPath"}
	validatePaths     = []string{"WithValidatePath", "WithValidatorCustomPath", "WithCustomPath"}
)

// servesWebhooks recognizes the calls that create the webhooks of a kind, and records paths that are not constants.
func (s *site) servesWebhooks() bool {
	if isServer(s.target) || s.target.Name() == "AddKnownTypeWithName" || s.target.Name() == "HandleAll" {
		s.webhooks.unknown(s.name + " is called")
	}
	setsPath := slices.Contains(mutatePaths, s.target.Name()) || slices.Contains(validatePaths, s.target.Name())
	if setsPath || takesHandler(s.target.Signature()) {
		for _, arg := range s.call.Args {
			if isString(arg.Type()) && !s.isPath(arg, map[ssa.Value]bool{}) {
				s.webhooks.unknown("the path of " + s.name + " is not one constant")
			}
		}
	}
	switch s.key() {
	case runtimePath + "/webhook For", runtimePath + "/webhook ForPrototype",
		controllerRuntimePath + " NewWebhookManagedBy", controllerRuntimePath + "/pkg/builder WebhookManagedBy":
		if t := s.typeArgument(0); t != nil && !types.IsInterface(t) {
			s.webhooksOf([]types.Type{t}, true)
		} else if object := s.arg(1); object != nil {
			s.webhooksOf(s.types(object))
		}
		return true
	case controllerRuntimePath + "/pkg/builder WebhookBuilder.For":
		s.webhooksOf(s.types(s.arg(0)))
		return true
	}
	return false
}

// takesHandler reports whether a function has a parameter for an HTTP handler.
func takesHandler(signature *types.Signature) bool {
	for v := range signature.Params().Variables() {
		function, isFunction := v.Type().(*types.Signature)
		if isHTTP(v.Type(), "Handler", "HandlerFunc") ||
			isFunction && function.Params().Len() > 0 && isHTTP(function.Params().At(0).Type(), "ResponseWriter") {
			return true
		}
	}
	return false
}

// isHTTP reports whether a type is one of the named types of package net/http.
func isHTTP(t types.Type, names ...string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "net/http" &&
		slices.Contains(names, named.Obj().Name())
}

func isString(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Kind() == types.String
}

// isPath reports whether v has only values that are constants in reached functions, and no pattern of several paths.
func (s *site) isPath(v ssa.Value, seen map[ssa.Value]bool) bool {
	if seen[v] {
		return true
	}
	seen[v] = true
	var from []ssa.Value
	switch v := v.(type) {
	case *ssa.Const:
		text := ""
		if v.Value != nil {
			text = constant.StringVal(v.Value)
		}
		return !strings.HasSuffix(text, "/") && !strings.Contains(text, "{")
	case *ssa.Phi:
		from = v.Edges
	case *ssa.Parameter:
		fn := v.Parent()
		if fn.Signature.Recv() != nil && token.IsExported(fn.Name()) ||
			slices.Contains(s.values[signatureOf(fn.Signature)], fn) {
			return false // other code may call it
		}
		at := slices.Index(fn.Params, v)
		for _, edge := range s.callers[fn] {
			if edge.invoke || at >= len(edge.call.Args) {
				return false
			}
			from = append(from, edge.call.Args[at])
		}
	}
	return len(from) > 0 && !slices.ContainsFunc(from, func(v ssa.Value) bool { return !s.isPath(v, seen) })
}

// webhooksOf records the webhooks that a builder registers at default paths. The call returns the builder, and found
// are the types of its object.
func (s *site) webhooksOf(found []types.Type, complete bool) {
	if !complete || len(found) == 0 || s.value == nil {
		s.webhooks.unknown("the kind of the webhooks of " + s.name + " is not known")
		return
	}
	b := builderOf(s.value)
	for _, t := range found {
		named := namedOf(t)
		if named == nil || named.Obj().Pkg() == nil || isUntyped(t) || types.IsInterface(named) {
			s.webhooks.unknown("the kind of the webhooks of " + s.name + " is not known")
			continue
		}
		versions, namesakes := s.kinds.versionsOf(named.Obj().Pkg().Path())
		if !namesakes {
			s.webhooks.unknown("the kind of " + shortType(t) + " may have another name")
		}
		// Older versions of controller-runtime call the methods of the object itself.
		methods := types.NewMethodSet(types.NewPointer(named))
		handles := func(name string) bool {
			return s.target.Name() == "For" && s.recv != "" && methods.Lookup(named.Obj().Pkg(), name) != nil
		}
		s.webhooks.Kinds = append(s.webhooks.Kinds, WebhookKind{
			Name: named.Obj().Name(), Versions: versions,
			Mutating:   b.uses(mutatingMethods, mutatePaths, handles("Default")),
			Validating: b.uses(validatingMethods, validatePaths, handles("ValidateCreate")),
		})
	}
}

// webhookBuilder has the calls of a builder's methods.
type webhookBuilder struct {
	calls map[string][]*ssa.Call
	// escapes reports whether the builder has other users, which may call further methods.
	escapes bool
}

// builderOf returns the calls of the builder that a call returns.
func builderOf(made *ssa.Call) *webhookBuilder {
	b := &webhookBuilder{calls: map[string][]*ssa.Call{}}
	root := made
	for builderMethod(root) != "" {
		before, ok := root.Common().Args[0].(*ssa.Call)
		if !ok {
			b.escapes = true
			break
		}
		root = before
	}
	b.follow(root)
	return b
}

// builderMethod returns the name of the method of a library that a call statically calls, or "".
func builderMethod(call *ssa.Call) string {
	fn := call.Common().StaticCallee()
	if fn == nil || len(fn.Blocks) > 0 || fn.Signature.Recv() == nil {
		return ""
	}
	return targetOf(call.Common()).Name()
}

func (b *webhookBuilder) follow(v *ssa.Call) {
	for _, user := range *v.Referrers() {
		call, ok := user.(*ssa.Call)
		if !ok || builderMethod(call) == "" || call.Common().Args[0] != v {
			b.escapes = true
			continue
		}
		name := builderMethod(call)
		b.calls[name] = append(b.calls[name], call)
		if types.Identical(call.Type(), v.Type()) {
			b.follow(call)
		}
	}
}

// uses reports whether the builder may register a webhook at the default path. methods add its handler, and paths are
// the methods that set another path. handles means that the object itself is a handler.
func (b *webhookBuilder) uses(methods, paths []string, handles bool) bool {
	if b.escapes {
		return true
	}
	completed := b.calls["Complete"]
	if len(completed) == 0 {
		return false // nothing is registered
	}
	called := func(name string) bool { return len(b.calls[name]) > 0 }
	if !handles && !slices.ContainsFunc(methods, called) {
		return false
	}
	moved := func(name string) bool {
		return slices.ContainsFunc(b.calls[name], func(set *ssa.Call) bool {
			return len(completed) == 1 && setsPath(set) && precedes(set, completed[0])
		})
	}
	return !slices.ContainsFunc(paths, moved)
}

// setsPath reports whether the argument of a call is a constant path. An empty one means the default path.
func setsPath(call *ssa.Call) bool {
	args := call.Common().Args
	c, ok := args[len(args)-1].(*ssa.Const)
	return ok && c.Value != nil && c.Value.Kind() == constant.String && constant.StringVal(c.Value) != ""
}

// precedes reports whether a call is always executed before another one.
func precedes(a, b *ssa.Call) bool {
	instrs := a.Block().Instrs
	return a.Block() == b.Block() && slices.Index(instrs, ssa.Instruction(a)) < slices.Index(instrs, ssa.Instruction(b))
}

// versionsOf returns the versions that a package's kinds may have in a scheme, or nil if they are not certain. They are
// the literals of type schema.GroupVersion in the package. namesakes reports whether all kinds have the names of their
// types.
func (k *kinds) versionsOf(importPath string) (found []schema.GroupVersion, namesakes bool) {
	api := k.declarations(importPath)
	if api == nil {
		return nil, false
	}
	v := api.versions
	certain := v.certain && len(v.named) > 0 && !slices.ContainsFunc(v.others, func(value ast.Expr) bool {
		name, ok := value.(*ast.Ident)
		return !ok || !slices.Contains(slices.Collect(maps.Values(v.named)), name.Name)
	})
	if !certain {
		return nil, v.namesakes
	}
	return v.found, v.namesakes
}

// versions finds the versions of a package.
type versions struct {
	kinds *kinds
	pkg   *packages.Package
	found []schema.GroupVersion
	// group is the group of SchemeGroupVersion or GroupVersion, or else of the first literal, and rank orders these
	// literals; 0 means none. A package can have others, such as OpenShift's legacy group.
	group string
	rank  int
	// certain is false if a literal has no constant group or version. namesakes is false if a kind may have another name
	// than its type.
	certain, namesakes bool
	// named are the names of the package variables that literals initialize, and others the values of other variables
	// with such names.
	named  map[ast.Expr]string
	others []ast.Expr
}

func newVersions(k *kinds, pkg *packages.Package) *versions {
	return &versions{kinds: k, pkg: pkg, certain: true, namesakes: true, named: map[ast.Expr]string{}}
}

func (v *versions) read(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			v.namesakes = v.namesakes && n.Name != "AddKnownTypeWithName"
		case *ast.ValueSpec:
			v.variable(n)
		case *ast.CompositeLit:
			if isGroupVersion(n) {
				v.literal(file, n)
			}
		}
		return true
	})
}

// isGroupVersion reports whether a literal has the type schema.GroupVersion.
func isGroupVersion(e ast.Expr) bool {
	literal, ok := e.(*ast.CompositeLit)
	if !ok {
		return false
	}
	selector, ok := literal.Type.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == "GroupVersion"
}

func (v *versions) variable(spec *ast.ValueSpec) {
	for i, name := range spec.Names {
		switch {
		case i >= len(spec.Values):
			if strings.HasSuffix(name.Name, "GroupVersion") {
				v.certain = false
			}
		case isGroupVersion(spec.Values[i]):
			v.named[spec.Values[i]] = name.Name
		case strings.HasSuffix(name.Name, "GroupVersion"):
			v.others = append(v.others, spec.Values[i])
		}
	}
}

func (v *versions) literal(file *ast.File, literal *ast.CompositeLit) {
	var gv schema.GroupVersion
	rank := 1 + max(0, slices.Index([]string{"", "GroupVersion", "SchemeGroupVersion"}, v.named[literal]))
	for i, element := range literal.Elts {
		isGroup, value := i == 0, element
		if pair, isPair := element.(*ast.KeyValueExpr); isPair {
			key, _ := pair.Key.(*ast.Ident)
			isGroup, value = key != nil && key.Name == "Group", pair.Value
		}
		text, found := v.kinds.constantOf(v.pkg, file, value)
		v.certain = v.certain && found
		if !isGroup {
			gv.Version = text
			continue
		}
		gv.Group = text
		if found && rank > v.rank {
			v.group, v.rank = text, rank
		}
	}
	v.found = append(v.found, gv)
}
