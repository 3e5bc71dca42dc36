package apiserver

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	kubeopenapi "k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/builtin"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/validity"
)

// definition is a served CustomResourceDefinition, in the state that it had when it was first used.
type definition struct {
	*preparation
	crd            *apiextensionsv1.CustomResourceDefinition
	storageVersion string
	converter      *converter
	versions       map[string]*endpoint
	stopped        chan struct{} // closed when another state of the definition replaces this one
}

// preparation is the part of a definition that depends only on its spec. It is immutable.
type preparation struct {
	spec       *apiextensionsv1.CustomResourceDefinitionSpec
	schemas    map[string]*schema.Structural // by version
	known      map[string]*validity.Schema   // schemas for the fast validity check, by version
	types      managedfields.TypeConverter   // of all versions
	strategies map[string]*customStrategy    // by version; copied for each server
}

// preparations are shared by a server and its forks. They are safe for concurrent use.
type preparations struct {
	mu  sync.Mutex
	all map[string]*preparation // the last one of each definition, by its name
}

// newDefinition returns the served form of a definition with all of its versions. This takes some milliseconds.
func (s *Server) newDefinition(crd *apiextensionsv1.CustomResourceDefinition) (*definition, error) {
	storageVersion, err := apihelpers.GetCRDStorageVersion(crd)
	if err != nil {
		return nil, err
	}
	d := &definition{
		crd: crd, storageVersion: storageVersion,
		versions: map[string]*endpoint{}, stopped: make(chan struct{}),
	}
	if d.preparation, err = s.prepare(crd); err != nil {
		return nil, err
	}
	if d.converter, err = s.newConverter(crd); err != nil {
		return nil, err
	}
	for _, v := range crd.Spec.Versions {
		if !v.Storage && !v.Served {
			continue
		}
		if d.versions[v.Name], err = s.newCustomEndpoint(d, v); err != nil {
			return nil, err
		}
	}
	return d, d.setStatusScopes()
}

// prepare returns the preparation of a definition. Definitions whose specs differ only in their conversion share one
// preparation.
func (s *Server) prepare(crd *apiextensionsv1.CustomResourceDefinition) (*preparation, error) {
	shared := s.definitions.prepared
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if p := shared.all[crd.Name]; p != nil && p.fits(&crd.Spec) {
		return p, nil
	}
	p := &preparation{
		spec: &crd.Spec, schemas: map[string]*schema.Structural{}, known: map[string]*validity.Schema{},
		strategies: map[string]*customStrategy{},
	}
	var err error
	for _, v := range crd.Spec.Versions {
		if v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
			if p.schemas[v.Name], err = structural(v.Schema, crd.Spec.PreserveUnknownFields); err != nil {
				return nil, err
			}
			known := validity.New(p.schemas[v.Name])
			if known != nil && !crd.Spec.PreserveUnknownFields && !s.plain {
				p.known[v.Name] = known
			}
		}
		if v.Storage || v.Served {
			if p.strategies[v.Name], err = p.newCustomStrategy(v); err != nil {
				return nil, err
			}
		}
	}
	p.types = p.typeConverter()
	if shared.all == nil {
		shared.all = map[string]*preparation{}
	}
	shared.all[crd.Name] = p
	return p, nil
}

// fits reports whether the preparation is valid for a spec.
func (p *preparation) fits(spec *apiextensionsv1.CustomResourceDefinitionSpec) bool {
	return p.spec == spec || p.spec.Scope == spec.Scope && p.spec.PreserveUnknownFields == spec.PreserveUnknownFields &&
		equality.Semantic.DeepEqual(p.spec.Names, spec.Names) && equality.Semantic.DeepEqual(p.spec.Versions, spec.Versions)
}

// structural returns the structural schema of a version, in which the defaults are pruned by the schema.
func structural(given *apiextensionsv1.CustomResourceValidation, preserve bool) (*schema.Structural, error) {
	internal, err := internalSchema(given)
	if err != nil {
		return nil, err
	}
	s, err := schema.NewStructural(internal.OpenAPIV3Schema)
	if preserve || err != nil {
		return s, err
	}
	s = s.DeepCopy()
	return s, defaulting.PruneDefaults(s)
}

func internalSchema(given *apiextensionsv1.CustomResourceValidation) (*apiextensions.CustomResourceValidation, error) {
	internal := &apiextensions.CustomResourceValidation{}
	return internal, apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(given,
		internal, nil)
}

func (d *definition) groupVersion(version string) runtimeschema.GroupVersion {
	return runtimeschema.GroupVersion{Group: d.crd.Spec.Group, Version: version}
}

func (d *definition) resource() runtimeschema.GroupResource {
	return runtimeschema.GroupResource{Group: d.crd.Spec.Group, Resource: d.crd.Status.AcceptedNames.Plural}
}

func (d *definition) namespaced() bool { return d.crd.Spec.Scope == apiextensionsv1.NamespaceScoped }

// newCustomEndpoint returns the endpoint of a version of a definition. It does not create the scope of the status,
// which needs all versions.
func (s *Server) newCustomEndpoint(d *definition,
	v apiextensionsv1.CustomResourceDefinitionVersion) (*endpoint, error) {
	names, gv := d.crd.Status.AcceptedNames, d.groupVersion(v.Name)
	kind, listKind := gv.WithKind(names.Kind), gv.WithKind(names.ListKind)
	strategy := d.strategies[v.Name].of(s, d, kind)
	columns := v.AdditionalPrinterColumns
	if len(columns) == 0 {
		columns = []apiextensionsv1.CustomResourceColumnDefinition{ageColumn}
	}
	table, _ := tableconvertor.New(columns) // on an error, the columns before the invalid one
	resource := d.resource()
	r := &registry{
		table:  s.store.Table(resource),
		prefix: "/registry/" + resource.Group + "/" + resource.Resource, resource: resource, kind: kind,
		singular: names.Singular,
		new: func() runtime.Object {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(kind)
			return u
		},
		newList: func() runtime.Object {
			l := &unstructured.UnstructuredList{}
			l.SetGroupVersionKind(listKind)
			return l
		},
		strategy: strategy, codec: &customCodec{definition: d, version: v.Name}, attrs: strategy.attributes,
		names: s.names, started: s.store.Current(), stopped: d.stopped, TableConvertor: table,
	}
	r.written = func() { s.finishDefinition(d.crd.Name) }
	e := &endpoint{objects: r, registry: r, parts: map[string]part{}, patches: customPatches, custom: true}
	if v.Deprecated {
		e.warnings = []string{cmp.Or(builtin.Deref(v.DeprecationWarning), deprecation(v.Name, d.crd.Spec))}
	}
	var status *registry
	if strategy.hasStatus {
		status = r.with(&customStatusStrategy{strategy})
		e.parts["status"] = part{storage: subresource{status}}
	}
	var err error
	if e.scope, err = d.newScope(s, r, gv); err != nil || strategy.scale == nil {
		return e, err
	}
	scope := *e.scope
	scope.Serializer, scope.Kind = scaleCodecs, scaleKind
	if scope.TableConvertor, err = tableconvertor.New(scaleColumns(strategy.scale)); err != nil {
		return nil, err
	}
	scale := &scaleStorage{objects: r, fields: customScale{strategy.scale}, path: strategy.scale.SpecReplicasPath,
		parent: gv, mappings: d.replicasPaths(), wrongType: "wrong object passed to Scale update: %v"}
	scaleScope, err := d.managed(scope, "scale", nil)
	e.parts["scale"] = part{storage: scale, scope: scaleScope}
	return e, err
}

var ageColumn = apiextensionsv1.CustomResourceColumnDefinition{
	Name: "Age", Type: "date", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"],
	JSONPath: ".metadata.creationTimestamp",
}

// deprecation returns the default deprecation warning of a version.
func deprecation(deprecated string, crd apiextensionsv1.CustomResourceDefinitionSpec) string {
	text, newest := fmt.Sprintf("%s/%s %s is deprecated", crd.Group, deprecated, crd.Names.Kind), ""
	for _, v := range crd.Versions {
		newer := v.Served && !v.Deprecated && version.CompareKubeAwareVersionStrings(deprecated, v.Name) < 0
		if newer && (newest == "" || version.CompareKubeAwareVersionStrings(newest, v.Name) < 0) {
			newest = v.Name
		}
	}
	if newest == "" {
		return text
	}
	return text + fmt.Sprintf("; use %s/%s %s", crd.Group, newest, crd.Names.Kind)
}

// newScope returns the scope of the objects of a version for upstream's handlers.
func (d *definition) newScope(s *Server, r *registry, gv runtimeschema.GroupVersion) (*handlers.RequestScope, error) {
	parameters := runtime.NewScheme()
	parameters.AddUnversionedTypes(gv, &metav1.ListOptions{}, &metav1.GetOptions{}, &metav1.DeleteOptions{})
	typer := customTyper{parameters}
	serializer := &customSerializer{definition: d, media: mediaTypes(typer)}
	return d.managed(handlers.RequestScope{
		Namer:      handlers.ContextBasedNaming{Namer: runtime.Namer(meta.NewAccessor()), ClusterScoped: !d.namespaced()},
		Serializer: serializer, ParameterCodec: runtime.NewParameterCodec(parameters),
		StandardSerializers: serializer.media[:2],
		Creater:             customCreater{}, Convertor: safeConverter{d.converter}, UnsafeConvertor: d.converter,
		Typer:     typer,
		Defaulter: customDefaulter{d, parameters}, Authorizer: s.authorizer, EquivalentResourceMapper: d.equivalents(),
		TableConvertor: r, Resource: d.resource().WithVersion(gv.Version), Kind: r.kind, HubGroupVersion: gv,
		MetaGroupVersion: metav1.SchemeGroupVersion, MaxRequestBodyBytes: maxBody,
	}, "", r.GetResetFields())
}

// setStatusScopes creates the scopes of status subresources. If one version resets a field, all versions reset it.
func (d *definition) setStatusScopes() (err error) {
	reset := map[fieldpath.APIVersion]*fieldpath.Set{}
	for _, e := range d.versions {
		if status, ok := e.parts["status"]; ok {
			maps.Copy(reset, status.storage.(subresource).GetResetFields())
		}
	}
	for _, e := range d.versions {
		status, ok := e.parts["status"]
		if !ok {
			continue
		}
		if status.scope, err = d.managed(*e.scope, "status", reset); err != nil {
			return err
		}
		e.parts["status"] = status
	}
	return nil
}

// managed returns a scope for a subresource, or for objects if subresource is empty, that manages fields.
func (d *definition) managed(scope handlers.RequestScope, subresource string,
	reset map[fieldpath.APIVersion]*fieldpath.Set) (*handlers.RequestScope, error) {
	scope.Subresource = subresource
	var err error
	scope.FieldManager, err = managedfields.NewDefaultCRDFieldManager(d.types, scope.Convertor, scope.Defaulter,
		scope.Creater, scope.Kind, scope.HubGroupVersion, subresource, fieldpath.NewExcludeFilterSetMap(reset))
	return &scope, err
}

func (d *definition) equivalents() runtime.EquivalentResourceMapper {
	known := runtime.NewEquivalentResourceRegistry()
	for _, v := range d.crd.Spec.Versions {
		resource, kind := d.resource().WithVersion(v.Name), d.groupVersion(v.Name).WithKind(d.crd.Status.AcceptedNames.Kind)
		known.RegisterKindFor(resource, "", kind)
		if v.Subresources != nil && v.Subresources.Status != nil {
			known.RegisterKindFor(resource, "status", kind)
		}
		if v.Subresources != nil && v.Subresources.Scale != nil {
			known.RegisterKindFor(resource, "scale", scaleKind)
		}
	}
	return known
}

// replicasPaths returns the path of the number of replicas in each version with a scale subresource.
func (d *definition) replicasPaths() managedfields.ResourcePathMappings {
	paths := managedfields.ResourcePathMappings{}
	for _, v := range d.crd.Spec.Versions {
		gv := d.groupVersion(v.Name).String()
		paths[gv] = nil
		if v.Subresources == nil || v.Subresources.Scale == nil {
			continue
		}
		for _, name := range pathOf(v.Subresources.Scale.SpecReplicasPath) {
			paths[gv] = append(paths[gv], fieldpath.PathElement{FieldName: &name})
		}
	}
	return paths
}

// typeConverter returns the schemas of all versions for server-side apply.
func (p *preparation) typeConverter() managedfields.TypeConverter {
	models := maps.Clone(metaModels())
	for _, v := range p.spec.Versions {
		kind := runtimeschema.GroupVersionKind{Group: p.spec.Group, Version: v.Name, Kind: p.spec.Names.Kind}
		addModel(models, kind, p.model(v))
	}
	addModel(models, scaleKind, scaleModel())
	types, err := managedfields.NewTypeConverter(models, p.spec.PreserveUnknownFields)
	if err != nil {
		return managedfields.NewDeducedTypeConverter()
	}
	return types
}

// addModel adds the model of a kind to models.
func addModel(models map[string]*spec.Schema, kind runtimeschema.GroupVersionKind, model *spec.Schema) {
	model.AddExtension("x-kubernetes-group-version-kind",
		[]any{map[string]any{"group": kind.Group, "version": kind.Version, "kind": kind.Kind}})
	models[kind.String()] = model
}

const metaModel = "io.k8s.apimachinery.pkg.apis.meta.v1."

// generatedModels are upstream's generated models of the Go types of definitions, and of the common fields of objects.
var generatedModels = sync.OnceValue(func() map[string]*spec.Schema {
	reference := func(name string) spec.Ref {
		return spec.MustCreateRef("#/components/schemas/" + kubeopenapi.EscapeJsonPointer(name))
	}
	models := map[string]*spec.Schema{}
	for name, d := range openapi.GetOpenAPIDefinitions(reference) {
		models[name] = &d.Schema
	}
	return models
})

// metaModels are the models of ObjectMeta and of the types in it.
var metaModels = sync.OnceValue(func() map[string]*spec.Schema {
	models := maps.Clone(generatedModels())
	maps.DeleteFunc(models, func(name string, _ *spec.Schema) bool { return !strings.HasPrefix(name, metaModel) })
	return models
})

func (p *preparation) model(v apiextensionsv1.CustomResourceDefinitionVersion) *spec.Schema {
	s := p.schemas[v.Name]
	if s == nil || len(schema.ValidateStructural(nil, s)) > 0 {
		return &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
	}
	model := s.ToKubeOpenAPI()
	setObject(model)
	eachEmbedded(model, setObject)
	return model
}

// setObject adds the common fields of objects to a model.
func setObject(model *spec.Schema) {
	typeMeta := metaModels()[metaModel+"TypeMeta"]
	model.SetProperty("metadata", *spec.RefSchema("#/components/schemas/" + metaModel + "ObjectMeta"))
	model.SetProperty("apiVersion", typeMeta.Properties["apiVersion"])
	model.SetProperty("kind", typeMeta.Properties["kind"])
}

// eachEmbedded calls f for the models of embedded objects, inner ones first.
func eachEmbedded(model *spec.Schema, f func(model *spec.Schema)) {
	if model == nil {
		return
	}
	for name, property := range model.Properties {
		eachEmbedded(&property, f)
		model.Properties[name] = property
	}
	if model.Items != nil {
		eachEmbedded(model.Items.Schema, f)
	}
	if model.AdditionalProperties != nil {
		eachEmbedded(model.AdditionalProperties.Schema, f)
	}
	if embedded, _ := model.Extensions.GetBool("x-kubernetes-embedded-resource"); embedded {
		f(model)
	}
}
