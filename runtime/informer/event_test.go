package informer_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

func TestEventsConvertToTheTypeOfTheirObjects(t *testing.T) {
	pod, node := &corev1.Pod{}, &corev1.Node{}
	for name, test := range map[string]struct {
		event informer.Event[object.Object]
		ok    bool
	}{
		"the type":                  {informer.Event[object.Object]{Type: informer.Added, Object: pod}, true},
		"no object, as in tests":    {informer.Event[object.Object]{Type: informer.Added}, true},
		"another type":              {informer.Event[object.Object]{Type: informer.Added, Object: node}, false},
		"an update":                 {informer.Event[object.Object]{Type: informer.Updated, Object: pod, Old: pod}, true},
		"an update of another type": {informer.Event[object.Object]{Type: informer.Updated, Object: pod, Old: node}, false},
		"an update without old":     {informer.Event[object.Object]{Type: informer.Updated, Object: pod}, true},
	} {
		t.Run(name, func(t *testing.T) {
			as, ok := informer.As[*corev1.Pod](test.event)
			if ok != test.ok || ok && (as.Type != test.event.Type || as.Object != pod && test.event.Object != nil) {
				t.Errorf("got %v, %t, want %t", as, ok, test.ok)
			}
		})
	}
}
