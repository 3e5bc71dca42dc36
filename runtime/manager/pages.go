package manager

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// pages are what the metrics server serves to those whom the API server lets read them, beside the metrics.
type pages struct {
	started time.Time

	mu       sync.Mutex
	byPath   map[string]page
	sections map[string]func() any // of /statusz
}

// page is a handler, and who has set it up.
type page struct {
	http.Handler
	owner server.Owner
}

func newPages() *pages {
	return &pages{started: time.Now(), byPath: map[string]page{}, sections: map[string]func() any{}}
}

// Handle makes the metrics server answer GET of path by h, and of all below path when that ends in a slash. Who asks must
// have a bearer token that the API server knows, and be allowed to get the path:
//
//	// in a ClusterRole
//	- nonResourceURLs: ["/debug/controllers/*"]
//	  verbs: ["get"]
//
// It is not served when there is no metrics server, nor when that is insecure. It may be called at any time, and fails when
// the path has another handler.
func (m *Manager) Handle(path string, h http.Handler) error {
	if s, ok := answering[interface {
		AddMetricsServerExtraHandler(string, http.Handler) error
	}](m.connection); ok {
		return s.AddMetricsServerExtraHandler(path, h)
	}
	return m.pages.add(m.Owner(), path, h)
}

func (p *pages) add(owner server.Owner, path string, h http.Handler) error {
	if !strings.HasPrefix(path, "/") {
		return fmt.Errorf("handle %q: want a path that begins with a slash", path)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if other, taken := p.byPath[path]; taken && !owner.Replaces(other.owner) {
		return fmt.Errorf("handle %s: it has another handler", path)
	}
	p.byPath[path] = page{h, owner}
	return nil
}

// find returns the handler of path, or of the nearest folder around it.
func (p *pages) find(path string) http.Handler {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at := path; ; {
		if h := p.byPath[at].Handler; h != nil {
			return h
		}
		folder := strings.TrimSuffix(at, "/")
		slash := strings.LastIndexByte(folder, '/')
		if slash < 0 {
			return nil
		}
		at = folder[:slash+1]
	}
}

// ServeHTTP answers 404 where nothing is, and 405 to all but GET and HEAD.
func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := p.find(r.URL.Path)
	switch {
	case h == nil:
		http.NotFound(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
	default:
		w.Header().Set("X-Content-Type-Options", "nosniff")
		h.ServeHTTP(w, r)
	}
}

// AddStatus adds a section to /statusz, which is what of returns, as JSON. of is called for each request, also by several
// goroutines. A later section of the same name stands in its place.
func (m *Manager) AddStatus(name string, of func() any) {
	m.pages.mu.Lock()
	defer m.pages.mu.Unlock()
	m.pages.sections[name] = of
}

// statusz says what runs, as JSON: the program, since when, who leads what, and what is ready or why not.
func (m *Manager) statusz(w http.ResponseWriter, r *http.Request) {
	status := map[string]any{
		"program": filepath.Base(os.Args[0]),
		"started": m.pages.started.UTC().Format(time.RFC3339),
		"up":      time.Since(m.pages.started).Round(time.Second).String(),
		"go":      runtime.Version(),
		"ready":   m.readyz.results(r),
		"healthy": m.healthz.results(r),
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		status["version"] = build.Main.Version
	}
	if terms := m.terms(); len(terms) > 0 {
		status["leaderElection"] = terms
	}
	m.pages.mu.Lock()
	sections := maps.Clone(m.pages.sections)
	m.pages.mu.Unlock()
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
