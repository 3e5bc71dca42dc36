package controlplane

import (
	"context"
	"time"

	"github.com/gofrs/flock"
)

// lockFile locks path and returns a function that releases it. If another process has the lock, it calls waiting once
// and waits. The kernel releases the lock when the process dies.
func lockFile(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	lock := flock.New(path)
	locked, err := lock.TryLock()
	if err == nil && !locked {
		waiting()
		_, err = lock.TryLockContext(ctx, 100*time.Millisecond)
	}
	switch {
	case err == nil:
		return func() { lock.Close() }, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, unwritable(path, err)
}
