package verbosity

import (
	"context"
	"log/slog"
)

// DebugAtV1 is next with the lines below [slog.LevelInfo] at V(1) of logr. It goes around logr.ToSlogHandler, which
// has a line of [slog.LevelDebug] at V(4): a sink that shows debug lines, such as zapr over a core at zap.DebugLevel,
// leaves these out.
func DebugAtV1(next slog.Handler) slog.Handler { return &debugAtV1{next} }

type debugAtV1 struct{ slog.Handler }

// v1 is the level in slog of V(1) of logr, which counts the other way.
const v1 slog.Level = -1

// atV1 is the level at which a line is handed on.
func atV1(level slog.Level) slog.Level {
	if level < slog.LevelInfo {
		return v1
	}
	return level
}

func (h *debugAtV1) Enabled(ctx context.Context, level slog.Level) bool {
	return h.Handler.Enabled(ctx, atV1(level))
}

func (h *debugAtV1) Handle(ctx context.Context, record slog.Record) error {
	record.Level = atV1(record.Level)
	return h.Handler.Handle(ctx, record)
}

func (h *debugAtV1) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &debugAtV1{h.Handler.WithAttrs(attrs)}
}

func (h *debugAtV1) WithGroup(name string) slog.Handler { return &debugAtV1{h.Handler.WithGroup(name)} }
