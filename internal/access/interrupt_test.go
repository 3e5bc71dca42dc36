package access

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/tools/go/ssa"
)

func TestInterruptionIsTheCause(t *testing.T) {
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(interrupted)
	if _, err := analyze(ctx, Config{Dir: "."}); !errors.Is(err, interrupted) {
		t.Errorf("got %v, want the cause of the cancellation", err)
	}
}

func TestInterruptionEndsTheSearchOfCalls(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := newReach(&program{})
	r.queue = []*reached{{fn: &ssa.Function{}}}
	if r.from(ctx, nil); len(r.queue) != 1 {
		t.Error("the search continued after the interruption")
	}
}
