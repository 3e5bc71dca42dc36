package authority_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/authority"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

const (
	secretPath        = "/api/v1/namespaces/default/secrets"
	configurationPath = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
)

// memory is an in-memory API server that serves as the transport of a client. It handles only the requests of an
// [authority.Authority], and uses the time of the test's bubble.
type memory struct {
	mu      sync.Mutex
	objects map[string]map[string]any // closed at the next change
	version int
	changed chan struct{} // path of an object that may not be patched
	down    bool
	refuses string // the path of what may not be patched
	writes  int
	history []validity // the trusted bundles and since when each applies
}

// validity is a bundle and the time from which it applies.
type validity struct {
	since  time.Time
	bundle string
}

func newMemory() *memory {
	m := &memory{objects: map[string]map[string]any{}, changed: make(chan struct{})}
	m.put(configurationPath+"/hooks", map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": map[string]any{"name": "hooks"},
		"webhooks": []any{map[string]any{"name": "v", "clientConfig": map[string]any{
			"service": map[string]any{"name": "webhook-service", "namespace": "system", "path": "/validate"},
		}}},
	})
	return m
}

func (m *memory) put(path string, o map[string]any) {
	m.version++
	o["metadata"].(map[string]any)["resourceVersion"] = strconv.Itoa(m.version)
	m.objects[path] = o
	if path == configurationPath+"/hooks" {
		webhook := o["webhooks"].([]any)[0].(map[string]any)
		text, _ := webhook["clientConfig"].(map[string]any)["caBundle"].(string)
		m.history = append(m.history, validity{time.Now(), text})
	}
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *memory) setDown(down bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = down
}

// bundle returns the bundle that the API server trusts if it learns of changes after the delay late.
func (m *memory) bundle(t *testing.T, late time.Duration) []byte {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	text := ""
	for _, h := range m.history {
		if text == "" || time.Since(h.since) >= late {
			text = h.bundle
		}
	}
	bundle, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

func (m *memory) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return nil, errors.New("the server is down")
	}
	if r.URL.Query().Get("watch") != "" {
		return answer(r, http.StatusOK, io.NopCloser(&stream{m: m, ctx: r.Context(), path: r.URL.Path, changed: m.changed})),
			nil
	}
	code, value := m.serve(r)
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return answer(r, code, io.NopCloser(bytes.NewReader(text))), nil
}

func answer(r *http.Request, code int, body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: body,
		Request: r, ProtoMajor: 1, ProtoMinor: 1}
}

func status(code int, reason string) (int, any) {
	return code, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason,
		"message": reason}
}

// serve answers all requests except watches.
func (m *memory) serve(r *http.Request) (int, any) {
	path := r.URL.Path
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	if r.Method == http.MethodGet && (path == secretPath || path == configurationPath) {
		kind := map[bool][2]string{true: {"v1", "SecretList"}, false: {"admissionregistration.k8s.io/v1",
			"ValidatingWebhookConfigurationList"}}[path == secretPath]
		return http.StatusOK, map[string]any{"apiVersion": kind[0], "kind": kind[1],
			"metadata": map[string]any{"resourceVersion": strconv.Itoa(m.version)}, "items": []any{}}
	}
	var sent map[string]any
	if r.Method == http.MethodPost || r.Method == http.MethodPut {
		if err := json.Unmarshal(body, &sent); err != nil {
			return status(http.StatusBadRequest, err.Error())
		}
	}
	if r.Method == http.MethodPost {
		path += "/" + sent["metadata"].(map[string]any)["name"].(string)
	}
	stored, exists := m.objects[path]
	switch {
	case r.Method == http.MethodPost && exists:
		return status(http.StatusConflict, "AlreadyExists")
	case r.Method != http.MethodPost && !exists:
		return status(http.StatusNotFound, "NotFound")
	case r.Method == http.MethodGet:
		return http.StatusOK, stored
	case r.Method == http.MethodPut &&
		sent["metadata"].(map[string]any)["resourceVersion"] != stored["metadata"].(map[string]any)["resourceVersion"]:
		return status(http.StatusConflict, "Conflict")
	case r.Method == http.MethodPatch && path == m.refuses:
		return status(http.StatusForbidden, "Forbidden")
	case r.Method == http.MethodPatch:
		text, err := json.Marshal(stored)
		if err != nil {
			return status(http.StatusInternalServerError, err.Error())
		}
		patch, err := jsonpatch.DecodePatch(body)
		if err == nil {
			text, err = patch.Apply(text)
		}
		if err == nil {
			err = json.Unmarshal(text, &sent)
		}
		if err != nil {
			return status(http.StatusUnprocessableEntity, "Invalid")
		}
	}
	m.writes++
	m.put(path, sent)
	return http.StatusOK, sent
}

// stream is the body of a watch. It ends at the first change, or when its context ends.
type stream struct {
	m       *memory
	ctx     context.Context
	path    string
	changed chan struct{}
}

func (s *stream) Read([]byte) (int, error) {
	select {
	case <-s.changed:
		return 0, io.EOF
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	}
}

// newAuthority returns an authority that stores its certificates on the server m.
func newAuthority(t *testing.T, m *memory, lifetime time.Duration) *authority.Authority {
	t.Helper()
	a, err := authority.New(authorityOptions(t, m, lifetime, "validating/hooks"))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// authorityOptions are the options of an authority that stores its certificates on the server.
func authorityOptions(t *testing.T, m *memory, lifetime time.Duration, targets ...string) authority.Options {
	t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1",
		Kind: "ValidatingWebhookConfiguration"}, meta.RESTScopeRoot)
	live, err := client.New(&rest.Config{Host: "http://server", Transport: m}, client.Options{Scheme: runtime.NewScheme(),
		Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	opts := authority.Options{
		Client: live, Secret: object.Key{Namespace: "default", Name: "certificates"}, Lifetime: lifetime,
		Logger: slog.New(slog.DiscardHandler),
	}
	for _, text := range targets {
		target, err := authority.ParseTarget(text)
		if err != nil {
			t.Fatal(err)
		}
		opts.Targets = append(opts.Targets, target)
	}
	return opts
}

// running runs the authorities until the test ends.
func running(t *testing.T, all ...*authority.Authority) {
	ctx, cancel := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	for _, a := range all {
		ended.Go(func() {
			if err := a.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		ended.Wait()
	})
}

func leafOf(t *testing.T, a *authority.Authority) *tls.Certificate {
	t.Helper()
	c, err := a.GetCertificate(&tls.ClientHelloInfo{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestNoClientIsRejected runs three replicas for three lifetimes, with an API server that is sometimes down. No replica
// may ever serve a certificate that the API server rejects, even if the server learns of its configurations minutes
// late. Each served certificate must be valid for at least another third of its lifetime.
func TestNoClientIsRejected(t *testing.T) {
	seeds.Each(t, 1, func(t *testing.T, seed uint64) {
		synctest.Test(t, func(t *testing.T) {
			const lifetime = 2 * 24 * time.Hour
			r := rand.New(rand.NewPCG(seed, 0))
			m := newMemory()
			var all []*authority.Authority
			for range 3 {
				all = append(all, newAuthority(t, m, lifetime))
			}
			running(t, all...)
			time.Sleep(time.Hour)
			shows := map[string]bool{}
			for start := time.Now(); time.Since(start) < 3*lifetime; {
				time.Sleep(time.Duration(r.Int64N(int64(time.Hour))))
				m.setDown(r.IntN(8) == 0)
				for i, a := range all {
					leaf := leafOf(t, a).Leaf
					for _, late := range []time.Duration{0, 5 * time.Minute, 9 * time.Minute} {
						if err := authority.Accepts(m.bundle(t, late), leaf, time.Now()); err != nil {
							t.Fatalf("replica %d is refused after %s by a server that is %s late: %v", i, time.Since(start), late, err)
						}
					}
					if err := leaf.VerifyHostname("webhook-service.system.svc"); err != nil {
						t.Fatal(err)
					}
					if time.Until(leaf.NotAfter) < lifetime/3 {
						t.Fatalf("replica %d shows a certificate with %s left", i, time.Until(leaf.NotAfter))
					}
					shows[leaf.SerialNumber.String()] = true
				}
			}
			if len(shows) < 5 || len(shows) > 7 { // two per lifetime
				t.Errorf("%d certificates were shown", len(shows))
			}
			m.setDown(false)
			time.Sleep(time.Hour)
			for _, a := range all {
				if err := a.Ready(); err != nil {
					t.Error(err)
				}
			}
			t.Logf("%d certificates, %d writes", len(shows), m.writes)
		})
	})
}

// putCertificates creates the Secret of an operator whose certificates have that lifetime.
func (m *memory) putCertificates(t *testing.T, lifetime time.Duration) {
	t.Helper()
	entries, err := authority.Entries(time.Now(), lifetime, "webhook-service.system.svc")
	if err != nil {
		t.Fatal(err)
	}
	data := map[string]any{}
	for name, value := range entries {
		data[name] = base64.StdEncoding.EncodeToString(value)
	}
	m.put(secretPath+"/certificates", map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "certificates", "namespace": "default"},
		"data": data,
	})
}

// TestCertificateOfAShorterLifetimeIsRotatedInItsTime raises the lifetime in an operator's options. The existing
// certificate is still rotated in time for its own, shorter lifetime.
func TestCertificateOfAShorterLifetimeIsRotatedInItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.putCertificates(t, 24*time.Hour)
		a := newAuthority(t, m, 365*24*time.Hour)
		running(t, a)
		time.Sleep(time.Hour)
		for start := time.Now(); time.Since(start) < 48*time.Hour; time.Sleep(7 * time.Minute) {
			leaf := leafOf(t, a).Leaf
			for _, late := range []time.Duration{0, 5 * time.Minute, 9 * time.Minute} {
				if err := authority.Accepts(m.bundle(t, late), leaf, time.Now()); err != nil {
					t.Fatalf("refused after %s by a server that is %s late: %v", time.Since(start), late, err)
				}
			}
			if left := time.Until(leaf.NotAfter); left < 8*time.Hour {
				t.Fatalf("a certificate is shown with %s left", left)
			}
		}
		if left := time.Until(leafOf(t, a).Leaf.NotAfter); left < 300*24*time.Hour {
			t.Errorf("the last one lives for %s", left)
		}
	})
}

// TestExpiredCertificateIsReplacedAtTheStart starts an operator that was stopped for longer than its certificate was
// valid.
func TestExpiredCertificateIsReplacedAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.putCertificates(t, 24*time.Hour)
		time.Sleep(48 * time.Hour)
		a := newAuthority(t, m, 0)
		running(t, a)
		synctest.Wait()
		if err := a.Ready(); err != nil {
			t.Error(err)
		}
		if err := authority.Accepts(m.bundle(t, 0), leafOf(t, a).Leaf, time.Now()); err != nil {
			t.Error(err)
		}
	})
}

// TestNotReadyWithoutAServer checks that the error names the reason, and that the authority is ready soon after the
// server is back.
func TestNotReadyWithoutAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.setDown(true)
		a := newAuthority(t, m, 0)
		running(t, a)
		time.Sleep(time.Hour)
		if err := a.Ready(); err == nil || !strings.Contains(err.Error(), "the server is down") {
			t.Errorf("ready: %v", err)
		}
		m.setDown(false)
		time.Sleep(31 * time.Second)
		if err := a.Ready(); err != nil {
			t.Error(err)
		}
	})
}

// TestReadyWhileTheServerIsDown checks that an authority whose bundle clients already trust stays ready during an
// outage of the API server.
func TestReadyWhileTheServerIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := newAuthority(t, m, 0)
		running(t, a)
		time.Sleep(time.Hour)
		m.setDown(true)
		for range 24 {
			time.Sleep(time.Hour)
			if err := a.Ready(); err != nil {
				t.Fatalf("it is not ready, since %v", err)
			}
		}
		m.setDown(false)
		m.mu.Lock()
		delete(m.objects, configurationPath+"/hooks")
		m.mu.Unlock()
		time.Sleep(time.Hour)
		if err := a.Ready(); err == nil {
			t.Error("it is ready without its target")
		}
	})
}

func TestParseTarget(t *testing.T) {
	for _, text := range []string{"mutating/a", "validating/a-b.c", "crd/guestbooks.webapp.example.com", "apiservice/v1.a",
		"provider/a"} {
		if target, err := authority.ParseTarget(text); err != nil || target.String() != text {
			t.Errorf("%s: %v %v", text, target, err)
		}
	}
	for _, text := range []string{"", "a", "mutating/", "mutating/a/b", "service/a", "/a"} {
		if _, err := authority.ParseTarget(text); err == nil ||
			err.Error() != fmt.Sprintf("%q: want mutating/NAME, validating/NAME, crd/NAME, apiservice/NAME or provider/NAME",
				text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
