// Package kubebuilder contains the main function of an operator on controller-runtime, with the features of a
// kubebuilder project: leader election, secure metrics with authentication and authorization, probes, zap, and all
// credential plugins.
package kubebuilder

import (
	"crypto/tls"
	"flag"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // like kubebuilder
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Main runs an operator until SIGINT or SIGTERM and returns the exit code. Setup adds the controllers, and lease is the
// name of the lease.
func Main(lease string, addToScheme func(*runtime.Scheme) error, setup func(ctrl.Manager) error) int {
	options := ctrl.Options{LeaderElectionID: lease}
	parse(&options)
	if err := run(options, addToScheme, setup); err != nil {
		ctrl.Log.Error(err, "stopped")
		return 1
	}
	return 0
}

// parse reads the flags of a kubebuilder project, and the flags that make the two measured operators comparable.
func parse(options *ctrl.Options) {
	noHTTP2 := []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }}
	metrics := metricsserver.Options{TLSOpts: noHTTP2}
	flag.StringVar(&metrics.BindAddress, "metrics-bind-address", "0", "address of the metrics endpoint")
	flag.BoolVar(&metrics.SecureServing, "metrics-secure", true,
		"serve metrics over TLS with authentication and authorization")
	flag.StringVar(&options.HealthProbeBindAddress, "health-probe-bind-address", ":8081", "address of the probes")
	flag.BoolVar(&options.LeaderElection, "leader-elect", false, "elect a leader")
	flag.StringVar(&options.LeaderElectionNamespace, "leader-election-namespace", "", "namespace of the lease")
	workers := flag.Int("max-concurrent-reconciles", 1, "number of objects that each controller reconciles at once")
	zapOptions := zap.Options{Development: true}
	zapOptions.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&zapOptions)))
	if metrics.SecureServing {
		metrics.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	options.Metrics = metrics
	options.WebhookServer = webhook.NewServer(webhook.Options{TLSOpts: noHTTP2})
	options.Controller = config.Controller{MaxConcurrentReconciles: *workers}
}

func run(options ctrl.Options, addToScheme func(*runtime.Scheme) error, setup func(ctrl.Manager) error) error {
	options.Scheme = runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, addToScheme} {
		if err := add(options.Scheme); err != nil {
			return err
		}
	}
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), options)
	if err != nil {
		return err
	}
	if err := setup(manager); err != nil {
		return err
	}
	if err := manager.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return err
	}
	if err := manager.AddReadyzCheck("readyz", healthz.Ping); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
