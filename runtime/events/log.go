package events

import (
	"context"
	"log/slog"
	"time"
)

// trouble is something that goes wrong for many events at once.
type trouble string

const (
	overload    trouble = "overload"    // more wait than may
	unreachable trouble = "unreachable" // writes fail and are tried again
	abandoned   trouble = "abandoned"   // writes have failed too often
	forbidden   trouble = "forbidden"   // RBAC does not allow it
)

// tellInterval is how often one trouble is logged.
const tellInterval = 10 * time.Minute

// tell logs a trouble, unless it was logged not long ago.
func (b *Broadcaster) tell(level slog.Level, about trouble, message string, args ...any) {
	if b.toTell(about) {
		b.opts.Logger.Log(context.Background(), level, message, args...)
	}
}

func (b *Broadcaster) toTell(about trouble) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if last, ok := b.told[about]; ok && now.Sub(last) < tellInterval {
		return false
	}
	b.told[about] = now
	return true
}

// LogValue is what a log line has of e: everything that people read, no annotations.
func (e Event) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("regarding", e.Regarding.String())}
	if e.Related != (Reference{}) {
		attrs = append(attrs, slog.String("related", e.Related.String()))
	}
	return slog.GroupValue(append(attrs,
		slog.String("type", e.Type),
		slog.String("reason", e.Reason),
		slog.String("action", e.Action),
		slog.String("note", e.Note),
		slog.String("controller", e.Controller),
	)...)
}
