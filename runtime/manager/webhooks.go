package manager

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/kctrl-dev/kctrl/runtime/certificate"
	"github.com/kctrl-dev/kctrl/runtime/internal/authority"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// Webhooks returns the webhook server, on which webhook.For registers webhooks. The first call creates the server, so a
// program without webhooks has none. If the server is created before Run, it listens before the caches start, because
// reads of kinds that it converts depend on it. If it is created while the manager runs, for example after a wait for a
// certificate, it listens immediately. After the end of Run, Webhooks fails with [ErrStopped].
//
// The server reads its certificate from files ([WebhookOptions].CertDir). Alternatively, the manager issues and rotates
// the certificate, stores it in a Secret for all replicas, and sets the CA bundle in the objects of
// [WebhookOptions].Targets. This requires the following permissions. The first two belong in a Role. The verb create
// cannot be restricted to a name, so it has its own rule:
//
//	// +kubebuilder:rbac:groups="",namespace=system,resources=secrets,verbs=create
//	// +kubebuilder:rbac:groups="",namespace=system,resources=secrets,resourceNames=webhook-certificates,verbs=get;list;watch;update
//	// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,resourceNames=NAME,verbs=get;list;watch;patch
//	// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=NAME,verbs=get;list;watch;patch
//
// For development, the manager can install webhook configurations with a URL at the API server
// ([WebhookOptions].Manifests). This requires no permissions in the operator's role.
func (m *Manager) Webhooks() (*server.Server, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.webhooks != nil {
		return m.webhooks, nil
	}
	s, run, err := m.newWebhooks()
	if err == nil && m.opts.Webhook.BindAddress != Off {
		err = m.serveLocked(run)
	}
	if err != nil {
		return nil, fmt.Errorf("webhooks: %w", err)
	}
	m.webhooks = s
	return s, nil
}

// serveLocked adds a server. If the manager has started, the server binds its address immediately.
func (m *Manager) serveLocked(run webhookServer) error {
	switch {
	case m.ended:
		return ErrStopped
	case m.started:
		if err := run.Listen(context.Background()); err != nil {
			return err
		}
	default:
		m.servers = append(m.servers, run)
	}
	if err := m.enlistLocked(servers, run); err != nil {
		run.Close()
		return err
	}
	m.readyz.Add(server.Owner{}, "webhooks", func(*http.Request) error { return run.Ready() })
	return nil
}

// webhookServer is a runnable webhook server.
type webhookServer interface {
	listener
	Ready() error
}

// newWebhooks returns the server, and the runnable that runs it.
func (m *Manager) newWebhooks() (*server.Server, webhookServer, error) {
	opts := server.Options{
		Address: m.opts.Webhook.BindAddress, HTTP2: m.opts.Webhook.HTTP2, TLSOpts: m.opts.Webhook.TLSOpts,
		Patience: m.patience(), Logger: m.logger, Metrics: m.metrics,
	}
	_, hosted := m.config.Transport.(inProcess)
	switch o := &m.opts.Webhook; {
	case o.BindAddress == Off:
		s := server.New(opts)
		return s, s, nil
	case len(o.Manifests) > 0 || o.URL != "":
		return m.newLocalWebhooks(opts)
	case o.CertDir != "":
		files, err := m.certificateFiles(o.CertDir, o.CertName, o.KeyName)
		if err != nil {
			return nil, nil, err
		}
		opts.Certificates = files
	case len(o.Targets) > 0:
		authority, err := m.newAuthority()
		if err != nil {
			return nil, nil, err
		}
		opts.Certificates = authority
	case o.given():
	case hosted:
		return m.newLocalWebhooks(opts)
	default:
		// Deployments of kubebuilder mount a certificate in this directory.
		mounted := filepath.Join(os.TempDir(), "k8s-webhook-server", "serving-certs")
		files, err := m.certificateFiles(mounted, o.CertName, o.KeyName)
		if err != nil {
			return nil, nil, errors.New("there is no certificate: set Webhook.Targets (--webhook-targets) or " +
				"Webhook.CertDir (--webhook-cert-path), or, for development, Webhook.Manifests (--webhook-manifests); or " +
				"serve none, with the address 0")
		}
		opts.Certificates = files
	}
	s := server.New(opts)
	return s, s, nil
}

// certificateFiles returns the certificate in a directory, with metrics. Empty names mean tls.crt and tls.key.
func (m *Manager) certificateFiles(dir, cert, key string) (*certificate.Files, error) {
	files, err := certificate.NewFiles(filepath.Join(dir, cmp.Or(cert, "tls.crt")),
		filepath.Join(dir, cmp.Or(key, "tls.key")), m.logger)
	if err == nil {
		files.Measure(m.metrics)
	}
	return files, err
}

// given reports whether TLSOpts sets a certificate.
func (o *WebhookOptions) given() bool {
	config := &tls.Config{}
	for _, change := range o.TLSOpts {
		change(config)
	}
	return config.GetCertificate != nil || config.GetConfigForClient != nil || len(config.Certificates) > 0
}

// newAuthority returns the authority with its certificates in a Secret.
func (m *Manager) newAuthority() (*authority.Authority, error) {
	if lifetime := m.opts.Webhook.CertLifetime; !m.opts.Webhook.validLifetime() {
		return nil, fmt.Errorf("Webhook.CertLifetime (--webhook-cert-lifetime) is %s; want at least %s", lifetime,
			minCertLifetime)
	}
	opts := authority.Options{Client: m.system, Logger: m.logger, Lifetime: m.opts.Webhook.CertLifetime}
	for _, text := range m.opts.Webhook.Targets {
		target, err := authority.ParseTarget(text)
		if err != nil {
			return nil, err
		}
		opts.Targets = append(opts.Targets, target)
	}
	var err error
	namespace := m.opts.Webhook.SecretNamespace
	if namespace == "" {
		namespace, err = podNamespace(namespaceFile)
	}
	switch {
	case errors.Is(err, errNoPod):
		return nil, errors.New("a certificate of its own outside of a pod needs Webhook.SecretNamespace " +
			"(--webhook-secret-namespace)")
	case err != nil:
		return nil, fmt.Errorf("the namespace of the Secret: %w", err)
	}
	opts.Secret = object.Key{Namespace: namespace, Name: cmp.Or(m.opts.Webhook.Secret, defaultWebhookSecret)}
	return authority.New(opts)
}
