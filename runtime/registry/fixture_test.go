package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/manager"
)

var errBroken = errors.New("broken")

// apiServer is an in-memory API server with the parts that a registry needs: readiness, discovery, access reviews and
// tokens. It contains no objects. It records lists and the users who sent them.
type apiServer struct {
	mu       sync.Mutex
	unready  int                 // number of /readyz requests that fail
	refused  []string            // "verb resource" or "user verb resource" that access reviews deny
	listed   map[string]bool     // listed resources
	agents   map[string]bool     // user agents
	accounts map[string]bool     // service accounts that exist
	tokens   map[string]string   // by token, its user
	issued   int                 // number of issued tokens
	lifetime time.Duration       // lifetime of issued tokens
	down     error               // if set, token requests fail with it
	seen     map[string][]string // users by path
}

func newAPIServer() *apiServer {
	return &apiServer{
		listed: map[string]bool{}, agents: map[string]bool{}, accounts: map[string]bool{}, tokens: map[string]string{},
		lifetime: time.Hour,
		seen:     map[string][]string{},
	}
}

func (s *apiServer) config() *rest.Config {
	return &rest.Config{Host: "http://apiserver", Transport: s, UserAgent: "program", BearerToken: "root"}
}

var groups = map[string]metav1.APIResourceList{
	"/api/v1": {GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Kind: "ConfigMap", Name: "configmaps", Namespaced: true}, {Kind: "Secret", Name: "secrets", Namespaced: true},
		{Kind: "ServiceAccount", Name: "serviceaccounts", Namespaced: true},
		{Kind: "TokenRequest", Name: "serviceaccounts/token", Namespaced: true},
		{Kind: "Namespace", Name: "namespaces"},
	}},
	"/apis/authorization.k8s.io/v1": {GroupVersion: "authorization.k8s.io/v1", APIResources: []metav1.APIResource{
		{Kind: "SelfSubjectAccessReview", Name: "selfsubjectaccessreviews"},
	}},
}

// RoundTrip implements http.RoundTripper.
func (s *apiServer) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
		req.Body.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agents[req.UserAgent()] = true
	user := s.user(req)
	if user == "" {
		return failure(http.StatusUnauthorized, metav1.StatusReasonUnauthorized), nil
	}
	s.seen[req.URL.Path] = append(s.seen[req.URL.Path], user)
	last := req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:]
	if req.URL.Path == "/api" {
		return answer(http.StatusOK, metav1.APIVersions{Versions: []string{"v1"}}), nil
	}
	switch document, found := groups[req.URL.Path]; {
	case found:
		return answer(http.StatusOK, document), nil
	case req.URL.Path == "/readyz" && s.unready > 0:
		s.unready--
		return &http.Response{StatusCode: 500, Status: "500 Internal Server Error",
			Body: io.NopCloser(strings.NewReader("[-]etcd\nfailed"))}, nil
	case req.URL.Path == "/readyz":
		return answer(http.StatusOK, "ok"), nil
	case last == "selfsubjectaccessreviews":
		return s.review(user, body), nil
	case last == "token":
		return s.token(strings.Split(req.URL.Path, "/")[4], strings.Split(req.URL.Path, "/")[6]), nil
	case last == "serviceaccounts" && req.Method == http.MethodPost:
		var account corev1.ServiceAccount
		_ = json.Unmarshal(body, &account)
		s.accounts[account.Namespace+"/"+account.Name] = true
		return answer(http.StatusCreated, account), nil
	case last == "configmaps" || last == "secrets":
		s.listed[last] = true
	}
	return failure(http.StatusNotFound, metav1.StatusReasonNotFound), nil
}

// user returns the user of a request, or an empty string if it is unknown.
func (s *apiServer) user(req *http.Request) string {
	token := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
	if token == "" || token == "root" {
		return "root"
	}
	return s.tokens[token]
}

func (s *apiServer) review(user string, body []byte) *http.Response {
	var review struct {
		metav1.TypeMeta
		Spec struct {
			ResourceAttributes struct{ Namespace, Verb, Resource, Subresource string }
		}
	}
	_ = json.Unmarshal(body, &review)
	a := review.Spec.ResourceAttributes
	asked := strings.TrimSuffix(a.Verb+" "+a.Resource+"/"+a.Subresource, "/")
	allowed := !slices.Contains(s.refused, asked) && !slices.Contains(s.refused, user+" "+asked) &&
		!slices.Contains(s.refused, asked+" "+a.Namespace)
	return answer(http.StatusCreated, map[string]any{
		"apiVersion": review.APIVersion, "kind": review.Kind, "status": map[string]any{"allowed": allowed},
	})
}

func (s *apiServer) token(namespace, name string) *http.Response {
	if s.down != nil {
		return failure(http.StatusForbidden, metav1.StatusReasonForbidden)
	}
	if !s.accounts[namespace+"/"+name] {
		return failure(http.StatusNotFound, metav1.StatusReasonNotFound)
	}
	s.issued++
	token := fmt.Sprintf("token-%d", s.issued)
	s.tokens[token] = namespace + "/" + name
	return answer(http.StatusCreated, map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
		"status": map[string]any{"token": token, "expirationTimestamp": time.Now().Add(s.lifetime).UTC().Format(
			time.RFC3339)},
	})
}

func failure(code int32, reason metav1.StatusReason) *http.Response {
	return answer(int(code), metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: code, Reason: reason,
		Message: string(reason),
	})
}

func answer(code int, body any) *http.Response {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(text))}
}

// journal is a log.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// newManager returns a manager of s with a journal.
func newManager(t *testing.T, s *apiServer, opts manager.Options) (*manager.Manager, *journal) {
	t.Helper()
	log := &journal{}
	opts.Logger = slog.New(slog.NewTextHandler(log, nil))
	m, err := manager.New(s.config(), opts)
	ok(t, err)
	ok(t, corev1.AddToScheme(m.Scheme()))
	return m, log
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fake is a controller whose behavior the test sets.
type fake struct {
	run    func(ctx context.Context) error
	ready  error
	health error
}

func (f *fake) Run(ctx context.Context) error {
	if f.run != nil {
		return f.run(ctx)
	}
	<-ctx.Done()
	return nil
}
func (f *fake) Ready() error                { return f.ready }
func (f *fake) Healthy(*http.Request) error { return f.health }
func (f *fake) DebugHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "debug of "+r.URL.Path) })
}

// building returns a constructor of c.
func building(c Controller) func(context.Context, *Context) (Controller, error) {
	return func(context.Context, *Context) (Controller, error) { return c, nil }
}

// running is a manager that runs in a bubble.
type running struct {
	t      *testing.T
	cancel context.CancelFunc
	ended  chan struct{}
	err    error // set before ended is closed
}

// start runs m until the test ends.
func start(t *testing.T, m *manager.Manager) *running {
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{t: t, cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		r.err = m.Run(ctx)
	}()
	synctest.Wait()
	return r
}

// pass advances the virtual time by d and waits until everything that is then due has run.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (r *running) stop() error {
	r.cancel()
	<-r.ended
	return r.err
}

// states returns the states of all controllers, by name.
func states(l *launch) string {
	var all []string
	for _, s := range l.statuses() {
		all = append(all, s.Name+"="+string(s.State))
	}
	return strings.Join(all, " ")
}
