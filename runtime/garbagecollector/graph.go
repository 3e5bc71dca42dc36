package garbagecollector

import (
	"github.com/kctrl-dev/kctrl/runtime/internal/life"

	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reflector"
)

// GraphOptions configures a [Graph]. The zero value is ready for use.
type GraphOptions struct {
	// Ignored are resources that the graph does not follow, in addition to events.
	Ignored []schema.GroupResource
	// Resync is the interval at which the graph discovers kinds. It also discovers them soon after a
	// CustomResourceDefinition or an APIService has changed. Zero means 30 s.
	Resync time.Duration
	// HTTPClient sends the requests. If it is nil, a new client is created from the rest.Config.
	HTTPClient *http.Client
	// Logger receives messages about failures. Nil means slog.Default().
	Logger *slog.Logger
	// Metrics receives the metrics of the graph's reflectors and of the collector's queue. Nil disables them.
	Metrics *metrics.Registry
}

// alwaysIgnored are resources that are numerous, short-lived, and own nothing.
var alwaysIgnored = []schema.GroupResource{{Resource: "events"}, {Group: "events.k8s.io", Resource: "events"}}

// Graph holds the ownership relations of all objects of an API server whose kinds can be listed, watched and deleted.
// It corresponds to kube-controller-manager's GraphBuilder. All methods are safe for concurrent use. Methods that
// return nodes only read memory and send no requests.
type Graph struct {
	live    *client.REST
	groups  rest.Interface // for discovery
	opts    GraphOptions
	log     *slog.Logger
	synced  chan struct{}
	changed chan struct{} // buffer of size one: a value means that kinds may have changed
	ran     atomic.Bool

	mu        sync.Mutex
	relations relations
	lists     uint32 // number of lists that were applied
	monitors  map[schema.GroupResource]*monitor
	known     bool  // discovery has succeeded once
	waiting   int   // number of kinds of the first discovery that have not been listed yet
	failure   error // error of the last discovery

	// act handles changes of the graph. It is set before Run and called without mu. It may be nil.
	act func(changes)
}

// NewGraph returns an empty graph for the API server of config. [Graph.Run] fills it. NewGraph sends no request.
func NewGraph(config *rest.Config, opts GraphOptions) (*Graph, error) {
	if opts.HTTPClient == nil {
		httpClient, err := rest.HTTPClientFor(config)
		if err != nil {
			return nil, err
		}
		opts.HTTPClient = httpClient
	}
	opts.Resync = cmp.Or(opts.Resync, 30*time.Second)
	opts.Ignored = slices.Concat(alwaysIgnored, opts.Ignored)
	live, err := client.New(config, client.Options{
		Scheme: runtime.NewScheme(), HTTPClient: opts.HTTPClient,
		Logger: slog.New(slog.DiscardHandler), // warnings about deprecated kinds are not useful in a graph of all kinds
	})
	if err != nil {
		return nil, err
	}
	groups, err := discoveryClient(config, opts.HTTPClient)
	if err != nil {
		return nil, err
	}
	return &Graph{
		live: live, groups: groups, opts: opts, log: cmp.Or(opts.Logger, slog.Default()),
		synced: make(chan struct{}), changed: make(chan struct{}, 1),
		relations: relations{nodes: map[types.UID]*node{}},
		monitors:  map[schema.GroupResource]*monitor{},
	}, nil
}

// Run keeps the graph up to date with the API server until ctx ends, and returns nil after its last goroutine has
// ended. It can be called once; further calls return an error.
func (g *Graph) Run(ctx context.Context) error {
	if g.ran.Swap(true) {
		return life.ErrAlreadyRun
	}
	var reflectors sync.WaitGroup
	defer reflectors.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pause := firstPause
	for ctx.Err() == nil {
		g.discover(ctx, &reflectors)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
			// A CRD is served some time after its status reports that it is. Discovery is therefore repeated, at growing
			// intervals.
			pause = min(2*pause, g.opts.Resync)
		case <-g.changed:
			pause = min(firstPause, g.opts.Resync)
			// One discovery covers several CRDs that are applied together.
			_ = life.Sleep(ctx, firstPause)
		}
	}
	return nil
}

// firstPause is the delay of discovery after a possible change of kinds.
const firstPause = 200 * time.Millisecond

// discover starts and stops reflectors so that they match the server's kinds.
func (g *Graph) discover(ctx context.Context, reflectors *sync.WaitGroup) {
	found, err := deletable(ctx, g.groups)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		g.log.Warn("ask the API server for its kinds", "err", err)
	}
	g.mu.Lock()
	g.failure = err
	g.mu.Unlock()
	if err != nil {
		return
	}
	for _, ignored := range g.opts.Ignored {
		delete(found.kinds, ignored)
	}
	g.stopGone(found)
	for _, resource := range slices.SortedFunc(maps.Keys(found.kinds), compareResources) {
		g.follow(ctx, reflectors, resource, found)
	}
	g.discovered()
}

func compareResources(a, b schema.GroupResource) int { return cmp.Compare(a.String(), b.String()) }

// discovered ends the first discovery: the graph is synced once all its kinds are listed.
func (g *Graph) discovered() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known {
		return
	}
	g.known = true
	for _, m := range g.monitors {
		if !m.listed {
			m.awaited = true
			g.waiting++
		}
	}
	if g.waiting == 0 {
		close(g.synced)
	}
}

// stopGone stops the reflectors of kinds that the server no longer has, whose objects no longer exist either.
func (g *Graph) stopGone(found *kinds) {
	g.mu.Lock()
	gone := maps.Clone(g.monitors)
	g.mu.Unlock()
	maps.DeleteFunc(gone, func(resource schema.GroupResource, m *monitor) bool {
		_, served := found.kinds[resource]
		return served || found.unknown[m.gvk.GroupVersion()]
	})
	for resource, m := range gone {
		m.stop()
		var c changes
		g.mu.Lock()
		delete(g.monitors, resource)
		g.notAwaitedLocked(m)
		for _, n := range g.relations.nodes {
			if !n.virtual && n.kind == m.kind {
				g.relations.remove(n, false, &c)
			}
		}
		g.mu.Unlock()
		g.pass(c)
	}
}

func (g *Graph) notAwaitedLocked(m *monitor) {
	if m.awaited {
		m.awaited = false
		if g.waiting--; g.waiting == 0 {
			close(g.synced)
		}
	}
}

// follow starts a reflector for a resource, unless one already runs for this version.
func (g *Graph) follow(ctx context.Context, reflectors *sync.WaitGroup, resource schema.GroupResource, found *kinds) {
	gvk := found.kinds[resource]
	g.mu.Lock()
	old := g.monitors[resource]
	g.mu.Unlock()
	if old != nil && (old.gvk == gvk || found.unknown[old.gvk.GroupVersion()]) {
		return
	}
	prototype := &metav1.PartialObjectMetadata{}
	prototype.SetGroupVersionKind(gvk)
	source, err := client.NewListWatcher(g.live, prototype,
		client.Scope{Mask: []string{"metadata.ownerReferences", "metadata.finalizers"}})
	if err != nil {
		g.log.Error("follow a kind", "kind", gvk, "err", err)
		return
	}
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	m := &monitor{graph: g, gvk: gvk, kind: unique.Make(kindName{apiVersion, kind}), definesKinds: definesKinds(resource)}
	m.reflector = reflector.New(source, m, reflector.Options[*metav1.PartialObjectMetadata]{
		Name: resource.String(), Logger: g.log, Metrics: g.opts.Metrics,
	})
	if old != nil {
		old.stop()
		m.former = old.kind
	}
	ctx, m.cancel = context.WithCancel(ctx)
	m.done = make(chan struct{})
	g.mu.Lock()
	g.monitors[resource] = m
	if old != nil {
		m.awaited, old.awaited = old.awaited, false
	}
	g.mu.Unlock()
	reflectors.Go(func() {
		defer close(m.done)
		m.reflector.Run(ctx)
	})
}

// definesKinds reports whether objects of this resource define kinds.
func definesKinds(resource schema.GroupResource) bool {
	return resource == schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"} ||
		resource == schema.GroupResource{Group: "apiregistration.k8s.io", Resource: "apiservices"}
}

// monitor tracks one resource. A reflector calls its methods from a single goroutine.
type monitor struct {
	graph        *Graph
	gvk          schema.GroupVersionKind
	kind         unique.Handle[kindName]
	former       unique.Handle[kindName] // kind of the replaced monitor, or zero
	definesKinds bool
	reflector    follower
	cancel       context.CancelFunc
	done         chan struct{}

	// Guarded by the graph's mu.
	listed  bool
	awaited bool // the graph is not synced before the first list of this monitor
}

// follower is an interface to [reflector.Reflector]. It avoids a field of that generic type, which the compiler would
// compile again in each package that has a type with such a field.
type follower interface {
	Run(ctx context.Context)
	Err() error
}

// stop ends the reflector, and returns after its last push.
func (m *monitor) stop() {
	m.cancel()
	<-m.done
}

func (m *monitor) Push(d reflector.Delta[*metav1.PartialObjectMetadata]) {
	var c changes
	g := m.graph
	g.mu.Lock()
	switch d.Type {
	case reflector.Added, reflector.Updated:
		g.relations.observe(m.kind, d.Object, &c)
	case reflector.Deleted:
		if d.Object != nil {
			if n := g.relations.nodes[d.Object.GetUID()]; n != nil && !n.virtual {
				g.relations.remove(n, true, &c)
			}
		}
	case reflector.Replaced:
		g.replaceLocked(m, d, &c)
	}
	announce := m.definesKinds && m.listed && d.Type != reflector.Bookmark
	g.mu.Unlock()
	g.pass(c)
	if announce {
		select {
		case g.changed <- struct{}{}:
		default: // a change is already pending
		}
	}
}

// replaceLocked replaces all objects of a kind. Objects that are not in the list no longer exist, except those that
// could not be decoded.
func (g *Graph) replaceLocked(m *monitor, d reflector.Delta[*metav1.PartialObjectMetadata], c *changes) {
	g.lists++
	for _, obj := range d.Objects {
		g.relations.observe(m.kind, obj, c).list = g.lists
	}
	if m.listed || m.former != (unique.Handle[kindName]{}) {
		for _, n := range g.relations.nodes {
			if !n.virtual && (n.kind == m.kind || n.kind == m.former) && n.list != g.lists &&
				!slices.Contains(d.Retained, n.key()) {
				g.relations.remove(n, true, c)
			}
		}
	}
	m.listed = true
	g.notAwaitedLocked(m)
}

func (g *Graph) pass(c changes) {
	if g.act != nil && len(c.look)+len(c.verify)+len(c.invalid) > 0 {
		g.act(c)
	}
}

// Synced returns a channel that is closed when the graph has all objects of all kinds that the first discovery found.
func (g *Graph) Synced() <-chan struct{} { return g.synced }

// Err returns why the graph is out of date, or nil if it is up to date. The error joins a *[reflector.SyncError] for
// each kind that cannot be read and the error of discovery.
func (g *Graph) Err() error {
	g.mu.Lock()
	failure, monitors := g.failure, maps.Clone(g.monitors)
	g.mu.Unlock()
	errs := []error{failure}
	for _, resource := range slices.SortedFunc(maps.Keys(monitors), compareResources) {
		errs = append(errs, monitors[resource].reflector.Err())
	}
	return errors.Join(errs...)
}

// Node is an object of the graph, in its state at the time of the call.
type Node struct {
	UID              types.UID
	APIVersion, Kind string
	// Key has an empty namespace for a cluster-scoped object.
	Key object.Key
	// Virtual means that the object was not seen, and that its kind, name and namespace come from a reference. It may not
	// exist, may not have been seen yet, or may be of a kind that the graph does not follow.
	Virtual bool
	// Deleting means that the object has a deletion timestamp.
	Deleting bool
	// Owners are the object's owner references, in order. The field Controller is always nil.
	Owners []metav1.OwnerReference
}

// String returns a description such as "ReplicaSet.apps default/web".
func (n Node) String() string {
	gv, err := schema.ParseGroupVersion(n.APIVersion)
	kind := schema.GroupKind{Group: gv.Group, Kind: n.Kind}.String()
	if err != nil {
		kind = n.APIVersion + " " + n.Kind
	}
	name := n.Key.Name
	if n.Key.Namespace != "" {
		name = n.Key.String()
	}
	return fmt.Sprintf("%s %s", kind, name)
}

// Len returns the number of nodes, including virtual ones.
func (g *Graph) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.relations.nodes)
}

// Node returns the object with that UID.
func (g *Graph) Node(uid types.UID) (Node, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.relations.nodes[uid]
	if n == nil {
		return Node{}, false
	}
	return n.public(), true
}

// Dependents returns the objects with a reference to that UID, ordered by kind, namespace and name. The other fields of
// the reference may be wrong, because only the UID is compared.
func (g *Graph) Dependents(uid types.UID) []Node {
	var all []Node
	g.mu.Lock()
	if n := g.relations.nodes[uid]; n != nil {
		for e := range dependentsOf(n) {
			all = append(all, e.dependent.public())
		}
	}
	g.mu.Unlock()
	slices.SortFunc(all, func(a, b Node) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.APIVersion, b.APIVersion),
			cmp.Compare(a.Key.String(), b.Key.String()), cmp.Compare(a.UID, b.UID))
	})
	return slices.CompactFunc(all, func(a, b Node) bool { return a.UID == b.UID }) // an object may have two references
}

// public returns n as a [Node]. The graph must be locked.
func (n *node) public() Node {
	kind := n.kind.Value()
	all := Node{UID: n.uid, APIVersion: kind.apiVersion, Kind: kind.kind, Key: n.key(), Virtual: n.virtual,
		Deleting: n.deleting}
	for i := range n.owners {
		all.Owners = append(all.Owners, n.owners[i].reference())
	}
	return all
}

// reference returns the owner reference of e, without the field Controller.
func (e *edge) reference() metav1.OwnerReference {
	kind, block := e.kind.Value(), e.block
	return metav1.OwnerReference{APIVersion: kind.apiVersion, Kind: kind.kind, Name: e.name, UID: e.owner.uid,
		BlockOwnerDeletion: &block}
}
