package apiserver

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

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
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// kindGroups are the kinds that are there without a CustomResourceDefinition, in the order in which discovery has their groups. A
// group more is a line here, and one in newBuiltinScheme.
func kindGroups() [][]kind { return loadBuiltin().groups }

// builtins are the built-in kinds and what they share, which is made when a server is.
type builtins struct {
	once   sync.Once
	groups [][]kind
	scheme *runtime.Scheme
	models *goModels
	family family
	plain  func() family // without defaults
}

var shared builtins // without an initial value, since the rows refer to what refers to it

func loadBuiltin() *builtins {
	shared.once.Do(func() {
		shared.groups = [][]kind{
			coreKinds(), eventKinds(), appsKinds(), autoscalingKinds(), batchKinds(), certificateKinds(), networkingKinds(), policyKinds(), storageKinds(), schedulingKinds(), coordinationKinds(), nodeKinds(), discoveryKinds(),
			authenticationKinds(), authorizationKinds(), rbacKinds(), admissionKinds(),
		}
		shared.scheme = newBuiltinScheme(shared.groups, setAllDefaults)
		shared.models = &goModels{scheme: shared.scheme}
		shared.family = newFamily(shared.scheme)
		shared.plain = sync.OnceValue(func() family { return newFamily(newBuiltinScheme(shared.groups, func(any) {})) })
	})
	return &shared
}

func newFamily(scheme *runtime.Scheme) family {
	codecs := serializer.NewCodecFactory(scheme, serializer.WithStreamingCollectionEncodingToJSON(), serializer.WithStreamingCollectionEncodingToProtobuf())
	return family{scheme: scheme, codecs: codecs}
}

// kind is one of them: one row for each. Its rules are for objects of its Go type, which is that of the version that is stored.
type kind struct {
	gvk        schema.GroupVersionKind
	resource   string
	singular   string // nothing for the kind in lower case
	short      []string
	categories []string
	namespaced bool
	uncached   bool                                                   // is read from the storage alone, whose errors differ from those of a cache
	shown      func(object runtime.Object)                            // makes of what is written what readers find
	unshown    string                                                 // an annotation that tables do not have
	verbs      []string                                               // nil for all
	columns    []column                                               // of tables; nil for names and creation times
	conditions func(object runtime.Object) []metav1.TableRowCondition // of their rows
	rules      rules
	status     *rules                                            // of the subresource, if there is one
	scale      func(object runtime.Object) scaled                // where the scale subresource is, if there is one
	parts      []extraPart                                       // other subresources
	fields     func(object runtime.Object, set fields.Set)       // that selectors may name, besides those of each object
	labels     func(label, value string) (string, string, error) // of selectors, of a version that has other names than what is stored
	selectable []string                                          // their names
	returned   bool                                              // a deletion answers with the object
	policy     rest.GarbageCollectionPolicy                      // what a deletion does to dependents, unless it says it
	deletable  func(updated, existing runtime.Object) bool       // see registry
	complete   func(s *Server, r *registry, e *endpoint)         // makes of an endpoint what it has besides

	// admit is what the admission plugins do that each server has, before webhooks: for creations and updates, of subresources too.
	admit func(s *Server, a admission.Attributes) error
	// review is what they refuse of what webhooks have made of it.
	review func(s *Server, a admission.Attributes) error

	of  *kind               // the kind of which this is another version
	hub schema.GroupVersion // of it: under which the scheme has the Go type of that kind; empty for its own version

	modelName string // of a generated model, of kinds whose Go type is not in newBuiltinScheme
}

// extraPart is a subresource besides status and scale, as discovery has it.
type extraPart struct {
	name  string
	kind  schema.GroupVersionKind
	verbs []string
	part  func(s *Server, r *registry, k *kind, f family) part
}

// column of a table. One without a name is in rows alone.
type column struct {
	metav1.TableColumnDefinition
	value func(object runtime.Object) any
}

// rules of a kind for its writes. Those that are nil do nothing.
type rules struct {
	unconditional  bool // an update may say no version
	creates        bool // an update makes an object that is not there
	literalNames   bool // what a name is to be generated from is the name
	unnamed        bool // an object that is made without a name gets a UID for one
	reset          []string
	spec           func(object runtime.Object) any            // the generation counts changes of it
	literal        bool                                       // and a list that is empty now and was not there is one
	given          func(object runtime.Object) []string       // warnings about a new object before create changes it
	identify       func(object runtime.Object, who user.Info) // notes who makes a new object
	create         func(object runtime.Object)
	update         func(object, old runtime.Object)
	canonicalize   func(object runtime.Object)
	validate       func(object runtime.Object) field.ErrorList
	validateUpdate func(object, old runtime.Object) field.ErrorList
	warnings       func(object runtime.Object) []string
	validateIn     func(ctx context.Context, object, old runtime.Object) field.ErrorList         // both, of a kind that is checked by the group asked for; old is nil for creations
	mayWrite       func(ctx context.Context, s *Server, object, old runtime.Object) *field.Error // what the user lacks who writes an object that is valid; old is nil for creations
	updateWarnings func(object, old runtime.Object) []string                                     // nil for warnings
	grace          func(object runtime.Object, options *metav1.DeleteOptions) bool               // of kinds that a deletion may leave for a time, which it sets in the options
}

var (
	nameColumn  = metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]}
	sinceColumn = column{
		metav1.TableColumnDefinition{Name: "Age", Type: "string", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"]},
		func(object runtime.Object) any { return since(mustAccess(object).GetCreationTimestamp()) },
	}
)

func since(t metav1.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(t.Time))
}

// col is a column of a table whose value is of a Go type; one that is wide is only shown when it is asked for.
func col[T runtime.Object](name, format, description string, value func(object T) any) column {
	kind, format, _ := strings.Cut(format, " ")
	c := column{metav1.TableColumnDefinition{Name: name, Type: kind, Description: description}, func(object runtime.Object) any { return value(object.(T)) }}
	if format == "wide" {
		c.Priority = 1
	}
	return c
}

// The functions of a row, on its Go type.

func typed1[T runtime.Object, R any](f func(object T) R) func(runtime.Object) R {
	return func(object runtime.Object) R { return f(object.(T)) }
}

func typed2[T runtime.Object, R any](f func(object, old T) R) func(object, old runtime.Object) R {
	return func(object, old runtime.Object) R { return f(object.(T), old.(T)) }
}

func change1[T runtime.Object](f func(object T)) func(runtime.Object) {
	return func(object runtime.Object) { f(object.(T)) }
}

func change2[T runtime.Object](f func(object, old T)) func(object, old runtime.Object) {
	return func(object, old runtime.Object) { f(object.(T), old.(T)) }
}

func validateMetadata(metadata *metav1.ObjectMeta, namespaced bool, name validation.ValidateNameFunc) field.ErrorList {
	path := field.NewPath("metadata")
	return append(validation.ValidateObjectMeta(metadata, namespaced, name, path), validateFinalizerNames(metadata, path)...)
}

func validateMetadataUpdate(object, old runtime.Object) field.ErrorList {
	path := field.NewPath("metadata")
	problems := validation.ValidateObjectMetaAccessorUpdate(mustAccess(object), mustAccess(old), path)
	return append(problems, validateFinalizerNames(mustAccess(object), path)...)
}

func validateFinalizerNames(metadata metav1.Object, path *field.Path) (problems field.ErrorList) {
	for i, finalizer := range metadata.GetFinalizers() {
		problems = append(problems, validateQualified(finalizer, path.Child("finalizers").Index(i))...)
	}
	return problems
}

func validateFinalizer(name string, path *field.Path) field.ErrorList {
	return append(validation.ValidateFinalizerName(name, path), validateQualified(name, path)...)
}

// validateQualified checks that a finalizer without a domain is one of those that the system has.
func validateQualified(name string, path *field.Path) field.ErrorList {
	standard := name == metav1.FinalizerOrphanDependents || name == metav1.FinalizerDeleteDependents || name == string(corev1.FinalizerKubernetes)
	for _, character := range name {
		standard = standard || character == '/'
	}
	if standard {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified")}
}

// newBuiltinScheme has the built-in kinds, with their defaults and selectors. A version is its own hub, but for other versions of a kind.
func newBuiltinScheme(groups [][]kind, defaults func(any)) *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, autoscalingv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme, certificatesv1.AddToScheme, networkingv1.AddToScheme,
		policyv1.AddToScheme, storagev1.AddToScheme, schedulingv1.AddToScheme, coordinationv1.AddToScheme, nodev1.AddToScheme, discoveryv1.AddToScheme, eventsv1.AddToScheme,
		rbacv1.AddToScheme, admissionv1.AddToScheme, authenticationv1.AddToScheme, authorizationv1.AddToScheme, addEventConversions, addAutoscalerConversions,
	} {
		must(add(scheme))
	}
	scheme.AddTypeDefaultingFunc(&authenticationv1.TokenRequest{}, defaults)
	for _, kinds := range groups {
		for i := range kinds {
			k := &kinds[i]
			object, err := scheme.New(k.gvk)
			must(err)
			scheme.AddTypeDefaultingFunc(object, defaults)
			switch {
			case k.labels != nil:
				must(scheme.AddFieldLabelConversionFunc(k.gvk, k.labels))
			case len(k.stored().selectable) > 0:
				must(scheme.AddFieldLabelConversionFunc(k.gvk, k.stored().selector))
			}
		}
	}
	return scheme
}

// selector checks a field of a selector.
func (k *kind) selector(label, value string) (string, string, error) {
	if label == "metadata.name" || k.namespaced && label == "metadata.namespace" || slices.Contains(k.selectable, label) {
		return label, value, nil
	}
	return "", "", fmt.Errorf("field label not supported: %s", label)
}

// typedCodec stores objects of Go types as they are after they were written as JSON.
type typedCodec struct {
	codec runtime.Codec
	shown func(object runtime.Object) // nil for nothing
}

func (c typedCodec) encode(object runtime.Object) (*record, error) {
	object = object.DeepCopyObject()
	must(versioner.PrepareObjectForStorage(object))
	data, err := runtime.Encode(c.codec, object)
	if err != nil {
		return nil, err
	}
	if object, err = runtime.Decode(c.codec, data); err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // which items of lists do not have
	if c.shown != nil {
		c.shown(object)
	}
	sum := sha256.Sum256(data)
	return &record{object: object, sum: string(sum[:])}, nil
}

func (c typedCodec) settled(r *record) bool {
	if c.shown != nil || r.sum == "" {
		return true
	}
	again, err := c.encode(r.object)
	return err != nil || again.sum == r.sum
}

// decode returns a copy, since encoders note the kind in objects of Go types.
func (typedCodec) decode(r *record) (runtime.Object, error) { return r.object.DeepCopyObject(), nil }

// kindStrategy is what the rules of a kind make of its writes.
type kindStrategy struct {
	runtime.ObjectTyper
	*generator
	genericStoreOnly
	server *Server
	kind   *kind
	rules  rules
}

// GenerateName adds to a name what makes it one of its own, but where it is the whole name.
func (s *kindStrategy) GenerateName(base string) string {
	if s.kind.rules.literalNames {
		return base
	}
	return s.generator.GenerateName(base)
}

func (s *kindStrategy) NamespaceScoped() bool { return s.kind.namespaced }
func (s *kindStrategy) creates() bool         { return s.rules.creates }
func (s *kindStrategy) unconditional() bool   { return s.rules.unconditional }

func (s *kindStrategy) DefaultGarbageCollectionPolicy(context.Context) rest.GarbageCollectionPolicy {
	if s.kind.policy == "" {
		return rest.DeleteDependents
	}
	return s.kind.policy
}

func (s *kindStrategy) CheckGracefulDelete(_ context.Context, object runtime.Object, options *metav1.DeleteOptions) bool {
	return s.rules.grace != nil && s.rules.grace(object, options)
}

func (s *kindStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	set := fieldpath.NewSet()
	for _, name := range s.rules.reset {
		var path []any
		for part := range strings.SplitSeq(name, ".") {
			path = append(path, part)
		}
		set.Insert(fieldpath.MakePathOrDie(path...))
	}
	reset := map[fieldpath.APIVersion]*fieldpath.Set{}
	for _, gv := range s.kind.versions() {
		reset[fieldpath.APIVersion(gv.String())] = set
	}
	return reset
}

func (s *kindStrategy) PrepareForCreate(ctx context.Context, object runtime.Object) {
	if s.kind.rules.spec != nil {
		mustAccess(object).SetGeneration(1)
	}
	if accessor := mustAccess(object); s.kind.rules.unnamed && accessor.GetName() == "" {
		accessor.SetName(string(s.uid()))
	}
	dropGated(object)
	if s.kind.rules.given != nil {
		for _, text := range s.kind.rules.given(object) {
			warning.AddWarning(ctx, "", text)
		}
	}
	if who, ok := request.UserFrom(ctx); ok && s.kind.rules.identify != nil {
		s.kind.rules.identify(object, who)
	}
	if s.kind.rules.create != nil { // a subresource that makes objects makes them as the resource does
		s.kind.rules.create(object)
	}
}

func (s *kindStrategy) PrepareForUpdate(_ context.Context, object, old runtime.Object) {
	dropGated(object)
	if s.rules.update != nil {
		s.rules.update(object, old)
	}
	equal := equality.Semantic.DeepEqual
	if s.rules.literal {
		equal = reflect.DeepEqual
	}
	if s.rules.spec != nil && !equal(s.rules.spec(object), s.rules.spec(old)) {
		mustAccess(object).SetGeneration(mustAccess(old).GetGeneration() + 1)
	}
}

func (s *kindStrategy) Canonicalize(object runtime.Object) {
	if s.kind.rules.canonicalize != nil {
		s.kind.rules.canonicalize(object)
	}
}

func (s *kindStrategy) Validate(ctx context.Context, object runtime.Object) field.ErrorList {
	if s.rules.validateIn != nil {
		return show(s.rules.validateIn(ctx, object, nil))
	}
	return show(s.authorized(ctx, s.kind.rules.validate(object), object, nil))
}

func (s *kindStrategy) ValidateUpdate(ctx context.Context, object, old runtime.Object) field.ErrorList {
	if s.rules.validateIn != nil {
		return show(s.rules.validateIn(ctx, object, old))
	}
	return show(s.authorized(ctx, s.rules.validateUpdate(object, old), object, old))
}

// authorized are the problems of an object, or, if there are none, what its writer lacks.
func (s *kindStrategy) authorized(ctx context.Context, problems field.ErrorList, object, old runtime.Object) field.ErrorList {
	if len(problems) == 0 && s.rules.mayWrite != nil {
		if problem := s.rules.mayWrite(ctx, s.server, object, old); problem != nil {
			return field.ErrorList{problem}
		}
	}
	return problems
}

// ValidateDeclaratively leaves one of problems that are found twice, and sorts them, as it is with kinds that upstream checks by generated
// code too: all but definitions.
func (s *kindStrategy) ValidateDeclaratively(_ context.Context, _, _ runtime.Object, problems field.ErrorList, _ operation.Type, _ rest.DeclarativeValidationConfig) (distinct field.ErrorList) {
	if s.kind == &definitionKind {
		return problems
	}
	known := sets.New[string]()
	for _, problem := range problems {
		if text := problem.Error(); !known.Has(text) {
			known.Insert(text)
			distinct = append(distinct, problem)
		}
	}
	return declaredLast(s.kind.gvk.Kind, distinct)
}

// DeclarativeValidationConfig is the usual one.
func (*kindStrategy) DeclarativeValidationConfig(context.Context, runtime.Object, runtime.Object) rest.DeclarativeValidationConfig {
	return rest.DeclarativeValidationConfig{}
}

func (s *kindStrategy) WarningsOnCreate(_ context.Context, object runtime.Object) []string {
	if s.kind.rules.warnings == nil {
		return nil
	}
	return s.kind.rules.warnings(object)
}

func (s *kindStrategy) WarningsOnUpdate(_ context.Context, object, old runtime.Object) []string {
	switch {
	case s.rules.updateWarnings != nil:
		return s.rules.updateWarnings(object, old)
	case s.rules.warnings != nil:
		return s.rules.warnings(object)
	}
	return nil
}

// ConvertToTable shows objects in the columns of the kind.
func (k *kind) ConvertToTable(_ context.Context, object, options runtime.Object) (*metav1.Table, error) {
	table := &metav1.Table{}
	first := !slices.ContainsFunc(k.columns, func(c column) bool { return c.Name == "Name" })
	if o, ok := options.(*metav1.TableOptions); !ok || !o.NoHeaders {
		if first {
			table.ColumnDefinitions = append(table.ColumnDefinitions, nameColumn)
		}
		for _, c := range k.columns {
			if c.Name != "" {
				table.ColumnDefinitions = append(table.ColumnDefinitions, c.TableColumnDefinition)
			}
		}
	}
	if list, err := meta.ListAccessor(object); err == nil {
		table.ResourceVersion, table.Continue, table.RemainingItemCount = list.GetResourceVersion(), list.GetContinue(), list.GetRemainingItemCount()
	} else if one, err := meta.CommonAccessor(object); err == nil {
		table.ResourceVersion = one.GetResourceVersion()
	}
	var err error
	table.Rows, err = metatable.MetaToTableRow(object, func(object runtime.Object, _ metav1.Object, name, _ string) ([]any, error) {
		var cells []any
		if first {
			cells = append(cells, name)
		}
		for _, c := range k.columns {
			cells = append(cells, c.value(object))
		}
		return cells, nil
	})
	for i := range table.Rows {
		if k.unshown != "" {
			object := table.Rows[i].Object.Object.DeepCopyObject()
			annotations := mustAccess(object).GetAnnotations()
			delete(annotations, k.unshown)
			if len(annotations) == 0 {
				annotations = nil
			}
			mustAccess(object).SetAnnotations(annotations)
			table.Rows[i].Object.Object = object
		}
	}
	if k.conditions != nil {
		for i := range table.Rows {
			table.Rows[i].Conditions = k.conditions(table.Rows[i].Object.Object)
		}
	}
	return table, err
}

func (k *kind) attributes(object runtime.Object) (labels.Set, fields.Set, error) {
	accessor := mustAccess(object)
	set := fields.Set{"metadata.name": accessor.GetName()}
	if k.namespaced {
		set["metadata.namespace"] = accessor.GetNamespace()
	}
	if k.fields != nil {
		k.fields(object, set)
	}
	return accessor.GetLabels(), set, nil
}

// typeConverter knows the schema of the kind for server-side apply.
func (k *kind) typeConverter() managedfields.TypeConverter {
	if k.modelName == "" {
		return loadBuiltin().models
	}
	return definitionModels()
}

// definitionModels knows the schema of definitions. It costs milliseconds, and all servers share it.
var definitionModels = sync.OnceValue(func() managedfields.TypeConverter {
	models := maps.Clone(generatedModels())
	model := *models[definitionKind.modelName]
	delete(models, definitionKind.modelName)
	addModel(models, definitionKind.gvk, &model)
	types, err := managedfields.NewTypeConverter(models, false)
	must(err)
	return types
})

// family is what kinds of one scheme share.
type family struct {
	scheme *runtime.Scheme
	codecs serializer.CodecFactory
	hub    schema.GroupVersion // the version that is worked with; empty for that of each kind
}

// hubOf is the version that a kind is worked with in.
func (f family) hubOf(k *kind) schema.GroupVersion {
	switch {
	case !f.hub.Empty():
		return f.hub
	case !k.hub.Empty():
		return k.hub
	}
	return k.gvk.GroupVersion()
}

// stored is the kind as which objects are stored.
func (k *kind) stored() *kind {
	if k.of != nil {
		return k.of
	}
	return k
}

// versions are all that the kind is served in.
func (k *kind) versions() (all []schema.GroupVersion) {
	for _, kinds := range kindGroups() {
		for i := range kinds {
			if kinds[i].stored().gvk == k.gvk {
				all = append(all, kinds[i].gvk.GroupVersion())
			}
		}
	}
	if all == nil {
		all = append(all, k.gvk.GroupVersion())
	}
	return all
}

func (s *Server) newRegistry(k *kind, f family) *registry {
	stored := k.stored()
	resource := schema.GroupResource{Group: stored.gvk.Group, Resource: k.resource}
	prefix := "/registry/" + resource.Resource
	if resource.Group != "" {
		prefix = "/registry/" + resource.Group + "/" + resource.Resource
	}
	media := runtime.ContentTypeProtobuf // which has no empty lists, and no kinds of what is inside of an object
	if !f.hub.Empty() || s.options.Unchecked {
		media = runtime.ContentTypeJSON
	}
	info, _ := runtime.SerializerInfoForMediaType(f.codecs.SupportedMediaTypes(), media)
	hub := f.hubOf(stored)
	r := &registry{
		table: s.store.table(resource), prefix: prefix, resource: k.gvk.GroupVersion().WithResource(k.resource).GroupResource(), kind: k.gvk, singular: k.singularName(), deletable: k.deletable,
		new: newOf(f.scheme, hub.WithKind(k.gvk.Kind)), newList: newOf(f.scheme, hub.WithKind(k.gvk.Kind+"List")),
		strategy: &kindStrategy{f.scheme, s.names, genericStoreOnly{}, s, stored, stored.rules}, attrs: stored.attributes, names: s.names, returnDeleted: stored.returned, uncached: stored.uncached, TableConvertor: stored,
	}
	r.codec = typedCodec{f.codecs.CodecForVersions(info.Serializer, info.Serializer, stored.gvk.GroupVersion(), hub), stored.shown}
	text, _ := runtime.SerializerInfoForMediaType(f.codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	r.table.keepAs(f.codecs.CodecForVersions(text.Serializer, text.Serializer, stored.gvk.GroupVersion(), hub))
	if stored.columns == nil {
		r.TableConvertor = rest.NewDefaultTableConvertor(r.resource)
	}
	return r
}

func newOf(scheme *runtime.Scheme, kind schema.GroupVersionKind) func() runtime.Object {
	return func() runtime.Object {
		object, err := scheme.New(kind)
		must(err)
		return object
	}
}

func (k *kind) singularName() string {
	if k.singular != "" {
		return k.singular
	}
	return strings.ToLower(k.gvk.Kind)
}

func newScope(k *kind, f family, subresource string, reset map[fieldpath.APIVersion]*fieldpath.Set, table rest.TableConvertor) *handlers.RequestScope {
	return newScopeOf(k, f, k.gvk, f.hubOf(k), subresource, reset, table)
}

// newScopeOf is the scope of a subresource of another kind than the resource.
func newScopeOf(k *kind, f family, of schema.GroupVersionKind, hub schema.GroupVersion, subresource string, reset map[fieldpath.APIVersion]*fieldpath.Set, table rest.TableConvertor) *handlers.RequestScope {
	scope := &handlers.RequestScope{
		Namer:      handlers.ContextBasedNaming{Namer: runtime.Namer(meta.NewAccessor()), ClusterScoped: !k.namespaced},
		Serializer: f.codecs, ParameterCodec: runtime.NewParameterCodec(f.scheme), Creater: f.scheme, Convertor: f.scheme, UnsafeConvertor: runtime.UnsafeObjectConvertor(f.scheme),
		Typer: f.scheme, Defaulter: f.scheme, EquivalentResourceMapper: equivalents(k), TableConvertor: table,
		Resource: k.gvk.GroupVersion().WithResource(k.resource), Subresource: subresource, Kind: of, HubGroupVersion: hub,
		MetaGroupVersion: metav1.SchemeGroupVersion, MaxRequestBodyBytes: maxBody,
	}
	var err error
	scope.FieldManager, err = managedfields.NewDefaultFieldManager(k.typeConverter(), scope.Convertor, scope.Defaulter, scope.Creater, of, hub,
		subresource, fieldpath.NewExcludeFilterSetMap(reset))
	must(err)
	return scope
}

// equivalents are the other versions of a kind.
func equivalents(k *kind) runtime.EquivalentResourceMapper {
	known := runtime.NewEquivalentResourceRegistry()
	for _, gv := range k.stored().versions() {
		known.RegisterKindFor(gv.WithResource(k.resource), "", gv.WithKind(k.gvk.Kind))
	}
	return known
}

var kindPatches = append(slices.Clone(customPatches), string(types.StrategicMergePatchType))

func (s *Server) newEndpoint(k *kind, f family, r *registry) *endpoint {
	e := &endpoint{objects: r, registry: r, scope: newScope(k, f, "", r.GetResetFields(), r), parts: map[string]part{}, patches: kindPatches, kind: k}
	e.scope.Authorizer = s.authorizer // which is asked by updates that make what is not there
	stored := k.stored()
	if stored.status != nil {
		status := r.with(&kindStrategy{f.scheme, s.names, genericStoreOnly{}, s, stored, *stored.status})
		e.parts["status"] = part{storage: subresource{status}, scope: newScope(k, f, "status", status.GetResetFields(), r)}
		e.parts["status"].scope.Authorizer = s.authorizer
		s.unchecked(r, status)
	} else {
		s.unchecked(r, nil)
	}
	if stored.scale != nil {
		e.parts["scale"] = part{storage: &kindScale{objects: r, of: stored.scale, parent: k.gvk.GroupVersion()}, scope: newScopeOf(k, f, scaleKind, scaleKind.GroupVersion(), "scale", nil, kindScaleTable)}
	}
	for _, extra := range k.parts {
		e.parts[extra.name] = extra.part(s, r, k, f)
	}
	return e
}

// newKinds makes the endpoints of the kinds that are there without a definition, each when it is first asked for, and of definitions.
func (s *Server) newKinds() map[schema.GroupVersionResource]func() *endpoint {
	endpoints := map[schema.GroupVersionResource]func() *endpoint{}
	for _, kinds := range kindGroups() {
		for i := range kinds {
			k := &kinds[i]
			endpoints[k.gvk.GroupVersion().WithResource(k.resource)] = sync.OnceValue(func() *endpoint { return s.newBuiltin(k) })
		}
	}
	r := s.newRegistry(&definitionKind, definitionFamily)
	r.written = s.reconcileDefinitions
	e := s.newEndpoint(&definitionKind, definitionFamily, r)
	e.objects = &definitionStorage{r}
	s.crds, s.crdScope = r, e.parts["status"].scope
	endpoints[definitionKind.gvk.GroupVersion().WithResource(definitionKind.resource)] = func() *endpoint { return e }
	return endpoints
}

func (s *Server) newBuiltin(k *kind) *endpoint {
	family := loadBuiltin().family
	if s.options.Unchecked {
		family = loadBuiltin().plain()
	}
	r := s.newRegistry(k, family)
	e := s.newEndpoint(k, family, r)
	if k.complete != nil && (!s.options.Unchecked || k.answers()) {
		k.complete(s, r, e)
	}
	return e
}

// answers reports whether the kind is answered and not stored.
func (k *kind) answers() bool { return slices.Equal(k.verbs, []string{"create"}) }

// endpointOf is the one of a built-in resource, or nil.
func (s *Server) endpointOf(resource schema.GroupVersionResource) *endpoint {
	if make := s.builtin[resource]; make != nil {
		return make()
	}
	return nil
}

// presets does to built-in kinds what the admission plugins do that each server has.
type presets struct{ server *Server }

func (presets) Handles(operation admission.Operation) bool {
	return operation == admission.Create || operation == admission.Update
}

func (p presets) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if k := p.kindOf(a); k != nil && k.admit != nil {
		return k.admit(p.server, a)
	}
	return nil
}

func (p presets) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if k := p.kindOf(a); k != nil && k.review != nil {
		return k.review(p.server, a)
	}
	return nil
}

// kindOf returns the built-in kind that a write is about, or nil.
func (p presets) kindOf(a admission.Attributes) *kind {
	e := p.server.endpointOf(a.GetResource())
	if e == nil || e.kind == nil {
		return nil
	}
	return e.kind.stored()
}

// read is an object as the server itself reads it.
func (s *Server) readObject(group, version, resource, namespace, name string) (runtime.Object, error) {
	ctx := request.WithRequestInfo(request.WithNamespace(request.NewContext(), namespace), &request.RequestInfo{APIGroup: group, Resource: resource})
	return s.endpointOf(schema.GroupVersionResource{Group: group, Version: version, Resource: resource}).objects.Get(ctx, name, &metav1.GetOptions{})
}

// readAll is what a namespace has, or with none the cluster.
func (s *Server) readAll(group, version, resource, namespace string) (objects []runtime.Object) {
	ctx := request.WithRequestInfo(request.WithNamespace(request.NewContext(), namespace), &request.RequestInfo{APIGroup: group, Resource: resource})
	list, err := s.endpointOf(schema.GroupVersionResource{Group: group, Version: version, Resource: resource}).objects.List(ctx, &internalversion.ListOptions{})
	must(err)
	must(meta.EachListItem(list, func(object runtime.Object) error {
		objects = append(objects, object)
		return nil
	}))
	return objects
}
