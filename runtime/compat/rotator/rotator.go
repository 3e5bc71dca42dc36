// Package rotator wraps an [authority.Authority] in the API of open-policy-agent's cert-controller, for migrated
// operators.
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

// WebhookType is a kind of object that contains a CA bundle.
type WebhookType int

// Kinds of objects in which a [CertRotator] sets the CA bundle.
const (
	Validating           WebhookType = iota // ValidatingWebhookConfiguration
	Mutating                                // MutatingWebhookConfiguration
	CRDConversion                           // CustomResourceDefinition
	APIService                              // APIService
	ExternalDataProvider                    // Gatekeeper's Provider
)

// targetKinds has the prefixes for [authority.ParseTarget], by WebhookType.
var targetKinds = []string{
	Validating: "validating", Mutating: "mutating", CRDConversion: "crd", APIService: "apiservice",
	ExternalDataProvider: "provider",
}

// WebhookInfo names an object in which a [CertRotator] sets the CA bundle. An object that does not exist is set once it
// does.
type WebhookInfo struct {
	Name string
	Type WebhookType
}

// CertRotator is an [authority.Authority] for an operator whose pods mount its Secret. It has the fields of
// cert-controller's CertRotator, adopts its Secrets, and needs no additional permissions: get, list, watch and update
// of the Secret and of each webhook. Certificates that were signed before the adoption stay trusted. [AddRotator]
// passes it to a manager.
type CertRotator struct {
	// SecretKey names the Secret with the certificates of all replicas. It is required. The rotator creates a missing
	// Secret if it has permission.
	SecretKey object.Key
	// CertDir is the directory where the pod mounts the Secret. IsReady waits for its files. Empty skips that wait.
	CertDir string
	// CAName and CAOrganization are the subject of the CA. Without a name, the subject is the default of
	// [authority.Authority].
	CAName, CAOrganization string
	// DNSName and ExtraDNSNames are names of the server, in addition to those with which the webhooks call it.
	DNSName       string
	ExtraDNSNames []string
	// IsReady is closed when the files exist and all webhooks trust them. It may be nil.
	IsReady chan struct{}
	// Webhooks are the objects in which the CA bundle is set.
	Webhooks []WebhookInfo
	// FieldOwner is the field manager of these writes.
	FieldOwner string
	// RestartOnSecretRefresh ends the manager with [ErrRefreshed] after this process has written the Secret.
	RestartOnSecretRefresh bool
	// ExtKeyUsages are the extended key usages of the certificate. Nil means server authentication.
	ExtKeyUsages *[]x509.ExtKeyUsage
	// RequireLeaderElection restricts writes of the Secret and the webhooks to the leader. It is optional, since
	// concurrent writers reach the same result.
	RequireLeaderElection bool
	// ServerCertDuration is the lifetime of the CA and its certificate. Zero means a year; less than 12 s is an error.
	ServerCertDuration time.Duration
	// CertName and KeyName are the files in CertDir and the keys of the Secret. Empty means tls.crt and tls.key.
	CertName, KeyName string
	// ControllerName is the name in the manager. Empty means cert-rotator.
	ControllerName string

	// CaCertDuration, RotationCheckFrequency, LookaheadInterval and EnableReadinessCheck have no effect; they exist for
	// code that sets them. The CA is rotated together with its certificate after half of its lifetime, and the webhooks
	// trust the mounted files before and after.
	CaCertDuration, RotationCheckFrequency, LookaheadInterval time.Duration
	EnableReadinessCheck                                      bool

	authority *authority.Authority
	refreshed chan struct{} // buffer of size one
	logger    *slog.Logger
}

// ErrRefreshed ends a manager whose pod must restart with the certificate that it has just written.
var ErrRefreshed = errors.New("the Secret of the certificate was written, and the pod must restart with it")

// RotatorManager has the methods of a manager that [AddRotator] uses. *manager.Manager implements it.
type RotatorManager interface {
	Add(r controller.Runnable) error
	Config() *rest.Config
	Logger() *slog.Logger
}

// AddRotator adds r to a manager. Two rotators of one manager need different ControllerNames. Errors at run time are
// logged, reported by /readyz, and retried.
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

// options returns the options of the authority.
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
		opts.Usages = append([]x509.ExtKeyUsage{}, *r.ExtKeyUsages...) // not nil, even if empty
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

// Name returns the name in the manager.
func (r *CertRotator) Name() string { return cmp.Or(r.ControllerName, "cert-rotator") }

// NeedLeaderElection returns r.RequireLeaderElection.
func (r *CertRotator) NeedLeaderElection() bool { return r.RequireLeaderElection }

// Ready returns an error unless the certificate is valid and all existing webhooks trust it. It returns nil before
// [AddRotator].
func (r *CertRotator) Ready() error {
	if r.authority == nil {
		return nil
	}
	return r.authority.Ready()
}

// Run keeps the certificates current until ctx ends, and closes IsReady. The manager calls it once.
func (r *CertRotator) Run(ctx context.Context) error {
	if r.authority == nil {
		return errors.New("a rotator of certificates is given to AddRotator")
	}
	ctx, cancel := context.WithCancel(ctx)
	var keeping sync.WaitGroup
	defer keeping.Wait()
	defer cancel()
	keeping.Go(func() { _ = r.authority.Run(ctx) }) // it returns nil
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
		r.logger.Info("the certificate is mounted and trusted", "controller", r.Name(), "folder", r.CertDir)
		if ready != nil {
			close(ready)
		}
	}
}

// lookInterval is the interval of checks for the files.
const lookInterval = 200 * time.Millisecond

// mounted returns an error unless the files have a certificate that clients who trust the CA accept. It blocks until
// the authority is ready.
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

// usages returns the usages for which clients verify the certificate. Nil means server authentication, for which
// webhooks verify it.
func (r *CertRotator) usages() []x509.ExtKeyUsage {
	if len(r.Webhooks) > 0 || r.ExtKeyUsages == nil {
		return nil
	}
	return *r.ExtKeyUsages
}
