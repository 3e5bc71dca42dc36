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

// Off is the address of a server that does not run.
const Off = "0"

// Options configure a manager. The zero value runs a cache, and no servers. In a program that uses [Main] they are
// defaults, which flags, environment variables and the file of --config override.
type Options struct {
	// Scheme knows the Go types of the kinds that are read and written. Nil is a new one with coordination.k8s.io/v1,
	// to which the program adds its kinds with [Manager.Scheme] and the AddToScheme of their packages, before it builds
	// the controllers. This includes built-in kinds.
	Scheme *runtime.Scheme
	// Logger is where everything logs; nil is slog.Default(). Objects among the arguments are logged by kind, namespace
	// and name, see log.NewHandler.
	Logger *slog.Logger
	// Namespaces restrict what is cached and watched; none means all.
	Namespaces []string
	// Cache tunes the cache. Its Namespaces, Logger and Metrics default to those of the manager.
	Cache cache.Options
	// Controller has the defaults of the controllers.
	Controller ControllerOptions
	// Metrics configure the server of /metrics.
	Metrics MetricsOptions
	// Webhook configures the server of webhooks, which a program with webhooks has.
	Webhook WebhookOptions
	// LeaderElection runs the controllers in one replica at a time.
	LeaderElection LeaderElectionOptions
	// HealthProbeBindAddress is where /healthz and /readyz are served, such as ":8081". Empty is [Off].
	HealthProbeBindAddress string
	// LivenessEndpointName and ReadinessEndpointName are the paths of the two probes. Empty is /healthz and /readyz.
	// A path below them asks one check, such as /readyz/webhooks; ?exclude=webhooks asks all other checks. [New] fails
	// if one is not a path or both are the same.
	LivenessEndpointName, ReadinessEndpointName string
	// PprofBindAddress is where /debug/pprof is served, to everybody, such as ":6060". Without a host it is the
	// loopback address. Empty is [Off].
	PprofBindAddress string
	// GracefulShutdownTimeout bounds the time from the end of the context to the return of Run. Zero means 30 s; a
	// negative time is no bound.
	GracefulShutdownTimeout time.Duration
	// MinResyncPeriod is the minimum time between two deliveries of every object to the controllers. The manager adds a
	// random part of up to the same length, so that replicas do not resync together. Zero is never. A Resync of Cache
	// overrides it.
	MinResyncPeriod time.Duration
	// QPS and Burst limit the requests of all clients of the process to its API server: the number each second, and the
	// number at once. Leases are not limited. Zero is no limit, since the API server has its own; a Burst of zero is 1.
	QPS   float64
	Burst int
	// EnvPrefix is the prefix of the environment variables that [Main] reads, such as "GUESTBOOK" for
	// GUESTBOOK_LOG_LEVEL. Empty is the name of the program; [Off] reads none.
	EnvPrefix string
}

// ControllerOptions are the defaults of controllers whose own options are unset.
type ControllerOptions struct {
	// MaxConcurrentReconciles is the number of workers of a controller. Zero means 1.
	MaxConcurrentReconciles int
	// GroupKindConcurrency is the number of workers of controllers For a kind, by kind and group as schema.GroupKind
	// writes them, such as "ReplicaSet.apps" and "Pod". Other kinds have MaxConcurrentReconciles.
	GroupKindConcurrency map[string]int
	// ShutdownTimeout bounds the part of the graceful shutdown that the controllers may take. After it the manager logs
	// the names of those that still run, and stops the rest in order. Zero is no bound of its own.
	ShutdownTimeout time.Duration
}

// MetricsOptions configure the server of /metrics.
type MetricsOptions struct {
	// BindAddress is where metrics are served, such as ":8443". Empty is [Off].
	BindAddress string
	// Insecure serves metrics over plain HTTP to everybody. Otherwise the server uses TLS, and answers clients with a
	// bearer token that the API server authenticates and authorizes to get /metrics.
	Insecure bool
	// CertDir has the certificate and its key, which are read again when they change. Empty is a self-signed
	// certificate, which clients cannot verify.
	CertDir string
	// CertName and KeyName are the names of the two files there. Empty is tls.crt and tls.key.
	CertName, KeyName string
	// TLSOpts change the TLS configuration, in order. The default is at least TLS 1.2, and HTTP/1.1.
	TLSOpts []func(*tls.Config)
	// ExtraHandlers are pages beside /metrics, by path, as [Manager.Handle] adds them. With Insecure they are served to
	// everybody too.
	ExtraHandlers map[string]http.Handler
}

// LeaderElectionOptions configure the leader election of the controllers.
type LeaderElectionOptions struct {
	// Enabled runs controllers only while this manager holds the lease.
	Enabled bool
	// ID is the name of the lease.
	ID string
	// Namespace is the namespace of the lease. Empty is that of the pod.
	Namespace string
	// LeaseDuration, RenewDeadline and RetryPeriod are those of leaderelection.Options. Zero means 15 s, 10 s and 2 s.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// WebhookOptions configure the server of [Manager.Webhooks], and how the API server comes to trust it. A program
// without webhooks ignores them.
type WebhookOptions struct {
	// BindAddress is where webhooks are served. Empty is ":9443", or a free port of loopback with Manifests. [Off]
	// serves none, so that an operator with webhooks runs without them.
	BindAddress string
	// HTTP2 lets clients use HTTP/2, which the API server does not need.
	HTTP2 bool
	// TLSOpts change the TLS configuration, in order, see [server.Options]. The server uses a certificate that they set
	// unless CertDir or Targets are set too.
	TLSOpts []func(*tls.Config)
	// CertDir has the certificate and its key, which are read again when they change, such as those of cert-manager.
	// Their issuer also makes the API server trust them. Empty, without Targets, is k8s-webhook-server/serving-certs in
	// the directory of temporary files, if the files exist, as deployments of kubebuilder mount them.
	CertDir string
	// CertName and KeyName are the names of the two files there. Empty is tls.crt and tls.key.
	CertName, KeyName string
	// Targets are the objects that the manager makes trust a certificate of its own: mutating/NAME and validating/NAME
	// are webhook configurations, crd/NAME is a CustomResourceDefinition.
	Targets []string
	// Secret is the name of the Secret that has this certificate. Empty is webhook-certificates.
	Secret string
	// SecretNamespace is its namespace. Empty is that of the pod.
	SecretNamespace string
	// CertLifetime is that of this certificate. Zero means a year; less than a minute is an error.
	CertLifetime time.Duration
	// Manifests are files and directories with webhook configurations, which the manager installs at the API server
	// while it runs, with the URL of this process in place of a Service: for development and tests. It skips webhooks
	// whose path has no handler. Conversions are installed too.
	Manifests []string
	// URL is where the API server reaches this process then. Empty is https://127.0.0.1; without a port it has that of
	// BindAddress. Set it alone to install conversions only.
	URL string
}

// defaultWebhookSecret is the name of the Secret with the certificates of webhooks.
const defaultWebhookSecret = "webhook-certificates"

// minCertLifetime leaves replicas and API servers the time to agree on the next certificate.
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

// checkNames returns the invalid names of the options. An API server would not report them: the list of a namespace
// that cannot exist is empty.
func (o *Options) checkNames() error {
	errs := []error{checkNamespaces(o.Namespaces), checkNamespaces(o.Cache.Namespaces)}
	id := o.LeaderElection.ID
	if wrong := validation.IsDNS1123Subdomain(id); o.LeaderElection.Enabled && len(wrong) > 0 {
		errs = append(errs, fmt.Errorf("LeaderElection.ID %q cannot be the name of a lease: %s", id, strings.Join(wrong, "; ")))
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
		return fmt.Errorf("LivenessEndpointName and ReadinessEndpointName are both %q: want two paths", o.ReadinessEndpointName)
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
