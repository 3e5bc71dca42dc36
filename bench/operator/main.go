// Command operator is the measure that kctrl's scaffolded operator is held against: the same kind and the same
// reconciler on controller-runtime, with the parts that a kubebuilder project's main wires up (leader election, secure
// metrics with authentication and authorization, probes, zap, every credential plugin).
package main

import (
	"context"
	"crypto/tls"
	"flag"
	"os"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	webappv1 "github.com/kctrl-dev/kctrl/bench/operator/api/v1"
)

func main() {
	if err := run(); err != nil {
		ctrl.Log.Error(err, "stopped")
		os.Exit(1)
	}
}

func run() error {
	metricsAddress := flag.String("metrics-bind-address", "0", "address of the metrics endpoint")
	secureMetrics := flag.Bool("metrics-secure", true, "serve metrics over TLS with authentication and authorization")
	probeAddress := flag.String("health-probe-bind-address", ":8081", "address of the probes")
	leaderElect := flag.Bool("leader-elect", false, "elect a leader")
	zapOptions := zap.Options{Development: true}
	zapOptions.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&zapOptions)))

	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, webappv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	noHTTP2 := []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }}
	metrics := metricsserver.Options{BindAddress: *metricsAddress, SecureServing: *secureMetrics, TLSOpts: noHTTP2}
	if *secureMetrics {
		metrics.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:                 scheme,
		Metrics:                metrics,
		WebhookServer:          webhook.NewServer(webhook.Options{TLSOpts: noHTTP2}),
		HealthProbeBindAddress: *probeAddress,
		LeaderElection:         *leaderElect,
		LeaderElectionID:       "guestbook.example.com",
	})
	if err != nil {
		return err
	}
	reconciler := &guestbookReconciler{Client: manager.GetClient()}
	if err := ctrl.NewControllerManagedBy(manager).For(&webappv1.Guestbook{}).Named("guestbook").Complete(reconciler); err != nil {
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

type guestbookReconciler struct{ client.Client }

// Reconcile does what the scaffolded reconciler of kctrl does: Ready and observedGeneration through a status write.
func (r *guestbookReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	guestbook := &webappv1.Guestbook{}
	if err := r.Get(ctx, request.NamespacedName, guestbook); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !guestbook.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	before := guestbook.DeepCopy()
	changed := meta.SetStatusCondition(&guestbook.Status.Conditions, metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Reconciled", Message: "the guestbook is ready",
		ObservedGeneration: guestbook.Generation,
	})
	if !changed && guestbook.Status.ObservedGeneration == guestbook.Generation {
		return ctrl.Result{}, nil
	}
	guestbook.Status.ObservedGeneration = guestbook.Generation
	log.FromContext(ctx).Info("reconciled", "generation", guestbook.Generation)
	return ctrl.Result{}, r.Status().Patch(ctx, guestbook, client.MergeFrom(before))
}
