// Package signals shuts down programs at signals.
package signals

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"

	"github.com/kctrl-dev/kctrl/runtime/compat/simulated"
)

var taken atomic.Bool

// SetupSignalHandler returns a context that ends at the first SIGTERM or SIGINT. The second signal exits the program
// immediately. It panics if it is called twice.
func SetupSignalHandler() context.Context {
	if p := simulated.Current(); p != nil {
		return p.Context
	}
	if taken.Swap(true) {
		panic("SetupSignalHandler was called twice")
	}
	ctx, cancel := context.WithCancel(context.Background())
	received := make(chan os.Signal, 2)
	signal.Notify(received, shutdownSignals...)
	go func() {
		<-received
		cancel()
		<-received
		os.Exit(1)
	}()
	return ctx
}
