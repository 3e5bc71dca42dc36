// Package eventrecorder has recorders of events in the forms of client-go, for operators that were migrated from
// controller-runtime: a [TextRecorder] for their tests, a [CoreRecorder] for libraries, and [OfCore] for recorders of
// their own.
package eventrecorder

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/events"
)

// TextRecorder is a recorder for tests as client-go has it: what it records is in Events as text. [NewTextRecorder]
// makes one; the zero value records nothing.
type TextRecorder struct {
	*events.Recorder
	// Events has type, reason and note of what was recorded, in its order, such as "Normal Created made deployment
	// web".
	Events chan string
}

// NewTextRecorder returns a recorder that holds up to size events which have not been received; more are dropped.
func NewTextRecorder(size int) *TextRecorder {
	all := make(chan string, size)
	return &TextRecorder{Recorder: events.Of(texts(all)), Events: all}
}

// TextOf returns the recorder that [NewTextRecorder] made, of which r is the Recorder; nil if r is another one. A
// test that is given a reconciler finds by it what the reconciler has recorded.
func TextOf(r *events.Recorder) *TextRecorder {
	all, ok := r.Eventer().(texts)
	if !ok {
		return nil
	}
	return &TextRecorder{Recorder: r, Events: all}
}

// texts is an [events.Eventer].
type texts chan string

func (t texts) Eventf(_, _ runtime.Object, eventType, reason, _, format string, args ...any) {
	select {
	case t <- events.Event{Type: eventType, Reason: reason, Note: fmt.Sprintf(format, args...)}.String():
	default:
	}
}

// CoreRecorder records by an [events.Recorder] what it is told by the methods of client-go's tools/record, for
// libraries that want such a one. An event's action is its reason. [AsCore] makes one.
type CoreRecorder struct{ recorder *events.Recorder }

// AsCore returns r in the form of client-go's tools/record.
func AsCore(r *events.Recorder) CoreRecorder { return CoreRecorder{r} }

// Event records that something happened to regarding.
func (c CoreRecorder) Event(regarding runtime.Object, eventType, reason, message string) {
	c.AnnotatedEventf(regarding, nil, eventType, reason, "%s", message)
}

// Eventf is Event with a message as of fmt.Sprintf.
func (c CoreRecorder) Eventf(regarding runtime.Object, eventType, reason, format string, args ...any) {
	c.AnnotatedEventf(regarding, nil, eventType, reason, format, args...)
}

// AnnotatedEventf is Eventf with annotations of the event.
func (c CoreRecorder) AnnotatedEventf(
	regarding runtime.Object, annotations map[string]string, eventType, reason, format string, args ...any,
) {
	r := c.recorder
	if len(annotations) > 0 {
		r = r.WithAnnotations(annotations)
	}
	r.Eventf(regarding, nil, eventType, reason, reason, format, args...)
}

// CoreEventer is what records events in a program's own way, in the form of client-go's tools/record.
type CoreEventer interface {
	Event(regarding runtime.Object, eventType, reason, message string)
	Eventf(regarding runtime.Object, eventType, reason, format string, args ...any)
	AnnotatedEventf(
		regarding runtime.Object, annotations map[string]string, eventType, reason, format string, args ...any,
	)
}

// OfCore returns a recorder that tells e of all events, by Eventf or, of those with annotations, by AnnotatedEventf.
// Of their second objects and actions it does not tell.
func OfCore(e CoreEventer) *events.Recorder { return events.Of(coreEvents{e, nil}) }

// coreEvents is an [events.Eventer].
type coreEvents struct {
	eventer     CoreEventer
	annotations map[string]string
}

func (c coreEvents) Eventf(regarding, _ runtime.Object, eventType, reason, _, format string, args ...any) {
	if len(c.annotations) > 0 {
		c.eventer.AnnotatedEventf(regarding, c.annotations, eventType, reason, format, args...)
		return
	}
	c.eventer.Eventf(regarding, eventType, reason, format, args...)
}

// WithAnnotations makes events with these annotations, see [events.Eventer].
func (c coreEvents) WithAnnotations(annotations map[string]string) events.Eventer {
	return coreEvents{c.eventer, annotations}
}
