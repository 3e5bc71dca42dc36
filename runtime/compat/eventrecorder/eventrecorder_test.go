package eventrecorder_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/compat/eventrecorder"
	"github.com/kctrl-dev/kctrl/runtime/events"
)

// TestTextOfIsTheTextRecorder asks for what is recorded by the recorder that a reconciler has.
func TestTextOfIsTheTextRecorder(t *testing.T) {
	made := eventrecorder.NewTextRecorder(1)
	given := eventrecorder.TextOf(made.WithAnnotations(map[string]string{"a": "b"}))
	if given == nil {
		t.Fatal("a recorder of texts is not known")
	}
	given.Eventf(aPod, nil, events.Normal, "Created", "Create", "made %s", "it")
	if got, want := <-made.Events, "Normal Created made it"; got != want || len(given.Events) != 0 {
		t.Errorf("got %q, want %q", got, want)
	}
	for name, other := range map[string]*events.Recorder{"none": nil, "of a broadcaster": events.NewFakeRecorder(1).Recorder} {
		if eventrecorder.TextOf(other) != nil {
			t.Errorf("%s: is one of texts", name)
		}
	}
}

// TestTextRecorderTellsTexts compares with what client-go's recorder for tests tells.
func TestTextRecorderTellsTexts(t *testing.T) {
	r := eventrecorder.NewTextRecorder(2)
	eventrecorder.AsCore(r.Recorder).Event(aPod, events.Normal, "Made", "100%")
	r.Eventf(aPod, nil, events.Warning, "Failed", "Make", "no %s", "volume")
	r.Eventf(aPod, nil, events.Warning, "Full", "Make", "dropped")
	for _, want := range []string{"Normal Made 100%", "Warning Failed no volume"} {
		if got := <-r.Events; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if len(r.Events) > 0 {
		t.Errorf("%q was kept, although there was no place", <-r.Events)
	}
	var zero eventrecorder.TextRecorder
	zero.Eventf(aPod, nil, events.Normal, "Made", "Make", "nobody hears it")
}

func TestRecordersForLibrariesRecordTheSame(t *testing.T) {
	fake := events.NewFakeRecorder(3)
	core := eventrecorder.AsCore(fake.Recorder)
	core.Event(aPod, events.Normal, "Made", "100%")
	core.Eventf(aPod, events.Normal, "Made", "%d", 3)
	core.AnnotatedEventf(aPod, map[string]string{"a": "b"}, events.Warning, "Failed", "x")
	for _, want := range []string{"Normal Made 100%", "Normal Made 3", "Warning Failed x"} {
		e := <-fake.Events
		if e.String() != want || e.Regarding.Name != "web" || e.Action != e.Reason || (want == "Warning Failed x") != (e.Annotations["a"] == "b") {
			t.Errorf("got %+v, want %s", e, want)
		}
	}
}

var aPod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}

// toldCore is a recorder in the form of client-go's tools/record.
type toldCore struct{ lines []string }

func (r *toldCore) Event(_ runtime.Object, eventType, reason, message string) {
	r.lines = append(r.lines, eventType+" "+reason+" "+message)
}

func (r *toldCore) Eventf(regarding runtime.Object, eventType, reason, format string, args ...any) {
	r.Event(regarding, eventType, reason, fmt.Sprintf(format, args...))
}

func (r *toldCore) AnnotatedEventf(regarding runtime.Object, annotations map[string]string, eventType, reason, format string, args ...any) {
	r.Event(regarding, eventType, reason, fmt.Sprint(fmt.Sprintf(format, args...), annotations))
}

func TestARecorderOfOnesOwnInTheOldFormIsToldEverything(t *testing.T) {
	own := &toldCore{}
	r := eventrecorder.OfCore(own)
	r.Eventf(&corev1.Pod{}, nil, events.Normal, "Created", "Create", "made %d", 3)
	r.WithAnnotations(map[string]string{"a": "b"}).Eventf(&corev1.Pod{}, nil, events.Warning, "Failed", "Create", "no")
	if want := []string{"Normal Created made 3", "Warning Failed nomap[a:b]"}; !slices.Equal(own.lines, want) {
		t.Errorf("got %q", own.lines)
	}
}
