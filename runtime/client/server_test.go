package client_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

// answer is the server's answer to one request.
type answer struct {
	code   int // 0 means 200
	header map[string]string
	body   string
	stream io.ReadCloser // replaces body
	err    error         // replaces the answer
}

// sent is a request that the server received.
type sent struct {
	what   string // "GET /api/v1/pods?limit=1"
	header http.Header
	body   string
}

// server is an in-memory API server without sockets. It answers each path by its route, and all other paths with the
// 404 of a path that is not served.
type server struct {
	mu sync.Mutex
	// routes has a function by method and path. The function receives the number of earlier requests to the route.
	routes map[string]func(n int) answer
	count  map[string]int
	sent   []sent
}

// newServer returns a server whose discovery documents contain a few kinds of the core group and of apps.
func newServer() *server {
	s := &server{routes: map[string]func(int) answer{}, count: map[string]int{}}
	s.respond("GET /api", `{"kind":"APIVersions","versions":["v1"]}`)
	s.respond("GET /api/v1", resources("v1", "Pod/pods/pod", "ConfigMap/configmaps/configmap",
		"Namespace/namespaces/namespace/cluster", "Scale/pods/scale"))
	s.respond("GET /apis", `{"kind":"APIGroupList","groups":[{"name":"apps"}]}`)
	s.respond("GET /apis/apps",
		`{"kind":"APIGroup","name":"apps","versions":[{"version":"v1"}],"preferredVersion":{"version":"v1"}}`)
	s.respond("GET /apis/apps/v1", resources("apps/v1", "Deployment/deployments/deployment", "Scale/deployments/scale"))
	return s
}

// resources is a discovery document; each kind is Kind/plural/singular, and /cluster when it is not namespaced.
func resources(groupVersion string, kinds ...string) string {
	list := metav1.APIResourceList{GroupVersion: groupVersion}
	for _, kind := range kinds {
		parts := strings.Split(kind, "/")
		r := metav1.APIResource{Kind: parts[0], Name: parts[1], SingularName: parts[2], Namespaced: len(parts) == 3}
		if parts[2] == "scale" {
			r.Name, r.SingularName = parts[1]+"/scale", ""
		}
		list.APIResources = append(list.APIResources, r)
	}
	return toJSON(list)
}

// on sets the route of what, such as "GET /api/v1/pods".
func (s *server) on(what string, route func(n int) answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.routes[what] = route
}

// respond makes the server answer every request of a kind with body.
func (s *server) respond(what, body string) {
	s.on(what, func(int) answer { return answer{body: body} })
}

// fails makes the server always answer what with a code and the body of a Status or of anything else.
func (s *server) fails(what string, code int, body string) {
	s.on(what, func(int) answer { return answer{code: code, body: body} })
}

// RoundTrip implements http.RoundTripper.
func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
	}
	what := req.Method + " " + req.URL.EscapedPath()
	s.mu.Lock()
	route, n := s.routes[what], s.count[what]
	s.count[what]++
	full := what
	if req.URL.RawQuery != "" {
		full += "?" + req.URL.RawQuery
	}
	s.sent = append(s.sent, sent{full, req.Header, string(body)})
	s.mu.Unlock()
	a := answer{code: http.StatusNotFound, header: map[string]string{"Content-Type": "text/plain"},
		body: "404 page not found"}
	if route != nil {
		a = route(n)
	}
	if a.err != nil {
		return nil, a.err
	}
	resp := a.response()
	resp.Request = req
	return resp, nil
}

// isWatch reports whether the last request is one for a watch.
func (s *server) isWatch() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sent) > 0 && strings.Contains(s.sent[len(s.sent)-1].what, "watch=true")
}

func (a answer) response() *http.Response {
	header := http.Header{"Content-Type": {"application/json"}}
	for name, value := range a.header {
		header.Set(name, value)
	}
	if a.stream == nil {
		a.stream = io.NopCloser(strings.NewReader(a.body))
	}
	if a.code == 0 {
		a.code = http.StatusOK
	}
	return &http.Response{StatusCode: a.code, Status: strconv.Itoa(a.code), Header: header, Body: a.stream}
}

// take returns the requests since the last call, except discovery.
func (s *server) take() []sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	var took []sent
	for _, r := range s.sent {
		if !isDiscovery(r.what) {
			took = append(took, r)
		}
	}
	s.sent = nil
	return took
}

// discovered returns the discovery requests since the last call.
func (s *server) discovered() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var paths []string
	for _, r := range s.sent {
		if isDiscovery(r.what) {
			paths = append(paths, strings.TrimPrefix(r.what, "GET "))
		}
	}
	s.sent = nil
	return paths
}

// isDiscovery reports whether a request is for a discovery document: the paths of resources are longer.
func isDiscovery(what string) bool {
	segments := strings.Count(what, "/")
	return strings.HasPrefix(what, "GET /api") && segments <= 2 || strings.HasPrefix(what, "GET /apis/") && segments <= 3
}

// last returns the only request since the last call, except discovery.
func (s *server) last(t *testing.T) sent {
	t.Helper()
	requests := s.take()
	if len(requests) != 1 {
		t.Fatalf("got %d requests, want one: %v", len(requests), requests)
	}
	return requests[0]
}

// connect returns a client of s.
func connect(t testing.TB, s *server, opts client.Options) *client.REST {
	t.Helper()
	if opts.Scheme == nil {
		opts.Scheme = newScheme(t)
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	opts.HTTPClient = &http.Client{Transport: s}
	c, err := client.New(&rest.Config{Host: "http://server"}, opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, autoscalingv1.AddToScheme,
		policyv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

func toJSON(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// sameJSON reports a difference between two JSON texts. The order of their fields does not matter.
func sameJSON(t *testing.T, got, want string) {
	t.Helper()
	var a, b any
	if json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal([]byte(want), &b) != nil || toJSON(a) != toJSON(b) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// status is the body of a failure.
func status(code int, reason metav1.StatusReason, message string) string {
	return toJSON(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	})
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func untyped(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// logs returns a logger and its output.
func logs() (*slog.Logger, *bytes.Buffer) {
	var out bytes.Buffer
	return slog.New(slog.NewTextHandler(&out, nil)), &out
}

// listOf is a list of the kind that u has.
func listOf(u *unstructured.Unstructured) *unstructured.UnstructuredList {
	return &unstructured.UnstructuredList{Object: u.Object}
}
