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

// Program runs Main without a process.
func Program(ctx context.Context, program string, args []string, stderr io.Writer, defaults Options,
	setup func(*Manager) error) int {
	return run(ctx, program, args, stderr, defaults, nil,
		func(_ context.Context, m controller.Manager) error { return setup(m.(*Manager)) })
}

// ProgramWithFlags runs Program with flags of the operator.
func ProgramWithFlags(ctx context.Context, args []string, stderr io.Writer, own *flag.FlagSet,
	setup func(context.Context, *Manager) error) int {
	return run(ctx, "guestbook", args, stderr, Options{}, own, func(ctx context.Context, m controller.Manager) error {
		return setup(ctx, m.(*Manager))
	})
}

// ServedManifests returns the webhook configurations that would be installed, after Webhooks.
func ServedManifests(m *Manager) ([]*unstructured.Unstructured, error) {
	for _, s := range m.servers {
		if l, ok := s.(*localWebhooks); ok {
			return l.served()
		}
	}
	return nil, nil
}

// PodNamespace reads the namespace of the pod from a file.
var PodNamespace = podNamespace

// LimitMemory sets the memory limit of the control group.
var LimitMemoryOf = limitMemory

// LoopbackUnlessNamed completes the address of pprof.
var LoopbackUnlessNamed = serve.LoopbackUnlessNamed

// EnvPrefix returns the prefix of a program's environment variables.
var EnvPrefix = envPrefix

// OptionsOf returns the options that a manager runs with.
func OptionsOf(m *Manager) Options { return m.opts }

// HealthzOf returns the handler of /healthz.
func HealthzOf(m *Manager) http.Handler { return m.healthz }

// NewGate returns the handler that guards metrics.
func NewGate(next http.Handler, live *client.REST, logger *slog.Logger) http.Handler {
	return serve.NewAuthorizer(next, live, logger)
}

// TrimEvery is the interval of a trimmer.
const TrimEvery = trimEvery

// NewTrimmer returns a trimmer that frees memory by trim if read reports too much.
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

// DecisionsOf returns how many decisions the authorizer of /metrics remembers.
func DecisionsOf(h http.Handler) int {
	return serve.Decisions(h)
}

// StatuszOf returns the handler of /statusz.
func StatuszOf(m *Manager) http.Handler { return http.HandlerFunc(m.statusz) }
