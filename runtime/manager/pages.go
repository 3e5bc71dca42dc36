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
	"time"

	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// Handle makes the metrics server call h for GET requests of path. If path ends in a slash, h also serves all paths
// below it. Clients must send a bearer token that the API server authenticates, and need permission to get the path:
//
//	// in a ClusterRole
//	- nonResourceURLs: ["/debug/controllers/*"]
//	  verbs: ["get"]
//
// The page is not available if the metrics server is disabled or insecure. Handle may be called at any time. It fails
// if the path already has a handler.
func (m *Manager) Handle(path string, h http.Handler) error {
	return m.pages.Add(server.Owner{}, path, h)
}

// AddStatus adds a section to /statusz, which contains the result of the function of as JSON. The server calls of for
// each request, possibly concurrently. A later section replaces an earlier section of the same name.
func (m *Manager) AddStatus(name string, of func() any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sections[name] = of
}

// statusz writes the program, its start time, the leaders and the results of all checks as JSON.
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
	m.mu.Lock()
	sections := maps.Clone(m.sections)
	m.mu.Unlock()
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
	_, _ = w.Write(append(text, '\n')) // the client detects errors of the connection
}

// termStatus is the leader of a leader election group.
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
