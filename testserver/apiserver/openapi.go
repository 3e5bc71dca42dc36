package apiserver

import (
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/handler3"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

// openAPI has the documents that were requested. Documents of groups without definitions are equal in all servers.
type openAPI struct {
	mu        sync.Mutex
	documents map[string]*openAPIDocument // by path; a document is created again when its hash has changed
}

// openAPIDocument is the document of a group version, in the requested media types.
type openAPIDocument struct {
	hash   string
	made   time.Time
	json   []byte
	binary []byte // nil before the first request
}

const (
	openAPIBinary2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
	openAPIBinary3 = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
)

// serveOpenAPI serves the index of documents, a document, or the complete document of OpenAPI v2.
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
		// the media type that the real server detects
		writeJSON(w, "text/plain; charset=utf-8", map[string]any{"paths": paths})
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

// openAPIPath returns the name of the document of a group version.
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

// openAPIHash returns a hash of a document's inputs. With this hash, the server can serve the index without creating
// the documents.
func openAPIHash(resources []resourceInfo, crds []*apiextensionsv1.CustomResourceDefinition) string {
	hash := sha512.New()
	for _, one := range resources {
		fmt.Fprintln(hash, one)
	}
	for _, crd := range crds {
		must.Do(json.NewEncoder(hash).Encode(crd.Spec))
	}
	return fmt.Sprintf("%X", hash.Sum(nil))
}

func (s *Server) writeOpenAPI(w http.ResponseWriter, r *http.Request, path, hash, binary string, build func() any) {
	accept := r.Header.Get("Accept")
	named := strings.Replace(binary, "@", ".", 1) // a media type
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
	must.Do(err)
	if s.openAPI.documents == nil {
		s.openAPI.documents = map[string]*openAPIDocument{}
	}
	d := &openAPIDocument{hash: hash, made: time.Now(), json: data}
	s.openAPI.documents[path] = d
	return d
}

// openAPIBinary returns a document in protobuf, in which each part of the JSON is a message.
func (s *Server) openAPIBinary(d *openAPIDocument, media string) []byte {
	s.openAPI.mu.Lock()
	defer s.openAPI.mu.Unlock()
	if d.binary != nil {
		return d.binary
	}
	var err error
	if media == openAPIBinary3 {
		d.binary, err = handler3.ToV3ProtoBinary(d.json)
	} else {
		var document *openapi_v2.Document
		document, err = openapi_v2.ParseDocument(d.json)
		must.Do(err)
		d.binary, err = proto.Marshal(document)
	}
	must.Do(err)
	return d.binary
}

// openAPIOf returns the document of a group version.
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
		plural, _, _ := strings.Cut(one.Name, "/")
		o := resourceOperations{models: m, resource: one, plural: plural, custom: custom[plural]}
		if o.custom {
			info = map[string]string{"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
		} else if o.object = m.kind(one.kind); o.object == "" {
			continue
		}
		o.add(paths, resources)
	}
	return map[string]any{"openapi": "3.0.0", "info": info, "paths": paths,
		"components": map[string]any{"schemas": m.schemas}}
}

// swagger returns the document with all groups as OpenAPI v2, for clients that do not support v3. It contains only the
// kinds.
func (s *Server) swagger(resources []resourceInfo) map[string]any {
	m := newOpenAPIModels()
	m.v2 = true
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
	return map[string]any{"swagger": "2.0", "info": map[string]string{"title": "Kubernetes", "version": "v1.37.2"},
		"paths": map[string]any{}, "definitions": definitions}
}

// swaggerModel converts a schema to OpenAPI v2.
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
