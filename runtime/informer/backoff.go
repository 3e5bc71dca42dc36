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
	// cutEvery is the shortest time between two pauses that were cut short, so that a server that answers others but
	// always fails this reflector is not asked much more often than by the pauses alone.
	cutEvery = 10 * time.Second
	// cutSpread is within what time those come back whose pauses were cut short together.
	cutSpread = time.Second
	// absentPause is the shortest pause while the server does not know the kind; the longest is twice that. The mapper
	// decides how often that means a request.
	absentPause = time.Second
)

// backoff is the pauses after failures: each twice as long as the one before, up to a limit, and stretched by a random
// factor up to two, so that many reflectors do not come back at one moment. A kind that is not there is looked for at a
// steady pace. The zero value is ready.
type backoff struct {
	pause time.Duration // the last one, without the random part; 0 before the first
	ended time.Time     // when it was over
	cut   time.Time     // when one was last cut short
}

// wait pauses after err, or until ctx ends. A Retry-After from the server is honoured if it is longer. The pause is cut
// short, but never below the shortest one and the Retry-After, when cure, if there is one, returns nil: what caused err is
// said to be over.
func (b *backoff) wait(ctx context.Context, err error, cure func(context.Context) error) {
	begun := time.Now()
	ctx, cancel := context.WithDeadline(ctx, begun.Add(b.next(err)))
	defer cancel()
	if cure != nil && b.awaitCure(ctx, begun.Add(max(firstPause, retryAfter(err))), cure) {
		b.cut = time.Now()
		sleep(ctx, rand.N(cutSpread))
	} else {
		<-ctx.Done()
	}
	b.ended = time.Now()
}

// awaitCure reports whether the cure comes before ctx ends. It is not looked for before that time.
func (b *backoff) awaitCure(ctx context.Context, from time.Time, cure func(context.Context) error) bool {
	if again := b.cut.Add(cutEvery); again.After(from) {
		from = again
	}
	return sleep(ctx, time.Until(from)) && cure(ctx) == nil
}

// next returns how long to pause after err.
func (b *backoff) next(err error) time.Duration {
	switch {
	case isAbsent(err):
		b.pause = 0
		return absentPause + rand.N(absentPause)
	case b.pause == 0 || time.Since(b.ended) >= healthyAfter:
		b.pause = firstPause
	default:
		b.pause = min(2*b.pause, longestPause)
	}
	return max(b.pause+rand.N(b.pause), retryAfter(err))
}

// retryAfter returns how long the server has asked to wait.
func retryAfter(err error) time.Duration {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	return time.Duration(seconds) * time.Second
}

// sleep waits for d, and reports false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
