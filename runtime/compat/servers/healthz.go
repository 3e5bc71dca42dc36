package servers

import (
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/kctrl-dev/kctrl/runtime/internal/serve"
)

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
	var all serve.Checks
	for name, check := range h.Checks {
		all.Add(name, check)
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
