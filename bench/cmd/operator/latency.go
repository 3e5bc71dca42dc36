package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/bench/internal/table"
	"github.com/kctrl-dev/kctrl/bench/internal/widgets"
)

const (
	warmUp = 10               // percent of the changes that do not count
	follow = 30 * time.Second // maximum wait for the last status
)

// change has the times of one change of a spec: when the write returned, and when the watch delivered the change and
// the status.
type change struct{ returned, seen, observed time.Time }

// state identifies a change by the generation of an object.
type state struct {
	namespace, name string
	generation      int64
}

// changes records the times of all changes, in any order.
type changes struct {
	mu   sync.Mutex
	all  map[state]*change
	open int           // changes without a status
	done chan struct{} // closed when open reaches 0
}

func newChanges(count int) *changes {
	return &changes{all: map[state]*change{}, open: count, done: make(chan struct{})}
}

// noteLocked uses set to record a time of the change that led to s.
func (c *changes) noteLocked(s state, set func(*change)) {
	if c.all[s] == nil {
		c.all[s] = &change{}
	}
	set(c.all[s])
}

// returned records that the write has returned.
func (c *changes) returned(written widgets.State, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := written.Metadata
	c.noteLocked(state{m.Namespace, m.Name, m.Generation}, func(change *change) { change.returned = at })
}

// watched records a watch event: a changed spec, or a status of the current spec.
func (c *changes) watched(e widgets.Event) {
	at := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	m, observed := e.Object.Metadata, e.Object.Status.ObservedGeneration
	c.noteLocked(state{m.Namespace, m.Name, m.Generation}, func(change *change) {
		switch {
		case observed < m.Generation && change.seen.IsZero():
			change.seen = at
		case observed == m.Generation && change.observed.IsZero():
			change.observed = at
			if c.open--; c.open == 0 {
				close(c.done)
			}
		}
	})
}

// times returns the time to the status of each change in milliseconds: from the return of the write, and from the watch
// event of the change.
func (c *changes) times(counts func(change) bool) (fromReturn, fromEvent []float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, change := range c.all {
		if counts(*change) {
			fromReturn = append(fromReturn, milliseconds(change.observed.Sub(change.returned)))
			fromEvent = append(fromEvent, milliseconds(change.observed.Sub(change.seen)))
		}
	}
	return fromReturn, fromEvent
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// measureLatency changes specs at a rate and measures the time until a watch delivers the status of each change.
func (m *measurement) measureLatency(ctx context.Context, r *running, figures table.Figures) error {
	before, err := r.send("sample")
	if err != nil {
		return err
	}
	c := newChanges(m.changes)
	start := time.Now()
	if err := m.change(ctx, c); err != nil {
		return err
	}
	after, err := r.send("sample")
	if err != nil {
		return err
	}
	counted := start.Add(time.Since(start) * warmUp / 100)
	fromReturn, fromEvent := c.times(func(change change) bool { return change.returned.After(counted) })
	figures[statusP50], figures[statusP99] = table.Percentile(fromReturn, 50), table.Percentile(fromReturn, 99)
	figures[reactionP50], figures[reactionP99] = table.Percentile(fromEvent, 50), table.Percentile(fromEvent, 99)
	figures[changeCPU] = (after.CPU - before.CPU) * 1000 / float64(m.changes)
	return nil
}

// change makes all changes and returns when each has its status.
func (m *measurement) change(ctx context.Context, c *changes) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	started, watching := make(chan struct{}), sync.WaitGroup{}
	watching.Go(func() { cancel(m.server.Watch(ctx, func() { close(started) }, c.watched)) })
	defer watching.Wait()
	defer cancel(nil) // ends the watch before Wait
	select {
	case <-started:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	stamp := time.Now().Unix() % 1e6 * 1000 // differs between runs
	err := atRate(ctx, m.changes, m.rate, func(ctx context.Context, i int) error {
		patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, stamp+int64(i/m.objects))
		written, err := m.server.Patch(ctx, i%m.objects, patch)
		c.returned(written, time.Now())
		return err
	})
	if err != nil {
		return err
	}
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(follow):
		return errors.New("the operator is too slow; decrease -rate")
	}
}
