package verbosity_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/compat/verbosity"
)

// TestDebugLinesAreAtV1, where a sink of logr for debug lines shows them, with the attributes and groups that a
// logger has.
func TestDebugLinesAreAtV1(t *testing.T) {
	var out strings.Builder
	sink := slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.Level(-1), ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	logger := slog.New(verbosity.DebugAtV1(sink)).With("a", 1).WithGroup("g")
	logger.Debug("debug", "b", 2)
	logger.Info("info")
	logger.Error("error")
	want := "level=DEBUG+3 msg=debug a=1 g.b=2\nlevel=INFO msg=info a=1\nlevel=ERROR msg=error a=1\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	if quiet := slog.New(verbosity.DebugAtV1(slog.NewTextHandler(&out, nil))); quiet.Enabled(t.Context(), slog.LevelDebug) {
		t.Error("a sink for Info is asked for debug lines")
	}
}
