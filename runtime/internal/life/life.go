// Package life has shared code of lifecycles.
package life

import (
	"context"
	"errors"
	"time"
)

// ErrAlreadyRun is the error of the second Run of a value that can run once.
var ErrAlreadyRun = errors.New("was run before")

// Sleep waits for d. It returns the error of ctx if that ends first.
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
