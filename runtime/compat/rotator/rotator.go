// Package rotator is a [authority.Authority] with the names of open-policy-agent's cert-controller, for operators
// that were migrated from it.
package rotator

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/internal/authority"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// WebhookType is the kind of object that calls a server.
type WebhookType int

// All that a [CertRotator] makes trust its certificate.
const (
	Validating           WebhookType = iota // a ValidatingWebhookConfiguration
	Mutating                                // a MutatingWebhookConfiguration
	CRDConversion                           // a CustomResourceDefinition
	APIService                              // an APIService
	ExternalDataProvider                    // a Provider of Gatekeeper
)

// targetKinds are the kinds of [authority.ParseTarget], by WebhookType.
var targetKinds = []string{
	Validating: "validating", Mutating: "mutating", CRDConversion: "crd", APIService: "apiservice",
	ExternalDataProvider: "provider",
}

// WebhookInfo names an object that a [CertRotator] makes trust its certificate. One that is not there is told when it
// comes.
type WebhookInfo struct {
	Name string
	Type WebhookType
}

// CertRotator is a [authority.Authority] for an operator whose pods mount its Secret: it has the fields of the one
// of open-policy-agent's cert-controller, whose Secrets it takes over, and needs no right that this one has not: get,
// list, watch and update of the Secret and of each webhook. What was signed before it took over stays trusted. It
// belongs to a manager from [AddRotator] on.
type CertRotator struct {
	// SecretKey names the Secret that has the certificates, for all replicas. It is required. One that is missing is
	// made, if there is a right for it.
	SecretKey object.Key
	// CertDir is where the pod has mounted the Secret. IsReady waits for the files; empty waits for none.
	CertDir string
	// CAName and CAOrganization are the subject of the authority. Without a name it is that of any
	// [authority.Authority].
	CAName, CAOrganization string
	// DNSName and ExtraDNSNames are those of the server, beside those by which the webhooks call it.
	DNSName       string
	ExtraDNSNames []string
	// IsReady is closed when the files are there and everybody trusts them. Nil tells nobody.
	IsReady chan struct{}
	// Webhooks trust the certificate.
	Webhooks []WebhookInfo
	// FieldOwner is the field manager of what is written to them.
	FieldOwner string
	// RestartOnSecretRefresh ends the manager, with [ErrRefreshed], when this process has written the Secret.
	RestartOnSecretRefresh bool
	// ExtKeyUsages are those of the certificate. Nil is that of a server.
	ExtKeyUsages *[]x509.ExtKeyUsage
	// RequireLeaderElection leaves the Secret and the webhooks to the leader. Replicas that write at once agree
	// without it.
	RequireLeaderElection bool
	// ServerCertDuration is the lifetime of the authority and of its certificate. Zero means a year; less than 12 s
	// is an error.
	ServerCertDuration time.Duration
	// CertName and KeyName are the files in CertDir, and the entries of the Secret. Empty is tls.crt and tls.key.
	CertName, KeyName string
	// ControllerName is the name among those that the manager runs. Empty is cert-rotator.
	ControllerName string

	// These are there for code that sets them: the authority is rotated with its certificate, after half of its
	// lifetime, and the webhooks trust what is mounted before and after.
	CaCertDuration, RotationCheckFrequency, LookaheadInterval time.Duration
	EnableReadinessCheck                                      bool

	authority *authority.Authority
	refreshed chan struct{} // has room for one
	logger    *slog.Logger
}

// ErrRefreshed ends a manager whose pod is to start anew with the certificate that it has just written.
var ErrRefreshed = errors.New("the Secret of the certificate was written, and the pod is to start anew with it")

// RotatorManager is what [AddRotator] needs of a manager. *manager.Manager is one.
type RotatorManager interface {
	Add(r controller.Runnable) error
	Config() *rest.Config
	Logger() *slog.Logger
}

// AddRotator has a manager run r. Two in one manager need a ControllerName each. What it cannot do while it runs is
// logged, shows in /readyz, and is tried again.
func AddRotator(m RotatorManager, r *CertRotator) error {
	if r == nil || r.SecretKey.Namespace == "" || r.SecretKey.Name == "" {
		return errors.New("a rotator of certificates needs the namespace and name of its Secret")
	}
	live, err := client.New(m.Config(), client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		return fmt.Errorf("a client for the rotator of certificates: %w", err)
	}
	opts, err := r.options(live, m.Logger())
	if err != nil {
		return err
	}
	r.refreshed, r.logger = make(chan struct{}, 1), m.Logger()
	if r.authority, err = authority.New(opts); err != nil {
		return err
	}
	return m.Add(r)
}

// options returns those of the authority.
func (r *CertRotator) options(live *client.REST, logger *slog.Logger) (authority.Options, error) {
	opts := authority.Options{
		Client: live, Secret: r.SecretKey, Logger: logger,
		Lifetime: r.ServerCertDuration, Subject: pkix.Name{CommonName: r.CAName},
		CertificateEntry: r.CertName, KeyEntry: r.KeyName, FieldOwner: r.FieldOwner, SecretWritten: r.saved,
		AdoptSecret: true, UpdateTargets: true, OptionalTargets: true,
	}
	if r.CAOrganization != "" {
		opts.Subject.Organization = []string{r.CAOrganization}
	}
	if r.ExtKeyUsages != nil {
		opts.Usages = append([]x509.ExtKeyUsage{}, *r.ExtKeyUsages...) // not nil, even if there are none
	}
	for _, name := range append([]string{r.DNSName}, r.ExtraDNSNames...) {
		if name != "" {
			opts.Names = append(opts.Names, name)
		}
	}
	for _, info := range r.Webhooks {
		if info.Type < 0 || int(info.Type) >= len(targetKinds) {
			return opts, fmt.Errorf("webhook %q: there is no type %d", info.Name, info.Type)
		}
		target, err := authority.ParseTarget(targetKinds[info.Type] + "/" + info.Name)
		if err != nil {
			return opts, fmt.Errorf("webhook %q: %w", info.Name, err)
		}
		opts.Targets = append(opts.Targets, target)
	}
	return opts, nil
}

func (r *CertRotator) saved() {
	select {
	case r.refreshed <- struct{}{}:
	default:
	}
}

// Name returns the name among those that a manager runs.
func (r *CertRotator) Name() string { return cmp.Or(r.ControllerName, "cert-rotator") }

// NeedLeaderElection returns RequireLeaderElection.
func (r *CertRotator) NeedLeaderElection() bool { return r.RequireLeaderElection }

// Ready returns an error unless the certificate is valid and all webhooks that are there trust it. It is nil before
// [AddRotator].
func (r *CertRotator) Ready() error {
	if r.authority == nil {
		return nil
	}
	return r.authority.Ready()
}

// Run keeps the certificates until ctx ends, and closes IsReady on the way. It is called by the manager, once.
func (r *CertRotator) Run(ctx context.Context) error {
	if r.authority == nil {
		return errors.New("a rotator of certificates is given to AddRotator")
	}
	ctx, cancel := context.WithCancel(ctx)
	var keeping sync.WaitGroup
	defer keeping.Wait()
	defer cancel()
	keeping.Go(func() { _ = r.authority.Run(ctx) }) // which returns nil
	var restart <-chan struct{}
	if r.RestartOnSecretRefresh {
		restart = r.refreshed
	}
	look := time.NewTicker(lookInterval)
	defer look.Stop()
	ready := r.IsReady
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-restart:
			return ErrRefreshed
		case <-look.C:
		}
		if r.Ready() != nil || r.mounted(ctx) != nil {
			continue
		}
		look.Stop()
		r.logger.Info("the certificate is there, and is trusted", "controller", r.Name(), "folder", r.CertDir)
		if ready != nil {
			close(ready)
		}
	}
}

// lookInterval is how often the files are looked for.
const lookInterval = 200 * time.Millisecond

// mounted returns an error unless the files have a certificate that clients accept if they trust the authority. It
// blocks until the authority is ready.
func (r *CertRotator) mounted(ctx context.Context) error {
	if r.CertDir == "" {
		return nil
	}
	certificate, key := cmp.Or(r.CertName, "tls.crt"), cmp.Or(r.KeyName, "tls.key")
	pair, err := tls.LoadX509KeyPair(filepath.Join(r.CertDir, certificate), filepath.Join(r.CertDir, key))
	if err != nil {
		return err
	}
	bundle, err := r.authority.Bundle(ctx)
	if err != nil {
		return err
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(bundle)
	_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: trusted, KeyUsages: r.usages()})
	return err
}

// usages are the usages for which clients verify the certificate. Webhooks verify it as that of a server, which is
// the default.
func (r *CertRotator) usages() []x509.ExtKeyUsage {
	if len(r.Webhooks) > 0 || r.ExtKeyUsages == nil {
		return nil
	}
	return *r.ExtKeyUsages
}
