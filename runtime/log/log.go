// Package log carries a logger in a context. A controller puts its logger, with the attributes controller, key and
// reconcileID, into the context of every reconcile. If the reconciler and the code that it calls use that logger, each
// log line can be assigned to its reconcile:
//
//	log.FromContext(ctx).Info("created deployment", "deployment", name)
//
// The logger is a [slog.Logger] of the standard library. This package has no logger, level or format of its own. All
// functions are safe for concurrent use.
//
// Managers and controllers use a handler that [NewHandler] returns. If an argument contains an object, such as a
// Secret, the log line contains only the object's kind, namespace and name. [Full] logs the whole object.
package log

import (
	"context"
	"log/slog"
)

type contextKey struct{}

// FromContext returns the logger that [IntoContext] put into ctx or one of its parents. If there is none, or if ctx is
// nil, it returns [slog.Default]. It never returns nil.
func FromContext(ctx context.Context) *slog.Logger {
	if ctx == nil {
		return slog.Default()
	}
	if logger, ok := ctx.Value(contextKey{}).(*slog.Logger); ok {
		return logger
	}
	return slog.Default()
}

// IntoContext returns a context from which [FromContext] returns logger. If logger is nil, the logger of ctx is kept.
func IntoContext(ctx context.Context, logger *slog.Logger) context.Context {
	if logger == nil {
		return ctx
	}
	return context.WithValue(ctx, contextKey{}, logger)
}
