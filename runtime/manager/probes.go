package manager

import (
	"net/http"

	"github.com/kctrl-dev/kctrl/runtime/internal/httpserver"
	"github.com/kctrl-dev/kctrl/runtime/internal/serve"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// probeServer returns the server of the two probes.
func probeServer(opts Options, healthz, readyz *serve.Checks) httpserver.Options {
	mux := http.NewServeMux()
	for path, all := range map[string]*serve.Checks{opts.LivenessEndpointName: healthz,
		opts.ReadinessEndpointName: readyz} {
		mux.Handle("GET "+path, all)
		mux.Handle("GET "+path+"/{name...}", http.HandlerFunc(all.ServeOne))
	}
	return httpserver.Options{Name: "probes", Address: opts.HealthProbeBindAddress, Handler: mux}
}

// AddHealthz adds a check to the liveness probe, /healthz. If the probe fails, the kubelet restarts the container.
func (m *Manager) AddHealthz(name string, check func(*http.Request) error) {
	m.healthz.Set(server.Owner{}, name, check)
}

// AddReadyz adds a check to the readiness probe, /readyz.
func (m *Manager) AddReadyz(name string, check func(*http.Request) error) {
	m.readyz.Set(server.Owner{}, name, check)
}
