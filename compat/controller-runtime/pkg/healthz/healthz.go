// Package healthz provides the handler of health probes.
package healthz

import (
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	logf "sigs.k8s.io/controller-runtime/pkg/internal/log"
)

var log = logf.RuntimeLog.WithName("healthz")

// Checker returns an error if a component is unhealthy.
type Checker func(req *http.Request) error

// Ping is always healthy.
var Ping Checker = func(*http.Request) error { return nil }

// Handler runs all checks at its root path, and a single check at /name. If it has no checks, it has the check ping.
type Handler struct {
	// Checks are the checks by name.
	Checks map[string]Checker
}

// ServeHTTP implements http.Handler. The query parameter exclude skips a check, and verbose lists all.
func (h *Handler) ServeHTTP(resp http.ResponseWriter, req *http.Request) {
	name := strings.TrimPrefix(path.Clean("/"+strings.TrimPrefix(req.URL.Path, "/")), "/")
	checks := h.Checks
	if len(checks) == 0 {
		checks = map[string]Checker{"ping": Ping}
	}
	if name == "" {
		serveAll(checks, resp, req)
		return
	}
	check, known := checks[name]
	if !known {
		http.NotFound(resp, req)
		return
	}
	CheckHandler{check}.ServeHTTP(resp, req)
}

func serveAll(checks map[string]Checker, resp http.ResponseWriter, req *http.Request) {
	query := req.URL.Query()
	excluded := map[string]bool{}
	for _, name := range query["exclude"] {
		excluded[name] = true
	}
	var lines []string
	failed := false
	for _, name := range slices.Sorted(maps.Keys(checks)) {
		if excluded[name] {
			delete(excluded, name)
			lines = append(lines, fmt.Sprintf("[+]%s excluded: ok", name))
			continue
		}
		if err := checks[name](req); err != nil {
			failed = true
			log.V(1).Info("healthz check failed", "checker", name, "error", err)
			lines = append(lines, fmt.Sprintf("[-]%s failed: reason withheld", name))
			continue
		}
		lines = append(lines, fmt.Sprintf("[+]%s ok", name))
	}
	if unknown := slices.Sorted(maps.Keys(excluded)); len(unknown) > 0 {
		for i, name := range unknown {
			unknown[i] = fmt.Sprintf("%q", name)
		}
		lines = append(lines, "warn: some health checks cannot be excluded: no matches for "+strings.Join(unknown, ","))
	}
	write(resp, lines, failed, query.Has("verbose"))
}

func write(resp http.ResponseWriter, lines []string, failed, verbose bool) {
	resp.Header().Set("Content-Type", "text/plain; charset=utf-8")
	resp.Header().Set("X-Content-Type-Options", "nosniff")
	outcome := "healthz check passed"
	if failed {
		resp.WriteHeader(http.StatusInternalServerError)
		log.Info("healthz check failed", "statuses", lines)
		outcome = "healthz check failed"
	} else if !verbose {
		fmt.Fprint(resp, "ok")
		return
	}
	fmt.Fprintf(resp, "%s\n", strings.Join(append(lines, outcome), "\n"))
}

// CheckHandler runs one check.
type CheckHandler struct{ Checker }

// ServeHTTP implements http.Handler.
func (h CheckHandler) ServeHTTP(resp http.ResponseWriter, req *http.Request) {
	if err := h.Checker(req); err != nil {
		http.Error(resp, fmt.Sprintf("internal server error: %v", err), http.StatusInternalServerError)
		return
	}
	fmt.Fprint(resp, "ok")
}
