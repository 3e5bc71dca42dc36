package garbagecollector

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/events"
	"github.com/kctrl-dev/kctrl/runtime/internal/apimachinery"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/workqueue"
)

// Name is the name of the collector in events and metrics. It is the name of kube-controller-manager's collector.
const Name = "garbage-collector-controller"

// Options configures a [Collector]. The zero value is ready for use.
type Options struct {
	GraphOptions
	// Workers is the number of objects that are processed concurrently. Zero means 20.
	Workers int
	// SyncTimeout is how long the collector waits at its start for kinds that cannot be read. Until the graph has the
	// objects of these kinds, the collector may end a foreground deletion too early. Zero means 30 s.
	SyncTimeout time.Duration
	// Recorder reports references into other namespaces as events. If it is nil, such references are only logged.
	Recorder *events.Recorder
}

// Collector deletes objects whose owners no longer exist, and completes foreground and orphaning deletions. The caller
// must ensure that only one Collector runs per API server. Several Collectors, or a Collector in addition to
// kube-controller-manager's, only duplicate work.
type Collector struct {
	graph   *Graph
	queue   queue
	workers int
	timeout time.Duration
	events  *events.Recorder
	log     *slog.Logger
}

// queue is an interface to [workqueue.Queue], for the same reason as [follower].
type queue interface {
	Get(ctx context.Context) (t task, ok bool)
	Done(t task)
	AddWith(o workqueue.AddOptions, tasks ...task)
	AddRateLimited(t task)
	Forget(t task)
	ShutDown()
}

// task is a node to process. It is either an object whose owners or dependents have changed, or a virtual node that may
// be absent.
type task struct {
	*node
	verify bool
}

// maxDelay is the longest backoff of an object, and the interval at which owners are looked up whose kind is not
// followed.
const maxDelay = time.Minute

// New returns a collector for the API server of config. It sends no request and starts no goroutine; call
// [Collector.Run].
func New(config *rest.Config, opts Options) (*Collector, error) {
	graph, err := NewGraph(config, opts.GraphOptions)
	if err != nil {
		return nil, err
	}
	c := &Collector{
		graph:   graph,
		queue:   workqueue.New[task](workqueue.Options{Name: Name, MaxDelay: maxDelay, Metrics: opts.Metrics}),
		workers: cmp.Or(opts.Workers, 20),
		timeout: cmp.Or(opts.SyncTimeout, 30*time.Second),
		events:  opts.Recorder,
		log:     graph.log.With("controller", Name),
	}
	graph.act = c.act
	return c, nil
}

// Graph returns the collector's graph, which [Collector.Run] runs.
func (c *Collector) Graph() *Graph { return c.graph }

// Run collects until ctx ends, and returns nil after its last goroutine has ended. It can be called once; further calls
// return an error.
func (c *Collector) Run(ctx context.Context) error {
	var running sync.WaitGroup
	var failure error
	ctx, cancel := context.WithCancel(ctx)
	running.Go(func() {
		defer cancel()
		failure = c.graph.Run(ctx)
	})
	select {
	case <-c.graph.Synced():
	case <-ctx.Done():
	case <-time.After(c.timeout):
		c.log.Warn("collecting garbage without the kinds that cannot be read", "err", c.graph.Err())
	}
	for range c.workers {
		running.Go(func() { c.work(ctx) })
	}
	running.Wait()
	c.queue.ShutDown()
	return failure
}

// act queues the nodes to process. A node with a new reference to its owner does not wait for the retry of a lookup
// that did not find the owner at another place.
func (c *Collector) act(due changes) {
	tasks := make([]task, 0, len(due.look)+len(due.verify))
	for _, n := range due.look {
		tasks = append(tasks, task{n, false})
	}
	for _, n := range due.verify {
		tasks = append(tasks, task{n, true})
	}
	c.queue.AddWith(workqueue.AddOptions{Interrupt: workqueue.InterruptLimited}, tasks...)
	for _, e := range due.invalid {
		c.reportInvalid(e)
	}
}

// reportInvalid reports a reference to an object in another namespace.
func (c *Collector) reportInvalid(e *edge) {
	c.graph.mu.Lock()
	dependent, ref := e.dependent.public(), e.reference()
	c.graph.mu.Unlock()
	c.log.Info("an owner reference names an object of another namespace", "object", dependent, "owner", ref.UID)
	if c.events == nil {
		return
	}
	about := metadataOf(dependent)
	c.events.Eventf(about, nil, events.Warning, "OwnerRefInvalidNamespace", "CollectGarbage",
		"ownerRef [%s/%s, namespace: %s, name: %s, uid: %s] does not exist in namespace %q",
		ref.APIVersion, ref.Kind, dependent.Key.Namespace, ref.Name, ref.UID, dependent.Key.Namespace)
}

func metadataOf(n Node) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: n.APIVersion, Kind: n.Kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: n.Key.Namespace, Name: n.Key.Name, UID: n.UID},
	}
}

func (c *Collector) work(ctx context.Context) {
	for {
		t, ok := c.queue.Get(ctx)
		if !ok {
			return
		}
		if again := c.process(ctx, t); again {
			c.queue.AddRateLimited(t)
		} else {
			c.queue.Forget(t)
		}
		c.queue.Done(t)
	}
}

// process processes a task, and reports whether to retry it.
func (c *Collector) process(ctx context.Context, t task) (again bool) {
	n := t.node
	c.graph.mu.Lock()
	item := item{
		Node: n.public(), node: n, removed: n.removed,
		foreground: n.foreground, orphan: n.orphan, blocked: n.blocking > 0, dependents: n.dependents != nil,
	}
	c.graph.mu.Unlock()
	err := c.step(ctx, item, t.verify)
	switch {
	case err == nil, errors.Is(err, errNamespacedOwner), errors.Is(err, errNoName), ctx.Err() != nil:
		return false
	case errors.Is(err, errUnseen), meta.IsNoMatchError(err), apierrors.IsConflict(err):
		c.log.Debug("look at an object", "object", item.Node, "err", err)
	default:
		c.log.Warn("look at an object", "object", item.Node, "err", err)
	}
	return true
}

var (
	// errNamespacedOwner reports a cluster-scoped object with an owner of a namespaced kind. It is permanent.
	errNamespacedOwner = errors.New("a cluster-scoped object cannot have a namespaced owner")
	// errNoName reports a reference with a name that no object can have, so that it cannot be requested from the server.
	errNoName = errors.New("nothing can have the name of the owner")
	// errUnseen reports an owner that exists but that the graph has not seen yet, and may never see.
	errUnseen = errors.New("the owner was not seen yet")
)

// item is a node to process, in its state in the graph.
type item struct {
	Node
	node               *node
	removed            bool
	foreground, orphan bool
	blocked            bool // a reference to it has blockOwnerDeletion
	dependents         bool // it has dependents
}

// step performs the action that the state of a node requires.
func (c *Collector) step(ctx context.Context, i item, verify bool) error {
	switch {
	case i.removed || i.Virtual != verify:
		return nil
	case verify:
		return c.verify(ctx, i)
	case i.orphan:
		return c.orphan(ctx, i)
	case i.foreground && i.blocked:
		return nil // it is processed again when it is unblocked
	case i.foreground:
		return c.removeFinalizer(ctx, i, metav1.FinalizerDeleteDependents)
	case i.Deleting || len(i.Owners) == 0:
		return nil
	}
	return c.collect(ctx, i)
}

// verify checks on the API server whether an unseen owner exists, at each place to which references point. If it
// exists, verify fails with errUnseen.
func (c *Collector) verify(ctx context.Context, i item) error {
	c.graph.mu.Lock()
	places := i.node.unverified()
	c.graph.mu.Unlock()
	var errs []error
	verified := map[coordinates]bool{}
	for _, at := range places {
		ref := metav1.OwnerReference{APIVersion: at.kind.Value().apiVersion, Kind: at.kind.Value().kind, Name: at.name,
			UID: i.UID}
		namespaced, err := c.namespaced(ref)
		if !namespaced {
			at.namespace = clusterScoped
		}
		if verified[at] {
			continue
		}
		verified[at] = true
		owner, err := c.owner(ctx, ref, at.namespace.Value(), namespaced, err)
		switch {
		case errors.Is(err, errNamespacedOwner), errors.Is(err, errNoName):
		case err != nil:
			errs = append(errs, err)
		case owner != nil:
			errs = append(errs, errUnseen)
		default:
			var due changes
			c.graph.mu.Lock()
			c.graph.relations.verifiedAbsent(i.node, at, &due)
			c.graph.mu.Unlock()
			c.act(due)
		}
	}
	return errors.Join(errs...)
}

// namespaced reports whether the kind of an owner is namespaced.
func (c *Collector) namespaced(ref metav1.OwnerReference) (bool, error) {
	return c.graph.live.IsObjectNamespaced(metadataOf(Node{APIVersion: ref.APIVersion, Kind: ref.Kind}))
}

// owner reads an owner from the API server. It returns nil if no object has the name, or if that object has another
// UID. namespaced and err are the result of looking up the kind.
func (c *Collector) owner(ctx context.Context, ref metav1.OwnerReference, namespace string, namespaced bool,
	err error) (*metav1.PartialObjectMetadata, error) {
	switch {
	case err != nil:
		return nil, fmt.Errorf("owner %s %s: %w", ref.Kind, ref.Name, err)
	case namespaced && namespace == "":
		return nil, errNamespacedOwner
	case len(apimachinery.IsPathSegmentName(ref.Name)) > 0:
		return nil, errNoName
	}
	return c.read(ctx, Node{APIVersion: ref.APIVersion, Kind: ref.Kind,
		Key: object.Key{Namespace: namespace, Name: ref.Name}, UID: ref.UID})
}

// read returns an object from the API server, or nil if no object has this name and UID.
func (c *Collector) read(ctx context.Context, n Node) (*metav1.PartialObjectMetadata, error) {
	obj := metadataOf(n)
	err := c.graph.live.Get(ctx, n.Key, obj)
	switch {
	case apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		// The server also answers 404 for a path that it does not serve, such as the path of a removed version. This proves
		// nothing about the object.
		return nil, fmt.Errorf("the API server does not serve %s %s: %w", n.APIVersion, n.Kind, err)
	case apierrors.IsNotFound(err), err == nil && obj.UID != n.UID:
		return nil, nil
	}
	return obj, err
}

// collect deletes an object without remaining owners, or removes its references to owners that no longer exist.
func (c *Collector) collect(ctx context.Context, i item) error {
	latest, err := c.read(ctx, i.Node)
	if err != nil || latest == nil || len(latest.OwnerReferences) == 0 {
		return err // the graph receives the deletion if the object does not exist
	}
	owners, err := c.classify(ctx, i, latest)
	if err != nil {
		return err
	}
	switch {
	case owners.solid && len(owners.lost) == 0:
		return nil
	case owners.solid:
		return c.setOwners(ctx, latest, without(latest.OwnerReferences, owners.lost...))
	case owners.waiting && i.dependents:
		return c.deleteInForeground(ctx, i, latest)
	}
	return c.delete(ctx, latest, propagation(latest))
}

// owners classifies the owners of an object by their state on the API server.
type owners struct {
	solid   bool        // an owner exists and does not wait for its dependents
	waiting bool        // an owner exists and is being deleted in the foreground
	lost    []types.UID // owners that are not solid; several references may have the same UID
}

// without returns refs except those with the UIDs of owners.
func without(refs []metav1.OwnerReference, owners ...types.UID) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(refs), func(ref metav1.OwnerReference) bool {
		return slices.Contains(owners, ref.UID)
	})
}

func (c *Collector) classify(ctx context.Context, i item,
	latest *metav1.PartialObjectMetadata) (all owners, err error) {
	for _, ref := range latest.OwnerReferences {
		c.graph.mu.Lock()
		absent := i.node.knownAbsent(ref)
		c.graph.mu.Unlock()
		if absent {
			all.lost = append(all.lost, ref.UID)
			continue
		}
		namespaced, err := c.namespaced(ref)
		owner, err := c.owner(ctx, ref, latest.Namespace, namespaced, err)
		switch {
		case err != nil:
			return owners{}, err
		case owner == nil:
			all.lost = append(all.lost, ref.UID)
		case owner.DeletionTimestamp != nil && slices.Contains(owner.Finalizers, metav1.FinalizerDeleteDependents):
			all.waiting = true
			all.lost = append(all.lost, ref.UID)
		default:
			all.solid = true
		}
	}
	return all, nil
}

// propagation returns how a deletion of obj by default affects its own dependents.
func propagation(obj *metav1.PartialObjectMetadata) metav1.DeletionPropagation {
	switch {
	case slices.Contains(obj.Finalizers, metav1.FinalizerOrphanDependents):
		return metav1.DeletePropagationOrphan
	case slices.Contains(obj.Finalizers, metav1.FinalizerDeleteDependents):
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}

// deleteInForeground deletes an object that has dependents and whose owner waits for it. If one of the dependents waits
// for its own dependents, there may be a cycle. In that case the object must not block its owners.
func (c *Collector) deleteInForeground(ctx context.Context, i item, latest *metav1.PartialObjectMetadata) error {
	if c.dependentWaits(i.node) && slices.ContainsFunc(latest.OwnerReferences, blocks) {
		unblocked := slices.Clone(latest.OwnerReferences)
		for j := range unblocked {
			if blocks(unblocked[j]) {
				unblocked[j].BlockOwnerDeletion = new(bool)
			}
		}
		if err := c.setOwners(ctx, latest, unblocked); err != nil {
			return err
		}
	}
	return c.delete(ctx, latest, metav1.DeletePropagationForeground)
}

func (c *Collector) dependentWaits(n *node) bool {
	c.graph.mu.Lock()
	defer c.graph.mu.Unlock()
	for e := range dependentsOf(n) {
		if e.dependent.foreground {
			return true
		}
	}
	return false
}

// orphan removes the references to an object, and then its finalizer.
func (c *Collector) orphan(ctx context.Context, i item) error {
	limit := make(chan struct{}, c.workers)
	dependents := c.graph.Dependents(i.UID)
	errs := make([]error, len(dependents))
	var running sync.WaitGroup
	for j, dependent := range dependents {
		limit <- struct{}{}
		running.Go(func() {
			errs[j] = c.disown(ctx, dependent, i.UID)
			<-limit
		})
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return c.removeFinalizer(ctx, i, metav1.FinalizerOrphanDependents)
}

// disown removes the references of an object to an owner.
func (c *Collector) disown(ctx context.Context, dependent Node, owner types.UID) error {
	latest, err := c.read(ctx, dependent)
	if err != nil || latest == nil {
		return err
	}
	kept := without(latest.OwnerReferences, owner)
	if len(kept) == len(latest.OwnerReferences) {
		return nil
	}
	return c.setOwners(ctx, latest, kept)
}

func (c *Collector) removeFinalizer(ctx context.Context, i item, finalizer string) error {
	latest, err := c.read(ctx, i.Node)
	if err != nil || latest == nil || !slices.Contains(latest.Finalizers, finalizer) {
		return err
	}
	kept := slices.DeleteFunc(slices.Clone(latest.Finalizers), func(f string) bool { return f == finalizer })
	return c.patch(ctx, latest, map[string]any{"finalizers": kept})
}

func (c *Collector) setOwners(ctx context.Context, latest *metav1.PartialObjectMetadata,
	refs []metav1.OwnerReference) error {
	return c.patch(ctx, latest, map[string]any{"ownerReferences": refs})
}

// patch changes the metadata of an object, with its resource version as a precondition. On success, latest has the new
// resource version. patch succeeds if the object does not exist.
func (c *Collector) patch(ctx context.Context, latest *metav1.PartialObjectMetadata, metadata map[string]any) error {
	metadata["uid"], metadata["resourceVersion"] = latest.UID, latest.ResourceVersion
	data, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(c.graph.live.Patch(ctx, latest, client.RawPatch(types.MergePatchType, data)))
}

// delete deletes an object if it is unchanged since it was read, or if its owner references are unchanged. Frequent
// changes of other fields must not prevent the deletion.
func (c *Collector) delete(ctx context.Context, latest *metav1.PartialObjectMetadata,
	policy metav1.DeletionPropagation) error {
	uid, version := latest.UID, latest.ResourceVersion
	err := c.graph.live.Delete(ctx, latest, client.Preconditions{UID: &uid, ResourceVersion: &version},
		client.PropagationPolicy(policy))
	if !apierrors.IsConflict(err) {
		return client.IgnoreNotFound(err)
	}
	now := latest.DeepCopy()
	if getErr := c.graph.live.Get(ctx, object.KeyOf(latest), now); getErr != nil {
		return client.IgnoreNotFound(getErr)
	}
	if now.UID != uid {
		return nil
	}
	if !reflect.DeepEqual(now.OwnerReferences, latest.OwnerReferences) {
		return err
	}
	return client.IgnoreNotFound(c.graph.live.Delete(ctx, now, client.Preconditions{UID: &uid},
		client.PropagationPolicy(policy)))
}
