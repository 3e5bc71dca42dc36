package simulator

import (
	"encoding/json"
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

// workloads has the fake controllers that a run needs for objects of a kind.
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
	m, err := fakecontrollers.New(p.config(),
		fakecontrollers.Options{Controllers: controllers, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	return m.Run(r.ctx)
}

// collectorDelay is the time after which the garbage collector handles an object whose owner is gone.
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
// needs no watches, because the run records all objects from the responses to writes.
func (r *run) collectGarbage(p *process) {
	for {
		select {
		case <-r.removed:
		case <-r.ctx.Done():
			return
		}
		for next := r.nextCollection(); next != nil; next = r.nextCollection() {
			r.gate.hold(r.ctx, collectorDelay)
			if !r.gate.pass(r.ctx, &operation{order: "cluster " + next.method + " " + next.path}) {
				return
			}
			err := r.sendData(p, next.method, next.path+next.query, mergePatch, next.data)
			if r.ctx.Err() != nil {
				return
			}
			if isNotFound(err) || err == nil && next.method == http.MethodDelete {
				r.forget(next.path)
			} else if err != nil {
				break // until the next removal
			}
		}
	}
}

// collection is a request of the garbage collector.
type collection struct {
	method, path, query string
	data                []byte
}

// deleteInBackground returns the request that deletes an object. Its dependents are deleted later.
func deleteInBackground(path string) *collection {
	return &collection{method: http.MethodDelete, path: path, query: "?propagationPolicy=Background"}
}

// nextCollection returns the next request of the garbage collector, or nil. The request deletes an object whose owners
// are all gone, or is a step of a deletion that waits for dependents.
func (r *run) nextCollection() *collection {
	r.mu.Lock()
	defer r.mu.Unlock()
	living, paths := map[types.UID]bool{}, slices.Sorted(maps.Keys(r.objects))
	for _, object := range r.objects {
		living[(&unstructured.Unstructured{Object: object}).GetUID()] = true
	}
	for _, path := range paths {
		u := &unstructured.Unstructured{Object: r.objects[path]}
		owners := u.GetOwnerReferences()
		isOwned := slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool {
			return living[o.UID] || !r.left.knows(o.UID)
		})
		if len(owners) > 0 && !isOwned && u.GetDeletionTimestamp() == nil {
			return deleteInBackground(path)
		}
	}
	for _, path := range paths {
		u := &unstructured.Unstructured{Object: r.objects[path]}
		for _, finalizer := range []string{metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents} {
			if u.GetDeletionTimestamp() == nil || !slices.Contains(u.GetFinalizers(), finalizer) {
				continue
			}
			if next := r.cascadeLocked(path, u, finalizer, paths); next != nil {
				return next
			}
		}
	}
	return nil
}

// cascadeLocked returns the next step of the deletion of an owner. The step orphans or deletes a dependent, or removes
// the finalizer after the last dependent. It is nil while dependents are being deleted. The caller holds mu.
func (r *run) cascadeLocked(
	path string, owner *unstructured.Unstructured, finalizer string, paths []string,
) *collection {
	isOwner := func(o metav1.OwnerReference) bool { return o.UID == owner.GetUID() }
	waits := false
	for _, at := range paths {
		u := &unstructured.Unstructured{Object: r.objects[at]}
		owners := u.GetOwnerReferences()
		switch {
		case !slices.ContainsFunc(owners, isOwner):
		case finalizer == metav1.FinalizerOrphanDependents:
			return patchMetadata(at, "ownerReferences", slices.DeleteFunc(slices.Clone(owners), isOwner))
		case u.GetDeletionTimestamp() == nil:
			return deleteInBackground(at)
		default:
			waits = true
		}
	}
	if waits {
		return nil
	}
	rest := slices.DeleteFunc(slices.Clone(owner.GetFinalizers()), func(f string) bool { return f == finalizer })
	return patchMetadata(path, "finalizers", rest)
}

// patchMetadata returns the request that patches a field of an object's metadata.
func patchMetadata(path, field string, value any) *collection {
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{field: value}})
	if err != nil {
		panic(err) // JSON can represent all values that callers pass
	}
	return &collection{method: http.MethodPatch, path: path, data: data}
}

// forget drops an object that is gone from the server, unless its deletion waits for finalizers.
func (r *run) forget(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if u := (&unstructured.Unstructured{Object: r.objects[path]}); u.Object != nil && u.GetDeletionTimestamp() == nil {
		delete(r.objects, path)
	}
}
