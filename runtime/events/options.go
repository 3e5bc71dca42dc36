package events

import (
	"cmp"
	"log/slog"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

// Correlation says which events are repetitions of one another, and when a repetition is written.
type Correlation int

const (
	// BySeries makes series of events that differ only in time, and of one state of an object in note and time (KEP-383). It suits
	// [NewSink].
	BySeries Correlation = iota
	// ByCount counts events that differ only in time, and combines similar ones. It suits [NewCoreSink].
	ByCount
)

// Options say where events go, and how many of them. The zero value stores them nowhere: they reach watchers and the
// log.
type Options struct {
	// Scheme tells the kinds of typed objects; nil knows none.
	Scheme *runtime.Scheme
	// Sink stores the events; nil stores none.
	Sink Sink
	// Correlation says what repetitions are. The zero value is BySeries.
	Correlation Correlation
	// Instance tells this process from others that run the same controllers. Empty means the host name.
	Instance string
	// Logger is told every event, and what goes wrong. Nil means slog.Default().
	Logger *slog.Logger
	// LogLevel is the level of the line that tells an event. Nil means slog.LevelDebug.
	LogLevel slog.Leveler
	// Metrics gets the kctrl_events_* metrics. Nil means that nobody sees them.
	Metrics *metrics.Registry
	// QueueSize is how many events may wait for the sink. Zero means 1000.
	QueueSize int
	// CacheSize is of how many events, of how many groups of similar events, and of how many objects the repetitions
	// are known; who has been quiet for longest is forgotten first. Zero means 4096.
	CacheSize int
	// SpamBurst is how many writes the events of one controller about one object, of one type, cause in a burst. Zero
	// means 25.
	SpamBurst int
	// SpamRefill is how long it takes until one more is allowed. Zero means 5 minutes.
	SpamRefill time.Duration
	// CombineAfter is the number of different notes, for one object and reason, from which on ByCount combines events.
	// Zero means 10.
	CombineAfter int
	// CombineWithin is how long such an event is remembered after the last one like it. Zero means 10 minutes.
	CombineWithin time.Duration
	// FlushTimeout bounds how long Run goes on writing after the end of its context. Zero means 5 s.
	FlushTimeout time.Duration
}

// complete returns o with its defaults filled in.
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
