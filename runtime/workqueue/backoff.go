package workqueue

import "time"

const (
	defaultBaseDelay = 5 * time.Millisecond
	defaultMaxDelay  = 1000 * time.Second
	// defaultExtraEvery is the default of ExtraEvery.
	defaultExtraEvery = time.Second
)

// backoff is the delay after the first failure, and the longest.
type backoff struct{ base, max time.Duration }

func newBackoff(base, limit time.Duration) backoff {
	if base <= 0 {
		base = defaultBaseDelay
	}
	if limit <= 0 {
		limit = defaultMaxDelay
	}
	return backoff{base: base, max: limit}
}

// delay returns base doubled by every earlier failure, up to the maximum. Any number of failures is fine.
func (b backoff) delay(failures int) time.Duration {
	if failures >= 63 || b.base > b.max>>failures {
		return b.max
	}
	return b.base << failures
}
