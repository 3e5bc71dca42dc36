package events

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Recorder makes the events of one controller. [Broadcaster.Recorder] makes one. A nil *Recorder records nothing, so
// that a test can do without.
type Recorder struct {
	broadcaster          *Broadcaster
	controller, instance string
	at                   time.Time // zero is now
	annotations          map[string]string
	instead              Eventer // of everything above, if it is set
}

// Eventer is what records events in a program's own way, such as a fake of its tests.
type Eventer interface {
	Eventf(regarding, related runtime.Object, eventType, reason, action, format string, args ...any)
}

// Of returns a recorder that tells e of all events, as they are given to it, and nobody else.
func Of(e Eventer) *Recorder { return &Recorder{instead: e} }

// Eventf records that something happened to regarding. eventType is [Normal] or [Warning]. reason says in one word why
// something was done, and action what was done, both for programs and in at most 128 bytes: "FailedMount",
// "MountVolume". The note is for people; format and args make it as in fmt.Sprintf, and it is cut, with a mark, after
// 1024 bytes. related is a second object that took part, such as one that was created, or nil. The objects are only
// named: they are not kept.
//
// Eventf does not block, and cannot fail: an event that no API server would take, such as one about what has no metadata, is logged and
// dropped.
func (r *Recorder) Eventf(regarding, related runtime.Object, eventType, reason, action, format string, args ...any) {
	if r == nil {
		return
	}
	if r.instead != nil {
		r.instead.Eventf(regarding, related, eventType, reason, action, format, args...)
		return
	}
	b := r.broadcaster
	e, err := r.event(regarding, eventType, reason, action)
	if err != nil {
		b.metrics.dropped.Inc(dropInvalid)
		b.opts.Logger.Error("an event is dropped because it is not valid", "event", e, "err", err)
		return
	}
	if !isNil(related) {
		if e.Related, err = b.referenceOf(related); err != nil {
			b.opts.Logger.Warn("the second object of an event is left out", "event", e, "err", err)
		}
	}
	e.Note = fitNote(fmt.Sprintf(format, args...))
	b.record(e)
}

// At returns a recorder whose events happened at t, which may be long ago. The zero time is when they are recorded.
func (r *Recorder) At(t time.Time) *Recorder {
	if r == nil {
		return nil
	}
	at := *r
	at.at = t
	return &at
}

// WithAnnotations returns a recorder whose events have these annotations, in addition to those of r. The map is copied.
func (r *Recorder) WithAnnotations(annotations map[string]string) *Recorder {
	if r == nil {
		return nil
	}
	annotated := *r
	annotated.annotations = maps.Clone(r.annotations)
	if annotated.annotations == nil {
		annotated.annotations = map[string]string{}
	}
	maps.Copy(annotated.annotations, annotations)
	if core, ok := annotated.instead.(coreEvents); ok {
		annotated.instead = core.annotated(annotated.annotations)
	}
	return &annotated
}

// event returns an event without its note, related object and name.
func (r *Recorder) event(regarding runtime.Object, eventType, reason, action string) (Event, error) {
	e := Event{
		Annotations: r.annotations, Type: eventType, Reason: reason, Action: action,
		Controller: r.controller, Instance: r.instance, First: r.at, Count: 1,
	}
	if e.First.IsZero() {
		e.First = time.Now()
	}
	e.Last = e.First
	var err error
	if e.Regarding, err = r.broadcaster.referenceOf(regarding); err != nil {
		return e, err
	}
	e.Namespace = namespaceOf(e.Regarding)
	return e, errors.Join(e.check()...)
}

// check returns what an API server would object to.
func (e Event) check() (problems []error) {
	if e.Type != Normal && e.Type != Warning {
		problems = append(problems, fmt.Errorf("type %q is neither %s nor %s", e.Type, Normal, Warning))
	}
	for _, field := range []struct {
		name, value string
		limit       int
	}{{"reason", e.Reason, maxReason}, {"action", e.Action, maxAction}} {
		switch {
		case field.value == "":
			problems = append(problems, fmt.Errorf("the %s is missing", field.name))
		case len(field.value) > field.limit:
			problems = append(problems, fmt.Errorf("the %s has %d bytes, and may have %d", field.name, len(field.value), field.limit))
		}
	}
	return problems
}

// FakeRecorder is a recorder for tests: what it records is in Events, and nowhere else. [NewFakeRecorder] makes one.
type FakeRecorder struct {
	*Recorder
	// Events has what was recorded, in its order. It is never closed.
	Events <-chan Event

	watcher *Watcher
}

// NewFakeRecorder returns a recorder that holds up to size events which have not been received; more are dropped and counted.
// It knows the kind of an object that does not say it by its Go type. The reconciler gets its Recorder:
//
//	recorder := events.NewFakeRecorder(10)
//	r := &GuestbookReconciler{Client: c, Recorder: recorder.Recorder}
//	...
//	if got := (<-recorder.Events).String(); got != "Normal Created made deployment web" {
func NewFakeRecorder(size int) *FakeRecorder {
	b := New(Options{Instance: "test"})
	b.reference = func(o object.Object) (Reference, error) {
		ref, err := ReferenceTo(o, b.opts.Scheme)
		if err != nil && !isNil(o) {
			return Reference{
				Kind: reflect.Indirect(reflect.ValueOf(o)).Type().Name(), Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(),
				ResourceVersion: o.GetResourceVersion(),
			}, nil
		}
		return ref, err
	}
	w := b.Watch(size)
	return &FakeRecorder{Recorder: b.Recorder("test"), Events: w.C, watcher: w}
}

// Dropped returns how many events there was no place for.
func (f *FakeRecorder) Dropped() int { return f.watcher.Dropped() }

// TextRecorder is a recorder for tests as client-go has it: what it records is in Events as text. [NewTextRecorder] makes one; the zero
// value records nothing.
type TextRecorder struct {
	*Recorder
	// Events has type, reason and note of what was recorded, in its order, such as "Normal Created made deployment web".
	Events chan string
}

// NewTextRecorder returns a recorder that holds up to size events which have not been received; more are dropped.
func NewTextRecorder(size int) *TextRecorder {
	events := make(chan string, size)
	return &TextRecorder{Recorder: Of(texts(events)), Events: events}
}

// TextOf returns the recorder that [NewTextRecorder] made, of which r is the Recorder; nil if r is another one. A test that is given a
// reconciler finds by it what the reconciler has recorded.
func TextOf(r *Recorder) *TextRecorder {
	if r == nil {
		return nil
	}
	events, ok := r.instead.(texts)
	if !ok {
		return nil
	}
	return &TextRecorder{Recorder: r, Events: events}
}

// texts is an [Eventer].
type texts chan string

func (t texts) Eventf(_, _ runtime.Object, eventType, reason, _, format string, args ...any) {
	select {
	case t <- Event{Type: eventType, Reason: reason, Note: fmt.Sprintf(format, args...)}.String():
	default:
	}
}

// CoreRecorder records by a [Recorder] what it is told by the methods of client-go's tools/record, for libraries that want such a one. An
// event's action is its reason. [AsCore] makes one.
type CoreRecorder struct{ recorder *Recorder }

// AsCore returns r in the form of client-go's tools/record.
func AsCore(r *Recorder) CoreRecorder { return CoreRecorder{r} }

// Event records that something happened to regarding.
func (c CoreRecorder) Event(regarding runtime.Object, eventType, reason, message string) {
	c.AnnotatedEventf(regarding, nil, eventType, reason, "%s", message)
}

// Eventf is Event with a message as of fmt.Sprintf.
func (c CoreRecorder) Eventf(regarding runtime.Object, eventType, reason, format string, args ...any) {
	c.AnnotatedEventf(regarding, nil, eventType, reason, format, args...)
}

// AnnotatedEventf is Eventf with annotations of the event.
func (c CoreRecorder) AnnotatedEventf(regarding runtime.Object, annotations map[string]string, eventType, reason, format string, args ...any) {
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
	AnnotatedEventf(regarding runtime.Object, annotations map[string]string, eventType, reason, format string, args ...any)
}

// OfCore returns a recorder that tells e of all events, by Eventf or, of those with annotations, by AnnotatedEventf. Of their second
// objects and actions it does not tell.
func OfCore(e CoreEventer) *Recorder { return Of(coreEvents{e, nil}) }

// coreEvents is an [Eventer].
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

func (c coreEvents) annotated(annotations map[string]string) Eventer {
	return coreEvents{c.eventer, annotations}
}
