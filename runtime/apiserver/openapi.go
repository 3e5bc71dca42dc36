package apiserver

import (
	"cmp"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// openAPI are the documents that have been asked for. All but those of definitions are the same for all servers.
type openAPI struct {
	mu        sync.Mutex
	documents map[string]*openAPIDocument // by path; one is made again when its hash has changed
}

// openAPIDocument is what is served in one version of a group, in the media types that clients have asked for.
type openAPIDocument struct {
	hash   string
	made   time.Time
	json   []byte
	binary []byte // nil until it is asked for
}

const (
	openAPIBinary2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
	openAPIBinary3 = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
)

// serveOpenAPI serves the index of documents, a document, or all in one of OpenAPI v2.
func (s *Server) serveOpenAPI(w http.ResponseWriter, r *http.Request, path string) {
	all := s.resources()
	if path == "openapi/v2" {
		hash := openAPIHash(all, s.listDefinitions())
		s.writeOpenAPI(w, r, path, hash, openAPIBinary2, func() any { return s.swagger(all) })
		return
	}
	groups := map[string][]resourceInfo{}
	for _, one := range all {
		groups[openAPIPath(one.gv)] = append(groups[openAPIPath(one.gv)], one)
	}
	path = strings.TrimPrefix(strings.TrimPrefix(path, "openapi/v3"), "/")
	hashes := map[string]string{}
	for name, resources := range groups {
		hashes[name] = openAPIHash(resources, s.definitionsOf(resources[0].gv))
	}
	if path == "" {
		paths := map[string]any{}
		for name, hash := range hashes {
			paths[name] = map[string]string{"serverRelativeURL": "/openapi/v3/" + name + "?hash=" + hash}
		}
		writeJSON(w, "application/json", map[string]any{"paths": paths})
		return
	}
	hash, known := hashes[path]
	if !known {
		http.NotFound(w, r)
		return
	}
	if given := r.URL.Query().Get("hash"); given != "" {
		if given != hash {
			http.Redirect(w, r, "/openapi/v3/"+path+"?hash="+hash, http.StatusMovedPermanently)
			return
		}
		w.Header().Set("Cache-Control", "public, immutable")
		w.Header().Set("Expires", time.Now().AddDate(1, 0, 0).UTC().Format(http.TimeFormat))
	}
	s.writeOpenAPI(w, r, path, hash, openAPIBinary3, func() any {
		return s.openAPIOf(groups[path])
	})
}

// openAPIPath is the name of the document of a group in a version.
func openAPIPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.String()
}

func (s *Server) definitionsOf(gv schema.GroupVersion) (found []*apiextensionsv1.CustomResourceDefinition) {
	for _, crd := range s.listDefinitions() {
		if crd.Spec.Group == gv.Group && apihelpers.HasServedCRDVersion(crd, gv.Version) {
			found = append(found, crd)
		}
	}
	return found
}

// openAPIHash tells documents apart by what they are made of, so that the index does not make them.
func openAPIHash(resources []resourceInfo, crds []*apiextensionsv1.CustomResourceDefinition) string {
	hash := sha512.New()
	for _, one := range resources {
		fmt.Fprintln(hash, one)
	}
	for _, crd := range crds {
		must(json.NewEncoder(hash).Encode(crd.Spec))
	}
	return fmt.Sprintf("%X", hash.Sum(nil))
}

func (s *Server) writeOpenAPI(w http.ResponseWriter, r *http.Request, path, hash, binary string, build func() any) {
	accept := r.Header.Get("Accept")
	named := strings.Replace(binary, "@", ".", 1) // which is a media type
	d := s.openAPIDocument(path, hash, build)
	switch {
	case accept == "" || names(accept, []string{"application/json", "application/*", "*/*"}):
		named = "application/json"
	case !names(accept, []string{binary, named}):
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	w.Header().Set("Content-Type", named)
	w.Header().Set("Etag", `"`+hash+`"`)
	w.Header().Set("Vary", "Accept")
	if r.Header.Get("If-None-Match") == `"`+hash+`"` {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Last-Modified", d.made.UTC().Format(http.TimeFormat))
	data := d.json
	if named != "application/json" {
		data = s.openAPIBinary(d, binary)
	}
	_, _ = w.Write(data)
}

func (s *Server) openAPIDocument(path, hash string, build func() any) *openAPIDocument {
	s.openAPI.mu.Lock()
	defer s.openAPI.mu.Unlock()
	if d := s.openAPI.documents[path]; d != nil && d.hash == hash {
		return d
	}
	data, err := json.Marshal(build())
	must(err)
	if s.openAPI.documents == nil {
		s.openAPI.documents = map[string]*openAPIDocument{}
	}
	d := &openAPIDocument{hash: hash, made: time.Now(), json: data}
	s.openAPI.documents[path] = d
	return d
}

// openAPIBinary is a document in protobuf, which has a message for each part of JSON.
func (s *Server) openAPIBinary(d *openAPIDocument, media string) []byte {
	s.openAPI.mu.Lock()
	defer s.openAPI.mu.Unlock()
	if d.binary != nil {
		return d.binary
	}
	var message proto.Message
	var err error
	if media == openAPIBinary2 {
		message, err = openapi_v2.ParseDocument(d.json)
	} else {
		message, err = openapi_v3.ParseDocument(d.json)
	}
	must(err)
	d.binary, err = proto.Marshal(message)
	must(err)
	return d.binary
}

// openAPIOf is the document of what is served in one version of a group.
func (s *Server) openAPIOf(resources []resourceInfo) map[string]any {
	gv := resources[0].gv
	m := newOpenAPIModels()
	custom := map[string]bool{}
	for _, crd := range s.definitionsOf(gv) {
		custom[crd.Status.AcceptedNames.Plural] = true
		m.addDefinition(crd, gv.Version)
	}
	paths, info := map[string]any{}, map[string]string{"title": "Kubernetes", "version": "1.37"}
	for _, one := range resources {
		plural, _, _ := strings.Cut(one.name, "/")
		o := resourceOperations{models: m, resource: one, plural: plural, custom: custom[plural]}
		if o.custom {
			info = map[string]string{"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
		} else if o.object = m.kind(one.kind); o.object == "" {
			continue
		}
		o.add(paths, resources)
	}
	return map[string]any{"openapi": "3.0.0", "info": info, "paths": paths, "components": map[string]any{"schemas": m.schemas}}
}

// swagger is all of it as OpenAPI v2, which clients that have not heard of v3 want: the kinds alone.
func (s *Server) swagger(resources []resourceInfo) map[string]any {
	m := newOpenAPIModels()
	for _, crd := range s.listDefinitions() {
		for _, v := range crd.Spec.Versions {
			if v.Served {
				m.addDefinition(crd, v.Name)
			}
		}
	}
	for _, one := range resources {
		m.kind(one.kind)
	}
	definitions := map[string]any{}
	for name, model := range m.schemas {
		definitions[name] = swaggerModel(model)
	}
	return map[string]any{"swagger": "2.0", "info": map[string]string{"title": "Kubernetes", "version": "v1.37.0"}, "paths": map[string]any{}, "definitions": definitions}
}

// swaggerModel is a schema as OpenAPI v2 can say it.
func swaggerModel(model any) any {
	given, ok := model.(map[string]any)
	if !ok {
		return model
	}
	if all, ok := given["allOf"].([]any); ok && len(all) == 1 {
		given = maps.Clone(given)
		maps.Copy(given, all[0].(map[string]any))
	}
	if given["x-kubernetes-preserve-unknown-fields"] == true || given["nullable"] == true {
		delete(given, "default")
	}
	model2 := map[string]any{}
	for key, value := range given {
		switch key {
		case "$ref":
			model2[key] = strings.Replace(value.(string), "#/components/schemas/", "#/definitions/", 1)
		case "properties":
			properties := map[string]any{}
			for name, property := range value.(map[string]any) {
				properties[name] = swaggerModel(property)
			}
			model2[key] = properties
		case "items", "additionalProperties":
			model2[key] = swaggerModel(value)
		case "nullable", "oneOf", "anyOf", "not", "allOf", "default":
		default:
			model2[key] = value
		}
	}
	if options, ok := given["oneOf"].([]any); ok && given["type"] == nil && len(options) > 0 {
		model2["type"] = "string"
	}
	if _, ok := model2["$ref"]; ok {
		maps.DeleteFunc(model2, func(key string, _ any) bool { return key != "$ref" && key != "description" })
	}
	return model2
}

// resourceOperations are the paths of one resource or subresource.
type resourceOperations struct {
	models   *openAPIModels
	resource resourceInfo
	plural   string
	custom   bool
	object   string // the name of its model
}

func (o resourceOperations) add(paths map[string]any, all []resourceInfo) {
	one := o.resource
	gv, kind := one.gv, one.kind.Kind
	parent := one
	if at := slices.IndexFunc(all, func(other resourceInfo) bool { return other.name == o.plural }); at >= 0 {
		parent = all[at]
	}
	list := o.object + "List"
	if o.custom {
		o.object = definitionModel(gv, kind)
		list = definitionModel(gv, o.models.listKinds[kind])
		if one.kind == scaleKind {
			o.object = o.models.kind(scaleKind)
		}
	} else if !strings.Contains(one.name, "/") {
		listKind := gv.WithKind(kind + "List")
		list = cmp.Or(o.models.kind(listKind), list)
	}
	root := "/" + openAPIPath(gv) + "/" + o.plural
	if one.namespaced {
		if slices.Contains(one.verbs, "list") {
			o.path(paths, root, o.operation("list", "list", list, "", parent, true))
		}
		root = "/" + openAPIPath(gv) + "/namespaces/{namespace}/" + o.plural
	}
	_, sub, _ := strings.Cut(one.name, "/")
	var collection, item []openAPIOperation
	for _, verb := range []struct{ verb, name string }{
		{"list", "list"}, {"create", "create"}, {"deletecollection", "deletecollection"}, {"get", "read"}, {"update", "replace"}, {"delete", "delete"}, {"patch", "patch"},
	} {
		if !slices.Contains(one.verbs, verb.verb) {
			continue
		}
		model := o.object
		switch verb.verb {
		case "list":
			model = list
		case "deletecollection", "delete":
			model = o.models.meta("Status")
		}
		op := o.operation(verb.verb, verb.name, model, sub, parent, false)
		if verb.verb == "list" || verb.verb == "deletecollection" || verb.verb == "create" && sub == "" {
			collection = append(collection, op)
		} else {
			item = append(item, op)
		}
	}
	o.path(paths, root, collection...)
	o.path(paths, strings.TrimSuffix(root+"/{name}/"+sub, "/"), item...)
}

// openAPIOperation is a verb on a path.
type openAPIOperation struct {
	method     string
	parameters []map[string]any
	content    map[string]any
}

// path adds operations to a path. Parameters that all of them have are those of the path.
func (o resourceOperations) path(paths map[string]any, path string, all ...openAPIOperation) {
	if len(all) == 0 {
		return
	}
	shared := slices.Clone(all[0].parameters)
	for _, op := range all[1:] {
		shared = slices.DeleteFunc(shared, func(p map[string]any) bool {
			return !slices.ContainsFunc(op.parameters, func(other map[string]any) bool { return reflect.DeepEqual(p, other) })
		})
	}
	item := map[string]any{"parameters": shared}
	for _, op := range all {
		var own []map[string]any
		for _, p := range op.parameters {
			if !slices.ContainsFunc(shared, func(other map[string]any) bool { return reflect.DeepEqual(p, other) }) {
				own = append(own, p)
			}
		}
		if own != nil {
			op.content["parameters"] = own
		}
		item[op.method] = op.content
	}
	paths[path] = item
}

var openAPIMethods = map[string]string{"list": "get", "get": "get", "create": "post", "update": "put", "patch": "patch", "delete": "delete", "deletecollection": "delete"}

func (o resourceOperations) operation(verb, name, model, sub string, parent resourceInfo, across bool) openAPIOperation {
	one := o.resource
	method := openAPIMethods[verb]
	group := strings.TrimSuffix(one.gv.Group, ".k8s.io")
	if group == "" {
		group = "core"
	}
	words := strings.Split(group, ".")
	for i := range words {
		words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
	}
	title := strings.Join(words, "")
	kind, subject := parent.kind.Kind, ""
	if sub != "" {
		subject = strings.ToUpper(sub[:1]) + sub[1:]
	}
	id := name + title + strings.ToUpper(one.gv.Version[:1]) + one.gv.Version[1:]
	if verb == "deletecollection" {
		id = "delete" + title + strings.ToUpper(one.gv.Version[:1]) + one.gv.Version[1:] + "Collection"
	}
	if one.namespaced && !across {
		id += "Namespaced"
	}
	id += kind + subject
	if across {
		id += "ForAllNamespaces"
	}
	action := map[string]string{"get": "get", "list": "list", "create": "post", "update": "put", "patch": "patch", "delete": "delete", "deletecollection": "deletecollection"}[verb]
	gvk := map[string]string{"group": one.kind.Group, "version": one.kind.Version, "kind": one.kind.Kind}
	if o.custom {
		gvk = map[string]string{"group": one.gv.Group, "version": one.gv.Version, "kind": kind}
	}
	content := map[string]any{
		"tags":        []string{strings.ToLower(title[:1]) + title[1:] + "_" + one.gv.Version},
		"description": o.description(name, kind, sub), "operationId": id, "x-kubernetes-action": action,
		"x-kubernetes-group-version-kind": gvk,
		"responses":                       o.responses(verb, model),
	}
	if body := o.body(verb, model); body != nil {
		content["requestBody"] = body
	}
	parameters := []map[string]any{parameter("pretty", "query", "string", "If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent indicates a browser or command-line HTTP tool (curl and wget).")}
	if one.namespaced && !across {
		parameters = append(parameters, parameter("namespace", "path", "string", "object name and auth scope, such as for teams and projects"))
	}
	if verb != "list" && verb != "deletecollection" && (verb != "create" || sub != "") {
		parameters = append(parameters, parameter("name", "path", "string", "name of the "+one.kind.Kind))
		if one.kind == scaleKind {
			parameters[len(parameters)-1]["description"] = "name of the " + cmp.Or(map[bool]string{true: kind}[o.custom], one.kind.Kind)
		}
	}
	parameters = append(parameters, o.optionParameters(verb)...)
	slices.SortFunc(parameters, func(a, b map[string]any) int { return strings.Compare(a["name"].(string), b["name"].(string)) })
	return openAPIOperation{method, parameters, content}
}

func (o resourceOperations) description(name, kind, sub string) string {
	if sub != "" {
		sub = " " + sub + " of"
	}
	switch name {
	case "list":
		if !o.custom {
			return "list or watch objects of kind " + kind
		}
		return "list" + sub + " objects of kind " + kind
	case "read", "replace":
		return name + sub + " the specified " + kind
	case "patch":
		return "partially update" + sub + " the specified " + kind
	case "deletecollection":
		return "delete collection of" + sub + " " + kind
	}
	return name + sub + article(kind) + kind
}

// article is what stands before a noun.
func article(noun string) string {
	switch {
	case strings.HasSuffix(noun, "s") && !strings.HasSuffix(noun, "ss"):
		return " "
	case strings.ContainsRune("AEIOUaeiou", rune(noun[0])):
		return " an "
	}
	return " a "
}

func (o resourceOperations) media(verb string) []string {
	if o.custom {
		return []string{"application/json", "application/yaml"}
	}
	media := []string{"application/json", "application/vnd.kubernetes.protobuf", "application/yaml"}
	if verb == "list" {
		media = append(media, "application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
	}
	return media
}

func bodyOf(model string, media ...string) map[string]any {
	content := map[string]any{}
	for _, one := range media {
		content[one] = map[string]any{"schema": map[string]string{"$ref": schemaPrefix + model}}
	}
	return content
}

func (o resourceOperations) responses(verb, model string) map[string]any {
	one := func(description string) map[string]any {
		return map[string]any{"description": description, "content": bodyOf(model, o.media(verb)...)}
	}
	found := map[string]any{"200": one("OK"), "401": map[string]string{"description": "Unauthorized"}}
	switch verb {
	case "create":
		found["201"], found["202"] = one("Created"), one("Accepted")
	case "update":
		found["201"] = one("Created")
	case "delete":
		found["202"] = one("Accepted")
	case "patch":
		if !o.custom {
			found["201"] = one("Created")
		}
	}
	return found
}

func (o resourceOperations) body(verb, model string) map[string]any {
	media := []string{"*/*"}
	if o.custom {
		media = []string{"application/json", "application/yaml"}
	}
	switch verb {
	case "create", "update":
		return map[string]any{"content": bodyOf(model, media...), "required": true}
	case "delete":
		return map[string]any{"content": bodyOf(o.models.meta("DeleteOptions"), media...)}
	case "deletecollection":
		if !o.custom {
			return map[string]any{"content": bodyOf(o.models.meta("DeleteOptions"), media...)}
		}
	case "patch":
		patches := []string{string(types.ApplyYAMLPatchType), string(types.JSONPatchType), string(types.MergePatchType)}
		if !o.custom {
			patches = append(patches, string(types.StrategicMergePatchType))
		}
		return map[string]any{"content": bodyOf(o.models.meta("Patch"), patches...), "required": true}
	}
	return nil
}

func parameter(name, in, kind, description string) map[string]any {
	p := map[string]any{"name": name, "in": in, "description": description, "schema": map[string]any{"type": kind, "uniqueItems": true}}
	if in == "path" {
		p["required"] = true
	}
	return p
}

// optionParameters are the fields of the options of a verb. Of custom resources the documents say it a little differently.
func (o resourceOperations) optionParameters(verb string) (parameters []map[string]any) {
	switch {
	case o.custom:
		return fieldParameters(verb)
	case verb == "get":
		return nil
	case verb == "deletecollection":
		parameters = slices.DeleteFunc(fieldParameters("list"), func(p map[string]any) bool { return p["name"] == "watch" || p["name"] == "allowWatchBookmarks" })
		return append(parameters, fieldParameters("delete")...)
	}
	return fieldParameters(verb)
}

func fieldParameters(verb string) (parameters []map[string]any) {
	var options interface{ SwaggerDoc() map[string]string }
	switch verb {
	case "get":
		options = metav1.GetOptions{}
	case "list", "deletecollection":
		options = metav1.ListOptions{}
	case "create":
		options = metav1.CreateOptions{}
	case "update":
		options = metav1.UpdateOptions{}
	case "patch":
		options = metav1.PatchOptions{}
	case "delete":
		options = metav1.DeleteOptions{}
	}
	t := reflect.TypeOf(options)
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		field := t.Field(i).Type
		if field.Kind() == reflect.Pointer {
			field = field.Elem()
		}
		kind := map[reflect.Kind]string{reflect.Bool: "boolean", reflect.Int64: "integer", reflect.String: "string", reflect.Slice: "string"}[field.Kind()]
		if name != "" && kind != "" {
			parameters = append(parameters, parameter(name, "query", kind, options.SwaggerDoc()[name]))
		}
	}
	return parameters
}

const schemaPrefix = "#/components/schemas/"

// openAPIModels are the schemas of a document by name: those of definitions, those that upstream has generated, and those of Go types.
type openAPIModels struct {
	schemas   map[string]any
	listKinds map[string]string // by kind
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
	at := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version })
	v := crd.Spec.Versions[at]
	docs := metav1.PartialObjectMetadata{}.SwaggerDoc()
	model := &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
	if s := publishedSchema(v.Schema); s != nil {
		model = s.Unfold().ToKubeOpenAPI()
		setObject(model)
		model.SetProperty("metadata", *spec.RefSchema(schemaPrefix + metaModel + "ObjectMeta").WithDescription(docs["metadata"]))
		setEmbedded(model)
		requireEmbedded(model, docs["metadata"])
	}
	typeMeta := metaModels()[metaModel+"TypeMeta"]
	list := new(spec.Schema).Typed("object", "").WithDescription(names.ListKind+" is a list of "+names.Kind).WithRequired("items").
		SetProperty("items", *spec.ArrayProperty(spec.RefSchema(schemaPrefix + definitionModel(gv, names.Kind))).
			WithDescription("List of " + names.Plural + ". More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md")).
		SetProperty("metadata", *spec.RefSchema(schemaPrefix + metaModel + "ListMeta").WithDescription(metav1.PartialObjectMetadataList{}.SwaggerDoc()["metadata"])).
		SetProperty("apiVersion", typeMeta.Properties["apiVersion"]).SetProperty("kind", typeMeta.Properties["kind"])
	for kind, one := range map[string]*spec.Schema{names.Kind: model, names.ListKind: list} {
		one.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{"group": gv.Group, "version": gv.Version, "kind": kind}})
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

// publishedSchema is a schema of a definition if it is one that is published: a structural one.
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

// embeddedDocs are the descriptions that the API server has for the fields of embedded objects.
var embeddedDocs = map[string]string{
	"apiVersion": "apiVersion defines the versioned schema of this representation of an object. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
	"kind":       "kind is a string value representing the type of this object. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
}

// requireEmbedded says of embedded objects that they have a kind and a version.
func requireEmbedded(model *spec.Schema, metadata string) {
	if model == nil {
		return
	}
	for name, property := range model.Properties {
		requireEmbedded(&property, metadata)
		model.Properties[name] = property
	}
	if model.Items != nil {
		requireEmbedded(model.Items.Schema, metadata)
	}
	if model.AdditionalProperties != nil {
		requireEmbedded(model.AdditionalProperties.Schema, metadata)
	}
	if embedded, _ := model.Extensions.GetBool("x-kubernetes-embedded-resource"); !embedded {
		return
	}
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

// meta is the name of a model that all groups have.
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

// add adds a model with all that it refers to.
func (m *openAPIModels) add(name string, model *spec.Schema) {
	data, err := json.Marshal(model)
	must(err)
	var content map[string]any
	must(json.Unmarshal(data, &content))
	delete(content, "x-kubernetes-v2-schema")
	m.schemas[name] = content
	m.complete(content, false)
}

// complete adds what a schema refers to, and brings it to the form of OpenAPI v3: there is nothing beside a reference, and an
// element has no default.
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

// kind is the name of the model of a built-in kind, or nothing.
func (m *openAPIModels) kind(gvk schema.GroupVersionKind) string {
	if gvk == definitionKind.gvk || gvk == definitionKind.gvk.GroupVersion().WithKind(definitionKind.gvk.Kind+"List") || gvk == scaleKind {
		name := "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1." + gvk.Kind
		if gvk == scaleKind {
			name = "io.k8s.api.autoscaling.v1.Scale"
		}
		if !m.addGenerated(name) {
			return ""
		}
		m.schemas[name].(map[string]any)["x-kubernetes-group-version-kind"] = []any{map[string]string{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}}
		return name
	}
	object, err := loadBuiltin().scheme.New(gvk)
	if err != nil {
		return ""
	}
	name := m.goType(reflect.TypeOf(object).Elem())
	if model, ok := m.schemas[name].(map[string]any); ok {
		model["x-kubernetes-group-version-kind"] = []any{map[string]string{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}}
	}
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
		case !optional && property["$ref"] == nil && f.Type.Kind() != reflect.Slice && f.Type.Kind() != reflect.Map && f.Type.Kind() != reflect.Pointer:
			property["default"] = reflect.Zero(f.Type).Interface()
		}
		if text := docs[name]; text != "" {
			property["description"] = text
		}
		for tag, extension := range map[string]string{"patchStrategy": "x-kubernetes-patch-strategy", "patchMergeKey": "x-kubernetes-patch-merge-key"} {
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
