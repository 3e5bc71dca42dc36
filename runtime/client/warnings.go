package client

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// maxWarnings is the number of reported warnings after which warnings forgets all of them.
const maxWarnings = 256

// warnings reports each warning of the server once, to the handler of the rest.Config if set, and otherwise to the
// logger.
type warnings struct {
	handler rest.WarningHandlerWithContext
	logger  *slog.Logger

	mu   sync.Mutex
	seen map[string]bool // reported warnings, at most maxWarnings
}

func newWarnings(config *rest.Config, logger *slog.Logger) *warnings {
	w := &warnings{handler: config.WarningHandlerWithContext, logger: logger, seen: map[string]bool{}}
	if w.handler == nil && config.WarningHandler != nil {
		w.handler = plainHandler{config.WarningHandler}
	}
	return w
}

// plainHandler adapts a handler without a context.
type plainHandler struct{ rest.WarningHandler }

func (p plainHandler) HandleWarningHeaderWithContext(_ context.Context, code int, agent, text string) {
	p.HandleWarningHeader(code, agent, text)
}

// handle reports the warnings in the header of an answer. It skips malformed ones.
func (w *warnings) handle(ctx context.Context, header http.Header) {
	parsed, _ := utilnet.ParseWarningHeaders(header.Values("Warning"))
	for _, warning := range parsed {
		switch {
		case w.handler != nil:
			w.handler.HandleWarningHeaderWithContext(ctx, warning.Code, warning.Agent, warning.Text)
		case warning.Code == 299 && w.first(warning.Text):
			w.logger.WarnContext(ctx, "warning from the API server", "warning", warning.Text)
		}
	}
}

// first reports whether text was not reported recently.
func (w *warnings) first(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen[text] {
		return false
	}
	if len(w.seen) >= maxWarnings {
		clear(w.seen)
	}
	w.seen[text] = true
	return true
}
