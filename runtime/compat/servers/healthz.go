package servers

import (
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/kctrl-dev/kctrl/runtime/internal/serve"
)

// HealthHandler answers 200 if all checks pass and 500 with the failures otherwise, for servers other than the
// manager's. A path below its own selects a single check by name. It is safe for concurrent use if Checks does not
// change.
type HealthHandler struct {
	Checks map[string]func(*http.Request) error
}

// ServeHTTP runs the checks.
func (h *HealthHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The remaining path may start with a slash, depending on how the handler is mounted, and may end with one.
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
	var all serve.Checks
	for name, check := range h.Checks {
		all.Add(name, check)
	}
	all.ServeHTTP(w, r)
}

// CheckHandler answers 200 if a check passes, and 500 with the failure otherwise.
type CheckHandler struct {
	Checker func(*http.Request) error
}

// ServeHTTP runs the check.
func (h CheckHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h.Checker(r); err != nil {
		http.Error(w, fmt.Sprintf("internal server error: %v", err), http.StatusInternalServerError)
		return
	}
	fmt.Fprint(w, "ok")
}
