package source_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
)

// api is an in-memory API server without sockets that streams the ConfigMaps that a test sends to one watch.
type api struct {
	frames  chan string // frames of the watch
	refused bool        // lists and watches are forbidden; set before use

	mu      sync.Mutex
	version int
}

func newAPI() *api { return &api{frames: make(chan string, 100)} }

// send sends an event of a ConfigMap on the watch.
func (a *api) send(kind string, o *corev1.ConfigMap) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	o.APIVersion, o.Kind, o.Namespace, o.ResourceVersion = "v1", "ConfigMap", "ns", strconv.Itoa(a.version)
	data, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	a.frames <- fmt.Sprintf(`{"type":%q,"object":%s}`, kind, data)
}

// sync sends the bookmark that ends the initial events.
func (a *api) sync() {
	a.send("BOOKMARK",
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
		}})
}

// RoundTrip implements http.RoundTripper.
func (a *api) RoundTrip(req *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case req.URL.Path == "/api":
		return respond(http.StatusOK, `{"kind":"APIVersions","versions":["v1"]}`), nil
	case req.URL.Path == "/api/v1":
		return respond(http.StatusOK, `{"kind":"APIResourceList","groupVersion":"v1","resources":[
			{"name":"configmaps","singularName":"configmap","kind":"ConfigMap","namespaced":true}]}`), nil
	case a.refused:
		return respond(http.StatusForbidden,
			`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`), nil
	}
	reader, writer := io.Pipe()
	go func() { // ends with the request
		for {
			select {
			case <-req.Context().Done():
				writer.CloseWithError(req.Context().Err())
				return
			case f := <-a.frames:
				if _, err := io.WriteString(writer, f); err != nil {
					return
				}
			}
		}
	}()
	resp := respond(http.StatusOK, "")
	resp.Body = reader
	return resp, nil
}

func respond(code int, body string) *http.Response {
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)),
	}
}

// newCache returns a cache of the objects of a.
func newCache(t testing.TB, a *api) *cache.Cache {
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
	return cache.New(live, cache.Options{Logger: slog.New(slog.DiscardHandler)})
}
