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

// GraphOptions tune a [Graph]. The zero value is useful.
type GraphOptions struct {
	// Ignored are resources that are not followed, beside events.
	Ignored []schema.GroupResource
	// Resync is how often the API server is asked for its kinds. Whenever a CustomResourceDefinition or an APIService
	// changes it is asked soon, too. Zero is 30 s.
	Resync time.Duration
	// HTTPClient sends the requests; nil makes one from the rest.Config.
	HTTPClient *http.Client
	// Logger is where failures are logged; nil is slog.Default().
	Logger *slog.Logger
	// Metrics is where the metrics of the graph's reflectors and of the collector's queue are registered; nil is nowhere.
	Metrics *metrics.Registry
}

// alwaysIgnored are many, live for an hour, and own nothing.
var alwaysIgnored = []schema.GroupResource{{Resource: "events"}, {Group: "events.k8s.io", Resource: "events"}}

// Graph keeps which objects of an API server own which, of all kinds that can be listed, watched and deleted. It is what
// kube-controller-manager calls the GraphBuilder. All methods are safe for concurrent use, and answer from memory.
type Graph struct {
	live    *client.REST
	groups  *discovery
	opts    GraphOptions
	log     *slog.Logger
	synced  chan struct{}
	changed chan struct{} // has room for one: the API server may have other kinds

	mu        sync.Mutex
	ran       bool
	relations relations
	lists     uint32 // lists that were taken over
	monitors  map[schema.GroupResource]*monitor
	known     bool  // the server has said once which kinds it has
	waiting   int   // how many of the kinds of that time have not been listed
	failure   error // why the kinds are not known

	// act does what a change of the graph calls for. It is set before Run and called without mu. Nil does nothing.
	act func(changes)
}

// NewGraph returns a graph of the API server of config, which [Graph.Run] fills. It makes no request.
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
	log := cmp.Or(opts.Logger, slog.Default())
	// It asks for all kinds, so warnings that one is deprecated say nothing.
	warnings := slog.New(slog.DiscardHandler)
	live, err := client.New(config, client.Options{Scheme: runtime.NewScheme(), HTTPClient: opts.HTTPClient, Logger: warnings})
	if err != nil {
		return nil, err
	}
	groups, err := newDiscovery(config, opts.HTTPClient)
	if err != nil {
		return nil, err
	}
	return &Graph{
		live: live, groups: groups, opts: opts, log: log,
		synced: make(chan struct{}), changed: make(chan struct{}, 1),
		relations: relations{nodes: map[types.UID]*node{}},
		monitors:  map[schema.GroupResource]*monitor{},
	}, nil
}

// Run keeps the graph in step with the API server until ctx ends, and then returns nil after its last goroutine has
// ended. It can be called once, and fails otherwise.
func (g *Graph) Run(ctx context.Context) error {
	g.mu.Lock()
	ran := g.ran
	g.ran = true
	g.mu.Unlock()
	if ran {
		return life.ErrAlreadyRun
	}
	var reflectors sync.WaitGroup
	defer reflectors.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pause := firstPause
	for ctx.Err() == nil {
		g.discover(ctx, &reflectors)
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
			// What a CRD promises is served some time after it says so: look again, and then ever less often.
			pause = min(2*pause, g.opts.Resync)
		case <-g.changed:
			pause = min(firstPause, g.opts.Resync)
			g.quiet(ctx)
		}
		timer.Stop()
	}
	return nil
}

// firstPause is how soon the server is asked again for its kinds after they may have changed.
const firstPause = 200 * time.Millisecond

// quiet waits a moment, so that many CRDs that are applied together cost little more than one.
func (g *Graph) quiet(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(firstPause):
	}
}

// discover follows the kinds that the server has now.
func (g *Graph) discover(ctx context.Context, reflectors *sync.WaitGroup) {
	found, err := g.groups.deletable(ctx)
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

// discovered ends the first discovery: the graph is synced when what it has found is listed.
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

// stopGone stops following the kinds that the server has no more. Their objects have gone with them.
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

// follow starts a reflector for a resource, unless one follows it in that version.
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
	source, err := client.NewListWatcher(g.live, prototype, client.Scope{Mask: []string{"metadata.ownerReferences", "metadata.finalizers"}})
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

// definesKinds reports whether the server has other kinds when an object of this resource changes.
func definesKinds(resource schema.GroupResource) bool {
	return resource == schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"} ||
		resource == schema.GroupResource{Group: "apiregistration.k8s.io", Resource: "apiservices"}
}

// monitor follows one resource. It is the sink of a reflector, which pushes from one goroutine.
type monitor struct {
	graph        *Graph
	gvk          schema.GroupVersionKind
	kind         unique.Handle[kindName]
	former       unique.Handle[kindName] // that of the monitor whose place it took, or zero
	definesKinds bool
	reflector    follower
	cancel       context.CancelFunc
	done         chan struct{}

	// Guarded by the graph's mu.
	listed  bool
	awaited bool // the graph is not synced without its first list
}

// follower is a [reflector.Reflector]. As an interface it leaves its code here: the compiler makes that of a generic type again
// in each package that knows a type with a field of it.
type follower interface {
	Run(ctx context.Context)
	Err() error
}

// stop ends the reflector, and returns when it pushes no more.
func (m *monitor) stop() {
	m.cancel()
	<-m.done
}

// Push takes over what has changed.
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
		default: // it is announced already
		}
	}
}

// replaceLocked takes over all objects of a kind. Those that are not among them are gone, save those that could not be
// read.
func (g *Graph) replaceLocked(m *monitor, d reflector.Delta[*metav1.PartialObjectMetadata], c *changes) {
	g.lists++
	for _, obj := range d.Objects {
		g.relations.observe(m.kind, obj, c).list = g.lists
	}
	if m.listed || m.former != (unique.Handle[kindName]{}) {
		for _, n := range g.relations.nodes {
			if !n.virtual && (n.kind == m.kind || n.kind == m.former) && n.list != g.lists && !slices.Contains(d.Retained, n.key()) {
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

// Synced is closed when the graph has all objects of all kinds that the server had when it was first asked.
func (g *Graph) Synced() <-chan struct{} { return g.synced }

// Err returns why the graph is not in step with the API server, or nil when it is: a *[reflector.SyncError] for each kind
// that cannot be read, joined with what prevents the kinds from being known.
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

// Node is an object of the graph as it was when it was asked for.
type Node struct {
	UID              types.UID
	APIVersion, Kind string
	// Key is empty of namespace for a cluster-scoped object.
	Key object.Key
	// Virtual says that the object was not seen: kind, name and namespace are what a reference to it says. It does not
	// exist, or was not seen yet, or is of a kind that is not followed.
	Virtual bool
	// Deleting says that the object has a deletion timestamp.
	Deleting bool
	// Owners are its references to its owners, in its order. Controller is not kept, and nil.
	Owners []metav1.OwnerReference
}

// String names the object, such as "ReplicaSet.apps default/web".
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

// Len returns the number of nodes, virtual ones included.
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

// Dependents returns the objects that have a reference to that UID, by kind, namespace and name. A reference may be wrong
// in all else.
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
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Key.String(), b.Key.String()), cmp.Compare(a.UID, b.UID))
	})
	return slices.CompactFunc(all, func(a, b Node) bool { return a.UID == b.UID }) // one may have two references
}

// public is n for a caller. The graph is locked.
func (n *node) public() Node {
	kind := n.kind.Value()
	all := Node{UID: n.uid, APIVersion: kind.apiVersion, Kind: kind.kind, Key: n.key(), Virtual: n.virtual, Deleting: n.deleting}
	for i := range n.owners {
		all.Owners = append(all.Owners, n.owners[i].reference())
	}
	return all
}

// reference is what e was made from, without whether the owner is the controller.
func (e *edge) reference() metav1.OwnerReference {
	kind, block := e.kind.Value(), e.block
	return metav1.OwnerReference{APIVersion: kind.apiVersion, Kind: kind.kind, Name: e.name, UID: e.owner.uid, BlockOwnerDeletion: &block}
}
