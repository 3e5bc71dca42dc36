package after

import (
	"context"
	"crypto/tls"
	"flag"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

func Config(flags *manager.Flags) (*rest.Config, error) {
	return flags.Config()
}

func NewManager(config *rest.Config, scheme *runtime.Scheme) (*manager.Manager, error) {
	return manager.New(config, manager.Options{
		Scheme: scheme, HealthProbeBindAddress: ":8081", LeaderElection: manager.LeaderElectionOptions{Enabled: true,
			ID: "guestbook.example.com"},
	})
}

func Run(m *manager.Manager) error {
	ctx, cancel := manager.SignalContext(context.Background())
	defer cancel()
	return m.Run(ctx)
}

func Flags() {
	flags := manager.BindFlags(flag.CommandLine, manager.Options{})
	flag.Parse()
	opts, err := flags.Options() // with its Logger; or all of it: manager.Main
	_, _ = opts, err
}

func SecureMetrics(change func(*tls.Config)) manager.Options {
	return manager.Options{Metrics: manager.MetricsOptions{BindAddress: ":8443", CertDir: "/certs",
		TLSOpts: []func(*tls.Config){change}}}
}

func WebhookServer(change func(*tls.Config)) manager.Options {
	return manager.Options{Webhook: manager.WebhookOptions{CertDir: "/certs", TLSOpts: []func(*tls.Config){change}}}
}

func Namespaces() manager.Options {
	return manager.Options{Namespaces: []string{"one", "two"}}
}

func Selectors(mine, other labels.Selector) cache.Options {
	return cache.Options{DefaultLabels: mine, ByNamespace: map[string]client.Scope{"one": {}, "two": {Labels: other}}}
}

func ByObject(mine labels.Selector) cache.Options {
	return cache.Options{ByKind: []cache.KindOptions{{Object: &corev1.Secret{},
		Scope: client.Scope{Namespace: "one", Labels: mine}}}}
}

func StripManagedFields() cache.Options {
	return cache.Options{} // is without them, unless KeepManagedFields is set
}

func DisableFor() cache.Options {
	return cache.Options{DisableFor: []object.Object{&corev1.Secret{}}}
}

func Shutdown(timeout time.Duration) manager.Options {
	return manager.Options{GracefulShutdownTimeout: timeout}
}

func Client(m controller.Manager) client.Client {
	return m.Client()
}

func APIReader(m *manager.Manager) client.Reader {
	return m.Live()
}

func Parts(m controller.Manager) {
	scheme, mapper, c, config := m.Scheme(), m.RESTMapper(), m.Cache(), m.Config()
	_, _, _, _ = scheme, mapper, c, config
}

func IndexField(ctx context.Context, m controller.Manager, owners func(object.Object) []string) error {
	return m.Cache().IndexField(ctx, &corev1.Pod{}, "spec.owner", owners)
}

func Runnable(m controller.Manager, run func(context.Context) error) error {
	return m.Add(manager.RunnableFunc(run))
}

func Elected(m *manager.Manager) {
	<-m.Elected()
}

func Probes(m controller.Manager, check func(*http.Request) error) {
	m.AddReadyz("backend", check) // and no Ping: /healthz answers without one
}

func Page(m controller.Manager, h http.Handler) error {
	return m.Handle("/debug/state", h)
}

func Collectors(m controller.Manager, requests prometheus.Collector) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(requests)
	m.Metrics().Include(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
}

func Cluster(m *manager.Manager, remote *rest.Config) error {
	c, err := m.AddCluster("remote", remote, manager.ClusterOptions{})
	_ = c
	return err
}
