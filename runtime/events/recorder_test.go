package events

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// recorded returns the events and the log lines that record causes.
func recorded(t *testing.T, record func(r *Recorder)) (events []Event, log *lines) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	log = &lines{}
	b := New(Options{Scheme: scheme, Instance: "host", Logger: slog.New(slog.NewTextHandler(log, nil))})
	w := b.Watch(100)
	defer w.Stop()
	record(b.Recorder("example.com/guestbook"))
	for len(w.C) > 0 {
		events = append(events, <-w.C)
	}
	return events, log
}

func TestEventHasReasonAndObjects(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "p", UID: "u", ResourceVersion: "3"}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "v"}}
	before := time.Now()
	all, _ := recorded(t, func(r *Recorder) { r.Eventf(pod, node, Warning, "NoMemory", "Evict", "evicted at %d%%", 95) })
	e := all[0]
	want := Event{
		Namespace: "web", Name: e.Name, Type: "Warning", Reason: "NoMemory", Action: "Evict", Note: "evicted at 95%",
		Regarding:  Reference{APIVersion: "v1", Kind: "Pod", Namespace: "web", Name: "p", UID: "u", ResourceVersion: "3"},
		Related:    Reference{APIVersion: "v1", Kind: "Node", Name: "n", UID: "v"},
		Controller: "example.com/guestbook", Instance: "example.com/guestbook-host", First: e.First, Last: e.First, Count: 1,
	}
	got, _ := json.Marshal(e)
	if expected, _ := json.Marshal(want); string(got) != string(expected) {
		t.Errorf("recorded %s, want %s", got, expected)
	}
	if e.First.Before(before) || e.First.After(time.Now()) {
		t.Errorf("happened at %s", e.First)
	}
}

func TestEventsOfClusterScopedObjectsAreInDefault(t *testing.T) {
	all, _ := recorded(t, func(r *Recorder) {
		r.Eventf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, nil, Normal, "R", "A", "")
	})
	if all[0].Namespace != "default" || all[0].Regarding.Namespace != "" {
		t.Errorf("recorded %+v", all[0])
	}
}

func TestEventCanBeAboutAnyObject(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "a.b/v1", "kind": "U",
		"metadata": map[string]any{"name": "x"}}}
	unknown := &stranger{TypeMeta: metav1.TypeMeta{APIVersion: "c.d/v1", Kind: "Stranger"}}
	for want, o := range map[string]object.Object{"a.b/v1 U": u, "example.com/v1 Thing": thing("a"),
		"v1 Pod": &corev1.Pod{}, "c.d/v1 Stranger": unknown} {
		all, _ := recorded(t, func(r *Recorder) { r.Eventf(o, nil, Normal, "R", "A", "") })
		if got := all[0].Regarding.APIVersion + " " + all[0].Regarding.Kind; got != want {
			t.Errorf("%T is %q, want %q", o, got, want)
		}
	}
}

// stranger is a type that is in no scheme.
type stranger struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Password string
}

func (s *stranger) DeepCopyObject() runtime.Object { c := *s; return &c }

func TestPastEventsKeepTheirTime(t *testing.T) {
	past := time.Date(2020, 1, 2, 3, 4, 5, 6000, time.UTC)
	all, _ := recorded(t, func(r *Recorder) {
		r.At(past).Eventf(thing("a"), nil, Normal, "R", "A", "")
		r.Eventf(thing("a"), nil, Normal, "R", "A", "")
	})
	if !all[0].First.Equal(past) || !all[0].Last.Equal(past) || all[1].First.Equal(past) {
		t.Errorf("recorded %+v", all)
	}
}

func TestLastIsNeverBeforeAnEarlierLast(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newCounting(t, nil).run(t)
		now := time.Now()
		f.say(thing("a"), "R", "note")
		f.Recorder = f.At(now.Add(-time.Hour))
		f.say(thing("a"), "R", "note")
		f.shutDown()
		if got := f.sink.all()[0]; !got.Last.Equal(now) || got.Count != 2 {
			t.Errorf("stored %+v", got)
		}
	})
}

func TestAnnotationsAddUpAndAreCopied(t *testing.T) {
	annotations := map[string]string{"a": "1"}
	all, _ := recorded(t, func(r *Recorder) {
		one := r.WithAnnotations(annotations)
		annotations["a"] = "changed"
		two := one.WithAnnotations(map[string]string{"b": "2"})
		for _, r := range []*Recorder{r, one, two} {
			r.Eventf(thing("a"), nil, Normal, "R", "A", "")
		}
	})
	if len(all[0].Annotations) != 0 || len(all[1].Annotations) != 1 || all[1].Annotations["a"] != "1" ||
		len(all[2].Annotations) != 2 {
		t.Errorf("annotations are %v, %v and %v", all[0].Annotations, all[1].Annotations, all[2].Annotations)
	}
}

func TestEventThatNoServerTakesIsLoggedAndDropped(t *testing.T) {
	var noThing *metav1.PartialObjectMetadata
	long := strings.Repeat("x", 129)
	for problem, record := range map[string]func(r *Recorder){
		`type \"Error\" is neither Normal nor Warning`: func(r *Recorder) {
			r.Eventf(thing("a"), nil, "Error", "R", "A",
				"")
		},
		"the reason is missing":                      func(r *Recorder) { r.Eventf(thing("a"), nil, Normal, "", "A", "") },
		"the action is missing":                      func(r *Recorder) { r.Eventf(thing("a"), nil, Normal, "R", "", "") },
		"the reason has 129 bytes, and may have 128": func(r *Recorder) { r.Eventf(thing("a"), nil, Normal, long, "A", "") },
		"the action has 129 bytes, and may have 128": func(r *Recorder) { r.Eventf(thing("a"), nil, Normal, "R", long, "") },
		"there is no object":                         func(r *Recorder) { r.Eventf(noThing, nil, Normal, "R", "A", "") },
		"kind of the object": func(r *Recorder) {
			r.Eventf(&stranger{Password: "hunter2"}, nil,
				Normal, "R", "A", "")
		},
		"the second object of an event is omitted": func(r *Recorder) {
			r.Eventf(thing("a"), &stranger{Password: "hunter2"},
				Normal, "R", "A", "")
		},
	} {
		all, log := recorded(t, record)
		leftOut := strings.Contains(problem, "second")
		if (len(all) == 1) != leftOut || len(log.with(problem)) != 1 {
			t.Errorf("%s: recorded %v, and logged %q", problem, all, log.text)
		}
		if len(log.with("hunter2")) > 0 {
			t.Errorf("an object is logged: %q", log.text)
		}
	}
}

func TestNilObjectsAndRecordersAreHarmless(t *testing.T) {
	var r *Recorder
	r.At(time.Now()).WithAnnotations(nil).Eventf(thing("a"), nil, Normal, "R", "A", "")
	var noThing *metav1.PartialObjectMetadata
	all, log := recorded(t, func(r *Recorder) { r.Eventf(thing("a"), noThing, Normal, "R", "A", "") })
	if len(all) != 1 || all[0].Related != (Reference{}) || len(log.text) > 0 {
		t.Errorf("recorded %v, logged %v", all, log.text)
	}
}

func TestNoteIsCutBetweenCharactersWithAMark(t *testing.T) {
	for name, test := range map[string]struct{ note, suffix string }{
		"fits":        {strings.Repeat("é", 512), "é"},
		"too long":    {strings.Repeat("é", 513), "é" + truncated},
		"no UTF-8":    {strings.Repeat("\xff", 1025) + "end", "\uFFFDend"},
		"much":        {strings.Repeat("x", 1<<20), "x" + truncated},
		"mixed bytes": {strings.Repeat("a\xff", 600), truncated},
	} {
		got := fitNote(test.note)
		if len(got) > maxNote || !utf8.ValidString(got) || !strings.HasSuffix(got, test.suffix) {
			t.Errorf("%s: %d bytes ending in %q", name, len(got), got[len(got)-20:])
		}
	}
}

func TestNameOfAnObjectThatNoEventCanHaveIsReplaced(t *testing.T) {
	for name, kept := range map[string]bool{"a": true, "system:admin": false, strings.Repeat("x", 250): false,
		"UPPER": false} {
		if got := nameOf(Reference{Name: name}, 1<<60); strings.HasPrefix(got, name+".") != kept || len(got) > 253 {
			t.Errorf("%q became %q", name, got)
		}
	}
}

func TestRecorderNeedsTheNameOfAController(t *testing.T) {
	defer func() {
		if got, _ := recover().(string); !strings.Contains(got, "my controller") {
			t.Errorf("panic with %v", got)
		}
	}()
	New(Options{}).Recorder("my controller")
	t.Error("no panic")
}

func TestInstanceFits(t *testing.T) {
	r := New(Options{Instance: strings.Repeat("x", 200)}).Recorder("guestbook")
	if len(r.instance) != maxInstance {
		t.Errorf("the instance has %d bytes", len(r.instance))
	}
}

func TestEveryEventIsLoggedWithoutItsAnnotations(t *testing.T) {
	log := &lines{}
	b := New(Options{Logger: slog.New(slog.NewTextHandler(log, nil)), LogLevel: slog.LevelInfo})
	r := b.Recorder("guestbook").WithAnnotations(map[string]string{"token": "hunter2"})
	r.Eventf(thing("a"), thing("b"), Warning, "NoMemory", "Evict", "evicted")
	const want = `event.regarding="Thing web/a" event.related="Thing web/b" event.type=Warning event.reason=NoMemory ` +
		`event.action=Evict event.note=evicted event.controller=guestbook`
	if len(log.with(want)) != 1 || len(log.with("hunter2")) > 0 {
		t.Errorf("logged %q", log.text)
	}
}

func TestWatcherMissesWhatItHasNoRoomFor(t *testing.T) {
	b := New(Options{})
	r, slow, fast := b.Recorder("guestbook"), b.Watch(2), b.Watch(10)
	for range 5 {
		r.Eventf(thing("a"), nil, Normal, "R", "A", "")
	}
	if len(slow.C) != 2 || slow.Dropped() != 3 || len(fast.C) != 5 || fast.Dropped() != 0 {
		t.Errorf("%d and %d events, %d and %d dropped", len(slow.C), len(fast.C), slow.Dropped(), fast.Dropped())
	}
	slow.Stop()
	slow.Stop()
	r.Eventf(thing("a"), nil, Normal, "R", "A", "")
	if slow.Dropped() != 3 || len(fast.C) != 6 {
		t.Error("a stopped watcher gets an event, or another one does not")
	}
}

// BenchmarkEventf measures the cost of a repeated event for a reconciler.
func BenchmarkEventf(b *testing.B) {
	broadcaster := New(Options{Sink: newMemory(), Logger: slog.New(slog.DiscardHandler)})
	recorder, about := broadcaster.Recorder("guestbook"), thing("a")
	b.ReportAllocs()
	for b.Loop() {
		recorder.Eventf(about, nil, Normal, "Pulled", "PullImage", "pulled %d layers", 3)
	}
}

func TestFakeRecorderKeepsWhatIsRecordedAndKnowsEachKindByItsType(t *testing.T) {
	f := NewFakeRecorder(2)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}} // without a kind
	f.Eventf(pod, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, Warning, "FailedMount", "MountVolume",
		"no volume %q", "data")
	f.WithAnnotations(map[string]string{"a": "b"}).At(time.Unix(1, 0)).Eventf(pod, nil, Normal, "Started", "Start",
		"it runs")
	f.Eventf(pod, nil, Normal, "Started", "Start", "there is no place for it")
	e := <-f.Events
	if e.String() != `Warning FailedMount no volume "data"` || e.Regarding.String() != "Pod default/web" ||
		e.Related.String() != "Secret s" || e.Action != "MountVolume" {
		t.Errorf("got %+v", e)
	}
	if e = <-f.Events; e.String() != "Normal Started it runs" || e.Annotations["a"] != "b" ||
		!e.First.Equal(time.Unix(1, 0)) {
		t.Errorf("got %+v", e)
	}
	if len(f.Events) != 0 || f.Dropped() != 1 {
		t.Errorf("%d more, %d dropped", len(f.Events), f.Dropped())
	}
	f.Eventf(nil, nil, Normal, "Started", "Start", "about nothing")
	f.Eventf((*corev1.Pod)(nil), nil, Normal, "Started", "Start", "about nothing")
	if len(f.Events) != 0 {
		t.Errorf("got %v about no object", <-f.Events)
	}
}

// calls is a custom recorder that records its calls.
type calls []string

func (t *calls) Eventf(regarding, related runtime.Object, eventType, reason, action, format string, args ...any) {
	*t = append(*t, fmt.Sprintf("%T %v %s %s %s ", regarding, related, eventType, reason, action)+fmt.Sprintf(format,
		args...))
}

func TestCustomRecorderReceivesEverything(t *testing.T) {
	var own calls
	Of(&own).Eventf(&corev1.Pod{}, nil, Normal, "Made", "Make", "made %d", 3)
	if want := "*v1.Pod <nil> Normal Made Make made 3"; len(own) != 1 || own[0] != want {
		t.Errorf("got %q, want %q", own, want)
	}
}

// annotated is an Eventer that also records annotations.
type annotated struct {
	calls
	with map[string]string
}

func (a *annotated) WithAnnotations(annotations map[string]string) Eventer {
	return &annotated{a.calls, annotations}
}

func TestAnEventerOfOnesOwnGetsAllAnnotations(t *testing.T) {
	r := Of(&annotated{}).WithAnnotations(map[string]string{"a": "b"}).WithAnnotations(map[string]string{"c": "d"})
	own, ok := r.instead.(*annotated)
	if !ok || len(own.with) != 2 || own.with["a"] != "b" || own.with["c"] != "d" {
		t.Errorf("got %v", r.instead)
	}
}

func TestAnEventAboutWhatHasNoMetadataIsDropped(t *testing.T) {
	r := NewFakeRecorder(1)
	r.Eventf(&corev1.PodList{}, nil, Normal, "Created", "Create", "made")
	select {
	case e := <-r.Events:
		t.Errorf("recorded %s", e)
	default:
	}
}
