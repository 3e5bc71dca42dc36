// Package simulated lets kctrl sim run the main function of an operator that uses controller-runtime's API. While a
// process is current, the packages of compat/controller-runtime connect to its API server, and serve nothing on the
// network.
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
	// Elects turns leader election on, with a lease in Namespace. Otherwise it is off, whatever the operator's options.
	Elects    bool
	Namespace string
	// Resync is the interval of resyncs. 0 means the interval in the operator's options.
	Resync time.Duration
	// ServeWebhooks makes the API server call the webhooks of a mux until the context ends.
	ServeWebhooks func(context.Context, *http.ServeMux) error
	// Started is called when a manager starts, and Ended with its result.
	Started func(*runtime.Scheme, *metrics.Registry)
	Ended   func(error)
}

var current atomic.Pointer[Process]

// Enter makes p the current process: the one whose main function begins.
func Enter(p *Process) { current.Store(p) }

// Current returns the process whose main function began last, or nil in a program that is not simulated.
func Current() *Process { return current.Load() }
