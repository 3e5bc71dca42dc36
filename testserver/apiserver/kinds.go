package apiserver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/tableconvertor"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/builtin"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/store"
)

// builtinKinds returns the built-in kinds, in the order of discovery.
func builtinKinds() []*kind { return loadBuiltin().kinds }

// builtins has the built-in kinds and their shared data, which are created with the first server.
type builtins struct {
	once   sync.Once
	kinds  []*kind
	scheme *runtime.Scheme
	models *builtin.Models
	family family
}

var shared builtins // initialized later, since the rows refer to functions that refer to it

func loadBuiltin() *builtins {
	shared.once.Do(func() {
		// To add a group, add a line here and one in newBuiltinScheme.
		for _, kinds := range [][]kind{
			coreKinds(),
			ruled(builtin.EventKinds()...),
			ruled(builtin.AppsKinds()...),
			ruled(builtin.AutoscalingKinds()...),
			{{Kind: builtin.CronJobs()}, {Kind: builtin.Jobs(), complete: warnOfOrphans}},
			{{Kind: builtin.SigningRequests(), parts: []extraPart{partOf(builtin.SigningRequests().GVK, "approval",
				builtin.ApprovalRules())}}},
			ruled(builtin.NetworkingKinds()...),
			ruled(builtin.PolicyKinds()...),
			ruled(builtin.StorageKinds()...),
			{{Kind: builtin.PriorityClasses(), complete: makePriorities}},
			ruled(builtin.CoordinationKinds()...),
			ruled(builtin.NodeKinds()...),
			ruled(builtin.DiscoveryKinds()...),
			authenticationKinds(), authorizationKinds(), rbacKinds(), admissionKinds(),
		} {
			for i := range kinds {
				shared.kinds = append(shared.kinds, &kinds[i])
			}
		}
		shared.scheme = newBuiltinScheme(shared.kinds)
		shared.models = &builtin.Models{Scheme: shared.scheme}
		shared.family = newFamily(shared.scheme)
	})
	return &shared
}

func newFamily(scheme *runtime.Scheme) family {
	codecs := serializer.NewCodecFactory(scheme, serializer.WithStreamingCollectionEncodingToJSON(),
		serializer.WithStreamingCollectionEncodingToProtobuf())
	return family{scheme: scheme, codecs: codecs}
}

// kind is a built-in kind with its rules and with additional behavior of the server.
type kind struct {
	builtin.Kind
	of       *kind                                     // if set, this is another version of that kind
	parts    []extraPart                               // subresources other than status and scale
	complete func(s *Server, r *registry, e *endpoint) // completes the endpoint

	// mayWrite returns an error with the permission that the writer of a valid object lacks, or nil; old is nil for
	// creations.
	mayWrite func(ctx context.Context, s *Server, object, old runtime.Object) *field.Error
}

// ruled returns kinds that have rules and no additional behavior.
func ruled(rows ...builtin.Kind) (kinds []kind) {
	for _, row := range rows {
		k := kind{Kind: row}
		if row.Of != nil {
			k.of = &kind{Kind: *row.Of}
		}
		kinds = append(kinds, k)
	}
	return kinds
}

// extraPart is a subresource other than status and scale, in its form in discovery.
type extraPart struct {
	name  string
	kind  schema.GroupVersionKind
	verbs []string
	part  func(s *Server, r *registry, k *kind, f family) part
}

// partOf returns a subresource that changes a part of an object. It has no tables.
func partOf(of schema.GroupVersionKind, name string, rules builtin.Rules) extraPart {
	return extraPart{name: name, kind: of, verbs: partVerbs, part: func(s *Server, objects *registry, k *kind,
		f family) part {
		changed := objects.with(s.newStrategy(k, f, rules))
		return part{storage: subresource{changed}, scope: newScope(k, f, name, changed.GetResetFields(), nil)}
	}}
}

// makePriorities creates the initial priority classes, which cannot be deleted.
func makePriorities(_ *Server, r *registry, e *endpoint) {
	e.objects = priorityStorage{r}
	for _, class := range builtin.SystemPriorities() {
		_, err := r.Create(request.WithNamespace(request.NewContext(), ""), class, nil, &metav1.CreateOptions{})
		must.Do(err)
	}
}

// priorityStorage rejects deletions of the system's priority classes. Like the real server, it does not reject the
// deletion of a collection that contains them.
type priorityStorage struct{ *registry }

func (s priorityStorage) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc,
	options *metav1.DeleteOptions) (
	runtime.Object, bool, error,
) {
	for _, class := range builtin.SystemPriorities() {
		if class.Name == name {
			return nil, false, apierrors.NewForbidden(s.resource, name,
				errors.New("this is a system priority class and cannot be deleted"))
		}
	}
	return s.registry.Delete(ctx, name, validate, options)
}

// newBuiltinScheme returns a scheme with the built-in kinds, their defaults and their selectors. Each version is its
// own hub, except a version whose kind is stored in another version.
func newBuiltinScheme(kinds []*kind) *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, autoscalingv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme,
		certificatesv1.AddToScheme, networkingv1.AddToScheme,
		policyv1.AddToScheme, storagev1.AddToScheme, schedulingv1.AddToScheme, coordinationv1.AddToScheme, nodev1.AddToScheme,
		discoveryv1.AddToScheme, eventsv1.AddToScheme,
		rbacv1.AddToScheme, admissionv1.AddToScheme, authenticationv1.AddToScheme, authorizationv1.AddToScheme,
		builtin.AddConversions,
	} {
		must.Do(add(scheme))
	}
	scheme.AddTypeDefaultingFunc(&authenticationv1.TokenRequest{}, builtin.SetDefaults)
	for _, k := range kinds {
		object, err := scheme.New(k.GVK)
		must.Do(err)
		scheme.AddTypeDefaultingFunc(object, builtin.SetDefaults)
		must.Do(scheme.AddFieldLabelConversionFunc(k.GVK, builtin.Labels(k.GVK)))
	}
	return scheme
}

// typedCodec stores objects of Go types in the form that they have after a round trip through JSON.
type typedCodec struct {
	codec runtime.Codec
	shown func(object runtime.Object) // may be nil
}

func (c typedCodec) encode(object runtime.Object) (*store.Record, error) {
	object = object.DeepCopyObject()
	must.Do(versioner.PrepareObjectForStorage(object))
	data, err := runtime.Encode(c.codec, object)
	if err != nil {
		return nil, err
	}
	if object, err = runtime.Decode(c.codec, data); err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // items of lists have no kind
	if c.shown != nil {
		c.shown(object)
	}
	sum := sha256.Sum256(data)
	return &store.Record{Object: object, Sum: string(sum[:])}, nil
}

func (c typedCodec) settled(r *store.Record) bool {
	if c.shown != nil || r.Sum == "" {
		return true
	}
	again, err := c.encode(r.Object)
	return err != nil || again.Sum == r.Sum
}

// decode returns a copy, because encoders set the kind in objects of Go types.
func (typedCodec) decode(r *store.Record) (runtime.Object, error) {
	return r.Object.DeepCopyObject(), nil
}

// kindStrategy applies the rules of a kind to its writes.
type kindStrategy struct {
	runtime.ObjectTyper
	*generator
	defaultConfig
	server        *Server
	kind          *kind
	builtin.Rules // of a subresource, or of the kind
	// mayWrite is the kind's function mayWrite, or nil for subresources.
	mayWrite func(ctx context.Context, s *Server, object, old runtime.Object) *field.Error
}

func (s *Server) newStrategy(k *kind, f family, rules builtin.Rules) *kindStrategy {
	return &kindStrategy{ObjectTyper: f.scheme, generator: s.names, server: s, kind: k, Rules: rules}
}

// GenerateName returns a unique name, except for kinds in which generateName is the complete name.
func (s *kindStrategy) GenerateName(base string) string {
	if s.kind.Rules.NamesLiterally() {
		return base
	}
	return s.generator.GenerateName(base)
}

func (s *kindStrategy) NamespaceScoped() bool { return s.kind.Namespaced }

// in returns a context with the version that is written, because upstream's strategies require it.
func (s *kindStrategy) in(ctx context.Context) context.Context {
	if _, ok := request.RequestInfoFrom(ctx); ok {
		return ctx
	}
	gvk := s.kind.GVK
	return request.WithRequestInfo(ctx, &request.RequestInfo{IsResourceRequest: true, APIGroup: gvk.Group,
		APIVersion: gvk.Version, Resource: s.kind.Resource})
}

func (s *kindStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	if s.Strategy != nil && s.Reset == nil {
		return s.Rules.GetResetFields()
	}
	set := fieldpath.NewSet()
	for _, name := range s.Reset {
		var elements []any
		for part := range strings.SplitSeq(name, ".") {
			elements = append(elements, part)
		}
		set.Insert(fieldpath.MakePathOrDie(elements...))
	}
	reset := map[fieldpath.APIVersion]*fieldpath.Set{}
	for _, gv := range s.kind.versions() {
		reset[fieldpath.APIVersion(gv.String())] = set
	}
	return reset
}

// PrepareForCreate calls the rules of the kind, because a subresource creates objects in the same way as the resource.
func (s *kindStrategy) PrepareForCreate(ctx context.Context, object runtime.Object) {
	s.kind.Rules.PrepareForCreate(s.in(ctx), object)
}

func (s *kindStrategy) PrepareForUpdate(ctx context.Context, object, old runtime.Object) {
	s.Rules.PrepareForUpdate(s.in(ctx), object, old)
}

func (s *kindStrategy) Canonicalize(object runtime.Object) { s.kind.Rules.Canonicalize(object) }

func (s *kindStrategy) Validate(ctx context.Context, object runtime.Object) field.ErrorList {
	return s.authorized(ctx, s.kind.Rules.Validate(s.in(ctx), object), object, nil)
}

func (s *kindStrategy) ValidateUpdate(ctx context.Context, object, old runtime.Object) field.ErrorList {
	return s.authorized(ctx, s.Rules.ValidateUpdate(s.in(ctx), object, old), object, old)
}

// authorized returns the problems of an object or, if there are none, the permission that the writer lacks.
func (s *kindStrategy) authorized(ctx context.Context, problems field.ErrorList, object,
	old runtime.Object) field.ErrorList {
	if len(problems) == 0 && s.mayWrite != nil {
		if problem := s.mayWrite(ctx, s.server, object, old); problem != nil {
			return field.ErrorList{problem}
		}
	}
	return problems
}

// ValidateDeclaratively adds the errors of upstream's generated checks.
func (s *kindStrategy) ValidateDeclaratively(ctx context.Context, object, old runtime.Object, problems field.ErrorList,
	of operation.Type, _ rest.DeclarativeValidationConfig) field.ErrorList {
	return s.Rules.ValidateDeclaratively(s.in(ctx), object, old, problems, of)
}

// defaultConfig is the default configuration of upstream's generated checks.
type defaultConfig struct{}

func (defaultConfig) DeclarativeValidationConfig(context.Context, runtime.Object,
	runtime.Object) rest.DeclarativeValidationConfig {
	return rest.DeclarativeValidationConfig{}
}

func (s *kindStrategy) WarningsOnCreate(ctx context.Context, object runtime.Object) []string {
	return s.kind.Rules.WarningsOnCreate(s.in(ctx), object)
}

func (s *kindStrategy) WarningsOnUpdate(ctx context.Context, object, old runtime.Object) []string {
	return s.Rules.WarningsOnUpdate(s.in(ctx), object, old)
}

// typeConverter returns the schema of the kind for server-side apply.
func (k *kind) typeConverter() managedfields.TypeConverter {
	if k.ModelName == "" {
		return loadBuiltin().models
	}
	return definitionModels()
}

// definitionModels returns the schema of definitions. All servers share it, because its creation takes milliseconds.
var definitionModels = sync.OnceValue(func() managedfields.TypeConverter {
	models := maps.Clone(generatedModels())
	model := *models[definitionKind.ModelName]
	delete(models, definitionKind.ModelName)
	addModel(models, definitionKind.GVK, &model)
	types, err := managedfields.NewTypeConverter(models, false)
	must.Do(err)
	return types
})

// family is the data that the kinds of one scheme share.
type family struct {
	scheme *runtime.Scheme
	codecs serializer.CodecFactory
	hub    schema.GroupVersion // the internal version; empty means that each kind has its own
}

// hubOf returns the internal version of a kind.
func (f family) hubOf(k *kind) schema.GroupVersion { return cmp.Or(f.hub, k.Hub, k.GVK.GroupVersion()) }

// stored returns the kind in which objects are stored.
func (k *kind) stored() *kind {
	if k.of != nil {
		return k.of
	}
	return k
}

// versions returns all served versions of the kind.
func (k *kind) versions() (all []schema.GroupVersion) {
	for _, other := range builtinKinds() {
		if other.stored().GVK == k.GVK {
			all = append(all, other.GVK.GroupVersion())
		}
	}
	if all == nil {
		all = append(all, k.GVK.GroupVersion())
	}
	return all
}

// errorNames are the names of built-in kinds in errors, if these differ from the name of the resource.
var errorNames = map[schema.GroupResource]string{
	{Resource: "replicationcontrollers"}: "controllers", {Resource: "endpoints"}: "services/endpoints",
	{Resource: "nodes"}: "minions", {Resource: "services"}: "services/specs",
	{Group: "networking.k8s.io", Resource: "ingresses"}: "ingress",
	{Group: "apiextensions.k8s.io",
		Resource: "customresourcedefinitions"}: "apiextensions.k8s.io/customresourcedefinitions",
}

func (s *Server) newRegistry(k *kind, f family) *registry {
	stored := k.stored()
	resource := schema.GroupResource{Group: stored.GVK.Group, Resource: k.Resource}
	media := runtime.ContentTypeProtobuf // it drops empty lists and the kinds of embedded objects
	if !f.hub.Empty() {
		media = runtime.ContentTypeJSON
	}
	info, _ := runtime.SerializerInfoForMediaType(f.codecs.SupportedMediaTypes(), media)
	hub := f.hubOf(stored)
	r := &registry{
		table: s.store.Table(resource), prefix: "/registry/" + path.Join(resource.Group, resource.Resource),
		errorPrefix: "/registry/" + cmp.Or(errorNames[resource], resource.Resource),
		resource:    k.GVK.GroupVersion().WithResource(k.Resource).GroupResource(), kind: k.GVK, singular: k.SingularName(),
		deletable: k.Deletable,
		new:       newOf(f.scheme, hub.WithKind(k.GVK.Kind)), newList: newOf(f.scheme, hub.WithKind(k.GVK.Kind+"List")),
		attrs: stored.Attributes, names: s.names, returnDeleted: stored.Returned, uncached: stored.Uncached,
		TableConvertor: stored,
	}
	strategy := s.newStrategy(stored, f, stored.Rules)
	strategy.mayWrite = stored.mayWrite
	r.strategy = strategy
	if stored.Allocate != nil {
		r.allocate = func(object, existing runtime.Object, dryRun bool) error {
			return stored.Allocate(s.cluster(), object, existing, dryRun)
		}
	}
	r.codec = typedCodec{f.codecs.CodecForVersions(info.Serializer, info.Serializer, stored.GVK.GroupVersion(), hub),
		stored.Shown}
	text, _ := runtime.SerializerInfoForMediaType(f.codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	r.table.KeepAs(f.codecs.CodecForVersions(text.Serializer, text.Serializer, stored.GVK.GroupVersion(), hub))
	if stored.Columns == nil {
		r.TableConvertor = rest.NewDefaultTableConvertor(r.resource)
	}
	return r
}

func newOf(scheme *runtime.Scheme, kind schema.GroupVersionKind) func() runtime.Object {
	return func() runtime.Object {
		object, err := scheme.New(kind)
		must.Do(err)
		return object
	}
}

func newScope(k *kind, f family, subresource string, reset map[fieldpath.APIVersion]*fieldpath.Set,
	table rest.TableConvertor) *handlers.RequestScope {
	return newScopeOf(k, f, k.GVK, f.hubOf(k), subresource, reset, table)
}

// newScopeOf returns the scope of a subresource whose kind differs from the resource's kind.
func newScopeOf(k *kind, f family, of schema.GroupVersionKind, hub schema.GroupVersion, subresource string,
	reset map[fieldpath.APIVersion]*fieldpath.Set, table rest.TableConvertor) *handlers.RequestScope {
	scope := &handlers.RequestScope{
		Namer:      handlers.ContextBasedNaming{Namer: runtime.Namer(meta.NewAccessor()), ClusterScoped: !k.Namespaced},
		Serializer: f.codecs, ParameterCodec: runtime.NewParameterCodec(f.scheme), Creater: f.scheme, Convertor: f.scheme,
		UnsafeConvertor: runtime.UnsafeObjectConvertor(f.scheme),
		Typer:           f.scheme, Defaulter: f.scheme, EquivalentResourceMapper: equivalents(k), TableConvertor: table,
		Resource: k.GVK.GroupVersion().WithResource(k.Resource), Subresource: subresource, Kind: of, HubGroupVersion: hub,
		MetaGroupVersion: metav1.SchemeGroupVersion, MaxRequestBodyBytes: maxBody,
	}
	var err error
	scope.FieldManager, err = managedfields.NewDefaultFieldManager(k.typeConverter(), scope.Convertor, scope.Defaulter,
		scope.Creater, of, hub,
		subresource, fieldpath.NewExcludeFilterSetMap(reset))
	must.Do(err)
	return scope
}

// equivalents returns the other versions of a kind.
func equivalents(k *kind) runtime.EquivalentResourceMapper {
	known := runtime.NewEquivalentResourceRegistry()
	for _, gv := range k.stored().versions() {
		known.RegisterKindFor(gv.WithResource(k.Resource), "", gv.WithKind(k.GVK.Kind))
	}
	return known
}

var kindPatches = slices.Insert(slices.Clone(customPatches), 2, string(types.StrategicMergePatchType))

func (s *Server) newEndpoint(k *kind, f family, r *registry) *endpoint {
	e := &endpoint{objects: r, registry: r, scope: newScope(k, f, "", r.GetResetFields(), r), parts: map[string]part{},
		patches: kindPatches, kind: k}
	e.scope.Authorizer = s.authorizer // called by updates that create a missing object
	stored := k.stored()
	if stored.Status != nil {
		status := r.with(s.newStrategy(stored, f, *stored.Status))
		e.parts["status"] = part{storage: subresource{status}, scope: newScope(k, f, "status", status.GetResetFields(), r)}
		e.parts["status"].scope.Authorizer = s.authorizer
	}
	if stored.Scale != nil {
		gv, spec, replicas := k.GVK.GroupVersion(), "spec", "replicas"
		storage := &scaleStorage{objects: r, fields: kindScale{r.resource, stored.Scale}, parent: gv,
			mappings:  managedfields.ResourcePathMappings{gv.String(): {{FieldName: &spec}, {FieldName: &replicas}}},
			wrongType: "expected input object type to be Scale, but %T"}
		e.parts["scale"] = part{storage: storage,
			scope: newScopeOf(k, f, scaleKind, scaleKind.GroupVersion(), "scale", nil, kindScaleTable)}
	}
	for _, extra := range k.parts {
		e.parts[extra.name] = extra.part(s, r, k, f)
	}
	return e
}

// newKinds returns the endpoints of the built-in kinds and of definitions. They are created when they are first used.
func (s *Server) newKinds() map[schema.GroupVersionResource]func() *endpoint {
	endpoints := map[schema.GroupVersionResource]func() *endpoint{}
	for _, k := range builtinKinds() {
		endpoints[k.GVK.GroupVersion().WithResource(k.Resource)] = sync.OnceValue(
			func() *endpoint { return s.newBuiltin(k) })
	}
	r := s.newRegistry(&definitionKind, definitionFamily)
	r.written, r.TableConvertor = s.reconcileDefinitions, tableconvertor.New()
	e := s.newEndpoint(&definitionKind, definitionFamily, r)
	e.objects = &definitionStorage{r}
	s.crds, s.crdScope = r, e.parts["status"].scope
	endpoints[definitionKind.GVK.GroupVersion().WithResource(definitionKind.Resource)] = func() *endpoint { return e }
	return endpoints
}

func (s *Server) newBuiltin(k *kind) *endpoint {
	family := loadBuiltin().family
	r := s.newRegistry(k, family)
	e := s.newEndpoint(k, family, r)
	if k.complete != nil {
		k.complete(s, r, e)
	}
	return e
}

// endpointOf returns the endpoint of a built-in resource, or nil.
func (s *Server) endpointOf(resource schema.GroupVersionResource) *endpoint {
	if make := s.builtin[resource]; make != nil {
		return make()
	}
	return nil
}

// presets runs the admission plugins of every server for built-in kinds.
type presets struct{ server *Server }

func (presets) Handles(operation admission.Operation) bool {
	return operation == admission.Create || operation == admission.Update
}

func (p presets) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if k := p.kindOf(a); k != nil && k.Admit != nil {
		return k.Admit(p.server.cluster(), a)
	}
	return nil
}

func (p presets) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if k := p.kindOf(a); k != nil && k.Review != nil {
		return k.Review(p.server.cluster(), a)
	}
	return nil
}

// kindOf returns the built-in kind of a write, or nil.
func (p presets) kindOf(a admission.Attributes) *kind {
	if e := p.server.endpointOf(a.GetResource()); e != nil {
		return e.kind.stored()
	}
	return nil
}

// cluster returns the functions with which rules access the server.
func (s *Server) cluster() builtin.Cluster {
	return builtin.Cluster{Authorizer: s.authorizer, Read: s.readObject, ReadAll: s.readAll}
}

// readObject reads an object with the permissions of the server.
func (s *Server) readObject(group, version, resource, namespace, name string) (runtime.Object, error) {
	objects, ctx := s.reader(group, version, resource, namespace)
	return objects.Get(ctx, name, &metav1.GetOptions{})
}

// reader returns the storage of a resource, and a context for reads with the permissions of the server.
func (s *Server) reader(group, version, resource, namespace string) (rest.StandardStorage, context.Context) {
	e := s.endpointOf(schema.GroupVersionResource{Group: group, Version: version, Resource: resource})
	return e.objects, request.WithRequestInfo(request.WithNamespace(request.NewContext(), namespace),
		&request.RequestInfo{APIGroup: group, Resource: resource})
}

// readAll returns the objects in a namespace, or all objects if namespace is empty.
func (s *Server) readAll(group, version, resource, namespace string) (objects []runtime.Object) {
	storage, ctx := s.reader(group, version, resource, namespace)
	list, err := storage.List(ctx, &internalversion.ListOptions{})
	must.Do(err)
	must.Do(meta.EachListItem(list, func(object runtime.Object) error {
		objects = append(objects, object)
		return nil
	}))
	return objects
}
