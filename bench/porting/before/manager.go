// Managers.

package before

import (
	"context"
	"crypto/tls"
	"flag"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Find the API server: by `--kubeconfig`, `$KUBECONFIG`, the service account of the pod, or `~/.kube/config`
func Config() (*rest.Config, error) {
	return ctrl.GetConfig()
}

// Create a manager with leader election and probes
func NewManager(config *rest.Config, scheme *runtime.Scheme) (ctrl.Manager, error) {
	return ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, HealthProbeBindAddress: ":8081", LeaderElection: true, LeaderElectionID: "guestbook.example.com",
	})
}

// Run until a signal arrives
func Run(m ctrl.Manager) error {
	return m.Start(ctrl.SetupSignalHandler())
}

// Parse flags and set up the log
func Flags() {
	opts := zap.Options{}
	opts.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&opts)))
}

// Serve metrics over TLS with authorization
func SecureMetrics(change func(*tls.Config)) ctrl.Options {
	return ctrl.Options{Metrics: metricsserver.Options{
		BindAddress: ":8443", SecureServing: true, FilterProvider: filters.WithAuthenticationAndAuthorization,
		CertDir: "/certs", TLSOpts: []func(*tls.Config){change},
	}}
}

// Configure the webhook server
func WebhookServer(change func(*tls.Config)) ctrl.Options {
	return ctrl.Options{WebhookServer: webhook.NewServer(webhook.Options{CertDir: "/certs",
		TLSOpts: []func(*tls.Config){change}})}
}

// Limit the cache to namespaces
func Namespaces() cache.Options {
	return cache.Options{DefaultNamespaces: map[string]cache.Config{"one": {}, "two": {}}}
}

// Limit the cache by labels, for all namespaces and for one
func Selectors(mine, other labels.Selector) cache.Options {
	return cache.Options{
		DefaultLabelSelector: mine,
		DefaultNamespaces:    map[string]cache.Config{"one": {}, "two": {LabelSelector: other}},
	}
}

// Limit the cached objects of a kind
func ByObject(mine labels.Selector) cache.Options {
	return cache.Options{ByObject: map[client.Object]cache.ByObject{
		&corev1.Secret{}: {Label: mine, Namespaces: map[string]cache.Config{"one": {}}},
	}}
}

// Cache objects without managedFields
func StripManagedFields() cache.Options {
	return cache.Options{DefaultTransform: cache.TransformStripManagedFields()}
}

// Read a kind directly from the API server
func DisableFor() client.Options {
	return client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}}
}

// Set the shutdown timeout
func Shutdown(timeout time.Duration) ctrl.Options {
	return ctrl.Options{GracefulShutdownTimeout: &timeout}
}

// Get the client
func Client(m ctrl.Manager) client.Client {
	return m.GetClient()
}

// Get a reader that bypasses the cache
func APIReader(m ctrl.Manager) client.Reader {
	return m.GetAPIReader()
}

// Get the scheme, REST mapper, cache and configuration
func Parts(m ctrl.Manager) {
	scheme, mapper, c, config := m.GetScheme(), m.GetRESTMapper(), m.GetCache(), m.GetConfig()
	_, _, _, _ = scheme, mapper, c, config
}

// Add an index for MatchingFields
func IndexField(ctx context.Context, m ctrl.Manager, owners func(client.Object) []string) error {
	return m.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, "spec.owner", owners)
}

// Add a runnable that only the leader runs
func Runnable(m ctrl.Manager, run func(context.Context) error) error {
	return m.Add(manager.RunnableFunc(run))
}

// Wait for leadership
func Elected(m ctrl.Manager) {
	<-m.Elected()
}

// Add probes
func Probes(m ctrl.Manager, check healthz.Checker) error {
	if err := m.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return err
	}
	return m.AddReadyzCheck("backend", check)
}

// Add a page to the metrics server
func Page(m ctrl.Manager, h http.Handler) error {
	return m.AddMetricsServerExtraHandler("/debug/state", h)
}

// Add collectors of client_golang
func Collectors(m ctrl.Manager, requests prometheus.Collector) {
	metrics.Registry.MustRegister(requests)
}

// Add another cluster
func Cluster(m ctrl.Manager, remote *rest.Config) error {
	c, err := cluster.New(remote)
	if err != nil {
		return err
	}
	return m.Add(c)
}
