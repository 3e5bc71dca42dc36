package simulator

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// gate lets operations, which are requests and events, pass one at a time. It is safe for concurrent use.
type gate struct {
	random *rand.Rand // only run uses it
	wake   chan struct{}
	beats  *atomic.Int64 // increases while the bubble makes progress
	settle func()        // waits until all goroutines have processed the previous operation

	mu      sync.Mutex
	pending []*operation
	held    int       // operations that have passed, but that a fault holds back
	last    time.Time // time of the last activity
}

// operation is a request or an event that waits for the gate.
type operation struct {
	order  string    // sort key of pending operations; operations with equal keys are interchangeable
	from   time.Time // earliest time at which the operation passes
	quiet  bool      // the operation does not count as activity
	polls  bool      // it counts as activity only while it waits, because its response may show that nothing changed
	passed chan struct{}
}

func newGate(seed uint64, beats *atomic.Int64, settle func()) *gate {
	return &gate{
		beats: beats, settle: settle, random: rand.New(rand.NewPCG(seed, 1)), wake: make(chan struct{}, 1), last: time.Now(),
	}
}

// pass waits until the operation passes, and returns true. It returns false if ctx ends before.
func (g *gate) pass(ctx context.Context, op *operation) bool {
	op.passed = make(chan struct{})
	g.mu.Lock()
	g.pending = append(g.pending, op)
	g.mu.Unlock()
	g.poke()
	select {
	case <-op.passed:
		return true
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pending = slices.DeleteFunc(g.pending, func(other *operation) bool { return other == op })
	select {
	case <-op.passed:
		return true
	default:
		return false
	}
}

func (g *gate) poke() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// fast is the number of operations of a run that take no virtual time. Each further operation takes a second, so that a
// run with an endless loop of operations reaches its time limit.
const fast = 3000

// run lets operations pass until ctx ends.
func (g *gate) run(ctx context.Context) {
	passed := 0
	for ctx.Err() == nil {
		g.beats.Add(1)
		g.settle()
		next, wait := g.next()
		if next {
			if passed++; passed > fast {
				time.Sleep(time.Second)
			}
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-g.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// next lets one operation pass. If no operation may pass yet, it returns the time until one may.
func (g *gate) next() (passed bool, wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	wait = time.Hour
	var ready []*operation
	for _, op := range g.pending {
		if left := op.from.Sub(now); left > 0 {
			wait = min(wait, left)
			continue
		}
		ready = append(ready, op)
	}
	if len(ready) == 0 {
		return false, wait
	}
	slices.SortStableFunc(ready, func(a, b *operation) int { return strings.Compare(a.order, b.order) })
	op := ready[g.random.IntN(len(ready))]
	g.pending = slices.DeleteFunc(g.pending, func(other *operation) bool { return other == op })
	if !op.quiet && !op.polls {
		g.last = now
	}
	close(op.passed)
	return true, 0
}

// hold holds back an operation that has passed, for a time or until ctx ends.
func (g *gate) hold(ctx context.Context, d time.Duration) {
	g.mu.Lock()
	g.held++
	g.mu.Unlock()
	sleep(ctx, d)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held--
	g.last = time.Now()
}

// sleep waits for a time or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// touch records activity.
func (g *gate) touch() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = time.Now()
}

// idle returns the time since the last activity. It returns 0 while an operation is held back, and while an operation
// waits that counts as activity.
func (g *gate) idle() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held > 0 || slices.ContainsFunc(g.pending, func(op *operation) bool { return !op.quiet }) {
		return 0
	}
	return time.Since(g.last)
}
