package informer

import (
	"context"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	firstPause   = 800 * time.Millisecond
	longestPause = 30 * time.Second
	// healthyAfter is how long nothing must have failed for the next pause to be a first one again.
	healthyAfter = 2 * time.Minute
)

// backoff is the pauses after failures: each twice as long as the one before, up to a limit, and stretched by a random
// factor up to two, so that many reflectors do not come back at one moment. The zero value is ready.
type backoff struct {
	pause time.Duration // the last one, without the random part; 0 before the first
	ended time.Time     // when it was over
}

// wait pauses after err, or until ctx ends. A Retry-After from the server is honoured if it is longer.
func (b *backoff) wait(ctx context.Context, err error) {
	timer := time.NewTimer(b.next(err))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	b.ended = time.Now()
}

// next returns how long to pause after err.
func (b *backoff) next(err error) time.Duration {
	switch {
	case b.pause == 0 || time.Since(b.ended) >= healthyAfter:
		b.pause = firstPause
	default:
		b.pause = min(2*b.pause, longestPause)
	}
	pause := b.pause + rand.N(b.pause)
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		pause = max(pause, time.Duration(seconds)*time.Second)
	}
	return pause
}
