package vet_test

import (
	"context"
	"errors"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/vet"
)

func TestInterruptionIsTheCause(t *testing.T) {
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(interrupted)
	if _, err := vet.Run(ctx, vet.Options{Dir: "."}); !errors.Is(err, interrupted) {
		t.Errorf("got %v, want the cause of the cancellation", err)
	}
}
