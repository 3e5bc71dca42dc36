// Package log carries a logger in a context. A controller puts its logger, with the attributes controller, key and
// reconcileID, into the context of every reconcile; code below takes it out, so that its lines can be told apart:
//
//	log.FromContext(ctx).Info("created deployment", "deployment", name)
//
// The logger is a [slog.Logger] of the standard library. This package has no logger, no level and no format of its
// own, and all functions are safe for use from several goroutines.
//
// Managers and controllers log by a handler of [NewHandler]: of an object among the arguments, such as a Secret, a line has
// kind, namespace and name. With [Full] it has all.
package log

import (
	"context"
	"log/slog"
)

type contextKey struct{}

// FromContext returns the logger that [IntoContext] put into ctx or one of its parents, and [slog.Default] when there
// is none, or when ctx is nil. It never returns nil.
func FromContext(ctx context.Context) *slog.Logger {
	if ctx == nil {
		return slog.Default()
	}
	if logger, ok := ctx.Value(contextKey{}).(*slog.Logger); ok {
		return logger
	}
	return slog.Default()
}

// IntoContext returns a context that gives logger to [FromContext]. A nil logger means the one that ctx has already.
func IntoContext(ctx context.Context, logger *slog.Logger) context.Context {
	if logger == nil {
		return ctx
	}
	return context.WithValue(ctx, contextKey{}, logger)
}
