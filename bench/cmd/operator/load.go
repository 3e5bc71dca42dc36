package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kctrl-dev/kctrl/bench/internal/table"
)

// writers is the maximum number of concurrent requests.
const writers = 32

// atRate calls work with each number below count: rate times per second, or as fast as possible if rate is 0.
func atRate(ctx context.Context, count, rate int, work func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	start := time.Now()
	var next atomic.Int64
	var writing sync.WaitGroup
	for range writers {
		writing.Go(func() {
			for i := int(next.Add(1)) - 1; i < count && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if rate > 0 {
					if err := sleep(ctx, time.Until(start.Add(time.Duration(i)*time.Second/time.Duration(rate)))); err != nil {
						return
					}
				}
				if err := work(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	writing.Wait()
	fmt.Fprintf(os.Stderr, "%d writes, %.0f a second\n", count, float64(count)/time.Since(start).Seconds())
	return context.Cause(ctx)
}

// measureTouches measures reconciles of objects after an annotation has changed.
func (m *measurement) measureTouches(ctx context.Context, r *running, figures table.Figures) error {
	before, err := r.send("sample")
	if err != nil {
		return err
	}
	err = atRate(ctx, m.touches, 0, func(ctx context.Context, i int) error {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"bench.example.com/touched":"%s"}}}`,
			time.Now().Format(time.RFC3339Nano))
		_, err := m.server.Patch(ctx, i%m.objects, patch)
		return err
	})
	if err != nil {
		return err
	}
	if m.touches > m.objects { // several events of one object may cause one reconcile
		return fmt.Errorf("%d touches are more than one for each of %d objects", m.touches, m.objects)
	}
	after, err := r.await(ctx, before.Reconciles+int64(m.touches))
	figures[touched] = perSecond(before, after)
	return err
}
