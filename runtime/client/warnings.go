package client

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// maxWarnings is how many texts are remembered before the memory is emptied.
const maxWarnings = 256

// warnings tells each warning of the server once, to the handler of the rest.Config if that has one and else to the
// logger.
type warnings struct {
	handler rest.WarningHandlerWithContext
	logger  *slog.Logger

	mu   sync.Mutex
	seen map[string]bool // texts that were logged; at most maxWarnings
}

func newWarnings(config *rest.Config, logger *slog.Logger) *warnings {
	w := &warnings{handler: config.WarningHandlerWithContext, logger: logger, seen: map[string]bool{}}
	if w.handler == nil && config.WarningHandler != nil {
		w.handler = plainHandler{config.WarningHandler}
	}
	return w
}

// plainHandler is a handler that has no use for the context.
type plainHandler struct{ rest.WarningHandler }

func (p plainHandler) HandleWarningHeaderWithContext(_ context.Context, code int, agent, text string) {
	p.HandleWarningHeader(code, agent, text)
}

// handle tells the warnings in the header of an answer. Those that cannot be parsed are left out.
func (w *warnings) handle(ctx context.Context, header http.Header) {
	values := header.Values("Warning")
	if len(values) == 0 {
		return
	}
	parsed, _ := utilnet.ParseWarningHeaders(values)
	for _, warning := range parsed {
		switch {
		case w.handler != nil:
			w.handler.HandleWarningHeaderWithContext(ctx, warning.Code, warning.Agent, warning.Text)
		case warning.Code == 299 && w.first(warning.Text):
			w.logger.WarnContext(ctx, "warning from the API server", "warning", warning.Text)
		}
	}
}

// tell logs a warning of the client's own, once.
func (w *warnings) tell(ctx context.Context, text string) {
	if w.first(text) {
		w.logger.WarnContext(ctx, text)
	}
}

// first reports whether text has not been seen lately.
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
