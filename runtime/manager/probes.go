package manager

import (
	"cmp"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/kctrl-dev/kctrl/runtime/internal/httpserver"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// checks are the checks of a probe. The zero value has none, which is healthy.
type checks struct {
	mu  sync.Mutex
	all []*check // by name, those of one name as they were added
}

type check struct {
	name  string
	run   func(*http.Request) error
	owner server.Owner // who has set it up
}

// add adds a check, which remove takes away again.
func (c *checks) add(name string, run func(*http.Request) error) (remove func()) {
	added := &check{name: name, run: run}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.insertLocked(added)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all = slices.DeleteFunc(c.all, func(other *check) bool { return other == added })
	}
}

// set adds a check of somebody, in place of one of the same name of an earlier build of theirs.
func (c *checks) set(owner server.Owner, name string, run func(*http.Request) error) {
	added := &check{name: name, run: run, owner: owner}
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.all, func(other *check) bool { return owner.Replaces(other.owner) && other.name == name })
	if i >= 0 {
		c.all[i] = added
		return
	}
	c.insertLocked(added)
}

// dropBefore takes away the checks of earlier builds of an owner, which are about what is gone.
func (c *checks) dropBefore(owner server.Owner) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = slices.DeleteFunc(c.all, func(other *check) bool { return owner.Replaces(other.owner) })
}

func (c *checks) insertLocked(added *check) {
	c.all = append(c.all, added)
	slices.SortStableFunc(c.all, func(a, b *check) int { return strings.Compare(a.name, b.name) })
}

func (c *checks) snapshot() []*check {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

// ServeHTTP answers 200 when all checks pass and 500 otherwise. With ?verbose, and when one fails, it lists all of them
// with what is wrong. Those that ?exclude=NAME names, as often as there are, are not asked.
func (c *checks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	healthy := true
	excluded := r.URL.Query()["exclude"]
	var report strings.Builder
	for _, check := range c.snapshot() {
		if slices.Contains(excluded, check.name) {
			fmt.Fprintf(&report, "[+] %s, excluded\n", check.name)
		} else if err := check.run(r); err != nil {
			healthy = false
			fmt.Fprintf(&report, "[-] %s: %v\n", check.name, strings.ReplaceAll(err.Error(), "\n", "; "))
		} else {
			fmt.Fprintf(&report, "[+] %s\n", check.name)
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if !healthy {
		w.WriteHeader(http.StatusInternalServerError)
	}
	if !healthy || r.URL.Query().Has("verbose") {
		fmt.Fprint(w, report.String())
		return
	}
	fmt.Fprintln(w, "ok")
}

// probeServer returns the server of the two probes.
func probeServer(opts Options, healthz, readyz *checks) httpserver.Options {
	mux := http.NewServeMux()
	for path, all := range map[string]*checks{opts.LivenessEndpointName: healthz, opts.ReadinessEndpointName: readyz} {
		mux.Handle("GET "+path, all)
		mux.Handle("GET "+path+"/{name...}", http.HandlerFunc(all.serveOne))
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
	if s, ok := answering[interface {
		AddHealthzCheck(string, func(*http.Request) error) error
	}](m.connection); ok {
		_ = s.AddHealthzCheck(name, check) // checks are added without an error
		return
	}
	m.healthz.set(m.Owner(), name, check)
}

// AddReadyz adds a check to the readiness probe, /readyz.
func (m *Manager) AddReadyz(name string, check func(*http.Request) error) {
	if s, ok := answering[interface {
		AddReadyzCheck(string, func(*http.Request) error) error
	}](m.connection); ok {
		_ = s.AddReadyzCheck(name, check) // checks are added without an error
		return
	}
	m.readyz.set(m.Owner(), name, check)
}

// serveOne answers for the check that the path names alone; without a name it answers for all.
func (c *checks) serveOne(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if name == "" {
		c.ServeHTTP(w, r)
		return
	}
	one := checks{all: slices.DeleteFunc(c.snapshot(), func(other *check) bool { return other.name != name })}
	if len(one.all) == 0 {
		http.NotFound(w, r)
		return
	}
	one.ServeHTTP(w, r)
}

// results returns what each check says: "ok", or what is wrong.
func (c *checks) results(r *http.Request) map[string]string {
	results := map[string]string{}
	for _, check := range c.snapshot() {
		result := "ok"
		if err := check.run(r); err != nil {
			result = err.Error()
		}
		results[check.name] = result
	}
	return results
}

// HealthHandler answers 200 when all checks pass and 500 otherwise, with what is wrong, for servers beside that of the manager's probes.
// Below its path a check alone is asked by its name. It is safe for concurrent use while nobody changes the map.
type HealthHandler struct {
	Checks map[string]func(*http.Request) error
}

// ServeHTTP asks the checks.
func (h *HealthHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Who serves it below a path may have left a slash at the beginning or none, and clients may have one at the end.
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	if name != "" {
		check, ok := h.Checks[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		CheckHandler{check}.ServeHTTP(w, r)
		return
	}
	var all checks
	for name, check := range h.Checks {
		all.add(name, check)
	}
	all.ServeHTTP(w, r)
}

// CheckHandler answers 200 when a check passes, and 500 with what is wrong.
type CheckHandler struct {
	Checker func(*http.Request) error
}

// ServeHTTP asks the check.
func (h CheckHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h.Checker(r); err != nil {
		http.Error(w, fmt.Sprintf("internal server error: %v", err), http.StatusInternalServerError)
		return
	}
	fmt.Fprint(w, "ok")
}
