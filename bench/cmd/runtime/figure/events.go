package figure

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kctrl-dev/kctrl/bench/internal/process"
	"github.com/kctrl-dev/kctrl/bench/internal/widgets"
	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
)

const (
	handlers    = 8
	eventKeys   = 10_000
	eventCount  = 200_000
	listKeys    = 10_000
	listRuns    = 50
	blockedKeys = 1_000
)

// last is the name of the object whose event comes last.
const last = "widget-last"

// some returns the objects with the numbers below count, and the last one.
func some(count int) []*v1.Widget {
	var objects []*v1.Widget
	for i := range count {
		o := widgets.New(i)
		o.UID, o.ResourceVersion = "uid", strconv.Itoa(i+1)
		objects = append(objects, o)
	}
	end := objects[0].DeepCopy()
	end.Name, end.UID = last, "uid-last"
	return append(objects, end)
}

// successor returns a later state of o.
func successor(o *v1.Widget, version int) *v1.Widget {
	next := *o
	next.ResourceVersion = strconv.Itoa(version)
	return &next
}

// measureEvents measures the time from watch events to the queues of several handlers.
func measureEvents(ctx context.Context, side Side) (Figures, error) {
	objects := some(eventKeys)
	var delivered atomic.Int64
	var ended sync.WaitGroup
	calls := make([]func(*v1.Widget), handlers)
	final := strconv.Itoa(2 * eventCount)
	for i := range calls {
		calls[i] = func(o *v1.Widget) {
			delivered.Add(1)
			if o.Name == last && o.ResourceVersion == final {
				ended.Done()
			}
		}
	}
	feed, err := side.Feed(ctx, objects, calls)
	if err != nil {
		return nil, err
	}
	updates := make([]*v1.Widget, 0, eventCount)
	for i := range eventCount - 1 {
		updates = append(updates, successor(objects[i%eventKeys], eventKeys+10+i))
	}
	updates = append(updates, successor(objects[eventKeys], 2*eventCount))
	retained() // collects garbage, so that both sides start alike
	ended.Add(handlers)
	delivered.Store(0)
	before, start := process.CPU(), time.Now()
	for _, o := range updates {
		feed.Update(o)
	}
	ended.Wait()
	took, used := time.Since(start), process.CPU()-before
	return Figures{
		"event to queue, ns":       float64(took.Nanoseconds()) / eventCount,
		"event to queue CPU, ns":   float64(used.Nanoseconds()) / eventCount,
		"deliveries of each event": float64(delivered.Load()) / eventCount / handlers,
	}, nil
}

// measureList measures one iteration over all objects of a cache.
func measureList(ctx context.Context, side Side) (Figures, error) {
	feed, err := side.Feed(ctx, some(listKeys), nil)
	if err != nil {
		return nil, err
	}
	var best time.Duration
	var replicas int64
	for range listRuns {
		count := 0
		start := time.Now()
		err := feed.List(func(o *v1.Widget) {
			count++
			replicas += int64(o.Spec.Replicas)
		})
		if took := time.Since(start); best == 0 || took < best {
			best = took
		}
		if err != nil || count != listKeys+1 {
			return nil, fmt.Errorf("listed %d objects of %d replicas: %w", count, replicas, err)
		}
	}
	return Figures{"list, µs": float64(best.Nanoseconds()) / 1e3}, nil
}

// measureBlocked measures how memory grows while a handler does not return.
func measureBlocked(ctx context.Context, side Side) (Figures, error) {
	objects := some(blockedKeys)
	var blocks atomic.Bool
	released := make(chan struct{})
	feed, err := side.Feed(ctx, objects, []func(*v1.Widget){func(*v1.Widget) {
		if blocks.Load() {
			<-released
		}
	}})
	if err != nil {
		return nil, err
	}
	blocks.Store(true)
	before := retained()
	for i := range eventCount {
		feed.Update(successor(widgets.New(i%blockedKeys), blockedKeys+10+i))
	}
	feed.Update(successor(objects[blockedKeys], 2*eventCount))
	if err := feed.arrived(last, strconv.Itoa(2*eventCount)); err != nil {
		return nil, err
	}
	grown := retained() - before
	close(released)
	return Figures{"growth behind a blocked handler, MiB": grown}, nil
}

// arrived returns when the cache has a version of an object.
func (f *Feed) arrived(name, version string) error {
	for found := false; !found; time.Sleep(quietTick) {
		err := f.List(func(o *v1.Widget) { found = found || o.Name == name && o.ResourceVersion == version })
		if err != nil {
			return err
		}
	}
	return nil
}
