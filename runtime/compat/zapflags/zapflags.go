// Package zapflags declares the zap flags of controller-runtime, for migrated operators.
package zapflags

import (
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/kctrl-dev/kctrl/runtime/log"
)

// Bind declares --zap-devel, --zap-encoder, --zap-log-level, --zap-stacktrace-level and --zap-time-encoding on set, so
// that the arguments of existing deployments stay valid. The first three change o when set is parsed, in any order:
// --zap-devel sets the defaults of the other two. The last two are only checked, because there are no stack traces and
// only one time format.
func Bind(o *log.Options, set *flag.FlagSet) {
	z := &zapFlags{options: o}
	set.Var(zapFlag{z.devel, strconv.FormatBool(o.Level < slog.LevelInfo), true}, "zap-devel",
		"log `lines of text` from debug on, or if false JSON from info on")
	set.Var(zapFlag{z.encoder, "", false}, "zap-encoder", "`format` of the log: json or console")
	set.Var(zapFlag{z.level, "", false}, "zap-log-level",
		"`level` of the log: debug, info, error, panic, or a number above 0, which is debug")
	set.Var(zapFlag{oneOf("info", "warn", "error", "panic"), "", false}, "zap-stacktrace-level",
		"not used: no stack traces are written, from whatever `level` on")
	formats := oneOf("epoch", "millis", "nano", "iso8601", "rfc3339", "rfc3339nano")
	set.Var(zapFlag{formats, "", false}, "zap-time-encoding",
		"not used: times are written as in RFC 3339, in whatever `form`")
}

// zapFlags has the options that the flags change, and which of them a flag has set explicitly.
type zapFlags struct {
	options              *log.Options
	hasLevel, hasEncoder bool
}

func (z *zapFlags) devel(text string) error {
	on, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", text)
	}
	level, format := slog.LevelInfo, log.JSON
	if on {
		level, format = slog.LevelDebug, log.Text
	}
	if !z.hasLevel {
		z.options.Level = level
	}
	if !z.hasEncoder {
		z.options.Format = format
	}
	return nil
}

func (z *zapFlags) encoder(text string) error {
	switch strings.ToLower(text) {
	case "json":
		z.options.Format = log.JSON
	case "console":
		z.options.Format = log.Text
	default:
		return fmt.Errorf("%q is neither json nor console", text)
	}
	z.hasEncoder = true
	return nil
}

// levelPanic is above the level of every record before a panic.
const levelPanic = slog.LevelError + 4

func (z *zapFlags) level(text string) error {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "error": slog.LevelError, "panic": levelPanic,
	}
	level, known := levels[strings.ToLower(text)]
	if verbosity, err := strconv.Atoi(text); err == nil && verbosity > 0 {
		level, known = slog.LevelDebug, true
	}
	if !known {
		return fmt.Errorf("%q is none of debug, info, error, panic, and no number above 0", text)
	}
	z.options.Level, z.hasLevel = level, true
	return nil
}

// oneOf returns a check that accepts only words.
func oneOf(words ...string) func(string) error {
	return func(text string) error {
		if !slices.Contains(words, strings.ToLower(text)) {
			return fmt.Errorf("%q is none of %s", text, strings.Join(words, ", "))
		}
		return nil
	}
}

// zapFlag is a flag with a function that sets its value.
type zapFlag struct {
	set    func(string) error
	text   string // default value
	isBool bool
}

// Set implements flag.Value.
func (f zapFlag) Set(text string) error { return f.set(text) }

// String implements flag.Value.
func (f zapFlag) String() string { return f.text }

// IsBoolFlag reports whether the flag may have no value.
func (f zapFlag) IsBoolFlag() bool { return f.isBool }
