package manager

import (
	"context"
	goruntime "runtime"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/compat/simulated"

	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// simulate changes the options of a manager for a simulated process, and returns config for its API server.
func simulate(p *simulated.Process, config *rest.Config, o *Options) *rest.Config {
	o.Logger = logr.FromSlogHandler(p.Logger.Handler())
	o.Controller.Logger = o.Logger
	o.Metrics = metricsserver.Options{BindAddress: "0"}
	o.HealthProbeBindAddress, o.PprofBindAddress = "0", "0"
	o.LeaderElection, o.LeaderElectionNamespace = p.Elects, p.Namespace
	o.LeaderElectionConfig, o.LeaderElectionResourceLockInterface = nil, nil
	setDefault(&o.LeaderElectionID, "simulated")
	if p.Resync > 0 {
		o.Cache.SyncPeriod = &p.Resync
	}
	config = rest.CopyConfig(config)
	config.Host, config.Transport, config.TLSClientConfig = p.Config.Host, p.Config.Transport, rest.TLSClientConfig{}
	config.BearerToken, config.BearerTokenFile, config.QPS = "", "", -1
	return config
}

// startSimulated runs the manager until the process crashes. Then it ends the goroutine, because a main function may
// end the program when its manager has ended.
func (m *manager) startSimulated(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.process.Context, cancel)()
	m.process.Started(m.GetScheme(), metrics.Kctrl())
	m.process.Ended(m.start(ctx))
	goruntime.Goexit()
	return nil
}

// simulatedWebhooks is a webhook server without a network.
type simulatedWebhooks struct {
	webhook.Server
	process *simulated.Process
}

// Start serves until ctx ends.
func (s simulatedWebhooks) Start(ctx context.Context) error {
	return s.process.ServeWebhooks(ctx, s.Server.WebhookMux())
}
