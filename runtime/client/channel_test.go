package client_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/client"
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

func TestWatchChannelHasTheEventsAndTheErrorOfTheServer(t *testing.T) {
	body := text(configMapEvent("ADDED", "a", "1") + bookmark12 + configMapEvent("DELETED", "a", "2") +
		`{"type":"ERROR","object":` + status(410, metav1.StatusReasonExpired, "old") + `}`)
	w, err := client.WatchChannel(t.Context(), watching{stream: watchOf[object.Object](t, t.Context(), configMap(""), body)}, &corev1.ConfigMapList{})
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
	if len(got) != 3 || got[0] != watch.Added || got[1] != watch.Deleted || got[2] != watch.Error {
		t.Errorf("got %v", got)
	}
	w.Stop()
}

func TestWatchChannelThatIsStoppedEnds(t *testing.T) {
	stream := watchOf[object.Object](t, t.Context(), configMap(""), text(configMapEvent("ADDED", "a", "1")+configMapEvent("ADDED", "b", "2")))
	w, err := client.WatchChannel(t.Context(), watching{stream: stream}, &corev1.ConfigMapList{})
	if err != nil {
		t.Fatal(err)
	}
	w.Stop()
	w.Stop()
	for range w.ResultChan() {
		continue // at most what was on its way
	}
}

func TestWatchChannelThatCannotOpen(t *testing.T) {
	no := errors.New("no")
	if _, err := client.WatchChannel(t.Context(), watching{err: no}, &corev1.ConfigMapList{}); !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
}

func TestListOptionsOfAPIMachinery(t *testing.T) {
	o := client.ListOptions{Namespace: "n", LabelSelector: labels.SelectorFromSet(labels.Set{"a": "b"}), FieldSelector: fields.OneTermEqualSelector("c", "d"), Limit: 3, NotOlderThan: "5"}
	want := metav1.ListOptions{LabelSelector: "a=b", FieldSelector: "c=d", Limit: 3, ResourceVersion: "5", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
	if got := *o.AsListOptions(); got.String() != want.String() {
		t.Errorf("got %v", got)
	}
	o.Continue = "x"
	want.Continue, want.ResourceVersion, want.ResourceVersionMatch = "x", "", ""
	if got := *o.AsListOptions(); got.String() != want.String() {
		t.Errorf("of a page that goes on: got %v", got)
	}
}

func TestOptionsOfAPatchAreThoseOfAnApply(t *testing.T) {
	o, err := client.ApplyOptionsOf(client.AsApplyOptions(client.FieldOwner("me"), client.ForceOwnership, client.DryRunAll)...)
	if err != nil || o.FieldOwner != "me" || !o.Force || !o.DryRun {
		t.Errorf("got %+v, %v", o, err)
	}
}
