package manager

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"time"
	"unicode"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/log"
)

// Off is the address of a disabled server.
const Off = "0"

// Options configure a manager. The zero value runs a cache, and no servers. In a program that uses [Main] they are
// defaults, which flags, environment variables and the file of --config override.
type Options struct {
	// Scheme has the Go types of the kinds that are read and written. Nil means a new one with coordination.k8s.io/v1,
	// to which the program adds its kinds with [Manager.Scheme] and the AddToScheme of their packages, before it builds
	// the controllers. This includes built-in kinds.
	Scheme *runtime.Scheme
	// Logger is the logger of all components. Nil means slog.Default(). Objects among the arguments are logged by kind,
	// namespace and name, see log.NewHandler.
	Logger *slog.Logger
	// Namespaces restrict the cached and watched namespaces; empty means all.
	Namespaces []string
	// Cache configures the cache. Its Namespaces, Logger and Metrics default to those of the manager.
	Cache cache.Options
	// Controller has the defaults of the controllers.
	Controller ControllerOptions
	// Metrics configures the server of /metrics.
	Metrics MetricsOptions
	// Webhook configures the webhook server of programs with webhooks.
	Webhook WebhookOptions
	// LeaderElection runs the controllers in one replica at a time.
	LeaderElection LeaderElectionOptions
	// HealthProbeBindAddress is the address of /healthz and /readyz, such as ":8081". Empty means [Off].
	HealthProbeBindAddress string
	// LivenessEndpointName and ReadinessEndpointName are the paths of the two probes. Empty means /healthz and /readyz.
	// A path below them runs one check, such as /readyz/webhooks; ?exclude=webhooks runs all other checks. [New] fails
	// if one is not a path or both are equal.
	LivenessEndpointName, ReadinessEndpointName string
	// PprofBindAddress is the address of /debug/pprof, such as ":6060". It requires no authorization. Without a host it
	// is the loopback address. Empty means [Off].
	PprofBindAddress string
	// GracefulShutdownTimeout limits the time from the end of the context to the return of Run. Zero means 30 s;
	// negative means no limit.
	GracefulShutdownTimeout time.Duration
	// MinResyncPeriod is the minimum resync interval of the controllers. The manager adds a random part of up to the
	// same length, so that replicas do not resync together. Zero disables resyncs. A Resync of Cache overrides it.
	MinResyncPeriod time.Duration
	// QPS and Burst limit the requests of all clients of the process to its API server: the number per second, and the
	// number at once. Leases are not limited. Zero means no limit, since the API server has its own; a Burst of zero
	// means 1.
	QPS   float64
	Burst int
	// EnvPrefix is the prefix of the environment variables that [Main] reads, such as "GUESTBOOK" for
	// GUESTBOOK_LOG_LEVEL. Empty means the name of the program; [Off] disables them.
	EnvPrefix string
}

// ControllerOptions are defaults for unset options of controllers.
type ControllerOptions struct {
	// MaxConcurrentReconciles is the number of workers of a controller. Zero means 1.
	MaxConcurrentReconciles int
	// GroupKindConcurrency is the number of workers of controllers For a kind, by kind and group in the form of
	// schema.GroupKind, such as "ReplicaSet.apps" and "Pod". Other kinds have MaxConcurrentReconciles.
	GroupKindConcurrency map[string]int
	// ShutdownTimeout limits the controllers' part of the graceful shutdown. After it, the manager logs the names of
	// those that still run, and stops the rest in order. Zero means no separate limit.
	ShutdownTimeout time.Duration
}

// MetricsOptions configure the server of /metrics.
type MetricsOptions struct {
	// BindAddress is the address of the metrics server, such as ":8443". Empty means [Off].
	BindAddress string
	// Insecure serves metrics over plain HTTP without authorization. Otherwise the server uses TLS, and answers clients
	// with a bearer token that the API server authenticates and authorizes to get /metrics.
	Insecure bool
	// CertDir has the certificate and its key, which are read again when they change. Empty means a self-signed
	// certificate, which clients cannot verify.
	CertDir string
	// CertName and KeyName are the names of the two files there. Empty means tls.crt and tls.key.
	CertName, KeyName string
	// TLSOpts modify the TLS configuration, in order. The default is at least TLS 1.2, and HTTP/1.1.
	TLSOpts []func(*tls.Config)
	// ExtraHandlers are additional pages by path, see [Manager.Handle]. With Insecure they require no authorization
	// either.
	ExtraHandlers map[string]http.Handler
}

// LeaderElectionOptions configure the leader election of the controllers.
type LeaderElectionOptions struct {
	// Enabled runs controllers only while this manager holds the lease.
	Enabled bool
	// ID is the name of the lease.
	ID string
	// Namespace is the namespace of the lease. Empty means the pod's.
	Namespace string
	// LeaseDuration, RenewDeadline and RetryPeriod set these fields of leaderelection.Options. Zero means 15 s, 10 s
	// and 2 s.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// WebhookOptions configure the server of [Manager.Webhooks], and how the API server trusts it. A program without
// webhooks ignores them.
type WebhookOptions struct {
	// BindAddress is the address of the webhook server. Empty means ":9443", or a free port of loopback with Manifests.
	// [Off] disables it, so that an operator with webhooks can run without them.
	BindAddress string
	// HTTP2 enables HTTP/2, which the API server does not need.
	HTTP2 bool
	// TLSOpts modify the TLS configuration, in order, see [server.Options]. The server uses a certificate that they set
	// unless CertDir or Targets are set too.
	TLSOpts []func(*tls.Config)
	// CertDir has the certificate and its key, which are read again when they change, such as those of cert-manager.
	// Their issuer also sets the CA bundle at the API server. Empty, without Targets, means
	// k8s-webhook-server/serving-certs in the directory of temporary files, if the files exist; kubebuilder's
	// deployments mount them there.
	CertDir string
	// CertName and KeyName are the names of the two files there. Empty means tls.crt and tls.key.
	CertName, KeyName string
	// Targets are the objects in which the manager sets the CA bundle of its own certificate: mutating/NAME and
	// validating/NAME are webhook configurations, crd/NAME is a CustomResourceDefinition.
	Targets []string
	// Secret is the name of the Secret with this certificate. Empty means webhook-certificates.
	Secret string
	// SecretNamespace is the namespace of the Secret. Empty means the pod's.
	SecretNamespace string
	// CertLifetime is the lifetime of this certificate. Zero means a year; less than a minute is an error.
	CertLifetime time.Duration
	// Manifests are files and directories with webhook configurations. While the manager runs, it installs them at the
	// API server, with the URL of this process instead of a Service. They are for development and tests. The manager
	// skips webhooks whose path has no handler, and also installs conversions.
	Manifests []string
	// URL is the URL of this process for Manifests. Empty means https://127.0.0.1; without a port it has that of
	// BindAddress. If only URL is set, the manager installs only conversions.
	URL string
}

// defaultWebhookSecret is the default of WebhookOptions.Secret.
const defaultWebhookSecret = "webhook-certificates"

// minCertLifetime gives replicas and API servers enough time to adopt the next certificate.
const minCertLifetime = time.Minute

func (o *WebhookOptions) validLifetime() bool {
	return o.CertLifetime == 0 || o.CertLifetime >= minCertLifetime
}

// complete checks the options and sets the defaults.
func (o *Options) complete() error {
	if o.LeaderElection.Enabled && o.LeaderElection.ID == "" {
		return errors.New("leader election needs the name of a lease: LeaderElection.ID is empty")
	}
	if err := errors.Join(o.checkNames(), o.setProbePaths()); err != nil {
		return err
	}
	o.Logger = log.Brief(cmp.Or(o.Logger, slog.Default()))
	o.Controller.MaxConcurrentReconciles = max(1, o.Controller.MaxConcurrentReconciles)
	o.GracefulShutdownTimeout = cmp.Or(o.GracefulShutdownTimeout, 30*time.Second)
	if o.Scheme != nil {
		return nil
	}
	o.Scheme = runtime.NewScheme()
	metav1.AddToGroupVersion(o.Scheme, metav1.Unversioned)
	return coordinationv1.AddToScheme(o.Scheme)
}

// checkNames returns an error for invalid names in the options. An API server would not report them: the list of a
// namespace that cannot exist is empty.
func (o *Options) checkNames() error {
	errs := []error{checkNamespaces(o.Namespaces), checkNamespaces(o.Cache.Namespaces)}
	id := o.LeaderElection.ID
	if wrong := validation.IsDNS1123Subdomain(id); o.LeaderElection.Enabled && len(wrong) > 0 {
		errs = append(errs, fmt.Errorf("LeaderElection.ID %q cannot be the name of a lease: %s", id,
			strings.Join(wrong, "; ")))
	}
	return errors.Join(errs...)
}

// checkNamespaces returns an error for the first invalid namespace. The empty one means all.
func checkNamespaces(all []string) error {
	for _, namespace := range all {
		if wrong := validation.IsDNS1123Label(namespace); namespace != "" && len(wrong) > 0 {
			return fmt.Errorf("%q cannot be a namespace: %s", namespace, strings.Join(wrong, "; "))
		}
	}
	return nil
}

// setProbePaths sets the default paths of the probes, and checks the others.
func (o *Options) setProbePaths() error {
	o.LivenessEndpointName = cmp.Or(o.LivenessEndpointName, "/healthz")
	o.ReadinessEndpointName = cmp.Or(o.ReadinessEndpointName, "/readyz")
	if err := errors.Join(
		checkProbePath("LivenessEndpointName", o.LivenessEndpointName),
		checkProbePath("ReadinessEndpointName", o.ReadinessEndpointName),
	); err != nil {
		return err
	}
	if o.LivenessEndpointName == o.ReadinessEndpointName {
		return fmt.Errorf("LivenessEndpointName and ReadinessEndpointName are both %q: want two paths",
			o.ReadinessEndpointName)
	}
	return nil
}

func checkProbePath(field, name string) error {
	if name == "/" || !strings.HasPrefix(name, "/") || path.Clean(name) != name ||
		strings.ContainsAny(name, "{}?#%") || strings.ContainsFunc(name, unicode.IsSpace) {
		return fmt.Errorf("%s is %q: want the path of a probe, such as /readyz", field, name)
	}
	return nil
}
