package verbosity_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/compat/verbosity"
)

func TestAsDebugWritesInfoAtDebugAndLeavesErrors(t *testing.T) {
	for level, want := range map[slog.Level][]string{
		slog.LevelInfo:  {"level=WARN msg=warned who=a", "level=ERROR msg=failed who=a"},
		slog.LevelDebug: {"level=DEBUG msg=said who=a", "level=DEBUG msg=told who=a g.n=1", "level=WARN msg=warned who=a", "level=ERROR msg=failed who=a"},
	} {
		var out bytes.Buffer
		logger := verbosity.AsDebug(verbosity.AsDebug(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level})))).With("who", "a")
		if got := logger.Enabled(t.Context(), slog.LevelInfo); got != (level == slog.LevelDebug) {
			t.Errorf("enabled %v at %v", got, level)
		}
		logger.Info("said")
		logger.WithGroup("g").Info("told", "n", 1)
		logger.Warn("warned")
		logger.Error("failed")
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		for i, line := range lines {
			_, lines[i], _ = strings.Cut(line, " ") // without the time
		}
		if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
			t.Errorf("at %v it wrote\n%s\nwant\n%s", level, got, strings.Join(want, "\n"))
		}
	}
}
