// Command controller-manager is a small kube-controller-manager with four controllers. Flags enable or disable each
// controller by its current or former name, and feature gates can disable controllers. If there are several replicas,
// one of them is the leader.
package main

import (
	"context"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/examples/deployment"
	"github.com/kctrl-dev/kctrl/examples/replicaset"
	"github.com/kctrl-dev/kctrl/examples/ttlafterfinished"
	"github.com/kctrl-dev/kctrl/runtime/garbagecollector"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/registry"
)

// These are the feature gates, with the names that they have in Kubernetes.
const (
	countTerminating = "DeploymentReplicaSetTerminatingReplicas"
	ttlAfterFinished = "TTLAfterFinished"
)

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;create;update

func main() {
	os.Exit(newRegistry().Main(manager.Options{
		Scheme:         newScheme(),
		LeaderElection: manager.LeaderElectionOptions{Enabled: true, ID: "controller-manager.kctrl.dev"},
		Controller:     manager.ControllerOptions{MaxConcurrentReconciles: 5},
		EnvPrefix:      "CONTROLLER_MANAGER",
	}))
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // a programming error: two Go types are registered for one kind
		}
	}
	return scheme
}

func newRegistry() *registry.Registry {
	r := registry.New(registry.Options{
		Version: "1.37",
		FeatureGates: []registry.FeatureGate{
			{Name: countTerminating, Specs: []registry.GateSpec{{Since: "1.33", Stage: registry.Alpha},
				{Since: "1.35", Stage: registry.Beta, Default: true}}},
			{Name: ttlAfterFinished, Specs: []registry.GateSpec{{Since: "1.12", Stage: registry.Alpha},
				{Since: "1.21", Stage: registry.Beta, Default: true}}},
		},
	})
	deployments, sets := appsv1.SchemeGroupVersion.WithKind("Deployment"), appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
	pods, jobs := corev1.SchemeGroupVersion.WithKind("Pod"), batchv1.SchemeGroupVersion.WithKind("Job")
	r.Register(
		registry.Descriptor{
			Name: deployment.Name, Aliases: []string{"deployment"},
			Needs: []registry.Need{reads(deployments), does(deployments, "update"), reads(sets),
				does(sets, "create", "update", "patch", "delete"), reads(pods)},
			New: func(_ context.Context, c *registry.Context) (registry.Controller, error) {
				return nil, (&deployment.Reconciler{}).SetupWithManager(c)
			},
		},
		registry.Descriptor{
			Name: replicaset.Name, Aliases: []string{"replicaset"},
			Needs: []registry.Need{reads(sets), reads(pods), does(pods, "create", "patch", "delete")},
			New: func(_ context.Context, c *registry.Context) (registry.Controller, error) {
				return nil, (&replicaset.Reconciler{CountTerminating: c.FeatureEnabled(countTerminating)}).SetupWithManager(c)
			},
		},
		registry.Descriptor{
			Name: garbagecollector.Name, Aliases: []string{"garbagecollector"}, Concurrency: 20,
			New: newCollector,
		},
		registry.Descriptor{
			Name: ttlafterfinished.Name, Aliases: []string{"ttl-after-finished"}, FeatureGates: []string{ttlAfterFinished},
			Needs: []registry.Need{reads(jobs), does(jobs, "delete")},
			New: func(_ context.Context, c *registry.Context) (registry.Controller, error) {
				return nil, (&ttlafterfinished.Reconciler{}).SetupWithManager(c)
			},
		},
	)
	return r
}

func reads(kind schema.GroupVersionKind) registry.Need { return does(kind, "get", "list", "watch") }

func does(kind schema.GroupVersionKind, verbs ...string) registry.Need {
	return registry.Need{Kind: kind, Verbs: verbs}
}

// newCollector returns the garbage collector. It uses the manager's HTTP client, which rejects requests after the
// replica has lost its lease, so that the replica stops collecting.
func newCollector(_ context.Context, c *registry.Context) (registry.Controller, error) {
	m := c.Manager()
	return garbagecollector.New(m.Config(), garbagecollector.Options{
		GraphOptions: garbagecollector.GraphOptions{HTTPClient: m.HTTPClient(), Logger: c.Logger(), Metrics: c.Metrics()},
		Workers:      c.MaxConcurrentReconciles(),
		Recorder:     c.EventRecorder(garbagecollector.Name),
	})
}
