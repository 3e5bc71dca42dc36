package simulator

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/sim"
	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

// Operator is the operator under test, and the objects of its user.
type Operator struct {
	// Options has the options that the program passes to its manager. The run overrides the options for the manager's
	// servers, logger and leader election.
	Options manager.Options
	// Setup adds the controllers to a manager. It is called for each process, in a synctest bubble.
	Setup func(context.Context, controller.Manager) error
	// Main is the main function of an operator on controller-runtime's API. It replaces Options and Setup. It is called
	// for each process, in a synctest bubble.
	Main func()
	// Command, if set, runs a program in real time instead of a manager. Options, Setup and Webhooks then have no effect.
	Command *Command
	// Objects has the objects that exist before the operator starts: CRDs, namespaces, roles and bindings.
	Objects []*unstructured.Unstructured
	// Webhooks has the files with webhook configurations.
	Webhooks []string
	// User is the service account of the operator, such as system:serviceaccount:system:manager. Empty means all
	// permissions.
	User string
	// Sources is a prefix of the names of the operator's source files. Reports omit it.
	Sources string
	// Namespace is the namespace of the operator, for its lease. Empty means kctrl-sim.
	Namespace string
	// Rules are the rules of the project. Runs of a command do not check them.
	Rules []sim.Rule
	// SampleNamespace is the namespace of samples that specify none. Empty means default.
	SampleNamespace string
	// Samples has the objects that the user creates. They are the desired state of all runs.
	Samples []*unstructured.Unstructured

	controllers []string // fake controllers that the operator's objects need, set by Learn
	base        base
}

// base is a server with the objects that exist before the operator starts. Each run uses a fork of the server.
type base struct {
	mu      sync.Mutex // held while the server is created
	server  *apiserver.Server
	objects map[string]map[string]any // as created, by path
}

// run runs a process until its context ends.
func (o *Operator) run(p *process, logger *slog.Logger, replicas int) error {
	if o.Command != nil {
		return o.Command.run(p)
	}
	if o.Main != nil {
		return o.runMain(p, logger, replicas)
	}
	return o.start(p, p.config(), logger, replicas)
}

// newServer returns the transport of an API server, a function that closes the server, and its objects by path.
func (o *Operator) newServer(seed uint64, left *leftovers) (
	http.RoundTripper, func(), map[string]map[string]any, error,
) {
	if o.Command != nil && o.Command.Server != nil {
		objects, err := o.create(o.Command.Server, left)
		return o.Command.Server, func() {}, objects, err
	}
	o.base.mu.Lock()
	defer o.base.mu.Unlock()
	if o.base.server == nil {
		server := apiserver.New(apiserver.Options{Isolated: true})
		objects, err := o.create(server.Config().Transport, left)
		if err != nil {
			server.Close()
			return nil, nil, nil, err
		}
		o.base.server, o.base.objects = server, objects
	}
	server := o.base.server.Fork(seed)
	return server.Config().Transport, server.Close, o.base.objects, nil
}

// create creates the objects that exist before the operator starts, and returns them by path.
func (o *Operator) create(server http.RoundTripper, left *leftovers) (map[string]map[string]any, error) {
	all := map[string]map[string]any{}
	for _, object := range append(o.namespaces(), o.Objects...) {
		data, err := object.MarshalJSON()
		if err != nil {
			return nil, err
		}
		path := collectionOf(o, object)
		answer, err := exchange(server, http.MethodPost, path, data)
		exists := isConflict(err)
		if exists { // the server serves several runs and already has the object
			answer, err = exchange(server, http.MethodGet, path+"/"+object.GetName(), nil)
		}
		if err != nil {
			return nil, fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		var created map[string]any
		if err := json.Unmarshal(answer, &created); err != nil {
			return nil, err
		}
		all[path+"/"+object.GetName()] = created
		if !exists {
			left.add(path+"/"+object.GetName(), created)
		}
	}
	return all, nil
}

// pace returns the durations that control a run.
func (o *Operator) pace() pace {
	if o.Command != nil {
		return o.Command.pace()
	}
	return virtual
}

// context returns the parent of the contexts of runs.
func (o *Operator) context() context.Context {
	if o.Command != nil {
		return o.Command.Context
	}
	return context.Background()
}

// namespace returns the namespace of the operator.
func (o *Operator) namespace() string { return cmp.Or(o.Namespace, "kctrl-sim") }

// systemNamespaces has the namespaces that an API server creates.
var systemNamespaces = map[string]bool{
	"default": true, "kube-system": true, "kube-public": true, "kube-node-lease": true,
}

// namespaces returns the namespaces of the operator and of its samples, except those among Objects or the samples.
func (o *Operator) namespaces() (all []*unstructured.Unstructured) {
	exist := maps.Clone(systemNamespaces)
	exist[""] = true
	for _, u := range slices.Concat(o.Objects, o.Samples) {
		if u.GetKind() == "Namespace" {
			exist[u.GetName()] = true
		}
	}
	add := func(name string) {
		if exist[name] {
			return
		}
		exist[name] = true
		u := &unstructured.Unstructured{}
		u.SetAPIVersion("v1")
		u.SetKind("Namespace")
		u.SetName(name)
		all = append(all, u)
	}
	add(o.namespace())
	add(o.SampleNamespace)
	for _, sample := range o.Samples {
		add(sample.GetNamespace())
	}
	return all
}

// elects reports whether two replicas can be simulated. This requires that the operator may write leases, and that it
// has no webhooks, because each process would install them. A command controls its own leader election.
func (o *Operator) elects() bool {
	mayLead := slices.ContainsFunc(o.Objects, func(u *unstructured.Unstructured) bool {
		rules, _, _ := unstructured.NestedSlice(u.Object, "rules")
		return slices.ContainsFunc(rules, func(rule any) bool { return strings.Contains(inJSON(rule), `"leases"`) })
	})
	return o.Command == nil && len(o.Webhooks) == 0 && !o.converts() && (o.User == "" || mayLead)
}

// converts reports whether a webhook converts objects of a CRD.
func (o *Operator) converts() bool {
	return slices.ContainsFunc(o.Objects, func(u *unstructured.Unstructured) bool {
		strategy, _, _ := unstructured.NestedString(u.Object, "spec", "conversion", "strategy")
		return strategy == "Webhook"
	})
}

// start runs the operator of p until its context ends.
func (o *Operator) start(p *process, config *rest.Config, logger *slog.Logger, replicas int) error {
	ctx, options := p.ctx, o.Options
	options.Logger = logger
	options.Cache.Mutated = p.run.mutated
	options.Metrics.BindAddress, options.HealthProbeBindAddress = manager.Off, manager.Off
	options.PprofBindAddress = manager.Off
	if interval := p.run.resyncInterval(); interval > 0 {
		options.MinResyncPeriod = interval
	}
	options.LeaderElection.Enabled = replicas > 1
	if options.LeaderElection.Enabled && options.LeaderElection.ID == "" {
		options.LeaderElection.ID = "simulated"
	}
	options.LeaderElection.Namespace = o.namespace()
	options.Webhook = manager.WebhookOptions{Manifests: o.Webhooks}
	if len(o.Webhooks) == 0 && !o.converts() {
		options.Webhook.BindAddress = manager.Off
	}
	m, err := manager.New(config, options)
	if err != nil {
		return err
	}
	p.setMetrics(m.Metrics())
	if err := o.Setup(ctx, m); err != nil {
		return err
	}
	p.run.setScheme(m.Scheme())
	return m.Run(ctx)
}
