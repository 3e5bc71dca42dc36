package migrate

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/kctrl-dev/kctrl"
)

const (
	peerModule  = "sigs.k8s.io/controller-runtime"
	runtimePath = "github.com/kctrl-dev/kctrl/runtime/"
)

// peerPackages are the packages outside of controller-runtime that the runtime has its own in place of.
var peerPackages = map[string]string{
	"github.com/go-logr/logr":                "logr",
	"k8s.io/client-go/tools/record":          "record",
	"k8s.io/client-go/tools/events":          "toolsevents",
	"k8s.io/client-go/tools/internal/events": "toolsevents", // where its interfaces are
	"k8s.io/client-go/util/workqueue":        "workqueue",
	"gomodules.xyz/jsonpatch/v2":             "jsonpatch", // patches of webhooks

	"github.com/open-policy-agent/cert-controller/pkg/rotator": "rotator",
}

// isPeer reports whether the package of an import path is one that is migrated from.
func isPeer(importPath string) bool { return short(importPath) != "" }

// short is the name of a package in the tables: "ctrl" is controller-runtime itself, "client/fake" its pkg/client/fake. Other packages
// have none.
func short(importPath string) string {
	if importPath == peerModule {
		return "ctrl"
	}
	if below, ok := strings.CutPrefix(importPath, peerModule+"/pkg/"); ok {
		return strings.TrimSuffix(below, "/cacheapi") // where the interfaces of cache are since v0.25
	}
	return peerPackages[importPath]
}

// successors are the packages whose place one of the runtime takes with the name that a file has given them.
var successors = map[string][]string{
	"client":            {peerModule + "/pkg/client"},
	"cache":             {peerModule + "/pkg/cache"},
	"controller":        {peerModule + "/pkg/controller"},
	"controllerutil":    {peerModule + "/pkg/controller/controllerutil"},
	"finalizer":         {peerModule + "/pkg/finalizer"},
	"handler":           {peerModule + "/pkg/handler"},
	"log":               {peerModule + "/pkg/log"},
	"manager":           {peerModule + "/pkg/manager"},
	"predicate":         {peerModule + "/pkg/predicate"},
	"reconcile":         {peerModule + "/pkg/reconcile"},
	"source":            {peerModule + "/pkg/source"},
	"webhook/admission": {peerModule + "/pkg/webhook/admission"},
	"workqueue":         {"k8s.io/client-go/util/workqueue"},
	"compat/envtest":    {peerModule + "/pkg/envtest"},
	"compat/fake":       {peerModule + "/pkg/client/fake"},
	"compat/rotator":    {"github.com/open-policy-agent/cert-controller/pkg/rotator"},
}

// sameNames are the packages of the runtime in which an exported name means what it means in one of controller-runtime, unless a row of
// renamed says otherwise.
var sameNames = map[string][]string{
	"ctrl":                      {"manager", "controller", "reconcile", "controllerutil", "compat/restconfig"},
	"client":                    {"client"},
	"cache":                     {"cache"},
	"controller":                {"controller"},
	"controller/controllerutil": {"controllerutil"},
	"handler":                   {"handler", "compat/eventhandler"},
	"log":                       {"log"},
	"manager":                   {"manager", "compat/servers"},
	"finalizer":                 {"finalizer"},
	"predicate":                 {"predicate", "compat/eventfilter"},
	"reconcile":                 {"reconcile"},
	"source":                    {"source"},
	"webhook":                   {"webhook/admission", "compat/untyped"},
	"webhook/admission":         {"webhook/admission", "compat/untyped"},
	"webhook/conversion":        {"webhook/conversion"},
	"conversion":                {"webhook/conversion"},
	"client/config":             {"compat/restconfig"},
	"manager/signals":           {"compat/restconfig"},
	"client/fake":               {"compat/fake"},
	"envtest":                   {"compat/envtest"},
	"envtest/komega":            {"compat/komega"},
	"rotator":                   {"compat/rotator"},
}

// renamed says what is written in place of a name of a package. {client} is the name of an import, see [fill].
var renamed = map[string]string{
	"ctrl.Manager":                             "{controller}.Manager",
	"ctrl.Log":                                 "{log}.Default()",
	"ctrl.LoggerFrom":                          "{log}.FromContext",
	"ctrl.LoggerInto":                          "{log}.IntoContext",
	"ctrl.NewManager":                          "{manager}.New",
	"ctrl.SetLogger":                           "{slog}.SetDefault",
	"ctrl.ObjectMeta":                          "{metav1}.ObjectMeta",
	"ctrl.TypeMeta":                            "{metav1}.TypeMeta",
	"ctrl.GroupVersion":                        "{schema}.GroupVersion",
	"ctrl.GroupVersionKind":                    "{schema}.GroupVersionKind",
	"ctrl.GroupResource":                       "{schema}.GroupResource",
	"manager.Manager":                          "{controller}.Manager",
	"cluster.Cluster":                          "{controller}.Cluster",
	"config.Controller":                        "{manager}.ControllerOptions",
	"log.Log":                                  "{log}.Default()",
	"log.SetLogger":                            "{slog}.SetDefault",
	"log/zap.Options":                          "{log}.Options",
	"log/zap.Opts":                             "func(*{log}.Options)",
	"logr.Logger":                              "*{slog}.Logger",
	"logr.Discard":                             "func() *{slog}.Logger { return {slog}.New({slog}.DiscardHandler) }",
	"logr.NewContext":                          "{log}.IntoContext",
	"logr.FromContextOrDiscard":                "{log}.FromContext",
	"client.Object":                            "{object}.Object",
	"client.ObjectList":                        "{object}.List",
	"client.ObjectKey":                         "{object}.Key",
	"client.ObjectKeyFromObject":               "{object}.KeyOf",
	"client.SubResourceClientConstructor":      "interface{ SubResource(name string) {client}.SubResourceClient }",
	"client.StatusWriter":                      "{client}.SubResourceWriter",
	"client.IndexerFunc":                       "{cache}.IndexerFunc",
	"client.FieldIndexer":                      "{cache}.FieldIndexer",
	"client.SubResourceUpdateOption":           "{client}.UpdateOption",
	"client.SubResourcePatchOption":            "{client}.PatchOption",
	"client.SubResourceCreateOption":           "{client}.CreateOption",
	"client.SubResourceGetOption":              "{client}.GetOption",
	"client.SubResourceApplyOption":            "{client}.ApplyOption",
	"client.CreateOptions":                     "{client}.WriteOptions",
	"client.UpdateOptions":                     "{client}.WriteOptions",
	"client.PatchOptions":                      "{client}.WriteOptions",
	"client.ApplyOptions":                      "{client}.WriteOptions",
	"client.NewWithWatch":                      "{client}.New",
	"client.SubResourceUpdateOptions":          "{client}.WriteOptions",
	"client.SubResourcePatchOptions":           "{client}.WriteOptions",
	"client.SubResourceCreateOptions":          "{client}.WriteOptions",
	"client.SubResourceApplyOptions":           "{client}.WriteOptions",
	"client.SubResourceGetOptions":             "{client}.GetOptions",
	"client/apiutil.IsObjectNamespaced":        "{client}.IsObjectNamespaced",
	"client/apiutil.IsGVKNamespaced":           "{client}.IsGVKNamespaced",
	"webhook/admission.MultiMutatingHandler":   "{webhook/admission}.Chain",
	"webhook/admission.MultiValidatingHandler": "{webhook/admission}.Chain",
	"client/apiutil.GVKForObject":              "{object}.GVK",
	"client/apiutil.NewDynamicRESTMapper":      "{client}.NewMapper",
	"client/apiutil.NewDiscoveryRESTMapper":    "{client}.NewMapper",
	"client/interceptor.Funcs":                 "{client}.Interceptor",
	"client/interceptor.NewClient":             "{client}.Intercept",
	"controller/controllerutil.Object":         "{object}.Object",
	"controller.Controller":                    "*{controller}.Controller[{reconcile}.Request]",
	"reconcile.Reconciler":                     "{reconcile}.Reconciler[{reconcile}.Request]",
	"ctrl.Reconciler":                          "{reconcile}.Reconciler[{reconcile}.Request]",
	"reconcile.Func":                           "{reconcile}.Func[{reconcile}.Request]",
	"reconcile.TypedReconciler":                "{reconcile}.Reconciler",
	"reconcile.TypedFunc":                      "{reconcile}.Func",
	"event.CreateEvent":                        "{informer}.Event[{object}.Object]",
	"event.UpdateEvent":                        "{informer}.Event[{object}.Object]",
	"event.DeleteEvent":                        "{informer}.Event[{object}.Object]",
	"event.GenericEvent":                       "{informer}.Event[{object}.Object]",
	"event.TypedCreateEvent":                   "{informer}.Event",
	"event.TypedUpdateEvent":                   "{informer}.Event",
	"event.TypedDeleteEvent":                   "{informer}.Event",
	"event.TypedGenericEvent":                  "{informer}.Event",
	"handler.EventHandler":                     "{handler}.Handler[{object}.Object, {reconcile}.Request]",
	"handler.TypedEventHandler":                "{handler}.Handler",
	"handler.EnqueueRequestsFromMapFunc":       "{handler}.Map[{object}.Object]",
	"predicate.NewPredicateFuncs":              "{predicate}.Object",
	"predicate.NewTypedPredicateFuncs":         "{predicate}.Object",
	"predicate.Funcs":                          "{predicate}.Predicate",
	"builder.WebhookBuilder":                   "{webhook}.Builder",
	"builder.Builder":                          "{controller}.Builder[{object}.Object, {reconcile}.Request]",
	"ctrl.Builder":                             "{controller}.Builder[{object}.Object, {reconcile}.Request]",
	"builder.WatchesOption":                    "{predicate}.Predicate",
	"builder.OwnsOption":                       "{predicate}.Predicate",
	"builder.ForOption":                        "{predicate}.Predicate",
	"builder.Predicates":                       "{predicate}.Predicate",
	"source.Source":                            "{source}.Source[{reconcile}.Request]",
	"source.SyncingSource":                     "{source}.Source[{reconcile}.Request]",
	"ratelimiter.RateLimiter":                  "{controller}.RateLimiter[{reconcile}.Request]",
	"cache.AllNamespaces":                      "{metav1}.NamespaceAll",
	"controller/priorityqueue.AddOpts":         "{workqueue}.AddOptions",
	"controller/priorityqueue.PriorityQueue":   "{handler}.Queue",
	"metrics.RegistererGatherer":               "{prometheus}.Registerer",
	"certwatcher.CertWatcher":                  "{certificate}.Files",
	"healthz.Checker":                          "func(*{http}.Request) error",
	"healthz.Handler":                          "{compat/servers}.HealthHandler",
	"healthz.CheckHandler":                     "{compat/servers}.CheckHandler",
	"webhook.DefaultPort":                      "9443",
	"healthz.Ping":                             "func(*{http}.Request) error { return nil }",
	"metrics.Registry":                         "{prometheus}.DefaultRegisterer",
	"metrics/server.Options":                   "{manager}.MetricsOptions",
	"webhook.Options":                          "{manager}.WebhookOptions",
	"webhook.Server":                           "{manager}.WebhookOptions",
	"webhook.Admission":                        "{webhook/admission}.Handler",
	"webhook.DefaultServer":                    "{manager}.WebhookOptions",
	"webhook.CustomDefaulter":                  "{compat/untyped}.Defaulter",
	"webhook.CustomValidator":                  "{compat/untyped}.Validator",
	"webhook/admission.CustomDefaulter":        "{compat/untyped}.Defaulter",
	"webhook/admission.CustomValidator":        "{compat/untyped}.Validator",
	"webhook/admission.Webhook":                "{webhook/admission}.Handler",
	"cache.Config":                             "{client}.Scope",
	"cache.Cache":                              "*{cache}.Cache",
	"cache.Informers":                          "*{cache}.Cache",
	"cache.Informer":                           "*{cache}.Informer",
	"record.EventRecorder":                     "*{events}.Recorder",
	"record.EventRecorderLogger":               "*{events}.Recorder",
	"toolsevents.EventRecorderLogger":          "*{events}.Recorder",
	"record.NewFakeRecorder":                   "{compat/eventrecorder}.NewTextRecorder",
	"record.FakeRecorder":                      "{compat/eventrecorder}.TextRecorder",
	"toolsevents.EventRecorder":                "*{events}.Recorder",
	"toolsevents.NewFakeRecorder":              "{compat/eventrecorder}.NewTextRecorder",
	"toolsevents.FakeRecorder":                 "{compat/eventrecorder}.TextRecorder",
	"workqueue.RateLimitingInterface":          "{handler}.Queue[{reconcile}.Request]",
	"workqueue.TypedRateLimitingInterface":     "{handler}.Queue",
	"workqueue.TypedInterface":                 "{handler}.Queue",
	"client.MergeFromWithOptimisticLock":       "",
	"client.Apply":                             "",
	"client.CacheOptions":                      "",
	"controller.New":                           "",
	"controller.NewTyped":                      "",
	"reconcile.AsReconciler":                   "{controllerutil}.AsReconciler",
	"reconcile.ObjectReconciler":               "{controllerutil}.ObjectReconciler",
	"handler.Funcs":                            "{handler}.Handler[{object}.Object, {reconcile}.Request]",
	"cache.ByObject":                           "{cache}.KindOptions",
	"manager.New":                              "{manager}.New",
	"webhook/admission.Request":                "*{webhook/admission}.Request",
	"webhook.JSONPatchOp":                      "{webhook/admission}.Operation",
	"webhook.AdmissionRequest":                 "*{webhook/admission}.Request",
	"webhook.AdmissionResponse":                "{webhook/admission}.Response",
	"webhook.AdmissionHandler":                 "{webhook/admission}.Handler",
	"jsonpatch.Operation":                      "{webhook/admission}.Operation",
	"jsonpatch.JsonPatchOperation":             "{webhook/admission}.Operation",
	"jsonpatch.NewOperation":                   "{webhook/admission}.NewOperation",
	"jsonpatch.NewPatch":                       "{webhook/admission}.NewOperation",
	"jsonpatch.CreatePatch":                    "{webhook/admission}.Diff",
	"webhook/conversion.Hub":                   "{webhook/conversion}.Hub",
	"conversion.Hub":                           "{webhook/conversion}.Hub",
	"webhook/conversion.SpokeConverter":        "{webhook/conversion}.Spoke",
	"webhook/admission.NewContextWithRequest":  "{webhook/admission}.ContextWithRequest",
	"client.TypedObject":                       "",
	"client.ConstantPatch":                     "{client}.RawPatch",
	"client.InNamespace":                       "{client}.InNamespace",
	"controller/controllerutil.CreateOrUpdate": "{controllerutil}.CreateOrUpdate",
}

// members are fields and methods that have another name, by the package that declares them. A field that is a row of valued in
// fields.go changes with its value.
var members = map[string]string{
	"cluster#GetClient":                    "Client",
	"cluster#GetScheme":                    "Scheme",
	"cluster#GetCache":                     "Cache",
	"cluster#GetConfig":                    "Config",
	"cluster#GetHTTPClient":                "HTTPClient",
	"cluster#GetRESTMapper":                "RESTMapper",
	"cluster#GetAPIReader":                 "Live",
	"cluster#GetFieldIndexer":              "Cache",
	"cluster#GetEventRecorder":             "EventRecorder",
	"cluster#GetEventRecorderFor":          "EventRecorderFor",
	"recorder#GetEventRecorder":            "EventRecorder",
	"recorder#GetEventRecorderFor":         "EventRecorderFor",
	"manager#GetLogger":                    "Logger",
	"manager#Start":                        "Run",
	"certwatcher#Start":                    "Run",
	"manager#AddMetricsServerExtraHandler": "Handle",
	"manager#AddMetricsExtraHandler":       "Handle", // before v0.16
	"manager#WebhookServer":                "Webhook",
	"manager#LeaderElection":               "LeaderElection.Enabled", // where it is read
	"manager#LeaderElectionID":             "LeaderElection.ID",
	"manager#LeaderElectionNamespace":      "LeaderElection.Namespace",
	"manager#LeaseDuration":                "LeaderElection.LeaseDuration",
	"manager#RenewDeadline":                "LeaderElection.RenewDeadline",
	"manager#RetryPeriod":                  "LeaderElection.RetryPeriod",
	"controller#ReconciliationTimeout":     "ReconcileTimeout",
	"event#ObjectOld":                      "Old",
	"event#ObjectNew":                      "Object",
	"event#IsInInitialList":                "Initial",           // where it is read
	"event#DeleteStateUnknown":             "FinalStateUnknown", // where it is read
	"cache#DefaultLabelSelector":           "DefaultLabels",
	"cache#LabelSelector":                  "Labels",
	"cache#FieldSelector":                  "Fields",
	"cache#ByObject":                       "ByKind", // where it is read
	"cache#DefaultNamespaces":              "ByNamespace",
	"logr#WithValues":                      "With",
	"jsonpatch#Operation":                  "Op",
	"client#FieldManager":                  "FieldOwner", // where it is read
	"controller#Start":                     "Run",
	"cache#Start":                          "Run",
	"controller/priorityqueue#AddWithOpts": "AddWith",
	"builder#WatchesRawSource":             "WatchesSource",
}

// pointerRules are about pointers to what is a value in controller-runtime and a pointer in the runtime: one is enough.
var pointerRules = []Rule{
	{
		Name: "a type of one's own that is what a pointer is now",
		Matches: func(f *file, n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			return ok && !spec.Assign.IsValid() && strings.HasPrefix(renamed[f.symbol(spec.Type)], "*")
		},
		Rewrite: func(f *file, n ast.Node) string {
			spec := n.(*ast.TypeSpec)
			return f.splice(spec, append([]edit{{f.offset(spec.Type.Pos()), f.offset(spec.Type.Pos()), "= "}}, f.within(spec)...))
		},
		Reason: "a type that is made of a pointer has no methods: it is another name",
	},
	{
		Name: "a type of pointers to what is one now",
		Matches: func(f *file, n ast.Node) bool {
			star, ok := n.(*ast.StarExpr)
			return ok && strings.HasPrefix(renamed[f.symbol(star.X)], "*")
		},
		Rewrite: func(f *file, n ast.Node) string { return f.text(n.(*ast.StarExpr).X) },
		Reason:  "it is a pointer itself",
	},
	{
		Name: "a type of pointers to what is a function now",
		Matches: func(f *file, n ast.Node) bool {
			star, ok := n.(*ast.StarExpr)
			return ok && (f.symbol(star.X) == "handler.Funcs" || f.symbol(star.X) == "predicate.Funcs") && f.info.Types[star].IsType() && !f.embedsIt()
		},
		Rewrite: func(f *file, n ast.Node) string { return f.text(n.(*ast.StarExpr).X) },
		Reason:  "a function is nil too",
	},
	{
		Name: "a pointer to what is one now",
		Matches: func(f *file, n ast.Node) bool {
			unary, ok := n.(*ast.UnaryExpr)
			return ok && unary.Op == token.AND && isPointerNow(f.info.TypeOf(unary.X)) && !f.isAmongLibraries(unary)
		},
		Rewrite: func(f *file, n ast.Node) string { return f.text(n.(*ast.UnaryExpr).X) },
		Reason:  "it is a pointer itself",
	},
	{
		Name: "what a pointer points to that is one now",
		Matches: func(f *file, n ast.Node) bool {
			star, ok := n.(*ast.StarExpr)
			return ok && f.info.Types[star].IsValue() && isPointerNow(f.info.TypeOf(star))
		},
		Rewrite: func(f *file, n ast.Node) string { return f.text(n.(*ast.StarExpr).X) },
		Reason:  "it is a pointer itself",
	},
}

// isPointerNow reports whether a type is one of values that are pointers in the runtime.
func isPointerNow(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && strings.HasPrefix(renamed[typeKey(named)], "*")
}

// tableNames is the rule for the rows of renamed and for sameNames.
var tableNames = Rule{
	Name: "a name of another package",
	Matches: func(f *file, n ast.Node) bool {
		key := f.symbol(n)
		return key != ""
	},
	Rewrite: func(f *file, n ast.Node) string {
		key := f.symbol(n)
		if text, known := renamed[key]; known && text != "" {
			return fill(text)
		} else if !known {
			pkg, name, _ := strings.Cut(key, ".")
			for _, to := range sameNames[pkg] {
				if exported(to)[name] {
					return imported(runtimePath+to) + "." + name
				}
			}
		}
		if strings.HasPrefix(key, "workqueue.") || strings.HasPrefix(key, "record.") || strings.HasPrefix(key, "toolsevents.") || strings.HasPrefix(key, "logr.") {
			return f.raw(n) // works as it is
		}
		return f.leave(n, "there is no "+key+" in the runtime", snippets[key]) + f.raw(n)
	},
	Reason: "the runtime has it in another package, or under another name",
}

// embeddedFields is the rule for fields of the project's own that are named by a type which they embed.
var embeddedFields = Rule{
	Name: "a field that has the name of its type",
	Matches: func(f *file, n ast.Node) bool {
		ident, ok := n.(*ast.Ident)
		return ok && f.embeddedName(ident) != ""
	},
	Rewrite: func(f *file, n ast.Node) string { return f.embeddedName(n.(*ast.Ident)) },
	Reason:  "the type has another name in the runtime",
}

// embeddedName returns the name that an embedded field gets by its type; empty where it keeps its own.
func (f *file) embeddedName(ident *ast.Ident) string {
	field, ok := f.info.Uses[ident].(*types.Var)
	if !ok || !field.IsField() || !field.Embedded() || field.Pkg() == nil || !f.isOwn(field.Pkg().Path()) {
		return ""
	}
	key := typeKey(field.Type())
	if strings.HasPrefix(key, "workqueue.") { // which types embed as it is
		return ""
	}
	name, _, _ := strings.Cut(renamed[key], "[")
	if name = base(name); name == field.Name() {
		return ""
	}
	return name
}

// tableMembers is the rule for the rows of members.
var tableMembers = Rule{
	Name: "a field or a method of another name",
	Matches: func(f *file, n ast.Node) bool {
		ident, ok := n.(*ast.Ident)
		return ok && members[f.member(ident)] != ""
	},
	Rewrite: func(f *file, n ast.Node) string { return members[f.member(n.(*ast.Ident))] },
	Reason:  "the runtime has it under another name",
}

// symbol returns the name of what a node names in a package that is migrated from, such as "client.Object"; else "".
func (f *file) symbol(n ast.Node) string {
	if ident, ok := n.(*ast.Ident); ok {
		return f.dotted(ident)
	}
	selector, ok := n.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	ident, ok := selector.X.(*ast.Ident)
	if !ok {
		return ""
	}
	pkg, ok := f.info.Uses[ident].(*types.PkgName)
	if !ok {
		return ""
	}
	name := short(pkg.Imported().Path())
	if name == "" {
		return ""
	}
	return name + "." + selector.Sel.Name
}

// dotted is symbol for a name of a package that the file imports with a dot.
func (f *file) dotted(ident *ast.Ident) string {
	if selector, ok := f.around(0).(*ast.SelectorExpr); ok && selector.Sel == ident {
		return ""
	}
	object := f.info.Uses[ident]
	if object == nil || object.Pkg() == nil || object.Parent() != object.Pkg().Scope() || object.Pkg() == f.pkg.Types || short(object.Pkg().Path()) == "" {
		return ""
	}
	return short(object.Pkg().Path()) + "." + object.Name()
}

// member returns the field or method that an identifier is of a type in a package that is migrated from, such as "cluster#GetClient";
// else "".
func (f *file) member(ident *ast.Ident) string {
	object := f.info.Uses[ident]
	if object == nil || object.Pkg() == nil {
		return ""
	}
	switch o := object.(type) {
	case *types.Var:
		if !o.IsField() {
			return ""
		}
	case *types.Func:
		if o.Signature().Recv() == nil || base(receiver(o)) == "LogSink" { // logs that others keep are theirs
			return ""
		}
	default:
		return ""
	}
	name := short(object.Pkg().Path())
	if name == "" {
		return ""
	}
	return name + "#" + object.Name()
}

// method returns the method that a call is of, as member does.
func (f *file) method(n ast.Node) (call *ast.CallExpr, selector *ast.SelectorExpr, key string) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil, nil, ""
	}
	selector, ok = call.Fun.(*ast.SelectorExpr)
	if !ok {
		return call, nil, ""
	}
	return call, selector, f.member(selector.Sel)
}

// called returns the function of a package that a call is of, as symbol does.
func (f *file) called(n ast.Node) (call *ast.CallExpr, key string) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil, ""
	}
	fun := call.Fun
	switch generic := fun.(type) {
	case *ast.IndexExpr:
		fun = generic.X
	case *ast.IndexListExpr:
		fun = generic.X
	}
	return call, f.symbol(fun)
}

// typeKey returns the name of a type in a package that is migrated from, through pointers, such as "client.Client".
func typeKey(t types.Type) string {
	if t == nil {
		return ""
	}
	t = types.Unalias(t)
	if pointer, ok := t.(*types.Pointer); ok {
		t = types.Unalias(pointer.Elem())
	}
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() == nil || short(named.Obj().Pkg().Path()) == "" {
		return ""
	}
	return short(named.Obj().Pkg().Path()) + "." + named.Obj().Name()
}

func (f *file) typeOf(e ast.Expr) string { return typeKey(f.info.TypeOf(e)) }

var exportedOf sync.Map // package of the runtime -> map[string]bool

// exported returns the names that a package of the runtime declares for others.
func exported(pkg string) map[string]bool {
	if known, ok := exportedOf.Load(pkg); ok {
		return known.(map[string]bool)
	}
	names := map[string]bool{}
	entries, err := fs.ReadDir(kctrl.Source, path.Join("runtime", pkg))
	if err != nil {
		return names
	}
	set := token.NewFileSet()
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		text, err := fs.ReadFile(kctrl.Source, path.Join("runtime", pkg, entry.Name()))
		if err != nil {
			continue
		}
		parsed, err := parser.ParseFile(set, entry.Name(), text, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		for _, decl := range parsed.Decls {
			addDeclared(names, decl)
		}
	}
	exportedOf.Store(pkg, names)
	return names
}

func addDeclared(names map[string]bool, decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.IsExported() {
			names[d.Name.Name] = true
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names[s.Name.Name] = s.Name.IsExported()
			case *ast.ValueSpec:
				for _, name := range s.Names {
					names[name.Name] = name.IsExported()
				}
			}
		}
	}
}
