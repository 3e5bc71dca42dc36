package simulator

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/testserver/fakecontrollers"
)

// workloads are the fake controllers that a run needs for objects of a kind.
var workloads = map[string][]string{
	"apps/deployments":       {"deployment-controller", "replicaset-controller", "kubelet"},
	"apps/replicasets":       {"replicaset-controller", "kubelet"},
	"apps/statefulsets":      {"statefulset-controller", "kubelet", "persistentvolume-binder-controller"},
	"apps/daemonsets":        {"daemonset-controller", "kubelet"},
	"batch/jobs":             {"job-controller", "ttl-after-finished-controller", "kubelet"},
	"batch/cronjobs":         {"cronjob-controller", "job-controller", "kubelet"},
	"pods":                   {"kubelet"},
	"persistentvolumeclaims": {"persistentvolume-binder-controller"},
	"replicationcontrollers": {"replicationcontroller-controller", "kubelet"},
}

// controllersFor returns the names of the fake controllers for the kinds that a run has written.
func controllersFor(calls []*Call) []string {
	names := map[string]bool{}
	for _, call := range calls {
		for _, name := range workloads[call.resource.kind()] {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// clusterName is the name of the process with the controllers of the cluster.
const clusterName = "cluster"

// startCluster starts the garbage collector and the fake controllers of the run, which end with it.
func (r *run) startCluster() {
	p := &process{name: clusterName, run: r, ctx: r.ctx}
	r.processes.Go(func() { r.collectGarbage(p) })
	if r.operator.Command != nil && r.operator.Command.Controlled {
		return
	}
	controllers := r.operator.controllers
	if r.plan.Then == Terminate {
		controllers = append(slices.Clone(controllers), "namespace-controller")
	}
	if len(controllers) == 0 {
		return
	}
	r.processes.Go(func() {
		if err := r.runControllers(p, controllers); err != nil && r.ctx.Err() == nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.ends = append(r.ends, fmt.Sprintf("the controllers of the cluster: %v", err))
		}
	})
}

func (r *run) runControllers(p *process, names []string) error {
	controllers, err := fakecontrollers.Select(names...)
	if err != nil {
		return err
	}
	m, err := fakecontrollers.New(
		p.config(),
		fakecontrollers.Options{Controllers: controllers, Logger: slog.New(slog.DiscardHandler)},
	)
	if err != nil {
		return err
	}
	return m.Run(r.ctx)
}

// collectorDelay is the time after which the garbage collector notices an object without an owner.
const collectorDelay = time.Second

// noteGarbage wakes the garbage collector after a write that may have removed an object or created an orphan. The
// caller holds mu.
func (r *run) noteGarbage(c *Call) {
	if !c.Changed {
		return
	}
	select {
	case r.removed <- struct{}{}:
	default:
	}
}

// collectGarbage deletes objects whose owners are gone, as the cluster's garbage collector does, until the run ends. It
// knows all objects from the answers to writes, so that it needs no watches.
func (r *run) collectGarbage(p *process) {
	for {
		select {
		case <-r.removed:
		case <-r.ctx.Done():
			return
		}
		for path := r.garbage(); path != ""; path = r.garbage() {
			r.gate.hold(r.ctx, collectorDelay)
			if !r.gate.pass(r.ctx, &operation{order: "cluster delete " + path}) {
				return
			}
			err := r.sendAs(p, http.MethodDelete, path, nil)
			if r.ctx.Err() != nil {
				return
			}
			if err == nil || isNotFound(err) {
				r.forget(path)
			}
		}
	}
}

// garbage returns the path of the first object all of whose owners are gone, or "".
func (r *run) garbage() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	living := map[types.UID]bool{}
	for _, object := range r.objects {
		living[(&unstructured.Unstructured{Object: object}).GetUID()] = true
	}
	for _, path := range slices.Sorted(maps.Keys(r.objects)) {
		u := &unstructured.Unstructured{Object: r.objects[path]}
		owners := u.GetOwnerReferences()
		isOwned := slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool {
			return living[o.UID] || !r.left.knows(o.UID)
		})
		if len(owners) > 0 && !isOwned && u.GetDeletionTimestamp() == nil {
			return path
		}
	}
	return ""
}

// forget drops an object that another client may have removed.
func (r *run) forget(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if u := (&unstructured.Unstructured{Object: r.objects[path]}); u.Object != nil && u.GetDeletionTimestamp() == nil {
		delete(r.objects, path)
	}
}
