package manager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/cache"
)

// groupName identifies a group of runnables that start together.
type groupName string

const (
	servers     groupName = "servers"     // first, so that probes are answered from the start
	caches      groupName = "caches"      // before the runnables that read them
	recorders   groupName = "recorders"   // before runnables that may record events
	others      groupName = "others"      // independent of leadership
	controllers groupName = "controllers" // while this manager is the leader
)

// startOrder is the order in which groups start. They stop in the opposite order.
var startOrder = []groupName{servers, caches, recorders, others, controllers}

func groupOf(r Runnable) groupName {
	if _, ok := r.(*cache.Cache); ok {
		return caches
	}
	if electionOf(r).Off {
		return others
	}
	return controllers
}

func nameOf(r Runnable) string {
	switch r := r.(type) {
	case interface{ Name() string }:
		return r.Name()
	case *cache.Cache:
		return "cache"
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", r), "*")
}

// group is a set of runnables that run together.
type group struct {
	cancel context.CancelFunc
	fail   func(error) // receives the first error of each runnable, except after cancel
	logger *slog.Logger
	launch func(r *running) // runs r in a goroutine of all
	all    sync.WaitGroup   // grows only while closed is false
	ended  chan struct{}    // closed when, after cancel, the last runnable has ended

	mu      sync.Mutex
	closed  bool       // nothing can be started
	running []*running // in order of start
}

// running is a runnable of a group. Its address identifies it, since a Runnable need not be comparable.
type running struct{ Runnable }

// add runs r in addition. It reports false if the group is being stopped.
func (g *group) add(r Runnable) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	added := &running{r}
	g.running = append(g.running, added)
	g.launch(added)
	return true
}

func (g *group) run(ctx context.Context, r *running) {
	switch err := r.Run(ctx); {
	case err == nil:
	case ctx.Err() == nil:
		g.fail(fmt.Errorf("%s: %w", nameOf(r.Runnable), err))
	case !errors.Is(err, context.Canceled):
		g.logger.Error("ended with an error when it was stopped", "runnable", nameOf(r.Runnable), "err", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running = slices.DeleteFunc(g.running, func(other *running) bool { return other == r })
}

// tellStragglers is the interval at which the names of still running runnables are logged if there is no timeout.
const tellStragglers = 10 * time.Second

// stop ends all runnables and waits for them. It logs the names of those that still run after each third of the time
// until ctx ends, and returns them in the error when ctx ends.
func (g *group) stop(ctx context.Context) error {
	g.cancel()
	period := tellStragglers
	deadline, bounded := ctx.Deadline()
	if bounded {
		period = max(time.Millisecond, time.Until(deadline)/3)
	}
	tell := time.NewTicker(period)
	defer tell.Stop()
	for {
		select {
		case <-g.ended:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("still running at the end of the shutdown timeout: %s", strings.Join(g.stragglers(), ", "))
		case <-tell.C:
			if !bounded || time.Now().Before(deadline) {
				g.logger.Info("waiting for what still runs", "runnables", g.stragglers())
			}
		}
	}
}

// stragglers returns the names of the runnables that still run, in the order in which they were added.
func (g *group) stragglers() []string {
	g.mu.Lock()
	all := slices.Clone(g.running)
	g.mu.Unlock()
	var names []string
	for _, r := range all {
		if nested, ok := r.Runnable.(interface{ stragglers() []string }); ok {
			names = append(names, nested.stragglers()...)
		} else {
			names = append(names, nameOf(r.Runnable))
		}
	}
	return names
}

func startGroup(ctx context.Context, runnables []Runnable, logger *slog.Logger, fail func(error)) *group {
	ctx, cancel := context.WithCancel(ctx)
	g := &group{cancel: cancel, fail: fail, logger: logger, ended: make(chan struct{})}
	g.launch = func(r *running) {
		g.all.Go(func() { g.run(ctx, r) })
	}
	for _, r := range runnables {
		g.add(r)
	}
	go func() { // ends with the runnables
		<-ctx.Done()
		g.mu.Lock()
		g.closed = true
		g.mu.Unlock()
		g.all.Wait()
		close(g.ended)
	}()
	return g
}
