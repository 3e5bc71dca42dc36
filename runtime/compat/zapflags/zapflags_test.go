package zapflags_test

import (
	"flag"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/compat/zapflags"
	"github.com/kctrl-dev/kctrl/runtime/log"
)

// TestFlagsOfZap has the arguments that deployments of operators on controller-runtime have.
func TestFlagsOfZap(t *testing.T) {
	const panics = slog.LevelError + 4
	for _, test := range []struct {
		args   string
		level  slog.Level
		format string
	}{
		{"", slog.LevelInfo, ""},
		{"--zap-devel", slog.LevelDebug, log.Text},
		{"--zap-devel=true", slog.LevelDebug, log.Text},
		{"--zap-devel=false", slog.LevelInfo, log.JSON},
		{"--zap-encoder=json", slog.LevelInfo, log.JSON},
		{"--zap-encoder=console", slog.LevelInfo, log.Text},
		{"--zap-log-level=debug", slog.LevelDebug, ""},
		{"--zap-log-level=ERROR", slog.LevelError, ""},
		{"--zap-log-level=panic", panics, ""},
		{"--zap-log-level=5", slog.LevelDebug, ""},
		{"--zap-devel --zap-log-level=info", slog.LevelInfo, log.Text},
		{"--zap-log-level=info --zap-devel", slog.LevelInfo, log.Text},
		{"--zap-encoder json --zap-devel=true", slog.LevelDebug, log.JSON},
		{"--zap-stacktrace-level=error --zap-time-encoding=rfc3339nano", slog.LevelInfo, ""},
	} {
		var opts log.Options
		if err := parseZap(&opts, test.args); err != nil || opts.Level != test.level || opts.Format != test.format {
			t.Errorf("%q: got %v %q, %v, want %v %q", test.args, opts.Level, opts.Format, err, test.level, test.format)
		}
	}
}

func TestWrongFlagsOfZapAreRefused(t *testing.T) {
	for args, want := range map[string]string{
		"--zap-devel=maybe":            `"maybe" is neither true nor false`,
		"--zap-encoder=xml":            `"xml" is neither json nor console`,
		"--zap-log-level=loud":         `"loud" is none of debug, info, error, panic, and no number above 0`,
		"--zap-log-level=0":            `"0" is none of`,
		"--zap-log-level=-1":           `"-1" is none of`,
		"--zap-stacktrace-level=never": `"never" is none of info, warn, error, panic`,
		"--zap-time-encoding=moon":     `"moon" is none of epoch`,
	} {
		if err := parseZap(new(log.Options), args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", args, err, want)
		}
	}
}

// TestFlagsOfZapAreDescribed asks for the usage, which prints the default of a flag unless it is that of a zero value.
func TestFlagsOfZapAreDescribed(t *testing.T) {
	set := flag.NewFlagSet("test", flag.ContinueOnError)
	zapflags.Bind(&log.Options{Level: slog.LevelDebug}, set)
	var usage strings.Builder
	set.SetOutput(&usage)
	set.PrintDefaults()
	if !strings.Contains(usage.String(), "-zap-log-level level") || !strings.Contains(usage.String(), "(default true)") {
		t.Errorf("got:\n%s", usage.String())
	}
}

func parseZap(opts *log.Options, args string) error {
	set := flag.NewFlagSet("test", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	zapflags.Bind(opts, set)
	return set.Parse(strings.Fields(args))
}
