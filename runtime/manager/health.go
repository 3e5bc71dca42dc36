package manager

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// checks are the checks of a probe by name. The zero value has none, which is healthy.
type checks struct {
	mu     sync.Mutex
	byName map[string]func(*http.Request) error
}

func (c *checks) add(name string, check func(*http.Request) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName == nil {
		c.byName = map[string]func(*http.Request) error{}
	}
	c.byName[name] = check
}

func (c *checks) snapshot() map[string]func(*http.Request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.byName)
}

// ServeHTTP answers 200 when all checks pass and 500 otherwise. With ?verbose, and when one fails, it lists all of them
// with what is wrong.
func (c *checks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	byName := c.snapshot()
	healthy := true
	var report strings.Builder
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if err := byName[name](r); err != nil {
			healthy = false
			fmt.Fprintf(&report, "[-] %s: %v\n", name, strings.ReplaceAll(err.Error(), "\n", "; "))
		} else {
			fmt.Fprintf(&report, "[+] %s\n", name)
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

func newProbeServer(address string, healthz, readyz *checks, logger *slog.Logger) *server {
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", healthz)
	mux.Handle("GET /readyz", readyz)
	return &server{name: "probes", address: address, handler: mux, logger: logger}
}
