package events

import "github.com/kctrl-dev/kctrl/runtime/metrics"

// The reasons for which events are dropped, as the metrics call them.
const (
	dropInvalid     = "invalid"     // no API server would take it
	dropSpam        = "spam"        // too much about one object; it still counts
	dropOverload    = "overload"    // too many wait
	dropRefused     = "refused"     // the API server did not take it
	dropUnreachable = "unreachable" // the API server could not be told for two minutes
	dropShutdown    = "shutdown"    // the process ends
)

type instruments struct {
	recorded, written, dropped *metrics.Counter
}

func newInstruments(r *metrics.Registry) *instruments {
	return &instruments{
		recorded: r.Counter("kctrl_events_recorded_total", "Events that controllers recorded.", "type"),
		written:  r.Counter("kctrl_events_written_total", "Writes of events to the API server.", "verb"),
		dropped:  r.Counter("kctrl_events_dropped_total", "Events and counts of events that were not written.", "reason"),
	}
}
