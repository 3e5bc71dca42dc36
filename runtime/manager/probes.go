package manager

import (
	"cmp"
	"fmt"
	"net/http"
	"path"
	"strings"
	"unicode"

	"github.com/kctrl-dev/kctrl/runtime/internal/httpserver"
	"github.com/kctrl-dev/kctrl/runtime/internal/serve"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// probeServer returns the server of the two probes.
func probeServer(opts Options, healthz, readyz *serve.Checks) httpserver.Options {
	mux := http.NewServeMux()
	for path, all := range map[string]*serve.Checks{opts.LivenessEndpointName: healthz, opts.ReadinessEndpointName: readyz} {
		mux.Handle("GET "+path, all)
		mux.Handle("GET "+path+"/{name...}", http.HandlerFunc(all.ServeOne))
	}
	return httpserver.Options{Name: "probes", Address: opts.ProbeAddress, Handler: mux}
}

// setProbePaths sets the paths of the probes that the options do not say, and checks those that they do.
func (o *Options) setProbePaths() error {
	o.LivenessEndpointName = cmp.Or(o.LivenessEndpointName, "/healthz")
	o.ReadinessEndpointName = cmp.Or(o.ReadinessEndpointName, "/readyz")
	for _, probe := range [][2]string{{"LivenessEndpointName", o.LivenessEndpointName}, {"ReadinessEndpointName", o.ReadinessEndpointName}} {
		field, name := probe[0], probe[1]
		if name == "/" || !strings.HasPrefix(name, "/") || path.Clean(name) != name || strings.ContainsAny(name, "{}?#%") || strings.ContainsFunc(name, unicode.IsSpace) {
			return fmt.Errorf("%s is %q: want the path of a probe, such as /readyz", field, name)
		}
	}
	if o.LivenessEndpointName == o.ReadinessEndpointName {
		return fmt.Errorf("LivenessEndpointName and ReadinessEndpointName are both %q: want two paths", o.ReadinessEndpointName)
	}
	return nil
}

// AddHealthz adds a check to the liveness probe, /healthz, whose failure makes the kubelet restart the pod.
func (m *Manager) AddHealthz(name string, check func(*http.Request) error) {
	m.healthz.Set(server.Owner{}, name, check)
}

// AddReadyz adds a check to the readiness probe, /readyz.
func (m *Manager) AddReadyz(name string, check func(*http.Request) error) {
	m.readyz.Set(server.Owner{}, name, check)
}
