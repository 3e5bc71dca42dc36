package controllerruntime_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/compat/simulated"
	kmetrics "github.com/kctrl-dev/kctrl/runtime/metrics"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// simulatedMain is a main function as kubebuilder writes it.
func simulatedMain(reconciled func(name string)) error {
	ctrl.SetLogger(zap.New(zap.WriteTo(io.Discard)))
	metrics.Registry.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "simulated_total", Help: "None."}))
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: ":80"}, HealthProbeBindAddress: ":80", PprofBindAddress: ":80",
		LeaderElection: true, LeaderElectionID: "simulated",
		WebhookServer: webhook.NewServer(webhook.Options{CertDir: "/nowhere"}),
	})
	if err != nil {
		return err
	}
	mgr.GetWebhookServer().Register("/validate", http.NotFoundHandler())
	err = ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Named("simulated").Complete(
		reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
			err := mgr.GetClient().Get(ctx, req.NamespacedName, &corev1.ConfigMap{})
			if err == nil {
				reconciled(req.Name)
			}
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}))
	if err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

// TestSimulatedProcesses checks that a main function runs twice in a program, on the API server of the process, without
// listeners, certificates and an election, and that it does not continue when its manager has ended.
func TestSimulatedProcesses(t *testing.T) {
	transport, err := rest.TransportFor(environment.Config)
	if err != nil {
		t.Fatal(err)
	}
	config := &rest.Config{Host: environment.Host, Transport: transport}
	for _, name := range []string{"first", "second"} {
		ctx, crash := context.WithCancel(t.Context())
		var once sync.Once
		var failed error
		served, ended := make(chan struct{}), make(chan struct{})
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "simulated-" + name, Namespace: "default"}}
		go func() {
			defer close(ended)
			simulated.Enter(&simulated.Process{
				Context: ctx, Config: config, Logger: slog.New(slog.DiscardHandler),
				Started: func(scheme *runtime.Scheme, registry *kmetrics.Registry) {
					if scheme == nil || registry == nil {
						t.Error("no scheme or registry")
					}
				},
				Ended: func(err error) { failed = err },
				ServeWebhooks: func(ctx context.Context, mux *http.ServeMux) error {
					once.Do(func() { close(served) })
					<-ctx.Done()
					return nil
				},
			})
			failed = errors.Join(errors.New("main continued"), simulatedMain(func(reconciled string) {
				if reconciled == object.Name {
					crash()
				}
			}))
		}()
		c, err := client.New(environment.Config, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		<-ended
		<-served
		simulated.Enter(nil)
		if failed != nil {
			t.Errorf("%s: %v", name, failed)
		}
	}
}
