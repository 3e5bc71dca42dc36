package log

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"os"
)

// Formats for [Options].
const (
	Text = "text"
	JSON = "json"
)

// Options configures a logger that [New] returns. The zero value writes text to standard error, from level info on.
type Options struct {
	// Level is the minimum level.
	Level slog.Level
	// Format is [Text] or [JSON]. Empty means Text.
	Format string
	// Output receives the lines. Nil means os.Stderr.
	Output io.Writer
}

// BindFlags declares --log-level and --log-format on set, with the defaults of o. Parsing set changes o.
func (o *Options) BindFlags(set *flag.FlagSet) {
	if o.Format == "" {
		o.Format = Text
	}
	set.TextVar(&o.Level, "log-level", o.Level, "`level` of the log: debug, info, warn or error")
	set.StringVar(&o.Format, "log-format", o.Format, "`format` of the log: text or json")
}

// New returns a logger with the given options. Pass it to [slog.SetDefault] to use it in the whole program.
func New(opts Options) *slog.Logger {
	if opts.Output == nil {
		opts.Output = os.Stderr
	}
	handler := &slog.HandlerOptions{Level: opts.Level}
	if opts.Format == JSON {
		return slog.New(slog.NewJSONHandler(opts.Output, handler))
	}
	return slog.New(slog.NewTextHandler(opts.Output, handler))
}

// Default returns a logger that passes each line to the current slog.Default. Use it in package variables, which are
// initialized before the main function calls [slog.SetDefault].
func Default() *slog.Logger {
	return slog.New(following(func(h slog.Handler) slog.Handler { return h }))
}

// following is a handler that passes each line to the current default handler, with its own attributes and groups.
type following func(slog.Handler) slog.Handler

func (f following) Enabled(ctx context.Context, level slog.Level) bool {
	return slog.Default().Enabled(ctx, level)
}

func (f following) Handle(ctx context.Context, record slog.Record) error {
	return f(slog.Default().Handler()).Handle(ctx, record)
}

func (f following) WithAttrs(attrs []slog.Attr) slog.Handler {
	return following(func(h slog.Handler) slog.Handler { return f(h).WithAttrs(attrs) })
}

func (f following) WithGroup(name string) slog.Handler {
	return following(func(h slog.Handler) slog.Handler { return f(h).WithGroup(name) })
}
