// Package simulated lets kctrl sim run the main function of an operator that uses controller-runtime's API. While a
// process is current, the packages of compat/controller-runtime connect to the API server of that process, and serve
// nothing on the network.
package simulated

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

// Process is a simulated process of an operator. Its fields must not change after [Enter].
type Process struct {
	// Context ends when the process crashes.
	Context context.Context
	// Config connects to the API server.
	Config *rest.Config
	// Logger receives the logs of the process.
	Logger *slog.Logger
	// Elects enables leader election, with a lease in Namespace. If it is false, leader election is disabled regardless of
	// the operator's options.
	Elects    bool
	Namespace string
	// Resync is the interval of resyncs. Zero means the interval in the operator's options.
	Resync time.Duration
	// ServeWebhooks makes the API server call the webhooks of a mux until the context ends.
	ServeWebhooks func(context.Context, *http.ServeMux) error
	// Started is called when a manager starts, and Ended is called with its result.
	Started func(*runtime.Scheme, *metrics.Registry)
	Ended   func(error)
}

var current atomic.Pointer[Process]

// Enter makes p the current process. Call it when the main function of p begins.
func Enter(p *Process) { current.Store(p) }

// Current returns the process whose main function began last, or nil if the program is not simulated.
func Current() *Process { return current.Load() }
