package watchchannel_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/compat/watchchannel"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// watching is a client whose watches are a stream.
type watching struct {
	client.WithWatch
	stream client.Stream[object.Object]
	err    error
}

func (w watching) Watch(context.Context, object.List, ...client.ListOption) (client.Stream[object.Object], error) {
	return w.stream, w.err
}

// stream has events, and an error after them.
type stream struct {
	events []client.WatchEvent[object.Object]
	err    error
}

func (s *stream) Next() (client.WatchEvent[object.Object], error) {
	if len(s.events) == 0 {
		return client.WatchEvent[object.Object]{}, s.err
	}
	event := s.events[0]
	s.events = s.events[1:]
	return event, nil
}

func (*stream) Close() error { return nil }

func event(of watch.EventType, name string) client.WatchEvent[object.Object] {
	return client.WatchEvent[object.Object]{Type: of, Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}}
}

func TestTheChannelHasTheEventsAndTheErrorOfTheServer(t *testing.T) {
	s := &stream{
		[]client.WatchEvent[object.Object]{event(watch.Added, "a"), {Type: watch.Bookmark}, event(watch.Deleted, "a")},
		apierrors.NewResourceExpired("old"),
	}
	w, err := watchchannel.Open(t.Context(), watching{stream: s}, &corev1.ConfigMapList{})
	if err != nil {
		t.Fatal(err)
	}
	var got []watch.EventType
	for event := range w.ResultChan() {
		got = append(got, event.Type)
		switch o := event.Object.(type) {
		case *corev1.ConfigMap:
			if o.Name != "a" {
				t.Errorf("got %s", o.Name)
			}
		case *metav1.Status:
			if o.Reason != metav1.StatusReasonExpired {
				t.Errorf("got %v", o)
			}
		}
	}
	if want := []watch.EventType{watch.Added, watch.Deleted, watch.Error}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	w.Stop()
}

func TestAWatchThatIsStoppedEnds(t *testing.T) {
	s := &stream{[]client.WatchEvent[object.Object]{event(watch.Added, "a"), event(watch.Added, "b")}, io.EOF}
	w, err := watchchannel.Open(t.Context(), watching{stream: s}, &corev1.ConfigMapList{})
	if err != nil {
		t.Fatal(err)
	}
	w.Stop()
	w.Stop()
	for range w.ResultChan() {
		continue // at most what was on its way
	}
}

func TestAWatchThatCannotOpen(t *testing.T) {
	no := errors.New("no")
	if _, err := watchchannel.Open(t.Context(), watching{err: no}, &corev1.ConfigMapList{}); !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
}
