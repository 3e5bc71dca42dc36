// Package life contains code that types with a lifecycle share.
package life

import (
	"context"
	"errors"
	"time"
)

// ErrAlreadyRun is returned by the second call of Run of a value that can run only once.
var ErrAlreadyRun = errors.New("was run before")

// Sleep waits for d. If ctx ends first, it returns the error of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// IsClosed reports whether c is closed.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
