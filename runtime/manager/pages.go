package manager

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// sections are those of /statusz, by name.
type sections struct {
	mu     sync.Mutex
	byName map[string]func() any
}

// Handle makes the metrics server answer GET of path by h, and of all below path when that ends in a slash. Who asks
// must have a bearer token that the API server knows, and be allowed to get the path:
//
//	// in a ClusterRole
//	- nonResourceURLs: ["/debug/controllers/*"]
//	  verbs: ["get"]
//
// It is not served when there is no metrics server, nor when that is insecure. It may be called at any time, and
// fails when the path has another handler.
func (m *Manager) Handle(path string, h http.Handler) error {
	return m.pages.Add(server.Owner{}, path, h)
}

// AddStatus adds a section to /statusz, which is what of returns, as JSON. of is called for each request, also by
// several goroutines. A later section of the same name stands in its place.
func (m *Manager) AddStatus(name string, of func() any) {
	m.sections.mu.Lock()
	defer m.sections.mu.Unlock()
	if m.sections.byName == nil {
		m.sections.byName = map[string]func() any{}
	}
	m.sections.byName[name] = of
}

// statusz says what runs, as JSON: the program, since when, who leads what, and what is ready or why not.
func (m *Manager) statusz(w http.ResponseWriter, r *http.Request) {
	status := map[string]any{
		"program": filepath.Base(os.Args[0]),
		"started": m.created.UTC().Format(time.RFC3339),
		"up":      time.Since(m.created).Round(time.Second).String(),
		"go":      runtime.Version(),
		"ready":   m.readyz.Results(r),
		"healthy": m.healthz.Results(r),
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		status["version"] = build.Main.Version
	}
	if terms := m.terms(); len(terms) > 0 {
		status["leaderElection"] = terms
	}
	m.sections.mu.Lock()
	sections := maps.Clone(m.sections.byName)
	m.sections.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		status[name] = sections[name]()
	}
	writeJSON(w, status)
}

func writeJSON(w http.ResponseWriter, value any) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n')) // the client is told by the connection
}

// termStatus is who leads a leader election group.
type termStatus struct {
	Group   string `json:"group"`
	Leader  string `json:"leader"`
	Leading bool   `json:"leading"`
}

func (m *Manager) terms() []termStatus {
	m.mu.Lock()
	groups := slices.Clone(m.elected)
	m.mu.Unlock()
	var all []termStatus
	for _, g := range groups {
		g.mu.Lock()
		leading := g.leading != nil
		g.mu.Unlock()
		all = append(all, termStatus{Group: g.name, Leader: g.elector.Leader(), Leading: leading})
	}
	return all
}
