package log_test

import (
	"context"
	"log/slog"
	"os"
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/log"
)

func TestContextWithoutALoggerGivesTheDefault(t *testing.T) {
	if log.FromContext(t.Context()) != slog.Default() {
		t.Error("not slog.Default()")
	}
}

func TestTheInnermostLoggerCounts(t *testing.T) {
	outer, inner := slog.New(slog.DiscardHandler), slog.New(slog.DiscardHandler)
	ctx := log.IntoContext(t.Context(), outer)
	if log.FromContext(log.IntoContext(ctx, inner)) != inner || log.FromContext(ctx) != outer {
		t.Error("the wrong logger")
	}
}

func TestNilLoggerChangesNothing(t *testing.T) {
	outer := slog.New(slog.DiscardHandler)
	ctx := log.IntoContext(t.Context(), outer)
	if log.FromContext(log.IntoContext(ctx, nil)) != outer {
		t.Error("the logger was lost")
	}
}

func Example() {
	withoutTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	ctx := log.IntoContext(context.Background(), logger.With("key", "default/hello"))

	log.FromContext(ctx).Info("created deployment", "deployment", "hello")
	// Output: level=INFO msg="created deployment" key=default/hello deployment=hello
}
