package figure

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/kctrl-dev/kctrl/bench/internal/process"
)

const (
	quiet     = time.Second            // a process is idle after this time without work
	quietTick = 100 * time.Millisecond // interval between checks
)

// measureSync measures the cost of caching all objects, the memory afterwards, and the peak memory during a relist.
func measureSync(ctx context.Context, side Side, count int, form Form) (Figures, error) {
	config, err := config()
	if err != nil {
		return nil, err
	}
	expiry := &expiry{listed: make(chan struct{}, 1)}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		expiry.next = next
		return expiry
	})
	start := time.Now()
	queue, err := side.Sync(ctx, config, form)
	if err != nil {
		return nil, err
	}
	figures := Figures{"sync wall, s": time.Since(start).Seconds(), "sync CPU, s": process.CPU().Seconds()}
	if figures["sync peak RSS, MiB"], err = process.Memory(0, process.Peak); err != nil {
		return nil, err
	}
	if got := queue.Len(); got != count {
		return nil, fmt.Errorf("%d of %d objects are in the queue", got, count)
	}
	queue.Drain()
	figures["retained heap, MiB"] = retained()
	if err := measureRelist(expiry, figures); err != nil {
		return nil, err
	}
	return figures, nil
}

// measureRelist expires the watch. It first returns all unused memory to the kernel, so that the measurement includes
// all memory of the relist.
func measureRelist(expiry *expiry, figures Figures) (err error) {
	settle()
	debug.FreeOSMemory()
	if figures["steady RSS, MiB"], err = process.Memory(0, process.Resident); err != nil {
		return err
	}
	if err := process.ForgetPeak(); err != nil {
		return err
	}
	before, start, allocated := process.CPU(), time.Now(), allocations()
	if err := expiry.expire(); err != nil {
		return err
	}
	<-expiry.listed
	figures["relist wall, s"] = time.Since(start).Seconds()
	settle()
	figures["relist allocations, MiB"] = allocations() - allocated
	figures["relist CPU, s"] = (process.CPU() - before).Seconds()
	peak, err := process.Memory(0, process.Peak)
	figures["relist peak RSS, MiB"] = peak
	figures["relist peak over steady RSS"] = peak / figures["steady RSS, MiB"]
	return err
}

// settle returns when this process has been idle for a while.
func settle() {
	last, since := process.CPU(), time.Now()
	for time.Since(since) < quiet {
		time.Sleep(quietTick)
		now := process.CPU()
		if now-last > quietTick/20 {
			since = time.Now()
		}
		last = now
	}
}
