package apiserver

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	openapiv2 "k8s.io/apiextensions-apiserver/pkg/controller/openapi/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

const schemaPrefix = "#/components/schemas/"

// openAPIModels are the schemas of a document by name. They come from definitions, from upstream's generated code, and
// from Go types.
type openAPIModels struct {
	schemas   map[string]any
	listKinds map[string]string // by kind
	v2        bool              // convert schemas of definitions to OpenAPI v2
}

func newOpenAPIModels() *openAPIModels {
	return &openAPIModels{schemas: map[string]any{}, listKinds: map[string]string{}}
}

func definitionModel(gv schema.GroupVersion, kind string) string {
	words := strings.Split(gv.Group, ".")
	slices.Reverse(words)
	return strings.Join(words, ".") + "." + gv.Version + "." + kind
}

// addDefinition adds the kind of a definition in a version, and its list.
func (m *openAPIModels) addDefinition(crd *apiextensionsv1.CustomResourceDefinition, version string) {
	gv, names := schema.GroupVersion{Group: crd.Spec.Group, Version: version}, crd.Status.AcceptedNames
	at := slices.IndexFunc(crd.Spec.Versions,
		func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version })
	v := crd.Spec.Versions[at]
	docs := metav1.PartialObjectMetadata{}.SwaggerDoc()
	model := &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
	s := publishedSchema(v.Schema)
	// kubectl would treat a partial schema as a complete one
	unknown := m.v2 && s != nil && (s.XPreserveUnknownFields || crd.Spec.PreserveUnknownFields)
	if m.v2 {
		s = openapiv2.ToStructuralOpenAPIV2(s)
	}
	if s != nil && !unknown {
		model = s.Unfold().ToKubeOpenAPI()
		setObject(model)
		model.SetProperty("metadata", *spec.RefSchema(schemaPrefix + metaModel +
			"ObjectMeta").WithDescription(docs["metadata"]))
		eachEmbedded(model, func(object *spec.Schema) { describeEmbedded(object, docs["metadata"]) })
	}
	typeMeta := metaModels()[metaModel+"TypeMeta"]
	list := new(spec.Schema).Typed("object", "").WithDescription(names.ListKind+" is a list of "+
		names.Kind).WithRequired("items").
		SetProperty("items", *spec.ArrayProperty(spec.RefSchema(schemaPrefix + definitionModel(gv, names.Kind))).
			WithDescription("List of " + names.Plural + ". More info: " +
				"https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md")).
		SetProperty("metadata", *spec.RefSchema(schemaPrefix + metaModel +
			"ListMeta").WithDescription(metav1.PartialObjectMetadataList{}.SwaggerDoc()["metadata"])).
		SetProperty("apiVersion", typeMeta.Properties["apiVersion"]).SetProperty("kind", typeMeta.Properties["kind"])
	for kind, one := range map[string]*spec.Schema{names.Kind: model, names.ListKind: list} {
		one.AddExtension("x-kubernetes-group-version-kind",
			[]any{map[string]any{"group": gv.Group, "version": gv.Version, "kind": kind}})
		if len(v.SelectableFields) > 0 {
			var paths []any
			for _, field := range v.SelectableFields {
				paths = append(paths, map[string]any{"fieldPath": strings.TrimPrefix(field.JSONPath, ".")})
			}
			one.AddExtension("x-kubernetes-selectable-fields", paths)
		}
		m.add(definitionModel(gv, kind), one)
	}
	m.listKinds[names.Kind] = names.ListKind
}

// publishedSchema returns the schema of a definition if it is structural, because only structural schemas are
// published.
func publishedSchema(given *apiextensionsv1.CustomResourceValidation) *structuralschema.Structural {
	if given == nil || given.OpenAPIV3Schema == nil {
		return nil
	}
	internal, err := internalSchema(given)
	if err != nil {
		return nil
	}
	s, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil || len(structuralschema.ValidateStructural(nil, s)) > 0 {
		return nil
	}
	return s
}

// embeddedDocs are the API server's descriptions of fields of embedded objects.
var embeddedDocs = map[string]string{
	"apiVersion": "apiVersion defines the versioned schema of this representation of an object. More info: " +
		"https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
	"kind": "kind is a string value representing the type of this object. In CamelCase. More info: " +
		"https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
}

// describeEmbedded adds the common fields to the model of an embedded object, which must have a kind and a version.
func describeEmbedded(model *spec.Schema, metadata string) {
	for name, text := range embeddedDocs {
		model.SetProperty(name, *spec.StringProperty().WithDescription(text))
	}
	model.SetProperty("metadata", *spec.RefSchema(schemaPrefix + metaModel + "ObjectMeta").WithDescription(metadata))
	for _, name := range []string{"kind", "apiVersion"} {
		if !slices.Contains(model.Required, name) {
			model.Required = append(model.Required, name)
		}
	}
}

// meta returns the name of a model for a kind that all groups have.
func (m *openAPIModels) meta(kind string) string {
	m.addGenerated(metaModel + kind)
	return metaModel + kind
}

func (m *openAPIModels) addGenerated(name string) bool {
	if m.schemas[name] != nil {
		return true
	}
	model, ok := generatedModels()[name]
	if ok {
		m.add(name, model)
	}
	if kinds := generatedKinds[name]; kinds != nil && ok {
		m.schemas[name].(map[string]any)["x-kubernetes-group-version-kind"] = kinds
	}
	return ok
}

var generatedKinds = map[string][]any{
	metaModel + "Status":              {map[string]string{"group": "", "version": "v1", "kind": "Status"}},
	metaModel + "DeleteOptions":       {map[string]string{"group": "", "version": "v1", "kind": "DeleteOptions"}},
	"io.k8s.api.autoscaling.v1.Scale": {map[string]string{"group": "autoscaling", "version": "v1", "kind": "Scale"}},
}

// add adds a model and all models to which it refers.
func (m *openAPIModels) add(name string, model *spec.Schema) {
	data, err := json.Marshal(model)
	must.Do(err)
	var content map[string]any
	must.Do(json.Unmarshal(data, &content))
	delete(content, "x-kubernetes-v2-schema")
	m.schemas[name] = content
	m.complete(content, false)
}

// complete adds the models to which a schema refers, and converts the schema to OpenAPI v3, in which a reference has no
// siblings and an element has no default.
func (m *openAPIModels) complete(model map[string]any, element bool) {
	if reference, ok := model["$ref"].(string); ok {
		m.addGenerated(strings.TrimPrefix(reference, schemaPrefix))
		if len(model) > 1 {
			delete(model, "$ref")
			model["allOf"] = []any{map[string]any{"$ref": reference}}
		}
	}
	if properties, ok := model["properties"].(map[string]any); ok {
		for _, property := range properties {
			m.complete(property.(map[string]any), false)
		}
	}
	for _, name := range []string{"items", "additionalProperties", "not"} {
		if inner, ok := model[name].(map[string]any); ok {
			m.complete(inner, name == "items")
		}
	}
	for _, name := range []string{"allOf", "anyOf", "oneOf"} {
		if all, ok := model[name].([]any); ok {
			for _, inner := range all {
				m.complete(inner.(map[string]any), false)
			}
		}
	}
}

// kind returns the name of the model of a built-in kind, or "".
func (m *openAPIModels) kind(gvk schema.GroupVersionKind) string {
	name := ""
	switch {
	case gvk == scaleKind:
		name = "io.k8s.api.autoscaling.v1.Scale"
	case gvk.GroupVersion() == definitionKind.GVK.GroupVersion():
		name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1." + gvk.Kind
	default:
		object, err := loadBuiltin().scheme.New(gvk)
		if err != nil {
			return ""
		}
		name = m.goType(reflect.TypeOf(object).Elem())
	}
	if name == "" || m.schemas[name] == nil && !m.addGenerated(name) {
		return ""
	}
	m.schemas[name].(map[string]any)["x-kubernetes-group-version-kind"] = []any{map[string]string{"group": gvk.Group,
		"version": gvk.Version, "kind": gvk.Kind}}
	return name
}

type (
	modelNamer interface{ OpenAPIModelName() string }
	documented interface{ SwaggerDoc() map[string]string }
	scalarType interface {
		OpenAPISchemaType() []string
		OpenAPISchemaFormat() string
	}
	severalTypes interface{ OpenAPIV3OneOfTypes() []string }
)

// goType adds the model of a Go type, and returns its name.
func (m *openAPIModels) goType(t reflect.Type) string {
	value := reflect.New(t).Interface()
	named, ok := value.(modelNamer)
	if !ok {
		return ""
	}
	name := named.OpenAPIModelName()
	if m.schemas[name] != nil || m.addGenerated(name) {
		return name
	}
	model := map[string]any{"type": "object"}
	m.schemas[name] = model
	docs := map[string]string{}
	if d, ok := value.(documented); ok {
		docs = d.SwaggerDoc()
	}
	if text := docs[""]; text != "" {
		model["description"] = text
	}
	if several, ok := value.(severalTypes); ok {
		var one []any
		for _, kind := range several.OpenAPIV3OneOfTypes() {
			one = append(one, map[string]any{"type": kind})
		}
		model["oneOf"] = one
		delete(model, "type")
	}
	if scalar, ok := value.(scalarType); ok {
		if format := scalar.OpenAPISchemaFormat(); format != "" {
			model["format"] = format
		}
		if model["oneOf"] == nil {
			model["type"] = scalar.OpenAPISchemaType()[0]
		}
		return name
	}
	properties, required := map[string]any{}, []any{}
	m.goFields(t, docs, properties, &required)
	if len(properties) > 0 {
		model["properties"] = properties
	}
	if len(required) > 0 {
		model["required"] = required
	}
	return name
}

func (m *openAPIModels) goFields(t reflect.Type, docs map[string]string, properties map[string]any, required *[]any) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
			continue
		case name == "" && f.Anonymous:
			inner := docs
			if d, ok := reflect.New(f.Type).Interface().(documented); ok {
				inner = d.SwaggerDoc()
			}
			m.goFields(f.Type, inner, properties, required)
			continue
		}
		property := m.goField(f.Type)
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		switch {
		case f.Type.Kind() == reflect.Struct && property["$ref"] != nil && !isScalar(f.Type):
			property["default"] = map[string]any{}
		case !optional && property["$ref"] == nil && f.Type.Kind() != reflect.Slice && f.Type.Kind() != reflect.Map &&
			f.Type.Kind() != reflect.Pointer:
			property["default"] = reflect.Zero(f.Type).Interface()
		}
		if text := docs[name]; text != "" {
			property["description"] = text
		}
		for tag, extension := range map[string]string{"patchStrategy": "x-kubernetes-patch-strategy",
			"patchMergeKey": "x-kubernetes-patch-merge-key"} {
			if value := f.Tag.Get(tag); value != "" {
				property[extension] = value
			}
		}
		if reference, ok := property["$ref"]; ok && len(property) > 1 {
			delete(property, "$ref")
			property["allOf"] = []any{map[string]any{"$ref": reference}}
		}
		properties[name] = property
		if !optional && f.Type.Kind() != reflect.Pointer {
			*required = append(*required, name)
		}
	}
}

func isScalar(t reflect.Type) bool {
	_, ok := reflect.New(t).Interface().(scalarType)
	return ok
}

func (m *openAPIModels) goField(t reflect.Type) map[string]any {
	if t.Kind() == reflect.Pointer {
		return m.goField(t.Elem())
	}
	if name := m.goType(t); name != "" {
		return map[string]any{"$ref": schemaPrefix + name}
	}
	switch t.Kind() {
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return map[string]any{"type": "string", "format": "byte"}
		}
		return map[string]any{"type": "array", "items": m.goField(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": m.goField(t.Elem())}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int32:
		return map[string]any{"type": "integer", "format": "int32"}
	case reflect.Int64, reflect.Int:
		return map[string]any{"type": "integer", "format": "int64"}
	case reflect.Float64, reflect.Float32:
		return map[string]any{"type": "number", "format": "double"}
	case reflect.String:
		return map[string]any{"type": "string"}
	}
	return map[string]any{"type": "object"}
}
