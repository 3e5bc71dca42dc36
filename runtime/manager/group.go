package manager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/cache"
)

// groupName says when something runs.
type groupName string

const (
	servers     groupName = "servers"     // first, so that probes answer from the start
	caches      groupName = "caches"      // before everything that reads them
	recorders   groupName = "recorders"   // while anything runs that may record events
	others      groupName = "others"      // whether or not this manager leads
	controllers groupName = "controllers" // while this manager leads
)

// startOrder is the order of the groups. They stop in the opposite order.
var startOrder = []groupName{servers, caches, recorders, others, controllers}

// groupOf returns where something that was added belongs.
func groupOf(r Runnable) groupName {
	if _, ok := r.(*cache.Cache); ok {
		return caches
	}
	if elected, ok := r.(LeaderElectionRunnable); ok && !elected.NeedLeaderElection() {
		return others
	}
	return controllers
}

// nameOf names something that runs, for logs and errors.
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
	fail   func(error) // is told of the first error of each, except after cancel
	logger *slog.Logger
	launch func(place int, r Runnable) // runs it in a goroutine of all
	all    sync.WaitGroup              // grows only while closed is false
	ended  chan struct{}               // closed when, after cancel, the last has ended

	mu      sync.Mutex
	closed  bool // nothing is started any more
	started int
	running map[int]Runnable // by the place among those that were started: a Runnable need not be comparable
}

// add runs r too. It reports false when the group is being stopped.
func (g *group) add(r Runnable) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	place := g.started
	g.started++
	g.running[place] = r
	g.launch(place, r)
	return true
}

func (g *group) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

func (g *group) run(ctx context.Context, place int, r Runnable) {
	switch err := r.Run(ctx); {
	case err == nil:
	case ctx.Err() == nil:
		g.fail(fmt.Errorf("%s: %w", nameOf(r), err))
	case !errors.Is(err, context.Canceled):
		g.logger.Error("ended with an error when it was stopped", "runnable", nameOf(r), "err", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.running, place)
}

// tellStragglers is how often it is logged what still runs if there is no end of the time for it.
const tellStragglers = 10 * time.Second

// stop ends all and waits for them, and names those that still run: in the log each third of the time that ctx gives
// them, and in the error when ctx ends first.
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

// stragglers returns the names of those that still run, in the order in which they were added.
func (g *group) stragglers() []string {
	g.mu.Lock()
	running := maps.Clone(g.running)
	g.mu.Unlock()
	var names []string
	for _, place := range slices.Sorted(maps.Keys(running)) {
		r := running[place]
		if nested, ok := r.(interface{ stragglers() []string }); ok {
			names = append(names, nested.stragglers()...)
		} else {
			names = append(names, nameOf(r))
		}
	}
	return names
}

// startGroup runs all of runnables.
func startGroup(ctx context.Context, runnables []Runnable, logger *slog.Logger, fail func(error)) *group {
	ctx, cancel := context.WithCancel(ctx)
	g := &group{cancel: cancel, fail: fail, logger: logger, ended: make(chan struct{}), running: map[int]Runnable{}}
	g.launch = func(place int, r Runnable) {
		g.all.Go(func() { g.run(ctx, place, r) })
	}
	for _, r := range runnables {
		g.add(r)
	}
	go func() { // ends with the runnables
		<-ctx.Done()
		g.close()
		g.all.Wait()
		close(g.ended)
	}()
	return g
}

// failure keeps the first error that is reported.
type failure struct {
	once     sync.Once
	happened chan struct{}
	err      error // set before happened is closed
}

func (f *failure) report(err error) {
	f.once.Do(func() {
		f.err = err
		close(f.happened)
	})
}

// first returns the error that was reported, if one was.
func (f *failure) first() error {
	select {
	case <-f.happened:
		return f.err
	default:
		return nil
	}
}

func newFailure() *failure { return &failure{happened: make(chan struct{})} }
