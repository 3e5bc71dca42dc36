package apiserver_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

// documents contains parts of OpenAPI documents by path: complete documents of custom resources, and the models and
// paths of built-in kinds.
type documents map[string]map[string]any

const documentsRecording = "testdata/openapi.json.gz"

// TestOpenAPIOfDefinitionsMatchesTheRealServer compares the documents of custom resources, and the models and paths of
// built-in kinds, between the in-memory server and the real API server.
func TestOpenAPIOfDefinitionsMatchesTheRealServer(t *testing.T) {
	ours, theirs := documentsOf(t, newPeer(t, "in memory", apiserver.New(apiserver.Options{}))),
		documentsOf(t, newPeer(t, "real", nil))
	if os.Getenv(recordVariable) == "record" {
		for path, parts := range theirs {
			maps.DeleteFunc(parts, func(name string, _ any) bool { return ours[path][name] == nil })
		}
		store(t, documentsRecording, theirs)
	}
	compareDocuments(t, theirs, ours)
}

// TestOpenAPIOfDefinitionsMatchesTheRecording compares the same parts with the recording.
func TestOpenAPIOfDefinitionsMatchesTheRecording(t *testing.T) {
	var theirs documents
	load(t, documentsRecording, &theirs)
	compareDocuments(t, theirs, documentsOf(t, newPeer(t, "in memory", apiserver.New(apiserver.Options{}))))
}

func documentsOf(t *testing.T, p *peer) documents {
	t.Helper()
	all := documents{}
	for _, version := range []string{"v1", "v1beta1"} {
		path := "/openapi/v3/apis/fidelity.kctrl.dev/" + version
		p.await(t, path) // the document appears some time after the CRD is created
		all[path] = openAPIOf(t, p, path)
	}
	for _, path := range []string{"/openapi/v3/api/v1", "/openapi/v3/apis/apiextensions.k8s.io/v1"} {
		document := openAPIOf(t, p, path)
		all[path+" models"] = withoutMarkers(document["components"].(map[string]any)["schemas"]).(map[string]any)
		all[path+" paths"] = withoutDeleted(document["paths"]).(map[string]any)
	}
	return all
}

// compareDocuments compares the parts that both servers have.
func compareDocuments(t *testing.T, theirs, ours documents) {
	t.Helper()
	for path, parts := range ours {
		for name, one := range parts {
			if connects(name) {
				continue
			}
			if diff := cmp.Diff(theirs[path][name], one); diff != "" {
				t.Errorf("%s, %s: -real +in memory\n%s", path, name, diff)
			}
		}
		if !strings.Contains(path, " ") && len(theirs[path]) != len(parts) {
			t.Errorf("%s: the real server has %d parts, the one in memory %d", path, len(theirs[path]), len(parts))
		}
	}
}

// connects reports whether a path or model belongs to a log, or to a connection to a pod, a node or a service. The
// OpenAPI documents wrongly describe these as objects.
func connects(name string) bool {
	return slices.ContainsFunc([]string{"/attach", "/exec", "/log", "/portforward", "/proxy", "/proxy/{path}",
		"AttachOptions", "ExecOptions", "PortForwardOptions", "ProxyOptions"}, func(end string) bool {
		return strings.HasSuffix(name, end)
	})
}

func openAPIOf(t *testing.T, p *peer, path string) (document map[string]any) {
	t.Helper()
	status, body, _ := p.do(t, asked{method: "GET", path: path})
	if status != http.StatusOK {
		t.Fatalf("%s: %s: %d %s", p.name, path, status, body)
	}
	if err := json.Unmarshal(body, &document); err != nil {
		t.Fatal(err)
	}
	// The real server's document contains all groups that were compiled into it.
	schemas := document["components"].(map[string]any)["schemas"].(map[string]any)
	for _, name := range []string{"DeleteOptions", "WatchEvent"} {
		if model, ok := schemas["io.k8s.apimachinery.pkg.apis.meta.v1."+name].(map[string]any); ok {
			delete(model, "x-kubernetes-group-version-kind")
		}
	}
	return document
}

// withoutDeleted removes the responses to deletions from paths. They differ between kinds.
func withoutDeleted(paths any) any {
	for _, path := range paths.(map[string]any) {
		if deletion, ok := path.(map[string]any)["delete"].(map[string]any); ok {
			delete(deletion, "responses")
		}
	}
	return paths
}

// withoutMarkers returns a schema without the parts that are generated from comments and markers of Go types, because
// not all of these are available here: merge strategies of lists and maps, optional fields, defaults, enumerations,
// unions, and line breaks.
func withoutMarkers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		value = maps.Clone(value)
		for name, member := range value {
			if strings.HasPrefix(name, "x-kubernetes-list-") || strings.HasPrefix(name, "x-kubernetes-map-") ||
				name == "x-kubernetes-unions" || name == "enum" || name == "default" || name == "required" {
				delete(value, name)
				continue
			}
			if _, ok := member.(string); ok && name == "description" {
				delete(value, name)
				continue
			}
			value[name] = withoutMarkers(member)
		}
		return value
	case []any:
		all := make([]any, len(value))
		for i := range value {
			all[i] = withoutMarkers(value[i])
		}
		return all
	}
	return value
}

// TestOpenAPIDocumentsMatchTheirHash follows the links of the index, as clients with a cache do.
func TestOpenAPIDocumentsMatchTheirHash(t *testing.T) {
	p := newPeer(t, "in memory", apiserver.New(apiserver.Options{}))
	p.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	index := func() map[string]struct{ ServerRelativeURL string } {
		_, body, _ := p.do(t, asked{method: "GET", path: "/openapi/v3"})
		var found struct {
			Paths map[string]struct{ ServerRelativeURL string }
		}
		if err := json.Unmarshal(body, &found); err != nil {
			t.Fatal(err)
		}
		return found.Paths
	}
	before := index()
	address := before["apis/fidelity.kctrl.dev/v1"].ServerRelativeURL
	status, body, header := p.do(t, asked{method: "GET", path: address})
	if status != http.StatusOK || !strings.Contains(header.Get("Cache-Control"), "immutable") || header.Get("Etag") == "" {
		t.Errorf("%d %v %.100s", status, header, body)
	}
	if status, _, header = p.do(t, asked{method: "GET", path: address + "0"}); status != http.StatusMovedPermanently ||
		header.Get("Location") != address {
		t.Errorf("a hash that is not: %d to %s", status, header.Get("Location"))
	}
	if status, _, _ = p.do(t, asked{method: "GET", path: "/openapi/v3/apis/nobody/v1"}); status != http.StatusNotFound {
		t.Errorf("a group that is not: %d", status)
	}
	p.do(t,
		asked{method: "DELETE", path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.fidelity.kctrl.dev"})
	after := index()
	if after["apis/fidelity.kctrl.dev/v1"] == before["apis/fidelity.kctrl.dev/v1"] || after["api/v1"] != before["api/v1"] {
		t.Error("the hash of a document does not match its content")
	}
}

// TestOpenAPIInProtobuf requests the documents with the media types of old and of new clients.
func TestOpenAPIInProtobuf(t *testing.T) {
	p := newPeer(t, "in memory", apiserver.New(apiserver.Options{}))
	_, body, _ := p.do(t, asked{method: "GET", path: "/openapi/v2",
		accept: "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"})
	var old openapi_v2.Document
	if err := proto.Unmarshal(body, &old); err != nil || len(old.GetDefinitions().GetAdditionalProperties()) < 20 {
		t.Errorf("%v, %d definitions", err, len(old.GetDefinitions().GetAdditionalProperties()))
	}
	_, body, _ = p.do(t, asked{method: "GET", path: "/openapi/v3/apis/fidelity.kctrl.dev/v1",
		accept: "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"})
	var document openapi_v3.Document
	if err := proto.Unmarshal(body, &document); err != nil || len(document.GetPaths().GetPath()) != 7 {
		t.Errorf("%v, %d paths", err, len(document.GetPaths().GetPath()))
	}
}
