package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestLoadKeepsItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var calls atomic.Int64
		err := atRate(t.Context(), 101, 10, func(context.Context, int) error {
			calls.Add(1)
			return nil
		})
		if took := time.Since(start); err != nil || calls.Load() != 101 || took != 10*time.Second {
			t.Errorf("%d calls in %s, %v", calls.Load(), took, err)
		}
	})
}

func TestLoadEndsWithTheFirstError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		var calls atomic.Int64
		err := atRate(t.Context(), 1000, 10, func(_ context.Context, i int) error {
			calls.Add(1)
			if i == 5 {
				return broken
			}
			return nil
		})
		if !errors.Is(err, broken) || calls.Load() > 6 {
			t.Errorf("%d calls, %v", calls.Load(), err)
		}
	})
}
