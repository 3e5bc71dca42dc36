package simulator

import (
	"cmp"
	"context"
	"log/slog"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/manager"
)

// Operator is the operator under test, and what a user gives it.
type Operator struct {
	// Options are those that the program passes to its manager. Servers, logger and leader election are set by the
	// run.
	Options manager.Options
	// Setup adds the controllers to a manager. It is called for each process, in a synctest bubble.
	Setup func(context.Context, controller.Manager) error
	// Objects are created before the operator starts: definitions, namespaces, roles and bindings.
	Objects []*unstructured.Unstructured
	// Webhooks are files with webhook configurations.
	Webhooks []string
	// User is the service account of the operator, such as system:serviceaccount:system:manager. Empty means all
	// permissions.
	User string
	// Sources is the prefix of the names of the operator's source files, which reports omit.
	Sources string
	// Namespace is that of the operator, for its lease. Empty means kctrl-sim.
	Namespace string
	// Samples are the objects that the user creates. They are the desired state of all runs.
	Samples []*unstructured.Unstructured

	controllers []string // names of the fake controllers that its objects need, set by Learn
}

// start runs the operator until ctx ends.
func (o *Operator) start(ctx context.Context, config *rest.Config, logger *slog.Logger, replicas int) error {
	options := o.Options
	options.Logger = logger
	options.Metrics.BindAddress, options.HealthProbeBindAddress = manager.Off, manager.Off
	options.PprofBindAddress = manager.Off
	options.LeaderElection.Enabled = replicas > 1
	if options.LeaderElection.Enabled && options.LeaderElection.ID == "" {
		options.LeaderElection.ID = "simulated"
	}
	options.LeaderElection.Namespace = cmp.Or(o.Namespace, "kctrl-sim")
	options.Webhook = manager.WebhookOptions{Manifests: o.Webhooks}
	if len(o.Webhooks) == 0 {
		options.Webhook.BindAddress = manager.Off
	}
	m, err := manager.New(config, options)
	if err != nil {
		return err
	}
	if err := o.Setup(ctx, m); err != nil {
		return err
	}
	return m.Run(ctx)
}
