package events

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Recorder records the events of one controller. Create one with [Broadcaster.Recorder]. A nil *Recorder records
// nothing.
type Recorder struct {
	broadcaster          *Broadcaster
	controller, instance string
	at                   time.Time // zero means now
	annotations          map[string]string
	instead              Eventer // if set, receives all events, and the fields above are unused
}

// Eventer is implemented by a program's own recorder, such as a fake in its tests. To record annotations, it also has a
// method WithAnnotations(annotations map[string]string) Eventer, which returns an Eventer whose events have these
// annotations.
type Eventer interface {
	Eventf(regarding, related runtime.Object, eventType, reason, action, format string, args ...any)
}

// Of returns a recorder that passes all events unchanged to e.
func Of(e Eventer) *Recorder { return &Recorder{instead: e} }

// Eventf records an event about regarding. eventType is [Normal] or [Warning]. reason states in one word why an
// action was taken, such as "FailedMount", and action names the action in one word, such as "MountVolume". Both are
// machine-readable and have at most 128 bytes. The note is human-readable. Eventf formats it like fmt.Sprintf,
// and truncates it to 1024 bytes with a mark. related is a second object that is involved, such as an object
// that was created, or nil. Eventf does not retain the objects.
//
// Eventf does not block and cannot fail. If an API server would reject the event, for example because the object has no
// metadata, Eventf logs and drops the event.
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
			b.opts.Logger.Warn("the second object of an event is omitted", "event", e, "err", err)
		}
	}
	e.Note = fitNote(fmt.Sprintf(format, args...))
	b.record(e)
}

// At returns a recorder whose events have the time t, which may be in the past. The zero time means the time of
// recording.
func (r *Recorder) At(t time.Time) *Recorder {
	if r == nil {
		return nil
	}
	at := *r
	at.at = t
	return &at
}

// WithAnnotations returns a recorder whose events have these annotations, in addition to the annotations of r. The map
// is copied.
func (r *Recorder) WithAnnotations(annotations map[string]string) *Recorder {
	if r == nil {
		return nil
	}
	annotated := *r
	annotated.annotations = map[string]string{}
	maps.Copy(annotated.annotations, r.annotations)
	maps.Copy(annotated.annotations, annotations)
	if own, ok := annotated.instead.(interface {
		WithAnnotations(annotations map[string]string) Eventer
	}); ok {
		annotated.instead = own.WithAnnotations(annotated.annotations)
	}
	return &annotated
}

// event returns an event without note, related object and name.
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
	e.Namespace = cmp.Or(e.Regarding.Namespace, metav1.NamespaceDefault)
	return e, errors.Join(e.check()...)
}

// check returns the reasons for which an API server would reject e.
func (e Event) check() (problems []error) {
	if e.Type != Normal && e.Type != Warning {
		problems = append(problems, fmt.Errorf("type %q is neither %s nor %s", e.Type, Normal, Warning))
	}
	for _, field := range []struct{ name, value string }{{"reason", e.Reason}, {"action", e.Action}} {
		switch {
		case field.value == "":
			problems = append(problems, fmt.Errorf("the %s is missing", field.name))
		case len(field.value) > maxWord:
			problems = append(problems, fmt.Errorf("the %s has %d bytes, and may have %d", field.name, len(field.value),
				maxWord))
		}
	}
	return problems
}

// FakeRecorder is a recorder for tests. It sends its events only to the channel Events. Create one with
// [NewFakeRecorder].
type FakeRecorder struct {
	*Recorder
	// Events delivers the recorded events in order. It is never closed.
	Events <-chan Event

	watcher *Watcher
}

// NewFakeRecorder returns a recorder that buffers up to size events. Further events are dropped and counted. If the
// kind of an object is unknown, the recorder uses the name of the Go type. Pass its Recorder to the reconciler:
//
//	recorder := events.NewFakeRecorder(10)
//	r := &GuestbookReconciler{Client: c, Recorder: recorder.Recorder}
//	...
//	if got := (<-recorder.Events).String(); got != "Normal Created made deployment web" {
func NewFakeRecorder(size int) *FakeRecorder {
	b := New(Options{Instance: "test"})
	b.reference = func(o object.Object) (Reference, error) {
		if ref, err := ReferenceTo(o, b.opts.Scheme); err == nil {
			return ref, nil
		}
		return referenceTo(o, schema.GroupVersionKind{Kind: reflect.Indirect(reflect.ValueOf(o)).Type().Name()}), nil
	}
	w := b.Watch(size)
	return &FakeRecorder{Recorder: b.Recorder("test"), Events: w.C, watcher: w}
}

// Dropped returns the number of dropped events.
func (f *FakeRecorder) Dropped() int { return f.watcher.Dropped() }
