//go:build linux || darwin

package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/kctrl-dev/kctrl/internal/controlplane"
)

// untilTerminated returns a context that ends with the first signal that would end this process. Signals that the
// process ignores, for example under nohup, do not end it. Until the caller calls stop, a write to a closed pipe only
// returns an error.
func untilTerminated(ctx context.Context) (_ context.Context, stop func()) {
	// Without this subscription, SIGPIPE ends a program that writes to a closed standard output. No goroutine needs to
	// read the channel.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	heeded := slices.DeleteFunc(slices.Clone(controlplane.Terminating), signal.Ignored)
	ctx, cancel := signal.NotifyContext(ctx, heeded...)
	return ctx, func() {
		cancel()
		signal.Stop(pipes)
	}
}
