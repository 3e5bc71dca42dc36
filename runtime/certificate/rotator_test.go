package certificate_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/certificate"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// rotating is a manager that runs one rotator on a server in memory, which may not be patched.
type rotating struct {
	*memory
	added controller.Runnable
}

func (r *rotating) Add(added controller.Runnable) error { r.added = added; return nil }
func (r *rotating) Config() *rest.Config                { return &rest.Config{Host: "http://server", Transport: r} }
func (*rotating) Logger() *slog.Logger                  { return slog.New(slog.DiscardHandler) }

// RoundTrip refuses what the roles of operators with cert-controller do not allow, and knows which kinds there are.
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
	if req.Method == http.MethodPatch {
		return answer(req, http.StatusForbidden, io.NopCloser(strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`))), nil
	}
	return r.memory.RoundTrip(req)
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

func rotator() *certificate.CertRotator {
	return &certificate.CertRotator{
		SecretKey: object.Key{Namespace: "default", Name: "certificates"}, CAName: "an-authority", CAOrganization: "somebody",
		DNSName: "hooks.default.svc", ExtraDNSNames: []string{"hooks", "hooks.default.svc"}, IsReady: make(chan struct{}),
		Webhooks: []certificate.WebhookInfo{{Name: "hooks", Type: certificate.Validating}, {Name: "missing", Type: certificate.Mutating}},
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

// TestRotatorFillsTheSecretAndIsReady: the Secret is there and empty, as deployments have it; the pod has mounted it; only update is allowed.
func TestRotatorFillsTheSecretAndIsReady(t *testing.T) {
	for name, files := range map[string][2]string{"default": {"", ""}, "named": {"server.pem", "server.key"}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				m := &rotating{memory: newMemory()}
				m.secret(nil)
				r := rotator()
				r.CertDir, r.CertName, r.KeyName = dir, files[0], files[1]
				if err := certificate.AddRotator(m, r); err != nil {
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
				if err := certificate.Accepts(m.bundle(t, 0), pair.Leaf, time.Now()); err != nil {
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

// TestRotatorTakesOverFromCertController: the pods of before the upgrade go on serving what the authority of before has signed.
func TestRotatorTakesOverFromCertController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &rotating{memory: newMemory()}
		entries, old := foreign(t)
		entries["notes"] = base64.StdEncoding.EncodeToString([]byte("somebody's"))
		m.secret(entries)
		r := rotator()
		if err := certificate.AddRotator(m, r); err != nil {
			t.Fatal(err)
		}
		stop := m.run(t)
		time.Sleep(time.Minute)
		if !isClosed(r.IsReady) {
			t.Fatal(r.Ready())
		}
		if err := certificate.Accepts(m.bundle(t, 0), old, time.Now()); err != nil {
			t.Errorf("what was signed before: %v", err)
		}
		if got := string(m.entry(t, "notes")); got != "somebody's" {
			t.Errorf("what else the Secret had: %q", got)
		}
		pair, err := tls.X509KeyPair(m.entry(t, "tls.crt"), m.entry(t, "tls.key"))
		if err != nil {
			t.Fatal(err)
		}
		if err := certificate.Accepts(m.bundle(t, 0), pair.Leaf, time.Now()); err != nil {
			t.Error(err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestRotatorSignsForFurtherUsages: an operator whose certificate is to be one of clients too gets that at its next start, by the same
// authority.
func TestRotatorSignsForFurtherUsages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &rotating{memory: newMemory()}
		m.secret(nil)
		var authority []byte
		for _, usages := range []*[]x509.ExtKeyUsage{
			nil, {x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}, {x509.ExtKeyUsageServerAuth}, {x509.ExtKeyUsageClientAuth},
		} {
			r := rotator()
			r.ExtKeyUsages = usages
			if err := certificate.AddRotator(m, r); err != nil {
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
		m := &rotating{memory: newMemory()}
		m.secret(nil)
		r := rotator()
		r.ExtKeyUsages, r.Webhooks = &[]x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, nil
		if err := certificate.AddRotator(m, r); err != nil {
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
		m := &rotating{memory: newMemory()}
		m.mu.Lock()
		late := m.objects[configurationPath+"/hooks"]
		delete(m.objects, configurationPath+"/hooks")
		m.mu.Unlock()
		r := rotator()
		if err := certificate.AddRotator(m, r); err != nil {
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
		if len(m.bundle(t, 0)) == 0 {
			t.Error("it trusts nobody")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestRotatorEndsWithWhatItHasWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, want := range []error{certificate.ErrRefreshed, nil} { // the second one finds what the first one has written
			m := &rotating{memory: newMemory()}
			if want == nil {
				entries, err := certificate.Entries(time.Now(), 24*time.Hour, "hooks.default.svc", "hooks", "webhook-service.system.svc")
				if err != nil {
					t.Fatal(err)
				}
				data := map[string]any{}
				for name, value := range entries {
					data[name] = base64.StdEncoding.EncodeToString(value)
				}
				m.secret(data)
			}
			r := rotator()
			r.RestartOnSecretRefresh = true
			if err := certificate.AddRotator(m, r); err != nil {
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
	nowhere, unknown := rotator(), rotator()
	nowhere.SecretKey.Namespace = ""
	unknown.Webhooks[0].Type = 9
	for want, r := range map[string]*certificate.CertRotator{
		"a rotator of certificates needs the namespace and name of its Secret": nowhere,
		`webhook "hooks": there is no type 9`:                                  unknown,
	} {
		if err := certificate.AddRotator(&rotating{memory: newMemory()}, r); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := certificate.AddRotator(&rotating{memory: newMemory()}, nil); err == nil {
		t.Error("nil was added")
	}
	if err := rotator().Run(t.Context()); err == nil {
		t.Error("one that was not added ran")
	}
}

// TestRotatorKnowsAllTypes: each names another kind.
func TestRotatorKnowsAllTypes(t *testing.T) {
	r := rotator()
	r.Webhooks = nil
	for i := range certificate.ExternalDataProvider + 1 {
		r.Webhooks = append(r.Webhooks, certificate.WebhookInfo{Name: "one", Type: i})
	}
	if err := certificate.AddRotator(&rotating{memory: newMemory()}, r); err != nil {
		t.Error(err)
	}
}
