package manager

import (
	"log/slog"
	"net/http"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

// Program is Main without a process.
var Program = run

// PodNamespace reads the namespace of the pod from a file.
var PodNamespace = podNamespace

// OptionsOf returns the options that a manager runs with.
func OptionsOf(m *Manager) Options { return m.opts }

// NewGate returns the handler that guards metrics.
func NewGate(next http.Handler, live *client.REST, logger *slog.Logger) http.Handler {
	return newGate(next, live, logger)
}
