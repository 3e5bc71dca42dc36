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

// untilTerminated returns a context that ends with the first signal that would end this process, save those that it was
// started to ignore, as nohup starts it. While it is not stopped, a write that nobody reads is an error and nothing more.
func untilTerminated(ctx context.Context) (_ context.Context, stop func()) {
	// A program that asks for SIGPIPE is told of every write to a socket whose other end is closed, and one that does not
	// is ended by a write to a standard output that nobody reads. So it is asked for, and nobody looks.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	heeded := slices.DeleteFunc(slices.Clone(controlplane.Terminating), signal.Ignored)
	ctx, cancel := signal.NotifyContext(ctx, heeded...)
	return ctx, func() {
		cancel()
		signal.Stop(pipes)
	}
}
