// Package verbosity maps between the levels of log/slog and the verbosity of logr, for loggers of code that was
// migrated from logr, and for libraries that use logr.
package verbosity

import (
	"context"
	"log/slog"
)

// AsDebug returns a logger that writes records of level info at level debug, like a logr logger with V(1). Records at
// other levels keep their level.
func AsDebug(logger *slog.Logger) *slog.Logger {
	if _, done := logger.Handler().(asDebug); done {
		return logger
	}
	return slog.New(asDebug{logger.Handler()})
}

// asDebug is a handler that changes the level info to debug.
type asDebug struct{ next slog.Handler }

// of returns the level at which a record is written.
func (asDebug) of(level slog.Level) slog.Level {
	if slog.LevelInfo <= level && level < slog.LevelWarn {
		return slog.LevelDebug
	}
	return level
}

// Enabled implements slog.Handler.
func (d asDebug) Enabled(ctx context.Context, level slog.Level) bool {
	return d.next.Enabled(ctx, d.of(level))
}

// Handle implements slog.Handler.
func (d asDebug) Handle(ctx context.Context, record slog.Record) error {
	record.Level = d.of(record.Level)
	return d.next.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (d asDebug) WithAttrs(attrs []slog.Attr) slog.Handler { return asDebug{d.next.WithAttrs(attrs)} }

// WithGroup implements slog.Handler.
func (d asDebug) WithGroup(name string) slog.Handler { return asDebug{d.next.WithGroup(name)} }
