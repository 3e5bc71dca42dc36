package eventfilter_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kctrl-dev/kctrl/runtime/compat/eventfilter"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	kctrl "github.com/kctrl-dev/kctrl/runtime/object"
)

func TestOfAsksTheMethodOfTheEvent(t *testing.T) {
	var asked string
	says := func(name string, answer bool) func(informer.Event[kctrl.Object]) bool {
		return func(informer.Event[kctrl.Object]) bool { asked = name; return answer }
	}
	p := eventfilter.Of(eventfilter.Funcs{
		CreateFunc: says("create", true), UpdateFunc: says("update", false), DeleteFunc: says("delete", true), GenericFunc: says("generic", false),
	})
	for _, test := range []struct {
		of   informer.EventType
		want string
		ok   bool
	}{
		{informer.Added, "create", true}, {informer.Updated, "update", false}, {informer.Deleted, "delete", true}, {informer.Generic, "generic", false},
	} {
		asked = ""
		if got := p(informer.Event[kctrl.Object]{Type: test.of, Object: &corev1.Pod{}, Old: &corev1.Pod{}}); got != test.ok || asked != test.want {
			t.Errorf("%v: got %v of %q, want %v of %q", test.of, got, asked, test.ok, test.want)
		}
	}
	for _, of := range []informer.EventType{informer.Added, informer.Updated, informer.Deleted, informer.Generic} {
		if !eventfilter.Of(eventfilter.Funcs{})(informer.Event[kctrl.Object]{Type: of}) {
			t.Errorf("%v does not count for functions that are not there", of)
		}
	}
}
