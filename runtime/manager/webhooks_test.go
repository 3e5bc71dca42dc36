package manager_test

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/certificate"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

func TestWebhooksReportErrors(t *testing.T) {
	empty := t.TempDir()
	wrong := filepath.Join(t.TempDir(), "wrong.yaml")
	if err := os.WriteFile(wrong, []byte("kind: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		opts manager.WebhookOptions
		want string
	}{
		"nothing": {manager.WebhookOptions{}, "webhooks: there is no certificate: set Webhook.Targets " +
			"(--webhook-targets) or Webhook.CertDir (--webhook-cert-path)"},
		"no certificate": {manager.WebhookOptions{CertDir: empty},
			"webhooks: stat " + empty + "/tls.crt: no such file or directory"},
		"no target": {manager.WebhookOptions{Targets: []string{"a"}},
			`webhooks: "a": want mutating/NAME, validating/NAME, crd/NAME, apiservice/NAME or provider/NAME`},
		"no namespace": {manager.WebhookOptions{Targets: []string{"crd/a"}},
			"webhooks: a certificate of its own outside of a pod needs Webhook.SecretNamespace (--webhook-secret-namespace)"},
		"a short life": {manager.WebhookOptions{Targets: []string{"crd/a"}, CertLifetime: time.Second},
			"webhooks: Webhook.CertLifetime (--webhook-cert-lifetime) is 1s; want at least 1m0s"},
		"no manifests": {manager.WebhookOptions{Manifests: []string{empty + "/none"}},
			"webhooks: stat " + empty + "/none: no such file or directory"},
		"an empty folder": {manager.WebhookOptions{Manifests: []string{empty}},
			"webhooks: there is no webhook configuration in " + empty},
		"what is no YAML": {manager.WebhookOptions{Manifests: []string{wrong}}, "webhooks: " + wrong + ": "},
		"no URL": {manager.WebhookOptions{URL: "localhost:9443"},
			`webhooks: Webhook.URL (--webhook-url) "localhost:9443": want one such as https://127.0.0.1:9443`},
		"plain HTTP": {manager.WebhookOptions{URL: "http://localhost"},
			`webhooks: Webhook.URL (--webhook-url) "http://localhost": want one such as https://127.0.0.1:9443`},
	} {
		m, _ := newManager(t, newAPIServer(), manager.Options{Webhook: c.opts})
		if _, err := m.Webhooks(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
}

func TestWebhooksOfFilesAreServed(t *testing.T) {
	certificates := t.TempDir()
	writeCertificate(t, certificates, "given", time.Now())
	testWebhooks(t, manager.WebhookOptions{CertDir: certificates})
	if _, err := ended(t, certificates).Webhooks(); !errors.Is(err, manager.ErrStopped) {
		t.Errorf("after Run: %v", err)
	}
}

// TestWebhooksAreServedWithWhatDeploymentsOfKubebuilderHave checks that webhooks use the certificate that kubebuilder's
// deployments mount if the options set none.
func TestWebhooksAreServedWithWhatDeploymentsOfKubebuilderHave(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	mounted := filepath.Join(os.TempDir(), "k8s-webhook-server", "serving-certs")
	if err := os.MkdirAll(mounted, 0o700); err != nil {
		t.Fatal(err)
	}
	writeCertificate(t, mounted, "given", time.Now())
	t.Run("files", func(t *testing.T) { testWebhooks(t, manager.WebhookOptions{}) })
	files, err := certificate.NewFiles(filepath.Join(mounted, "tls.crt"), filepath.Join(mounted, "tls.key"),
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	t.Run("TLS options", func(t *testing.T) {
		testWebhooks(t, manager.WebhookOptions{TLSOpts: []func(*tls.Config){func(
			c *tls.Config) {
			c.GetCertificate = files.GetCertificate
		}}})
	})
}

func testWebhooks(t *testing.T, opts manager.WebhookOptions) {
	t.Helper()
	opts.BindAddress = loopback
	m, log := newManager(t, newAPIServer(), manager.Options{Webhook: opts})
	s, err := m.Webhooks()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := m.Webhooks(); again != s || err != nil {
		t.Errorf("a second server: %v", err)
	}
	if err := s.Handle("/a", http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	}), server.MaxReview); err != nil {
		t.Fatal(err)
	}
	r := start(t, m)
	url := strings.Replace(log.url(t, "webhooks"), "http:", "https:", 1)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	if code, _ := send(t, &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
		req); code != http.StatusTeapot {
		t.Errorf("answered %d", code)
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}

func ended(t *testing.T, certificates string) *manager.Manager {
	t.Helper()
	m, _ := newManager(t, newAPIServer(), manager.Options{Webhook: manager.WebhookOptions{BindAddress: loopback,
		CertDir: certificates}})
	if err := start(t, m).stop(); err != nil {
		t.Error(err)
	}
	return m
}

// TestWebhooksAreServedOnceTheCertificateExists runs an operator that issues its own certificate. It sets up its
// webhooks while the manager runs.
func TestWebhooksAreServedOnceTheCertificateExists(t *testing.T) {
	certificates := t.TempDir()
	m, log := newManager(t, newAPIServer(), manager.Options{Webhook: manager.WebhookOptions{BindAddress: loopback,
		CertDir: certificates}})
	r := start(t, m)
	if _, err := m.Webhooks(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a certificate: %v", err)
	}
	writeCertificate(t, certificates, "given", time.Now())
	s, err := m.Webhooks()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := m.Webhooks(); again != s || err != nil {
		t.Errorf("a second server: %v", err)
	}
	url := strings.Replace(log.url(t, "webhooks"), "http:", "https:", 1)
	if err := s.Handle("/a", http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	}), server.MaxReview); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	if code, _ := send(t, &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
		req); code != http.StatusTeapot {
		t.Errorf("answered %d", code)
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}

// TestWebhooksThatNothingServesAreNotInstalled sets up one of several webhooks. If the other webhooks were installed
// too, the API server would reject the requests for them.
func TestWebhooksThatNothingServesAreNotInstalled(t *testing.T) {
	manifests := filepath.Join(t.TempDir(), "manifests.yaml")
	const text = `kind: ValidatingWebhookConfiguration
apiVersion: admissionregistration.k8s.io/v1
metadata: {name: some}
webhooks:
- {name: a.example.com, clientConfig: {service: {name: s, namespace: n, path: /a}}}
- {name: b.example.com, clientConfig: {service: {name: s, namespace: n, path: /b}}}
- {name: c.example.com, clientConfig: {url: "https://elsewhere/c"}}
---
kind: MutatingWebhookConfiguration
apiVersion: admissionregistration.k8s.io/v1
metadata: {name: none}
webhooks:
- {name: d.example.com, clientConfig: {service: {name: s, namespace: n, path: /d}}}
`
	if err := os.WriteFile(manifests, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m, _ := newManager(t, newAPIServer(), manager.Options{Webhook: manager.WebhookOptions{Manifests: []string{manifests}}})
	s, err := m.Webhooks()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Handle("/a", http.NotFoundHandler(), server.MaxReview); err != nil {
		t.Fatal(err)
	}
	served, err := manager.ServedManifests(m)
	if err != nil || len(served) != 1 {
		t.Fatalf("%v, %v", served, err)
	}
	var names []string
	for _, webhook := range served[0].Object["webhooks"].([]any) {
		names = append(names, webhook.(map[string]any)["name"].(string))
	}
	if got := strings.Join(names, " "); got != "a.example.com c.example.com" {
		t.Errorf("installed are %s", got)
	}
}

func TestWebhooksThatAreOffAreRegistered(t *testing.T) {
	m, _ := newManager(t, newAPIServer(), manager.Options{Webhook: manager.WebhookOptions{BindAddress: manager.Off}})
	s, err := m.Webhooks()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Handle("/a", http.NotFoundHandler(), 10); err != nil {
		t.Error(err)
	}
	if err := start(t, m).stop(); err != nil {
		t.Error(err)
	}
}

func TestAddressOfWebhooksThatIsTakenIsAnError(t *testing.T) {
	certificates := t.TempDir()
	writeCertificate(t, certificates, "given", time.Now())
	m, _ := newManager(t, newAPIServer(), manager.Options{Webhook: manager.WebhookOptions{BindAddress: taken(t),
		CertDir: certificates}})
	if _, err := m.Webhooks(); err != nil {
		t.Fatal(err)
	}
	if err := m.Run(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "webhooks: listen tcp") {
		t.Errorf("run: %v", err)
	}
}
