package events_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/events"
)

func ExampleBroadcaster_Watch() {
	// A test of a reconciler can inspect its events without an API server.
	broadcaster := events.New(events.Options{})
	watcher := broadcaster.Watch(10)
	defer watcher.Stop()

	guestbook := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "webapp.example.com/v1", Kind: "Guestbook"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hello"},
	}
	recorder := broadcaster.Recorder("guestbook")
	recorder.Eventf(guestbook, nil, events.Normal, "ScaledUp", "CreatePod", "created %d pods", 3)

	e := <-watcher.C
	fmt.Println(e.Regarding, e.Type, e.Reason, e.Note)
	// Output: Guestbook default/hello Normal ScaledUp created 3 pods
}
