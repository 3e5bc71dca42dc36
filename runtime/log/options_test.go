package log_test

import (
	"flag"
	"log/slog"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/log"
)

func TestLoggerOfFlags(t *testing.T) {
	var out strings.Builder
	opts := log.Options{Output: &out}
	set := flag.NewFlagSet("", flag.ContinueOnError)
	opts.BindFlags(set)
	if err := set.Parse([]string{"--log-level=warn", "--log-format=json"}); err != nil {
		t.Fatal(err)
	}
	logger := log.New(opts)
	logger.Info("hidden")
	logger.Warn("shown")
	if got := out.String(); strings.Contains(got, "hidden") || !strings.Contains(got, `"msg":"shown"`) {
		t.Errorf("got %s", got)
	}
}

// TestDefaultFollows creates a logger before the default logger is set, as package-level variables do.
func TestDefaultFollows(t *testing.T) {
	early := log.Default().With("logger", "setup").WithGroup("g").With("a", 1)
	before := slog.Default()
	defer slog.SetDefault(before)
	for _, want := range []string{"first", "second"} {
		var out strings.Builder
		slog.SetDefault(log.New(log.Options{Output: &out, Level: slog.LevelInfo}))
		early.Info(want)
		early.Debug("hidden")
		if got := out.String(); !strings.Contains(got, "msg="+want+" logger=setup g.a=1") || strings.Contains(got, "hidden") {
			t.Errorf("got %s", got)
		}
	}
}
