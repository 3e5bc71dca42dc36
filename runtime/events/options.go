package events

import (
	"cmp"
	"log/slog"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

// Correlation is the rule that determines which events are repetitions, and when they are written.
type Correlation int

const (
	// BySeries combines events into series (KEP-383). The events of a series differ only in time, or only in note and time
	// while the object does not change. Use it with [NewSink].
	BySeries Correlation = iota
	// ByCount counts events that differ only in time, and combines similar events. Use it with [NewCoreSink].
	ByCount
)

// Options configure a [Broadcaster]. With the zero value, events reach watchers and the log, but are not stored.
type Options struct {
	// Scheme maps Go types to kinds. Nil means an empty scheme.
	Scheme *runtime.Scheme
	// Sink stores the events. Nil means that they are not stored.
	Sink Sink
	// Correlation determines which events are repetitions. The zero value is BySeries.
	Correlation Correlation
	// Instance identifies this process among those that run the same controllers. Empty means the host name.
	Instance string
	// Logger logs every event, and failures. Nil means slog.Default().
	Logger *slog.Logger
	// LogLevel is the level at which events are logged. Nil means slog.LevelDebug.
	LogLevel slog.Leveler
	// Metrics receives the kctrl_events_* metrics. Nil disables them.
	Metrics *metrics.Registry
	// QueueSize is the maximum number of events that wait to be written. Zero means 1000.
	QueueSize int
	// CacheSize is the maximum number of events that are remembered. The same limit applies to groups of similar events,
	// and to objects in the spam filter. The least recently active entry is dropped first. Zero means 4096.
	CacheSize int
	// SpamBurst is the maximum number of writes in a burst for the events of one controller, object and type. Zero means
	// 25.
	SpamBurst int
	// SpamRefill is the interval after which one more write is allowed. Zero means 5 minutes.
	SpamRefill time.Duration
	// CombineAfter is the number of different notes for one object and reason at which ByCount begins to combine events.
	// Zero means 10.
	CombineAfter int
	// CombineWithin is how long such notes are remembered after the last similar event. Zero means 10 minutes.
	CombineWithin time.Duration
	// FlushTimeout is the maximum time that Run continues to write after its context has ended. Zero means 5 s.
	FlushTimeout time.Duration
}

// complete returns o with defaults set.
func (o Options) complete() Options {
	if o.Scheme == nil {
		o.Scheme = runtime.NewScheme()
	}
	if o.Instance == "" {
		o.Instance, _ = os.Hostname()
	}
	if o.LogLevel == nil {
		o.LogLevel = slog.LevelDebug
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.QueueSize = cmp.Or(o.QueueSize, 1000)
	o.CacheSize = cmp.Or(o.CacheSize, 4096)
	o.SpamBurst = cmp.Or(o.SpamBurst, 25)
	o.SpamRefill = cmp.Or(o.SpamRefill, 5*time.Minute)
	o.CombineAfter = cmp.Or(o.CombineAfter, 10)
	o.CombineWithin = cmp.Or(o.CombineWithin, 10*time.Minute)
	o.FlushTimeout = cmp.Or(o.FlushTimeout, 5*time.Second)
	return o
}
