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

// Options configure a manager. The zero value runs a cache and no servers. In a program that uses [Main], Options are
// the defaults; flags, environment variables and the file of --config override them.
type Options struct {
	// Scheme has the Go types of the kinds that the program reads and writes. Nil means a new scheme with only
	// coordination.k8s.io/v1; the program must then add all other kinds to [Manager.Scheme] before it builds controllers.
	Scheme *runtime.Scheme
	// Logger is the logger of all components. Nil means slog.Default(). Objects that are logged appear as kind, namespace
	// and name, see log.NewHandler.
	Logger *slog.Logger
	// Namespaces are the cached and watched namespaces; empty means all.
	Namespaces []string
	// Cache configures the cache. Its Namespaces, Logger and Metrics default to the manager's values.
	Cache cache.Options
	// Controller has defaults for the options of controllers.
	Controller ControllerOptions
	// Metrics configures the server of /metrics.
	Metrics MetricsOptions
	// Webhook configures the webhook server of programs with webhooks.
	Webhook WebhookOptions
	// LeaderElection configures leader election, which runs the controllers in one replica at a time.
	LeaderElection LeaderElectionOptions
	// HealthProbeBindAddress is the address of /healthz and /readyz, such as ":8081". Empty means [Off].
	HealthProbeBindAddress string
	// LivenessEndpointName and ReadinessEndpointName are the paths of the two probes. Empty means /healthz and /readyz. A
	// request for a path below them, such as /readyz/webhooks, runs only that check; ?exclude=webhooks runs all other
	// checks. [New] fails if one of them is not a path, or if both are equal.
	LivenessEndpointName, ReadinessEndpointName string
	// PprofBindAddress is the address of /debug/pprof, such as ":6060". The server requires no authorization. Without a
	// host, it listens on the loopback address. Empty means [Off].
	PprofBindAddress string
	// GracefulShutdownTimeout is the maximum time from the end of the context to the return of Run. Zero means 30 s; a
	// negative value means no limit.
	GracefulShutdownTimeout time.Duration
	// MinResyncPeriod is the minimum resync interval of the controllers. The manager adds a random time of up to the same
	// length, so that replicas do not resync at the same time. Zero disables resyncs. Cache.Resync overrides it.
	MinResyncPeriod time.Duration
	// QPS and Burst limit the requests of all the process's clients to its API server: QPS is the number of requests per
	// second, and Burst the number of requests that may be sent at once. Requests for Leases are not limited. A QPS of
	// zero means no limit, because the API server has its own limits; a Burst of zero means 1.
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
	// GroupKindConcurrency is the number of workers of the controllers that reconcile a kind. Its keys are kinds in the
	// form of schema.GroupKind, such as "ReplicaSet.apps" and "Pod". For other kinds, MaxConcurrentReconciles applies.
	GroupKindConcurrency map[string]int
	// ShutdownTimeout is the maximum time that the graceful shutdown waits for the controllers. After it, the manager logs
	// the names of the controllers that still run, and continues with the other groups. Zero means no separate limit.
	ShutdownTimeout time.Duration
}

// MetricsOptions configure the server of /metrics.
type MetricsOptions struct {
	// BindAddress is the address of the metrics server, such as ":8443". Empty means [Off].
	BindAddress string
	// Insecure serves metrics over plain HTTP without authorization. Otherwise, the server uses TLS, and requires a bearer
	// token that the API server authenticates and authorizes to get /metrics.
	Insecure bool
	// CertDir is the directory of the certificate and its key. The server reads them again when they change. Empty means a
	// self-signed certificate, which clients cannot verify.
	CertDir string
	// CertName and KeyName are the names of the two files in CertDir. Empty means tls.crt and tls.key.
	CertName, KeyName string
	// TLSOpts modify the TLS configuration, in order. The default is at least TLS 1.2, and HTTP/1.1.
	TLSOpts []func(*tls.Config)
	// ExtraHandlers are additional pages by path, see [Manager.Handle]. With Insecure, they require no authorization.
	ExtraHandlers map[string]http.Handler
}

// LeaderElectionOptions configure the leader election of the controllers.
type LeaderElectionOptions struct {
	// Enabled makes the manager run controllers only while it holds the lease.
	Enabled bool
	// ID is the name of the lease.
	ID string
	// Namespace is the namespace of the lease. Empty means the namespace of the pod.
	Namespace string
	// LeaseDuration, RenewDeadline and RetryPeriod are as in leaderelection.Options. Zero means 15 s, 10 s and 2 s.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// WebhookOptions configure the server of [Manager.Webhooks], for programs with webhooks.
type WebhookOptions struct {
	// BindAddress is the address of the webhook server. Empty means ":9443" or, if Manifests is set, a free port on the
	// loopback address. [Off] disables the server, so that an operator with webhooks can run without them.
	BindAddress string
	// HTTP2 enables HTTP/2, which the API server does not require.
	HTTP2 bool
	// TLSOpts modify the TLS configuration, in order, see [server.Options]. If they set a certificate, the server uses it,
	// unless CertDir or Targets is set.
	TLSOpts []func(*tls.Config)
	// CertDir is the directory of the certificate and its key, for example those that cert-manager issues. The server
	// reads them again when they change. Their issuer must also set the CA bundle at the API server. If CertDir and
	// Targets are both empty, the default is k8s-webhook-server/serving-certs in the directory of temporary files, where
	// kubebuilder's deployments mount the certificate, if the files exist.
	CertDir string
	// CertName and KeyName are the names of the two files in CertDir. Empty means tls.crt and tls.key.
	CertName, KeyName string
	// Targets are the objects in which the manager sets the CA bundle of a certificate that it issues itself.
	// mutating/NAME and validating/NAME are webhook configurations; crd/NAME is a CustomResourceDefinition.
	Targets []string
	// Secret is the name of the Secret in which the manager stores this certificate. Empty means webhook-certificates.
	Secret string
	// SecretNamespace is the namespace of the Secret. Empty means the namespace of the pod.
	SecretNamespace string
	// CertLifetime is the lifetime of this certificate. Zero means a year; less than a minute is an error.
	CertLifetime time.Duration
	// Manifests are files and directories with webhook configurations. While the manager runs, it installs the
	// configurations at the API server, with the URL of this process instead of a Service. Use this in development and
	// tests. The manager skips webhooks whose path has no handler. It also installs conversion webhooks.
	Manifests []string
	// URL is the URL of this process for Manifests. Empty means https://127.0.0.1. If it has no port, the manager adds the
	// port of BindAddress. If URL is set and Manifests is not, the manager installs only conversion webhooks.
	URL string
}

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

// checkNames rejects invalid names. An API server does not: it returns an empty list for an impossible namespace.
func (o *Options) checkNames() error {
	errs := []error{checkNamespaces(o.Namespaces), checkNamespaces(o.Cache.Namespaces)}
	id := o.LeaderElection.ID
	if wrong := validation.IsDNS1123Subdomain(id); o.LeaderElection.Enabled && len(wrong) > 0 {
		errs = append(errs, fmt.Errorf("LeaderElection.ID %q cannot be the name of a lease: %s", id,
			strings.Join(wrong, "; ")))
	}
	return errors.Join(errs...)
}

// checkNamespaces returns an error for the first invalid namespace. The empty namespace, which means all, is valid.
func checkNamespaces(all []string) error {
	for _, namespace := range all {
		if wrong := validation.IsDNS1123Label(namespace); namespace != "" && len(wrong) > 0 {
			return fmt.Errorf("%q cannot be a namespace: %s", namespace, strings.Join(wrong, "; "))
		}
	}
	return nil
}

// setProbePaths sets the default paths of the probes, and checks paths that are set.
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
