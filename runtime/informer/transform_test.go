package informer_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kctrl-dev/kctrl/runtime/informer"
)

// marking is a transform that marks each object it sees, and fails for objects and versions named in broken.
func marking(broken map[string]bool) func(obj) (obj, error) {
	return func(o obj) (obj, error) {
		if o.Labels["transformed"] != "" {
			return o, errors.New("transformed twice")
		}
		if broken[o.Name] || broken[o.Name+"@"+o.ResourceVersion] {
			return o, errors.New("broken")
		}
		o.Labels = map[string]string{"transformed": "yes"}
		return o, nil
	}
}

// C10
func TestEachObjectIsTransformedOnceBeforeAnybodySeesIt(t *testing.T) {
	for _, listed := range []bool{false, true} {
		inBothForms(t, func(t *testing.T, in form) {
			s := newSource("a", "b")
			inf := build(s, in(options{Transform: marking(nil), DisableWatchList: listed, Resync: time.Minute}))
			events := 0
			inf.AddHandler(func(e informer.Event[obj]) {
				events++
				if e.Object.Labels["transformed"] != "yes" || e.Type == informer.Updated && e.Old.Labels["transformed"] != "yes" {
					t.Errorf("%s is not transformed", describe(e))
				}
			})
			run(t, inf)
			s.update("a")
			s.delete("b")
			s.cut(apierrors.NewResourceExpired("gone"))
			s.create("c")
			pass(time.Minute)
			if events != 7 {
				t.Errorf("%d events", events)
			}
		})
	}
}

// C10
//
// Stronger: an object that cannot be transformed keeps its last good state in the store, and a relist does not take it
// for deleted.
func TestObjectThatCannotBeTransformedStaysAsItWas(t *testing.T) {
	for _, listed := range []bool{false, true} {
		inBothForms(t, func(t *testing.T, in form) {
			s, l := newSource("a", "broken", "c"), &log{}
			broken := map[string]bool{"broken": true, "a@14": true, "a@15": true, "c@16": true}
			inf := build(s, in(options{Transform: marking(broken), DisableWatchList: listed}))
			inf.AddHandler(l.handle)
			run(t, inf)
			s.update("a")
			synctest.Wait()
			expect(t, "events", l.got(), "+a@11!", "+c@13!")
			if got := inf.Store().ResourceVersion(); got != "14" {
				t.Errorf("store at %s", got)
			}
			s.cut(apierrors.NewResourceExpired("gone"))
			s.update("a")
			pass(2 * time.Second)
			expect(t, "events after a relist", l.got())
			s.delete("c")
			s.update("a")
			synctest.Wait()
			expect(t, "events after a deletion", l.got(), "-c@13?", "~a@11>17")
			s.delete("broken")
			synctest.Wait()
			expect(t, "events of an object never seen", l.got())
		})
	}
}
