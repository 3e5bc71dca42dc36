package verbosity

import (
	"context"
	"log/slog"
)

// DebugAtV1 returns a handler that passes records below [slog.LevelInfo] to next at logr's V(1). Use it around
// logr.ToSlogHandler, which maps [slog.LevelDebug] to V(4): a sink at debug level, such as zapr with a core at
// zap.DebugLevel, drops those.
func DebugAtV1(next slog.Handler) slog.Handler { return &debugAtV1{next} }

type debugAtV1 struct{ slog.Handler }

// v1 is the slog level of logr's V(1), which has the opposite sign.
const v1 slog.Level = -1

// atV1 returns the level at which a record is passed on.
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
