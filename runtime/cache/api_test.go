package cache_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// api is an in-memory API server without sockets. It serves ConfigMaps, Secrets and Namespaces with lists, streaming
// lists and watches. It supports label selectors, and of the field selectors only metadata.name.
type api struct {
	mu      sync.Mutex
	version int
	objects map[string]map[object.Key]json.RawMessage // by resource
	watches []*watch
	refused map[string]string // message of the 403 answer, by path of the collection
	reads   []string          // the paths and queries of gets and lists
	down    bool              // every request fails
	lag     time.Duration     // delay with which watches deliver later changes
	stale   bool              // streaming lists start empty, at an old version
}

// watch is an open watch of a resource in one namespace, or in all namespaces.
type watch struct {
	resource, namespace string
	selector            labels.Selector
	fields              string
	frames              chan timed
	cut                 chan struct{} // closed when the stream ends
}

// timed is a frame of a watch and the time at which it is sent.
type timed struct {
	due  time.Time
	text string
}

func newAPI() *api {
	return &api{version: 10, objects: map[string]map[object.Key]json.RawMessage{}, refused: map[string]string{}}
}

// put creates or changes an object.
func (a *api) put(resource string, o object.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.objects[resource][object.KeyOf(o)]
	a.version++
	o.SetResourceVersion(strconv.Itoa(a.version))
	data := encode(o)
	if a.objects[resource] == nil {
		a.objects[resource] = map[object.Key]json.RawMessage{}
	}
	a.objects[resource][object.KeyOf(o)] = data
	a.notifyLocked(resource, o, old, data)
}

// remove deletes an object.
func (a *api) remove(resource string, o object.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	o.SetResourceVersion(strconv.Itoa(a.version))
	old := a.objects[resource][object.KeyOf(o)]
	delete(a.objects[resource], object.KeyOf(o))
	a.notifyLocked(resource, o, old, nil)
}

// notifyLocked sends the change from the state old, which may be nil, to the state now to all watches. A watch with a
// selector treats an object that does not match as absent.
func (a *api) notifyLocked(resource string, o object.Object, old, now json.RawMessage) {
	for _, w := range a.watches {
		if w.resource != resource || w.namespace != "" && w.namespace != o.GetNamespace() || !isNamed(w.fields, o.GetName()) {
			continue
		}
		was, is := selected(w.selector, old), selected(w.selector, now)
		last := old
		if was && !is {
			last = versioned(old, o.GetResourceVersion())
		}
		switch {
		case was && is:
			w.frames <- timed{time.Now().Add(a.lag), frame("MODIFIED", now)}
		case is:
			w.frames <- timed{time.Now().Add(a.lag), frame("ADDED", now)}
		case was:
			w.frames <- timed{time.Now().Add(a.lag), frame("DELETED", last)}
		}
	}
}

// cut ends all watches and drops their waiting events, so that clients must list again.
func (a *api) cut() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cutLocked()
}

func (a *api) cutLocked() {
	for _, w := range a.watches {
		close(w.cut)
	}
	a.watches = nil
}

// bookmark sends the current version of the server to all watches.
func (a *api) bookmark() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.watches {
		w.frames <- timed{time.Now().Add(a.lag), frame("BOOKMARK", encode(metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"},
			ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.Itoa(a.version)},
		}))}
	}
}

// selected reports whether data is an object that selector selects.
func selected(selector labels.Selector, data json.RawMessage) bool {
	if data == nil {
		return false
	}
	var o metav1.PartialObjectMetadata
	if err := json.Unmarshal(data, &o); err != nil {
		panic(err)
	}
	return selector.Matches(labels.Set(o.Labels))
}

// versioned returns the object in data with version as its resource version.
func versioned(data json.RawMessage, version string) json.RawMessage {
	var o map[string]any
	if err := json.Unmarshal(data, &o); err != nil {
		panic(err)
	}
	o["metadata"].(map[string]any)["resourceVersion"] = version
	return encode(o)
}

// refuse makes the server forbid lists and watches of the collection at path. It allows them again if message is empty.
func (a *api) refuse(path, message string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused[path] = message
}

// take returns the gets and lists since the last call.
func (a *api) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	reads := a.reads
	a.reads = nil
	return reads
}

// RoundTrip implements http.RoundTripper.
func (a *api) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.down {
		return nil, fmt.Errorf("no route to %s", req.URL.Host)
	}
	path, isCore := strings.CutPrefix(req.URL.Path, "/api/v1/")
	if !isCore {
		return discovery(req.URL.Path), nil
	}
	resource, key := parse(path)
	query := req.URL.Query()
	if message := a.refused[req.URL.Path]; message != "" {
		return failure(http.StatusForbidden, metav1.StatusReasonForbidden, resource, message), nil
	}
	since, err := strconv.Atoi(query.Get("resourceVersion"))
	if query.Get("watch") != "" && query.Get("sendInitialEvents") == "" && err == nil && since != a.version {
		return failure(http.StatusGone, metav1.StatusReasonExpired, resource, "too old, or not there yet"), nil
	}
	if query.Get("watch") != "" {
		return a.watchLocked(req, resource, key.Namespace, selectorOf(query), query.Get("fieldSelector"),
			query.Get("sendInitialEvents") == "true"), nil
	}
	a.reads = append(a.reads, strings.TrimPrefix(req.URL.RequestURI(), "/api/v1/"))
	if key.Name != "" {
		if data, ok := a.objects[resource][key]; ok {
			return respond(http.StatusOK, string(data)), nil
		}
		return failure(http.StatusNotFound, metav1.StatusReasonNotFound, resource, resource+" "+key.Name+" not found"), nil
	}
	return respond(http.StatusOK,
		fmt.Sprintf(`{"kind":"%sList","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":%s}`,
			kindOf(resource), a.version, encode(a.inLocked(resource, key.Namespace, selectorOf(query),
				query.Get("fieldSelector"))))), nil
}

func selectorOf(query url.Values) labels.Selector {
	selector, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		panic(err)
	}
	return selector
}

// kindOf returns the kind of a resource.
func kindOf(resource string) string {
	return map[string]string{"configmaps": "ConfigMap", "secrets": "Secret", "namespaces": "Namespace"}[resource]
}

// inLocked returns the objects of a resource in one namespace, or in all namespaces.
func (a *api) inLocked(resource, namespace string, selector labels.Selector, fields string) []json.RawMessage {
	items := []json.RawMessage{}
	for key, data := range a.objects[resource] {
		if (namespace == "" || namespace == key.Namespace) && selected(selector, data) && isNamed(fields, key.Name) {
			items = append(items, data)
		}
	}
	return items
}

// isNamed reports whether a field selector selects the object of a name.
func isNamed(fields, name string) bool {
	wanted, named := strings.CutPrefix(fields, "metadata.name=")
	return !named || wanted == name
}

// watchLocked answers with a stream that lasts until the context of req ends.
func (a *api) watchLocked(req *http.Request, resource, namespace string, selector labels.Selector, fields string,
	initial bool) *http.Response {
	w := &watch{resource, namespace, selector, fields, make(chan timed, len(a.objects[resource])+10_000),
		make(chan struct{})}
	a.watches = append(a.watches, w)
	if initial {
		version := strconv.Itoa(a.version)
		if a.stale {
			version, resource = "1", ""
		}
		for _, data := range a.inLocked(resource, namespace, selector, fields) {
			w.frames <- timed{text: frame("ADDED", data)}
		}
		w.frames <- timed{text: frame("BOOKMARK", encode(metav1.PartialObjectMetadata{
			TypeMeta: metav1.TypeMeta{Kind: kindOf(w.resource), APIVersion: "v1"},
			ObjectMeta: metav1.ObjectMeta{
				ResourceVersion: version,
				Annotations:     map[string]string{metav1.InitialEventsAnnotationKey: "true"},
			},
		}))}
	}
	reader, writer := io.Pipe()
	go func() { // ends with the request
		for {
			select {
			case <-req.Context().Done():
				writer.CloseWithError(req.Context().Err())
				return
			case <-w.cut:
				writer.Close()
				return
			case f := <-w.frames:
				select {
				case <-time.After(time.Until(f.due)):
				case <-req.Context().Done():
				case <-w.cut:
				}
				if _, err := io.WriteString(writer, f.text); err != nil {
					return
				}
			}
		}
	}()
	resp := respond(http.StatusOK, "")
	resp.Body = reader
	return resp
}

// discovery answers the requests of the mapper.
func discovery(path string) *http.Response {
	switch path {
	case "/api":
		return respond(http.StatusOK, `{"kind":"APIVersions","versions":["v1"]}`)
	case "/api/v1":
		return respond(http.StatusOK, string(encode(metav1.APIResourceList{GroupVersion: "v1",
			APIResources: []metav1.APIResource{
				{Name: "configmaps", SingularName: "configmap", Kind: "ConfigMap", Namespaced: true},
				{Name: "secrets", SingularName: "secret", Kind: "Secret", Namespaced: true},
				{Name: "namespaces", SingularName: "namespace", Kind: "Namespace"},
			}})))
	case "/apis":
		return respond(http.StatusOK, `{"kind":"APIGroupList","groups":[]}`)
	}
	return failure(http.StatusNotFound, metav1.StatusReasonNotFound, "", "not found")
}

// parse splits the path of a resource or of an object below /api/v1/.
func parse(path string) (resource string, key object.Key) {
	parts := strings.Split(path, "/")
	if parts[0] == "namespaces" && len(parts) > 2 {
		key.Namespace, parts = parts[1], parts[2:]
	}
	if len(parts) > 1 {
		key.Name = parts[1]
	}
	return parts[0], key
}

func frame(kind string, data json.RawMessage) string {
	return fmt.Sprintf(`{"type":%q,"object":%s}`+"\n", kind, data)
}

func failure(code int, reason metav1.StatusReason, resource, message string) *http.Response {
	return respond(code, string(encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reason, Message: message, Details: &metav1.StatusDetails{Kind: resource},
	})))
}

func respond(code int, body string) *http.Response {
	return &http.Response{
		StatusCode: code, Status: strconv.Itoa(code), Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)),
	}
}

func encode(value any) json.RawMessage {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return data
}

// connect returns a client of a.
func connect(t testing.TB, a *api) *client.REST {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	live, err := client.New(&rest.Config{Host: "http://server"}, client.Options{
		Scheme: scheme, HTTPClient: &http.Client{Transport: a}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return live
}

// expect fails the test unless got equals want.
func expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// late makes watches deliver all later changes after lag.
func (a *api) late(lag time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lag = lag
}
