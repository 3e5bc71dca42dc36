package informer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kctrl-dev/kctrl/runtime/informer"
)

// C01, C05
func TestPrivateInformerTellsItsHandler(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := newSource("a"), &log{}
		inf := informer.NewPrivate(s, l.handle, in(options{Name: "things", Resync: time.Minute}))
		runScoped(t, inf)
		<-inf.Synced()
		s.create("b")
		s.delete("a")
		pass(time.Minute)
		s.cut(apierrors.NewResourceExpired("gone"))
		s.delete("b")
		s.forget()
		pass(2 * time.Second)
		expect(t, "events", l.got(), "+a@11!", "+b@12", "-a@13", "~b@12>12", "-b@12?")
		if err := inf.Run(t.Context()); !errors.Is(err, informer.ErrAlreadyRun) {
			t.Errorf("second Run: %v", err)
		}
		if inf.Name() != "things" || inf.Err() != nil {
			t.Errorf("name %s, error %v", inf.Name(), inf.Err())
		}
	})
}

// C03
//
// Stronger: the store also waits for the handler, so that what it is told and what it reads are one state.
func TestStoreOfAPrivateInformerStandsStillWhileTheHandlerWorks(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s := newSource("a")
		var inf *informer.Private[obj]
		var seen []string
		inf = informer.NewPrivate(s, func(e informer.Event[obj]) {
			if e.Initial {
				s.update("a")
			}
			<-time.After(time.Second)
			o, _ := inf.Store().Get(e.Key())
			seen = append(seen, e.Object.ResourceVersion+" "+o.ResourceVersion)
		}, in(options{}))
		runScoped(t, inf)
		pass(2 * time.Second)
		expect(t, "told and read", seen, "11 11", "12 12")
	})
}

// C05, C07
func TestPrivateInformerIsNotSyncedWhenItEndsWithinTheFirstList(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		inf := informer.NewPrivate(newSource("a", "b"), func(informer.Event[obj]) { calls++; cancel() }, in(options{}))
		if err := inf.Run(ctx); err != nil || calls != 1 || isClosed(inf.Synced()) {
			t.Errorf("%v, %d calls, synced %v", err, calls, isClosed(inf.Synced()))
		}
	})
}

// F06, D02: the handler is the consumer of the queue here.
func TestSlowHandlerOfAPrivateInformerIsToldTheLastState(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := newSource("busy"), &log{}
		release := make(chan struct{})
		inf := informer.NewPrivate(s, func(e informer.Event[obj]) { <-release; l.handle(e) }, in(options{}))
		runScoped(t, inf)
		for range 10000 {
			s.update("busy")
		}
		synctest.Wait()
		close(release)
		synctest.Wait()
		got := l.got()
		if last := got[len(got)-1]; len(got) > 300 || last[len(last)-6:] != ">10011" {
			t.Errorf("%d events, the last is %s", len(got), last)
		}
		if inf.Store().Len() != 1 || fmt.Sprint(inf.Store().ResourceVersion()) != "10011" {
			t.Errorf("store at %s", inf.Store().ResourceVersion())
		}
	})
}
