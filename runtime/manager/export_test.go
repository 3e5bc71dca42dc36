package manager

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/internal/serve"
)

// Program runs Main without exiting the process.
func Program(ctx context.Context, program string, args []string, stderr io.Writer, defaults Options,
	setup func(*Manager) error) int {
	return run(ctx, program, args, stderr, defaults, nil,
		func(_ context.Context, m controller.Manager) error { return setup(m.(*Manager)) })
}

// ProgramWithFlags runs Program with an operator's own flags.
func ProgramWithFlags(ctx context.Context, args []string, stderr io.Writer, own *flag.FlagSet,
	setup func(context.Context, *Manager) error) int {
	return run(ctx, "guestbook", args, stderr, Options{}, own, func(ctx context.Context, m controller.Manager) error {
		return setup(ctx, m.(*Manager))
	})
}

// ServedManifests returns the webhook configurations that the manager would install. Call it after Webhooks.
func ServedManifests(m *Manager) ([]*unstructured.Unstructured, error) {
	for _, s := range m.servers {
		if l, ok := s.(*localWebhooks); ok {
			return l.served()
		}
	}
	return nil, nil
}

// PodNamespace reads the pod's namespace from a file.
var PodNamespace = podNamespace

// LimitMemoryOf sets the memory limit from the control group.
var LimitMemoryOf = limitMemory

// LoopbackUnlessNamed adds the loopback host to a pprof address that has no host.
var LoopbackUnlessNamed = serve.LoopbackUnlessNamed

// EnvPrefix returns the prefix of a program's environment variables.
var EnvPrefix = envPrefix

// OptionsOf returns the options with which a manager runs.
func OptionsOf(m *Manager) Options { return m.opts }

// HealthzOf returns the handler of /healthz.
func HealthzOf(m *Manager) http.Handler { return m.healthz }

// NewGate returns the handler that guards metrics.
func NewGate(next http.Handler, live *client.REST, logger *slog.Logger) http.Handler {
	return serve.NewAuthorizer(next, live, logger)
}

// TrimEvery is the interval of a trimmer.
const TrimEvery = trimEvery

// NewTrimmer returns a trimmer that calls trim if read reports that too much memory is unused.
func NewTrimmer(read func() (live, held, allocated uint64), trim func()) Runnable {
	return &trimmer{trim: trim, read: func() heapState {
		live, held, allocated := read()
		return heapState{live: live, held: held, allocated: allocated}
	}}
}

// ReadHeap returns the sizes of the process's heap.
func ReadHeap() (live, held, allocated uint64) {
	h := readHeap()
	return h.live, h.held, h.allocated
}

// DecisionsOf returns how many decisions the authorizer of /metrics has cached.
func DecisionsOf(h http.Handler) int {
	return serve.Decisions(h)
}

// StatuszOf returns the handler of /statusz.
func StatuszOf(m *Manager) http.Handler { return http.HandlerFunc(m.statusz) }
