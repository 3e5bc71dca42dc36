// Package log provides the logger of a program, which other code can use before the program sets it.
package log

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/kctrl-dev/kctrl/runtime/compat/simulated"
	klog "github.com/kctrl-dev/kctrl/runtime/log"
)

// Log is the root logger. It and the loggers derived from it log to the logger that [SetLogger] sets. Before that, they
// drop all logs.
var Log = logr.New(&delegate{root: program})

// SetLogger sets the logger of the program. The first call affects all loggers derived from [Log].
func SetLogger(l logr.Logger) {
	if p := simulated.Current(); p != nil {
		l = logr.FromSlogHandler(p.Logger.Handler())
	}
	program.set(l.GetSink())
}

// FromContext returns the logger of ctx, or [Log], with the given keys and values.
func FromContext(ctx context.Context, keysAndValues ...any) logr.Logger {
	logger := Log
	if ctx != nil {
		if own, err := logr.FromContext(ctx); err == nil {
			logger = own
		}
	}
	return logger.WithValues(keysAndValues...)
}

// IntoContext returns a context with logger for [FromContext], and for code that uses kctrl's package log.
func IntoContext(ctx context.Context, logger logr.Logger) context.Context {
	return logr.NewContext(klog.IntoContext(ctx, slog.New(logr.ToSlogHandler(logger))), logger)
}

// patience is the time after which the package reports that the program has set no logger.
const patience = 30 * time.Second

// program is the root of all loggers of the package.
var program = &root{created: time.Now()}

// root is the shared target of all loggers.
type root struct {
	created time.Time

	mu   sync.RWMutex
	sink logr.LogSink // nil before SetLogger
}

func (r *root) set(sink logr.LogSink) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sink = sink
}

// get returns the sink, or nil. Once the patience has passed without a sink, it reports that on standard error and
// drops logs.
func (r *root) get() logr.LogSink {
	r.mu.RLock()
	sink := r.sink
	r.mu.RUnlock()
	if sink != nil || time.Since(r.created) < patience {
		return sink
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sink == nil {
		const separator = "\n\t>  "
		stack := bytes.ReplaceAll(bytes.TrimSpace(debug.Stack()), []byte("\n"), []byte(separator))
		fmt.Fprintf(os.Stderr, "[controller-runtime] log.SetLogger(...) was never called; logs will not be displayed.\n"+
			"Detected at:%s%s\n", separator, stack)
		r.sink = NullLogSink{}
	}
	return r.sink
}

// delegate is the sink of a logger that may be created before SetLogger.
type delegate struct {
	root   *root
	derive []func(logr.LogSink) logr.LogSink // in order, from the root to this logger

	mu      sync.Mutex
	from    logr.LogSink // root's sink that derived is based on
	derived logr.LogSink
}

var _ logr.CallDepthLogSink = (*delegate)(nil)

// sink returns the sink to log to.
func (d *delegate) sink() logr.LogSink {
	from := d.root.get()
	if from == nil {
		return NullLogSink{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.derived == nil || !same(d.from, from) {
		d.from, d.derived = from, from
		for _, derive := range d.derive {
			d.derived = derive(d.derived)
		}
		d.derived = deeper(1)(d.derived) // skips the delegate's frame
	}
	return d.derived
}

// same reports whether two sinks are equal. Sinks that cannot be compared are not equal.
func same(a, b logr.LogSink) (is bool) {
	defer func() { _ = recover() }()
	return a == b
}

func (d *delegate) with(derive func(logr.LogSink) logr.LogSink) logr.LogSink {
	all := append(d.derive[:len(d.derive):len(d.derive)], derive)
	return &delegate{root: d.root, derive: all}
}

func deeper(depth int) func(logr.LogSink) logr.LogSink {
	return func(sink logr.LogSink) logr.LogSink {
		if deep, ok := sink.(logr.CallDepthLogSink); ok {
			return deep.WithCallDepth(depth)
		}
		return sink
	}
}

// Init implements logr.LogSink.
func (d *delegate) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink.
func (d *delegate) Enabled(level int) bool { return d.sink().Enabled(level) }

// Info implements logr.LogSink.
func (d *delegate) Info(level int, msg string, keysAndValues ...any) {
	d.sink().Info(level, msg, keysAndValues...)
}

// Error implements logr.LogSink.
func (d *delegate) Error(err error, msg string, keysAndValues ...any) {
	d.sink().Error(err, msg, keysAndValues...)
}

// WithName implements logr.LogSink.
func (d *delegate) WithName(name string) logr.LogSink {
	return d.with(func(sink logr.LogSink) logr.LogSink { return sink.WithName(name) })
}

// WithValues implements logr.LogSink.
func (d *delegate) WithValues(keysAndValues ...any) logr.LogSink {
	return d.with(func(sink logr.LogSink) logr.LogSink { return sink.WithValues(keysAndValues...) })
}

// WithCallDepth implements logr.CallDepthLogSink.
func (d *delegate) WithCallDepth(depth int) logr.LogSink { return d.with(deeper(depth)) }

// NullLogSink drops all logs.
type NullLogSink struct{}

var _ logr.LogSink = NullLogSink{}

// Init implements logr.LogSink.
func (log NullLogSink) Init(logr.RuntimeInfo) {}

// Info implements logr.LogSink.
func (NullLogSink) Info(int, string, ...any) {}

// Enabled implements logr.LogSink.
func (NullLogSink) Enabled(int) bool { return false }

// Error implements logr.LogSink.
func (NullLogSink) Error(error, string, ...any) {}

// WithName implements logr.LogSink.
func (log NullLogSink) WithName(string) logr.LogSink { return log }

// WithValues implements logr.LogSink.
func (log NullLogSink) WithValues(...any) logr.LogSink { return log }

// KubeAPIWarningLoggerOptions are the options of [NewKubeAPIWarningLogger].
type KubeAPIWarningLoggerOptions struct {
	// Deduplicate logs each warning once.
	Deduplicate bool
}

// KubeAPIWarningLogger logs the warnings in the server's responses.
type KubeAPIWarningLogger struct {
	opts KubeAPIWarningLoggerOptions

	mu     sync.Mutex
	logged map[string]struct{}
}

// NewKubeAPIWarningLogger returns a handler of warnings for a rest.Config.
func NewKubeAPIWarningLogger(opts KubeAPIWarningLoggerOptions) *KubeAPIWarningLogger {
	return &KubeAPIWarningLogger{opts: opts, logged: map[string]struct{}{}}
}

// HandleWarningHeaderWithContext logs a warning with the logger of ctx.
func (l *KubeAPIWarningLogger) HandleWarningHeaderWithContext(ctx context.Context, code int, _, message string) {
	if code != 299 || message == "" || !l.isNew(message) {
		return
	}
	FromContext(ctx).Info(message)
}

func (l *KubeAPIWarningLogger) isNew(message string) bool {
	if !l.opts.Deduplicate {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, logged := l.logged[message]
	l.logged[message] = struct{}{}
	return !logged
}
