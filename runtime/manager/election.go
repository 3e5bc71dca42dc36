package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/leaderelection"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// watchdogMargin is the time after which /healthz fails if a leader whose lease has expired has not stopped.
const watchdogMargin = 20 * time.Second

func electionOf(r Runnable) (e controller.Election) {
	if o, ok := r.(owned); ok {
		r = o.Runnable
	}
	if elected, ok := r.(LeaderElectionRunnable); ok {
		e.Off = !elected.NeedLeaderElection()
	}
	if grouped, ok := r.(interface{ LeaderElectionGroup() string }); ok {
		e.Group = grouped.LeaderElectionGroup()
	}
	if migrates, ok := r.(interface{ LeaderElectionMigratesFrom() string }); ok {
		e.MigratesFrom = migrates.LeaderElectionMigratesFrom()
	}
	if named, ok := r.(interface{ LeaderElectionLease() string }); ok {
		e.Lease = named.LeaderElectionLease()
	}
	e.Group = cmp.Or(e.Group, controller.MainGroup)
	return e
}

func checkElection(r Runnable) error {
	e := electionOf(r)
	for _, name := range []string{e.Group, cmp.Or(e.MigratesFrom, e.Group)} {
		if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
			return fmt.Errorf("leader election group %q: %s", name, strings.Join(wrong, "; "))
		}
	}
	if e.Group == e.MigratesFrom {
		return fmt.Errorf("leader election group %s cannot migrate from itself", e.Group)
	}
	if e.Lease == "" {
		return nil
	}
	if wrong := validation.IsDNS1123Subdomain(e.Lease); len(wrong) > 0 {
		return fmt.Errorf("lease %q of leader election group %s: %s", e.Lease, e.Group, strings.Join(wrong, "; "))
	}
	if e.Group == controller.MainGroup {
		return fmt.Errorf("lease %q of leader election group %s: the lease of that has the name of the operator", e.Lease,
			e.Group)
	}
	return nil
}

// elect makes the runnables of each group run only while this manager holds the lease of the group, if leader
// election is enabled. It calls lost as soon as a lease is lost, even if some runnables do not stop.
func (m *Manager) elect(lost func(error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.opts.LeaderElection.Enabled {
		return nil
	}
	namespace, err := m.Namespace()
	if err != nil {
		return err
	}
	groups, err := electedGroups(m.groups[controllers])
	if err != nil {
		return err
	}
	e := &election{manager: m, namespace: namespace, lost: lost, groups: groups, leases: map[string]string{}}
	for i := range groups {
		if err := e.prepare(i); err != nil {
			return err
		}
	}
	m.groups[controllers], m.elected = nil, groups
	for _, g := range groups {
		if g.from == "" {
			m.groups[controllers] = append(m.groups[controllers], g)
		}
	}
	// The check fails if a runnable still runs although this manager has lost its lease.
	m.healthz.Add(server.Owner{}, "leader election", func(*http.Request) error {
		var errs []error
		for _, g := range groups {
			errs = append(errs, g.elector.Healthy(watchdogMargin))
		}
		return errors.Join(errs...)
	})
	return nil
}

// electedGroups returns the groups, the main group first, and puts each migrating group into the group to be led first.
func electedGroups(runnables []Runnable) ([]*electedGroup, error) {
	groups := []*electedGroup{{name: controller.MainGroup}}
	named := func(name string) *electedGroup {
		at := slices.IndexFunc(groups, func(g *electedGroup) bool { return g.name == name })
		if at < 0 {
			at, groups = len(groups), append(groups, &electedGroup{name: name})
		}
		return groups[at]
	}
	for _, r := range runnables {
		e := electionOf(r)
		g := named(e.Group)
		g.runnables = append(g.runnables, r)
		if g.lease != "" && e.Lease != "" && g.lease != e.Lease {
			return nil, fmt.Errorf("leader election group %s has the leases %s and %s; one is enough", g.name, g.lease, e.Lease)
		}
		if g.from != "" && e.MigratesFrom != "" && g.from != e.MigratesFrom {
			return nil, fmt.Errorf("leader election group %s migrates from %s and from %s; one at a time", g.name, g.from,
				e.MigratesFrom)
		}
		g.lease, g.from = cmp.Or(g.lease, e.Lease), cmp.Or(g.from, e.MigratesFrom)
	}
	for _, g := range slices.Clone(groups) {
		if g.from != "" {
			outer := named(g.from)
			outer.runnables = append(outer.runnables, g)
		}
	}
	for _, g := range groups {
		for at, steps := g, 0; at.from != ""; at = named(at.from) {
			if steps++; steps > len(groups) {
				return nil, fmt.Errorf("leader election group %s migrates from %s, and that from it", g.name, g.from)
			}
		}
	}
	if main := groups[0]; len(main.runnables) == 0 && len(groups) > 1 {
		groups = groups[1:] // its lease is not needed
	}
	return groups, nil
}

// election is the shared state of the groups of a manager.
type election struct {
	manager   *Manager
	namespace string
	lost      func(error)
	groups    []*electedGroup
	leases    map[string]string // names of groups by the names of their leases
	led       atomic.Int32      // number of groups that this manager leads
}

// prepare creates the elector of the group at index i. The process has the same identity in all leases. The more leases
// it holds or checks, the longer it yields a free lease, so that processes that start together share the leases.
func (e *election) prepare(i int) error {
	g, m := e.groups[i], e.manager
	o := m.opts.LeaderElection
	opts := leaderelection.Options{
		Namespace: e.namespace, Name: o.ID, ReleaseOnExit: true, Logger: m.logger, Metrics: m.metrics, Fence: m.fence,
		LeaseDuration: o.LeaseDuration, RenewDeadline: o.RenewDeadline, RetryPeriod: o.RetryPeriod,
	}
	switch {
	case g.lease != "":
		opts.Name = g.lease
	case g.name != controller.MainGroup:
		opts.Name += "-" + g.name
	}
	if other, twice := e.leases[opts.Name]; twice {
		return fmt.Errorf("leader election groups %s and %s have one lease, %s", other, g.name, opts.Name)
	}
	e.leases[opts.Name] = g.name
	if i > 0 {
		opts.Identity = e.groups[0].elector.Identity()
	}
	if g.from == "" { // a migrating group can be led only by the leader of the other group
		opts.Yield = func() time.Duration {
			return time.Duration(i+int(e.led.Load())) * cmp.Or(o.RetryPeriod, 2*time.Second)
		}
	}
	var err error
	g.election = e
	g.elector, err = leaderelection.New(leases{m.system}, opts)
	return err
}

// electedGroup runs the runnables of a group while this manager leads it.
type electedGroup struct {
	name  string
	lease string // name of the group's lease; empty means the default, see prepare
	// from is the group that must be led before this one, or "". This group then is one of the runnables of that group.
	from     string
	election *election
	elector  *leaderelection.Elector

	mu        sync.Mutex
	runnables []Runnable
	leading   *group // nil if this manager does not lead, and after the last runnable has ended
}

func (g *electedGroup) Name() string {
	if g.name == controller.MainGroup {
		return "leader election"
	}
	return "leader election of group " + g.name
}

// Run waits for the lease, runs the group while it is held, and releases it.
func (g *electedGroup) Run(ctx context.Context) error {
	return g.elector.Run(ctx, func(ctx context.Context) error {
		g.election.led.Add(1)
		defer g.election.led.Add(-1)
		if g.name == controller.MainGroup || g.election.groups[0].name != controller.MainGroup {
			g.election.manager.lead()
		}
		failed, fail := context.WithCancelCause(context.Background())
		g.mu.Lock()
		group := startGroup(ctx, g.runnables, g.election.manager.logger, fail)
		g.leading = group
		g.mu.Unlock()
		defer func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.leading = nil
		}()
		select {
		case <-ctx.Done():
			if cause := context.Cause(ctx); errors.Is(cause, leaderelection.ErrLost) {
				g.election.lost(cause)
			}
		case <-failed.Done():
		}
		group.cancel()
		<-group.ended // hold the lease until the last runnable has ended
		return context.Cause(failed)
	})
}

// add adds a runnable to the group while this manager leads. It reports false if the group is being stopped.
func (g *electedGroup) add(r Runnable) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.runnables = append(g.runnables, r)
	return g.leading == nil || g.leading.add(r)
}

// stragglers returns the names of the runnables that still run, or of the group if only its lease is still held.
func (g *electedGroup) stragglers() []string {
	g.mu.Lock()
	leading := g.leading
	g.mu.Unlock()
	if leading == nil {
		return []string{g.Name()}
	}
	return leading.stragglers()
}

// leases reads and writes Leases directly at the API server.
type leases struct{ live *client.REST }

func (l leases) Get(ctx context.Context, key object.Key, lease *coordinationv1.Lease) error {
	return l.live.Get(ctx, key, lease)
}

func (l leases) Create(ctx context.Context, lease *coordinationv1.Lease) error {
	return l.live.Create(ctx, lease)
}

func (l leases) Update(ctx context.Context, lease *coordinationv1.Lease) error {
	return l.live.Update(ctx, lease)
}

// LeaderElectionID returns the name of the main group's lease, or "" without leader election.
func (m *Manager) LeaderElectionID() string {
	if !m.opts.LeaderElection.Enabled {
		return ""
	}
	return m.opts.LeaderElection.ID
}

const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// Namespace returns the namespace of the operator itself and its leases: LeaderElection.Namespace of the options, or
// the namespace of the pod. Outside a pod it fails if the option is empty.
func (m *Manager) Namespace() (string, error) {
	if m.opts.LeaderElection.Namespace != "" {
		return m.opts.LeaderElection.Namespace, nil
	}
	namespace, err := podNamespace(namespaceFile)
	if errors.Is(err, errNoPod) {
		err = errors.New("leader election outside of a pod needs --leader-election-namespace")
	}
	return namespace, err
}

// errNoPod is the error of podNamespace outside a pod.
var errNoPod = errors.New("this process runs in no pod")

// podNamespace returns the namespace of the pod of this process, which is the content of file.
func podNamespace(file string) (string, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errNoPod
	}
	if err != nil {
		return "", fmt.Errorf("namespace of the pod: %w", err)
	}
	return strings.TrimSpace(string(content)), nil
}
