// Package eventrecorder has event recorders in the form of client-go, for operators that were migrated from
// controller-runtime: [TextRecorder] for their tests, [CoreRecorder] for libraries, and [OfCore] for the operator's own
// recorders.
package eventrecorder

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/events"
)

// TextRecorder is a recorder for tests in the form of client-go: Events receives the recorded events as text. Call
// [NewTextRecorder] for one; the zero value records nothing.
type TextRecorder struct {
	*events.Recorder
	// Events receives type, reason and note of each event, in order, such as "Normal Created made deployment web".
	Events chan string
}

// NewTextRecorder returns a recorder whose channel buffers size events. Events beyond that are dropped.
func NewTextRecorder(size int) *TextRecorder {
	all := make(chan string, size)
	return &TextRecorder{Recorder: events.Of(texts(all)), Events: all}
}

// TextOf returns the TextRecorder from [NewTextRecorder] whose Recorder is r, or nil for other recorders. Tests use it
// to find the events that a reconciler has recorded.
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

// CoreRecorder records events through an [events.Recorder]. It has the methods of client-go's tools/record, for
// libraries that require them. The reason also becomes the event's action. Call [AsCore] for one.
type CoreRecorder struct{ recorder *events.Recorder }

// AsCore returns r in the form of client-go's tools/record.
func AsCore(r *events.Recorder) CoreRecorder { return CoreRecorder{r} }

// Event records an event about regarding.
func (c CoreRecorder) Event(regarding runtime.Object, eventType, reason, message string) {
	c.AnnotatedEventf(regarding, nil, eventType, reason, "%s", message)
}

// Eventf is Event with a format, as in fmt.Sprintf.
func (c CoreRecorder) Eventf(regarding runtime.Object, eventType, reason, format string, args ...any) {
	c.AnnotatedEventf(regarding, nil, eventType, reason, format, args...)
}

// AnnotatedEventf is Eventf with annotations on the event.
func (c CoreRecorder) AnnotatedEventf(
	regarding runtime.Object, annotations map[string]string, eventType, reason, format string, args ...any,
) {
	r := c.recorder
	if len(annotations) > 0 {
		r = r.WithAnnotations(annotations)
	}
	r.Eventf(regarding, nil, eventType, reason, reason, format, args...)
}

// CoreEventer is a program's own recorder in the form of client-go's tools/record.
type CoreEventer interface {
	Event(regarding runtime.Object, eventType, reason, message string)
	Eventf(regarding runtime.Object, eventType, reason, format string, args ...any)
	AnnotatedEventf(
		regarding runtime.Object, annotations map[string]string, eventType, reason, format string, args ...any,
	)
}

// OfCore returns a recorder that passes all events to e: those with annotations by AnnotatedEventf, others by Eventf.
// Related objects and actions are dropped.
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

// WithAnnotations returns an eventer that adds these annotations, see [events.Eventer].
func (c coreEvents) WithAnnotations(annotations map[string]string) events.Eventer {
	return coreEvents{c.eventer, annotations}
}
