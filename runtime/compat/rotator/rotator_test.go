package rotator_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/compat/rotator"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

const (
	secretPath        = "/api/v1/namespaces/default/secrets"
	configurationPath = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
)

// rotating is a manager that runs one rotator. It is also its API server, as the transport of a client, and permits
// no more than the roles of operators with cert-controller: no patches, and no other kinds. It keeps time with the
// bubble that it is in.
type rotating struct {
	added controller.Runnable

	mu      sync.Mutex
	objects map[string]map[string]any // by path
	version int
	changed chan struct{} // closed by the next change
}

// newRotating returns a manager whose server has the configuration of one webhook.
func newRotating() *rotating {
	r := &rotating{objects: map[string]map[string]any{}, changed: make(chan struct{})}
	r.put(configurationPath+"/hooks", map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": map[string]any{"name": "hooks"},
		"webhooks": []any{map[string]any{"name": "v", "clientConfig": map[string]any{
			"service": map[string]any{"name": "webhook-service", "namespace": "system", "path": "/validate"},
		}}},
	})
	return r
}

// put stores an object as it is after a write.
func (r *rotating) put(path string, o map[string]any) {
	r.version++
	o["metadata"].(map[string]any)["resourceVersion"] = strconv.Itoa(r.version)
	r.objects[path] = o
	close(r.changed)
	r.changed = make(chan struct{})
}

// bundle returns the certificates that the webhook trusts.
func (r *rotating) bundle(t *testing.T) []byte {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	webhook := r.objects[configurationPath+"/hooks"]["webhooks"].([]any)[0].(map[string]any)
	text, _ := webhook["clientConfig"].(map[string]any)["caBundle"].(string)
	bundle, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

func (r *rotating) Add(added controller.Runnable) error { r.added = added; return nil }
func (r *rotating) Config() *rest.Config                { return &rest.Config{Host: "http://server", Transport: r} }
func (*rotating) Logger() *slog.Logger                  { return slog.New(slog.DiscardHandler) }

// RoundTrip answers discovery, watches and all that get and put a single object.
func (r *rotating) RoundTrip(req *http.Request) (*http.Response, error) {
	kinds := map[string]string{
		"/api": `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"admissionregistration.k8s.io",
			"versions":[{"groupVersion":"admissionregistration.k8s.io/v1","version":"v1"}],"preferredVersion":{"groupVersion":"admissionregistration.k8s.io/v1","version":"v1"}}]}`,
		"/api/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"secrets","namespaced":true,"kind":"Secret","verbs":["get"]}]}`,
		"/apis/admissionregistration.k8s.io/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"admissionregistration.k8s.io/v1",
			"resources":[{"name":"validatingwebhookconfigurations","kind":"ValidatingWebhookConfiguration","verbs":["get"]},
			{"name":"mutatingwebhookconfigurations","kind":"MutatingWebhookConfiguration","verbs":["get"]}]}`,
	}
	if text, ok := kinds[strings.TrimSuffix(req.URL.Path, "/")]; ok {
		return answer(req, http.StatusOK, io.NopCloser(strings.NewReader(text))), nil
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.URL.Query().Get("watch") != "" {
		return answer(req, http.StatusOK, io.NopCloser(&stream{ctx: req.Context(), changed: r.changed})), nil
	}
	code, value := r.serve(req)
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return answer(req, code, io.NopCloser(bytes.NewReader(text))), nil
}

func answer(r *http.Request, code int, body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Request: r, ProtoMajor: 1, ProtoMinor: 1}
}

func status(code int, reason string) (int, any) {
	return code, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": reason}
}

// serve answers requests that are no watches. Lists are empty, since watches start with them and end at the first
// change.
func (r *rotating) serve(req *http.Request) (int, any) {
	path := req.URL.Path
	if kind := map[string][2]string{
		secretPath: {"v1", "SecretList"}, configurationPath: {"admissionregistration.k8s.io/v1", "ValidatingWebhookConfigurationList"},
	}[path]; req.Method == http.MethodGet && kind[1] != "" {
		return http.StatusOK, map[string]any{
			"apiVersion": kind[0], "kind": kind[1], "metadata": map[string]any{"resourceVersion": strconv.Itoa(r.version)}, "items": []any{},
		}
	}
	var sent map[string]any
	if req.Method == http.MethodPost || req.Method == http.MethodPut {
		if err := json.NewDecoder(req.Body).Decode(&sent); err != nil {
			return status(http.StatusBadRequest, err.Error())
		}
	}
	if req.Method == http.MethodPost {
		path += "/" + sent["metadata"].(map[string]any)["name"].(string)
	}
	stored, exists := r.objects[path]
	switch {
	case req.Method == http.MethodPatch:
		return status(http.StatusForbidden, "Forbidden")
	case req.Method == http.MethodPost && exists:
		return status(http.StatusConflict, "AlreadyExists")
	case req.Method != http.MethodPost && !exists:
		return status(http.StatusNotFound, "NotFound")
	case req.Method == http.MethodGet:
		return http.StatusOK, stored
	case req.Method == http.MethodPut && sent["metadata"].(map[string]any)["resourceVersion"] != stored["metadata"].(map[string]any)["resourceVersion"]:
		return status(http.StatusConflict, "Conflict")
	}
	r.put(path, sent)
	return http.StatusOK, sent
}

// stream is the body of a watch. It ends at the first change, or at the end of its context.
type stream struct {
	ctx     context.Context
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

// accepts returns an error unless a client that trusts bundle accepts leaf as the certificate of a server.
func accepts(bundle []byte, leaf *x509.Certificate) error {
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(bundle)
	_, err := leaf.Verify(x509.VerifyOptions{Roots: trusted})
	return err
}

// entry returns an entry of the Secret.
func (r *rotating) entry(t *testing.T, name string) []byte {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	data, _ := r.objects[secretPath+"/certificates"]["data"].(map[string]any)
	encoded, _ := data[name].(string)
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// mount writes the certificate of the Secret to a folder, as a kubelet does.
func (r *rotating) mount(t *testing.T, dir, certName, keyName string) {
	t.Helper()
	for _, name := range []string{certName, keyName} {
		if err := os.WriteFile(filepath.Join(dir, name), r.entry(t, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func (r *rotating) secret(data map[string]any) {
	r.put(secretPath+"/certificates", map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "certificates", "namespace": "default"}, "data": data,
	})
}

func newRotator() *rotator.CertRotator {
	return &rotator.CertRotator{
		SecretKey: object.Key{Namespace: "default", Name: "certificates"}, CAName: "an-authority", CAOrganization: "somebody",
		DNSName: "hooks.default.svc", ExtraDNSNames: []string{"hooks", "hooks.default.svc"}, IsReady: make(chan struct{}),
		Webhooks: []rotator.WebhookInfo{{Name: "hooks", Type: rotator.Validating}, {Name: "missing", Type: rotator.Mutating}},
	}
}

// run runs what was added until the test ends or stop is called, which returns the error.
func (r *rotating) run(t *testing.T) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.added.Run(ctx) }()
	t.Cleanup(cancel)
	return func() error { cancel(); return <-ended }
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestRotatorFillsTheSecretAndIsReady: the Secret is there and empty, as deployments have it; the pod has mounted it;
// only update is allowed.
func TestRotatorFillsTheSecretAndIsReady(t *testing.T) {
	for name, files := range map[string][2]string{"default": {"", ""}, "named": {"server.pem", "server.key"}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				m := newRotating()
				m.secret(nil)
				r := newRotator()
				r.CertDir, r.CertName, r.KeyName = dir, files[0], files[1]
				if err := rotator.AddRotator(m, r); err != nil {
					t.Fatal(err)
				}
				stop := m.run(t)
				time.Sleep(time.Minute)
				if isClosed(r.IsReady) {
					t.Error("ready before the kubelet has written the files")
				}
				certName, keyName := "tls.crt", "tls.key"
				if files[0] != "" {
					certName, keyName = files[0], files[1]
				}
				m.mount(t, dir, certName, keyName)
				time.Sleep(time.Minute)
				if !isClosed(r.IsReady) || r.Ready() != nil {
					t.Errorf("ready: %v, %v", isClosed(r.IsReady), r.Ready())
				}
				pair, err := tls.X509KeyPair(m.entry(t, certName), m.entry(t, keyName))
				if err != nil {
					t.Fatal(err)
				}
				if err := accepts(m.bundle(t), pair.Leaf); err != nil {
					t.Error(err)
				}
				if got, want := pair.Leaf.DNSNames, []string{"hooks.default.svc", "hooks", "webhook-service.system.svc"}; !slices.Equal(got, want) {
					t.Errorf("names %q, want %q", got, want)
				}
				if issuer := pair.Leaf.Issuer; issuer.CommonName != "an-authority" || !slices.Equal(issuer.Organization, []string{"somebody"}) {
					t.Errorf("issued by %s", issuer)
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// foreign returns the entries of a Secret as cert-controller makes them, with keys of RSA, and others beside them.
func foreign(t *testing.T) (entries map[string]any, leaf *x509.Certificate) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(0), Subject: pkix.Name{CommonName: "an-authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caText, err := x509.CreateCertificate(rand.Reader, ca, ca, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"hooks.default.svc"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	text, err := x509.CreateCertificate(rand.Reader, template, ca, own.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if leaf, err = x509.ParseCertificate(text); err != nil {
		t.Fatal(err)
	}
	encode := func(kind string, der []byte) string {
		return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return map[string]any{
		"ca.crt": encode("CERTIFICATE", caText), "ca.key": encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)), "tls.crt": encode("CERTIFICATE", text),
	}, leaf
}

// TestRotatorTakesOverFromCertController: the pods of before the upgrade go on serving what the authority of before
// has signed.
func TestRotatorTakesOverFromCertController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newRotating()
		entries, old := foreign(t)
		entries["notes"] = base64.StdEncoding.EncodeToString([]byte("somebody's"))
		m.secret(entries)
		r := newRotator()
		if err := rotator.AddRotator(m, r); err != nil {
			t.Fatal(err)
		}
		stop := m.run(t)
		time.Sleep(time.Minute)
		if !isClosed(r.IsReady) {
			t.Fatal(r.Ready())
		}
		if err := accepts(m.bundle(t), old); err != nil {
			t.Errorf("what was signed before: %v", err)
		}
		if got := string(m.entry(t, "notes")); got != "somebody's" {
			t.Errorf("what else the Secret had: %q", got)
		}
		pair, err := tls.X509KeyPair(m.entry(t, "tls.crt"), m.entry(t, "tls.key"))
		if err != nil {
			t.Fatal(err)
		}
		if err := accepts(m.bundle(t), pair.Leaf); err != nil {
			t.Error(err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestRotatorSignsForFurtherUsages: an operator whose certificate is to be one of clients too gets that at its next
// start, by the same authority.
func TestRotatorSignsForFurtherUsages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newRotating()
		m.secret(nil)
		var authority []byte
		for _, usages := range []*[]x509.ExtKeyUsage{
			nil, {x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}, {x509.ExtKeyUsageServerAuth}, {x509.ExtKeyUsageClientAuth},
		} {
			r := newRotator()
			r.ExtKeyUsages = usages
			if err := rotator.AddRotator(m, r); err != nil {
				t.Fatal(err)
			}
			stop := m.run(t)
			time.Sleep(time.Minute)
			pair, err := tls.X509KeyPair(m.entry(t, "tls.crt"), m.entry(t, "tls.key"))
			if err != nil {
				t.Fatal(err)
			}
			want := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth} // once it has them
			if usages == nil {
				want, authority = want[1:], m.entry(t, "ca.crt")
			}
			if got := pair.Leaf.ExtKeyUsage; !slices.Equal(got, want) || string(m.entry(t, "ca.crt")) != string(authority) || !isClosed(r.IsReady) {
				t.Errorf("got usages %v, want %v; ready: %v", got, want, r.Ready())
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestRotatorOfClientsIsReady: nobody takes its certificate for that of a server.
func TestRotatorOfClientsIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newRotating()
		m.secret(nil)
		r := newRotator()
		r.ExtKeyUsages, r.Webhooks = &[]x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, nil
		if err := rotator.AddRotator(m, r); err != nil {
			t.Fatal(err)
		}
		stop := m.run(t)
		time.Sleep(time.Minute)
		if err := r.Ready(); err != nil || !isClosed(r.IsReady) {
			t.Errorf("ready: %t, %v", isClosed(r.IsReady), err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestRotatorTellsAWebhookThatComesLate: a webhook that was not there does not keep anybody from being ready.
func TestRotatorTellsAWebhookThatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newRotating()
		m.mu.Lock()
		late := m.objects[configurationPath+"/hooks"]
		delete(m.objects, configurationPath+"/hooks")
		m.mu.Unlock()
		r := newRotator()
		if err := rotator.AddRotator(m, r); err != nil {
			t.Fatal(err)
		}
		stop := m.run(t)
		time.Sleep(time.Minute)
		if !isClosed(r.IsReady) {
			t.Fatal(r.Ready())
		}
		m.mu.Lock()
		m.put(configurationPath+"/hooks", late)
		m.mu.Unlock()
		time.Sleep(time.Minute)
		if len(m.bundle(t)) == 0 {
			t.Error("it trusts nobody")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestRotatorEndsWithWhatItHasWritten: the second one finds the certificates of the first one.
func TestRotatorEndsWithWhatItHasWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newRotating()
		for _, want := range []error{rotator.ErrRefreshed, nil} {
			r := newRotator()
			r.RestartOnSecretRefresh = true
			if err := rotator.AddRotator(m, r); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if err := m.added.Run(ctx); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
			cancel()
		}
	})
}

func TestRotatorRefusesWhatItCannotKeep(t *testing.T) {
	nowhere, unknown, unnamed := newRotator(), newRotator(), newRotator()
	nowhere.SecretKey.Namespace = ""
	unknown.Webhooks[0].Type = 9
	unnamed.ExtraDNSNames = []string{"not a name"}
	for want, r := range map[string]*rotator.CertRotator{
		"a rotator of certificates needs the namespace and name of its Secret":       nowhere,
		`webhook "hooks": there is no type 9`:                                        unknown,
		`a name for the certificate: "not a name": want a DNS name or an IP address`: unnamed,
	} {
		if err := rotator.AddRotator(newRotating(), r); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := rotator.AddRotator(newRotating(), nil); err == nil {
		t.Error("nil was added")
	}
	if err := newRotator().Run(t.Context()); err == nil {
		t.Error("one that was not added ran")
	}
}

// TestRotatorKnowsAllTypes: each names another kind.
func TestRotatorKnowsAllTypes(t *testing.T) {
	r := newRotator()
	r.Webhooks = nil
	for i := range rotator.ExternalDataProvider + 1 {
		r.Webhooks = append(r.Webhooks, rotator.WebhookInfo{Name: "one", Type: i})
	}
	if err := rotator.AddRotator(newRotating(), r); err != nil {
		t.Error(err)
	}
}
