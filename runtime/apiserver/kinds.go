package apiserver

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	"k8s.io/apimachinery/pkg/api/validation"
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
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// kind is a kind that is there without a CustomResourceDefinition: one row for each.
type kind struct {
	gvk        schema.GroupVersionKind
	resource   string
	singular   string
	short      []string
	categories []string
	namespaced bool
	new        func() runtime.Object
	newList    func() runtime.Object
	model      map[string]spec.Schema // its fields besides those of each object, for server-side apply
	modelName  string                 // of a generated model with all its fields, instead
	columns    []column               // of tables; nil for names and creation times
	rules      rules
	status     *rules // of the subresource, if there is one
	fields     func(object runtime.Object, set fields.Set)
	returned   bool // a deletion answers with the object
}

// column of a table.
type column struct {
	metav1.TableColumnDefinition
	value func(object runtime.Object) any
}

// rules of a kind for its writes. Those that are nil do nothing.
type rules struct {
	unconditional  bool // an update may say no version
	reset          []string
	create         func(object runtime.Object)
	update         func(object, old runtime.Object)
	canonicalize   func(object runtime.Object)
	validate       func(object runtime.Object) field.ErrorList
	validateUpdate func(object, old runtime.Object) field.ErrorList
	warnings       func(object runtime.Object) []string
}

var kinds = []kind{namespaces, configMaps, secrets}

var (
	coreV1        = corev1.SchemeGroupVersion
	namespaceKind = coreV1.WithKind("Namespace")
	nameColumn    = metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]}
	sinceColumn   = column{
		metav1.TableColumnDefinition{Name: "Age", Type: "string", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"]},
		func(object runtime.Object) any {
			created := mustAccess(object).GetCreationTimestamp()
			if created.IsZero() {
				return "<unknown>"
			}
			return duration.HumanDuration(time.Since(created.Time))
		},
	}
)

var namespaces = kind{
	gvk: namespaceKind, resource: "namespaces", singular: "namespace", short: []string{"ns"}, returned: true,
	new:     func() runtime.Object { return &corev1.Namespace{} },
	newList: func() runtime.Object { return &corev1.NamespaceList{} },
	model:   map[string]spec.Schema{"spec": *objectOf(map[string]spec.Schema{"finalizers": *atomicList()}), "status": *namespaceStatusModel()},
	columns: []column{
		{metav1.TableColumnDefinition{Name: "Status", Type: "string", Description: "The status of the namespace"}, func(object runtime.Object) any { return string(object.(*corev1.Namespace).Status.Phase) }},
		sinceColumn,
	},
	fields: func(object runtime.Object, set fields.Set) {
		set["status.phase"], set["name"] = string(object.(*corev1.Namespace).Status.Phase), mustAccess(object).GetName()
	},
	rules: rules{
		unconditional: true, reset: []string{"status"},
		create: func(object runtime.Object) {
			namespace := object.(*corev1.Namespace)
			namespace.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
			if !slices.Contains(namespace.Spec.Finalizers, corev1.FinalizerKubernetes) {
				namespace.Spec.Finalizers = append(namespace.Spec.Finalizers, corev1.FinalizerKubernetes)
			}
		},
		update: func(object, old runtime.Object) {
			namespace, was := object.(*corev1.Namespace), old.(*corev1.Namespace)
			namespace.Spec.Finalizers, namespace.Status = was.Spec.Finalizers, was.Status
		},
		canonicalize: func(object runtime.Object) { labelNamespace(object.(*corev1.Namespace)) },
		validate:     validateNamespace,
		validateUpdate: func(object, old runtime.Object) field.ErrorList {
			return append(validateNamespace(object), validateMetadataUpdate(object, old)...)
		},
	},
	status: &rules{
		unconditional: true, reset: []string{"spec"},
		update: func(object, old runtime.Object) {
			object.(*corev1.Namespace).Spec = old.(*corev1.Namespace).Spec
		},
		validateUpdate: func(object, old runtime.Object) field.ErrorList {
			problems, namespace := validateMetadataUpdate(object, old), object.(*corev1.Namespace)
			path, phase := field.NewPath("status", "Phase"), namespace.Status.Phase
			switch {
			case namespace.DeletionTimestamp.IsZero() && phase != corev1.NamespaceActive:
				problems = append(problems, field.Invalid(path, phase, "may only be 'Active' if `deletionTimestamp` is empty"))
			case !namespace.DeletionTimestamp.IsZero() && phase != corev1.NamespaceTerminating:
				problems = append(problems, field.Invalid(path, phase, "may only be 'Terminating' if `deletionTimestamp` is not empty"))
			}
			return problems
		},
	},
}

func validateNamespace(object runtime.Object) (problems field.ErrorList) {
	namespace := object.(*corev1.Namespace)
	problems = validateMetadata(&namespace.ObjectMeta, false, validation.ValidateNamespaceName)
	for _, finalizer := range namespace.Spec.Finalizers {
		problems = append(problems, validateFinalizer(string(finalizer), field.NewPath("spec", "finalizers"))...)
	}
	return problems
}

// finalizeRules are those of the finalize subresource of namespaces, by which what empties a namespace lets it go.
var finalizeRules = rules{
	unconditional: true, reset: []string{"status"},
	update: func(object, old runtime.Object) {
		object.(*corev1.Namespace).Status = old.(*corev1.Namespace).Status
	},
	validateUpdate: func(object, old runtime.Object) field.ErrorList {
		problems := validateMetadataUpdate(object, old)
		for i, finalizer := range object.(*corev1.Namespace).Spec.Finalizers {
			problems = append(problems, validateFinalizer(string(finalizer), field.NewPath("spec", "finalizers").Index(i))...)
		}
		return problems
	},
}

func labelNamespace(namespace *corev1.Namespace) {
	if namespace.Labels == nil {
		namespace.Labels = map[string]string{}
	}
	namespace.Labels[corev1.LabelMetadataName] = namespace.Name
}

var configMaps = kind{
	gvk: coreV1.WithKind("ConfigMap"), resource: "configmaps", singular: "configmap", short: []string{"cm"}, namespaced: true,
	new:     func() runtime.Object { return &corev1.ConfigMap{} },
	newList: func() runtime.Object { return &corev1.ConfigMapList{} },
	model:   map[string]spec.Schema{"data": *spec.MapProperty(spec.StringProperty()), "binaryData": *spec.MapProperty(spec.StringProperty()), "immutable": *spec.BooleanProperty()},
	columns: []column{
		{metav1.TableColumnDefinition{Name: "Data", Type: "string", Description: corev1.ConfigMap{}.SwaggerDoc()["data"]}, func(object runtime.Object) any {
			configMap := object.(*corev1.ConfigMap)
			return int64(len(configMap.Data) + len(configMap.BinaryData))
		}},
		sinceColumn,
	},
	rules: rules{
		unconditional: true,
		validate:      validateConfigMap,
		validateUpdate: func(object, old runtime.Object) field.ErrorList {
			configMap, was := object.(*corev1.ConfigMap), old.(*corev1.ConfigMap)
			problems := validateMetadataUpdate(object, old)
			problems = append(problems, validateImmutable(configMap.Immutable, was.Immutable, "data", configMap.Data, was.Data)...)
			if was.Immutable != nil && *was.Immutable && !reflect.DeepEqual(configMap.BinaryData, was.BinaryData) {
				problems = append(problems, field.Forbidden(field.NewPath("binaryData"), immutableMessage))
			}
			return append(problems, validateConfigMap(object)...)
		},
	},
}

func validateConfigMap(object runtime.Object) field.ErrorList {
	configMap := object.(*corev1.ConfigMap)
	problems := validateMetadata(&configMap.ObjectMeta, true, validation.NameIsDNSSubdomain)
	size := 0
	for _, key := range slices.Sorted(maps.Keys(configMap.Data)) {
		problems = append(problems, validateKey(field.NewPath("data").Key(key), key)...)
		if _, twice := configMap.BinaryData[key]; twice {
			problems = append(problems, field.Invalid(field.NewPath("data").Key(key), key, "duplicate of key present in binaryData"))
		}
		size += len(configMap.Data[key])
	}
	for _, key := range slices.Sorted(maps.Keys(configMap.BinaryData)) {
		problems = append(problems, validateKey(field.NewPath("binaryData").Key(key), key)...)
		size += len(configMap.BinaryData[key])
	}
	if size > corev1.MaxSecretSize {
		problems = append(problems, field.TooLong(field.NewPath(""), "", corev1.MaxSecretSize))
	}
	return problems
}

var secrets = kind{
	gvk: coreV1.WithKind("Secret"), resource: "secrets", singular: "secret", namespaced: true,
	new:     func() runtime.Object { return &corev1.Secret{} },
	newList: func() runtime.Object { return &corev1.SecretList{} },
	model:   map[string]spec.Schema{"data": *spec.MapProperty(spec.StringProperty()), "stringData": *spec.MapProperty(spec.StringProperty()), "type": *spec.StringProperty(), "immutable": *spec.BooleanProperty()},
	columns: []column{
		{metav1.TableColumnDefinition{Name: "Type", Type: "string", Description: corev1.Secret{}.SwaggerDoc()["type"]}, func(object runtime.Object) any { return string(object.(*corev1.Secret).Type) }},
		{metav1.TableColumnDefinition{Name: "Data", Type: "string", Description: corev1.Secret{}.SwaggerDoc()["data"]}, func(object runtime.Object) any { return int64(len(object.(*corev1.Secret).Data)) }},
		sinceColumn,
	},
	fields: func(object runtime.Object, set fields.Set) { set["type"] = string(object.(*corev1.Secret).Type) },
	rules: rules{
		unconditional: true,
		update: func(object, old runtime.Object) {
			if secret := object.(*corev1.Secret); secret.Type == "" {
				secret.Type = old.(*corev1.Secret).Type
			}
		},
		validate: func(object runtime.Object) field.ErrorList { return validateSecret(object.(*corev1.Secret)) },
		validateUpdate: func(object, old runtime.Object) field.ErrorList {
			secret, was := object.(*corev1.Secret), old.(*corev1.Secret)
			problems := validateMetadataUpdate(object, old)
			problems = append(problems, validation.ValidateImmutableField(secret.Type, was.Type, field.NewPath("type"))...)
			problems = append(problems, validateImmutable(secret.Immutable, was.Immutable, "data", secret.Data, was.Data)...)
			return append(problems, validateSecret(secret)...)
		},
		warnings: func(object runtime.Object) []string {
			secret := object.(*corev1.Secret)
			if secret.Type != corev1.SecretTypeTLS {
				return nil
			}
			if _, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]); err != nil {
				return []string{err.Error()}
			}
			return nil
		},
	},
}

func validateSecret(secret *corev1.Secret) field.ErrorList {
	problems, data, size := validateMetadata(&secret.ObjectMeta, true, validation.NameIsDNSSubdomain), field.NewPath("data"), 0
	for _, key := range slices.Sorted(maps.Keys(secret.Data)) {
		problems = append(problems, validateKey(data.Key(key), key)...)
		size += len(secret.Data[key])
	}
	if size > corev1.MaxSecretSize {
		problems = append(problems, field.TooLong(data, "", corev1.MaxSecretSize))
	}
	required := func(keys ...string) {
		for _, key := range keys {
			if _, ok := secret.Data[key]; !ok {
				problems = append(problems, field.Required(data.Key(key), ""))
			}
		}
	}
	switch secret.Type {
	case corev1.SecretTypeServiceAccountToken:
		if secret.Annotations[corev1.ServiceAccountNameKey] == "" {
			problems = append(problems, field.Required(field.NewPath("metadata", "annotations").Key(corev1.ServiceAccountNameKey), ""))
		}
	case corev1.SecretTypeDockercfg:
		problems = append(problems, validateDocker(secret, corev1.DockerConfigKey)...)
	case corev1.SecretTypeDockerConfigJson:
		problems = append(problems, validateDocker(secret, corev1.DockerConfigJsonKey)...)
	case corev1.SecretTypeBasicAuth:
		_, name := secret.Data[corev1.BasicAuthUsernameKey]
		_, password := secret.Data[corev1.BasicAuthPasswordKey]
		if !name && !password {
			required(corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey)
		}
	case corev1.SecretTypeSSHAuth:
		if len(secret.Data[corev1.SSHAuthPrivateKey]) == 0 {
			problems = append(problems, field.Required(data.Key(corev1.SSHAuthPrivateKey), ""))
		}
	case corev1.SecretTypeTLS:
		required(corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	}
	return problems
}

func validateDocker(secret *corev1.Secret, key string) field.ErrorList {
	path, content := field.NewPath("data").Key(key), secret.Data[key]
	if _, ok := secret.Data[key]; !ok {
		return field.ErrorList{field.Required(path, "")}
	}
	if err := json.Unmarshal(content, &map[string]any{}); err != nil {
		return field.ErrorList{field.Invalid(path, "<secret contents redacted>", err.Error())}
	}
	return nil
}

func validateKey(path *field.Path, key string) (problems field.ErrorList) {
	for _, problem := range utilvalidation.IsConfigMapKey(key) {
		problems = append(problems, field.Invalid(path, key, problem))
	}
	return problems
}

const immutableMessage = "field is immutable when `immutable` is set"

func validateImmutable[T any](now, was *bool, name string, content, before map[string]T) (problems field.ErrorList) {
	if was == nil || !*was {
		return nil
	}
	if now == nil || !*now {
		problems = append(problems, field.Forbidden(field.NewPath("immutable"), immutableMessage))
	}
	if !reflect.DeepEqual(content, before) {
		problems = append(problems, field.Forbidden(field.NewPath(name), immutableMessage))
	}
	return problems
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

// Models for server-side apply.

func objectOf(properties map[string]spec.Schema) *spec.Schema {
	return &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Properties: properties}}
}

func atomicList() *spec.Schema {
	list := spec.ArrayProperty(spec.StringProperty())
	list.AddExtension("x-kubernetes-list-type", "atomic")
	return list
}

func namespaceStatusModel() *spec.Schema {
	text := map[string]spec.Schema{}
	for _, name := range []string{"type", "status", "lastTransitionTime", "reason", "message"} {
		text[name] = *spec.StringProperty()
	}
	conditions := spec.ArrayProperty(objectOf(text))
	conditions.AddExtension("x-kubernetes-list-type", "map")
	conditions.AddExtension("x-kubernetes-list-map-keys", []any{"type"})
	return objectOf(map[string]spec.Schema{"phase": *spec.StringProperty(), "conditions": *conditions})
}

// coreScheme has the core kinds, with the defaults and selectors of those that are served. A version is its own hub.
var coreScheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	must(corev1.AddToScheme(scheme))
	scheme.AddTypeDefaultingFunc(&corev1.Namespace{}, func(object any) {
		namespace := object.(*corev1.Namespace)
		if namespace.Name != "" {
			labelNamespace(namespace)
		}
		if namespace.Status.Phase == "" {
			namespace.Status.Phase = corev1.NamespaceActive
		}
	})
	scheme.AddTypeDefaultingFunc(&corev1.Secret{}, func(object any) {
		secret := object.(*corev1.Secret)
		if secret.Type == "" {
			secret.Type = corev1.SecretTypeOpaque
		}
		if len(secret.StringData) > 0 && secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		for key, value := range secret.StringData {
			secret.Data[key] = []byte(value)
		}
		secret.StringData = nil
	})
	for name, labels := range map[string][]string{"Namespace": {"metadata.name", "status.phase"}, "Secret": {"metadata.name", "metadata.namespace", "type"}} {
		must(scheme.AddFieldLabelConversionFunc(coreV1.WithKind(name), func(label, value string) (string, string, error) {
			if slices.Contains(labels, label) {
				return label, value, nil
			}
			return "", "", fmt.Errorf("field label not supported: %s", label)
		}))
	}
	return scheme
}()

var coreCodecs = serializer.NewCodecFactory(coreScheme, serializer.WithStreamingCollectionEncodingToJSON(), serializer.WithStreamingCollectionEncodingToProtobuf())

// typedCodec stores objects of Go types as they are after they were written as JSON.
type typedCodec struct {
	codec runtime.Codec
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
	return &record{object: object}, nil
}

// decode returns a copy, since encoders note the kind in objects of Go types.
func (typedCodec) decode(r *record) (runtime.Object, error) { return r.object.DeepCopyObject(), nil }

// kindStrategy is what the rules of a kind make of its writes.
type kindStrategy struct {
	runtime.ObjectTyper
	*generator
	genericStoreOnly
	kind  *kind
	rules rules
}

func (s *kindStrategy) NamespaceScoped() bool { return s.kind.namespaced }
func (s *kindStrategy) unconditional() bool   { return s.rules.unconditional }

func (s *kindStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	set := fieldpath.NewSet()
	for _, name := range s.rules.reset {
		set.Insert(fieldpath.MakePathOrDie(name))
	}
	return map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(s.kind.gvk.GroupVersion().String()): set}
}

func (s *kindStrategy) PrepareForCreate(_ context.Context, object runtime.Object) {
	if s.rules.create != nil {
		s.rules.create(object)
	}
}

func (s *kindStrategy) PrepareForUpdate(_ context.Context, object, old runtime.Object) {
	if s.rules.update != nil {
		s.rules.update(object, old)
	}
}

func (s *kindStrategy) Canonicalize(object runtime.Object) {
	if s.kind.rules.canonicalize != nil {
		s.kind.rules.canonicalize(object)
	}
}

func (s *kindStrategy) Validate(_ context.Context, object runtime.Object) field.ErrorList {
	return besides(nil, s.rules.validate(object))
}

func (s *kindStrategy) ValidateUpdate(_ context.Context, object, old runtime.Object) field.ErrorList {
	metadata, path := mustAccess(object), field.NewPath("metadata")
	anyName := func(string, bool) []string { return nil } // it is that of the old object
	common := append(validation.ValidateObjectMetaAccessor(metadata, s.NamespaceScoped(), anyName, path),
		validation.ValidateObjectMetaAccessorUpdate(metadata, mustAccess(old), path)...)
	return besides(common, s.rules.validateUpdate(object, old))
}

// besides leaves of problems that are found twice one, as upstream does where the checks of a kind are generated, and none of
// those that rest.BeforeUpdate finds for all kinds in common.
func besides(common, problems field.ErrorList) (distinct field.ErrorList) {
	known := sets.New[string]()
	for _, problem := range common {
		known.Insert(problem.Error())
	}
	for _, problem := range problems {
		if text := problem.Error(); !known.Has(text) {
			known.Insert(text)
			distinct = append(distinct, problem)
		}
	}
	return distinct
}

func (s *kindStrategy) WarningsOnCreate(_ context.Context, object runtime.Object) []string {
	if s.rules.warnings == nil {
		return nil
	}
	return s.rules.warnings(object)
}

func (s *kindStrategy) WarningsOnUpdate(ctx context.Context, object, _ runtime.Object) []string {
	return s.WarningsOnCreate(ctx, object)
}

// ConvertToTable shows objects in the columns of the kind.
func (k *kind) ConvertToTable(_ context.Context, object, options runtime.Object) (*metav1.Table, error) {
	table := &metav1.Table{}
	if o, ok := options.(*metav1.TableOptions); !ok || !o.NoHeaders {
		table.ColumnDefinitions = append(table.ColumnDefinitions, nameColumn)
		for _, c := range k.columns {
			table.ColumnDefinitions = append(table.ColumnDefinitions, c.TableColumnDefinition)
		}
	}
	if list, err := meta.ListAccessor(object); err == nil {
		table.ResourceVersion, table.Continue, table.RemainingItemCount = list.GetResourceVersion(), list.GetContinue(), list.GetRemainingItemCount()
	} else if one, err := meta.CommonAccessor(object); err == nil {
		table.ResourceVersion = one.GetResourceVersion()
	}
	var err error
	table.Rows, err = metatable.MetaToTableRow(object, func(object runtime.Object, _ metav1.Object, name, _ string) ([]any, error) {
		cells := []any{name}
		for _, c := range k.columns {
			cells = append(cells, c.value(object))
		}
		return cells, nil
	})
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
	models, model := maps.Clone(metaModels()), objectOf(maps.Clone(k.model))
	if k.modelName != "" {
		models = maps.Clone(generatedModels())
		own := *models[k.modelName]
		model = &own
		delete(models, k.modelName)
	} else {
		setObject(model)
	}
	addModel(models, k.gvk, model)
	types, err := managedfields.NewTypeConverter(models, false)
	must(err)
	return types
}

// kindTypes are the type converters of the kinds. They cost milliseconds, and all servers may share them.
var kindTypes = sync.OnceValue(func() map[schema.GroupVersionKind]managedfields.TypeConverter {
	types := map[schema.GroupVersionKind]managedfields.TypeConverter{definitionKind.gvk: definitionKind.typeConverter()}
	for i := range kinds {
		types[kinds[i].gvk] = kinds[i].typeConverter()
	}
	return types
})

// family is what kinds of one Go API package share.
type family struct {
	scheme *runtime.Scheme
	codecs serializer.CodecFactory
	hub    schema.GroupVersion // the version that is worked with
}

func (s *Server) newRegistry(k *kind, f family) *registry {
	resource := schema.GroupResource{Group: k.gvk.Group, Resource: k.resource}
	prefix := "/registry/" + resource.Resource
	if resource.Group != "" {
		prefix = "/registry/" + resource.Group + "/" + resource.Resource
	}
	info, _ := runtime.SerializerInfoForMediaType(f.codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	r := &registry{
		table: s.store.table(resource), prefix: prefix, resource: resource, kind: k.gvk, new: k.new, newList: k.newList, singular: k.singular,
		strategy: &kindStrategy{f.scheme, s.names, genericStoreOnly{}, k, k.rules}, attrs: k.attributes, names: s.names, returnDeleted: k.returned, TableConvertor: k,
		codec: typedCodec{f.codecs.CodecForVersions(info.Serializer, info.Serializer, k.gvk.GroupVersion(), f.hub)},
	}
	if k.columns == nil {
		r.TableConvertor = rest.NewDefaultTableConvertor(resource)
	}
	return r
}

func newScope(k *kind, f family, subresource string, reset map[fieldpath.APIVersion]*fieldpath.Set, table rest.TableConvertor) *handlers.RequestScope {
	scope := &handlers.RequestScope{
		Namer:      handlers.ContextBasedNaming{Namer: runtime.Namer(meta.NewAccessor()), ClusterScoped: !k.namespaced},
		Serializer: f.codecs, ParameterCodec: runtime.NewParameterCodec(f.scheme), Creater: f.scheme, Convertor: f.scheme, UnsafeConvertor: runtime.UnsafeObjectConvertor(f.scheme),
		Typer: f.scheme, Defaulter: f.scheme, Authorizer: everything{}, EquivalentResourceMapper: runtime.NewEquivalentResourceRegistry(), TableConvertor: table,
		Resource: k.gvk.GroupVersion().WithResource(k.resource), Subresource: subresource, Kind: k.gvk, HubGroupVersion: f.hub,
		MetaGroupVersion: metav1.SchemeGroupVersion, MaxRequestBodyBytes: maxBody,
	}
	var err error
	scope.FieldManager, err = managedfields.NewDefaultFieldManager(kindTypes()[k.gvk], scope.Convertor, scope.Defaulter, scope.Creater, k.gvk, f.hub,
		subresource, fieldpath.NewExcludeFilterSetMap(reset))
	must(err)
	return scope
}

var kindPatches = append(slices.Clone(customPatches), string(types.StrategicMergePatchType))

func (s *Server) newEndpoint(k *kind, f family, r *registry) *endpoint {
	e := &endpoint{objects: r, scope: newScope(k, f, "", r.GetResetFields(), r), parts: map[string]part{}, patches: kindPatches}
	if k.status != nil {
		status := r.with(&kindStrategy{f.scheme, s.names, genericStoreOnly{}, k, *k.status})
		e.parts["status"] = part{subresource{status}, newScope(k, f, "status", status.GetResetFields(), r)}
	}
	return e
}

// newKinds makes the endpoints of the kinds that are there without a definition, and of definitions.
func (s *Server) newKinds() map[schema.GroupVersionResource]*endpoint {
	core, endpoints := family{coreScheme, coreCodecs, coreV1}, map[schema.GroupVersionResource]*endpoint{}
	for i := range kinds {
		k := &kinds[i]
		r := s.newRegistry(k, core)
		e := s.newEndpoint(k, core, r)
		if k.gvk == namespaceKind {
			s.completeNamespaces(k, core, r, e)
		}
		endpoints[k.gvk.GroupVersion().WithResource(k.resource)] = e
	}
	r := s.newRegistry(&definitionKind, definitionFamily)
	r.written = s.reconcileDefinitions
	e := s.newEndpoint(&definitionKind, definitionFamily, r)
	e.objects = &definitionStorage{r}
	s.crds, s.crdScope = r, e.parts["status"].scope
	endpoints[definitionKind.gvk.GroupVersion().WithResource(definitionKind.resource)] = e
	return endpoints
}

// updater can only update: the finalize subresource cannot be read.
type updater struct{ rest.Updater }

func (s *Server) completeNamespaces(k *kind, f family, r *registry, e *endpoint) {
	r.deletable = func(updated, _ runtime.Object) bool { return len(updated.(*corev1.Namespace).Spec.Finalizers) == 0 }
	finalize := r.with(&kindStrategy{f.scheme, s.names, genericStoreOnly{}, k, finalizeRules})
	e.parts["finalize"] = part{updater{subresource{finalize}}, newScope(k, f, "finalize", finalize.GetResetFields(), r)}
	e.objects = &namespaceStorage{r}
}

// namespaceStorage deletes namespaces in two steps: they terminate until nothing is in them.
type namespaceStorage struct{ *registry }

func (s *namespaceStorage) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	object, err := s.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	namespace := object.(*corev1.Namespace)
	preconditions, err := s.pinned(object, options, "Precondition failed")
	if err != nil {
		return nil, false, err
	}
	if namespace.DeletionTimestamp.IsZero() {
		return s.terminate(ctx, name, preconditions, validate, options, func(object runtime.Object) {
			namespace := object.(*corev1.Namespace)
			namespace.Status.Phase = corev1.NamespaceTerminating
			if finalizers, changed := s.deletionFinalizers(ctx, namespace, options); changed {
				namespace.Finalizers = finalizers
			}
		})
	}
	if len(namespace.Spec.Finalizers) > 0 {
		return namespace, false, nil
	}
	return s.registry.Delete(ctx, name, validate, options)
}

// createNamespace makes a namespace that is there from the start.
func (s *Server) createNamespace(name string) {
	_, err := s.builtin[coreV1.WithResource("namespaces")].objects.Create(request.WithNamespace(request.NewContext(), ""),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}}}, nil, &metav1.CreateOptions{})
	must(err)
}

// namespaceEnds reports whether a namespace is being deleted.
func (s *Server) namespaceEnds(ctx context.Context, name string) (bool, error) {
	object, err := s.builtin[coreV1.WithResource("namespaces")].objects.Get(request.WithRequestInfo(ctx, &request.RequestInfo{Resource: "namespaces"}), name, &metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	return object.(*corev1.Namespace).Status.Phase == corev1.NamespaceTerminating, nil
}
