package controller_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/source"
)

func TestSourcesThatAreLateMakeTheControllerUnreadyAndNotCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		s := start(t, l.takes(0), controller.Options{CacheSyncTimeout: time.Minute},
			feed{name: "slow", existing: []string{"a"}, delay: 3 * time.Minute})
		pass(59 * time.Second)
		if err := s.c.Ready(); err == nil || errors.Is(err, controller.ErrSyncTimeout) {
			t.Errorf("before the timeout: got %v", err)
		}
		pass(time.Minute)
		if err := s.c.Ready(); !errors.Is(err, controller.ErrSyncTimeout) ||
			!strings.Contains(err.Error(), "feed slow has not synced") {
			t.Errorf("after the timeout: got %v", err)
		}
		pass(2 * time.Minute)
		expect(t, "reconciles", l.take(), "3m0s begin a")
		if err := s.c.Ready(); err != nil {
			t.Errorf("in the end: got %v", err)
		}
		s.end()
		if !strings.Contains(s.logs.String(), `level=ERROR msg="the controller does not reconcile"`) {
			t.Errorf("the log has %s", s.logs)
		}
	})
}

// TestEventsOfAChannelMayBeWithoutObjects sends an event without an object, for example as a timer does.
func TestEventsOfAChannelMayBeWithoutObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		events := make(chan informer.Event[*corev1.Pod])
		s := start(t, l.takes(0), controller.Options{})
		tick := handler.Map(func(_ context.Context, o *corev1.Pod) []string { return []string{fmt.Sprint(o != nil)} })
		if err := s.c.Watch(source.Channel(events, tick)); err != nil {
			t.Fatal(err)
		}
		for _, e := range []informer.Event[*corev1.Pod]{
			{}, {Type: informer.Generic}, {Type: informer.Added}, {Type: informer.Updated},
			{Type: informer.Updated, Object: &corev1.Pod{}},
		} {
			events <- e
			pass(time.Second)
		}
		expect(t, "reconciles", l.take(), "0s begin false", "1s begin false", "2s begin false", "3s begin false",
			"4s begin true", "4s begin false")
		if err := s.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestControllerDoesNotWaitForAnOptionalSourceThatIsAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		absent := lost{feed{name: "absent", delay: time.Hour, started: make(chan handler.Queue[string], 1)}, time.Now()}
		s := start(t, l.takes(0), controller.Options{}, feed{name: "there", existing: []string{"a"}})
		s.end()
		c := controller.New("test", l.takes(0), controller.Options{})
		for _, other := range []source.Source[string]{feed{name: "there", existing: []string{"a"}},
			source.Optional[string](absent)} {
			if err := c.Watch(other); err != nil {
				t.Fatal(err)
			}
		}
		l.take()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		pass(time.Second)
		if err := c.Ready(); err != nil {
			t.Errorf("got %v", err)
		}
		expect(t, "reconciles", l.take(), "0s begin a")
		(<-absent.started).Add("of the absent")
		pass(time.Second)
		expect(t, "reconciles when the kind has come", l.take(), "1s begin of the absent")
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// lost is a feed whose kind disappears at a given time.
type lost struct {
	feed
	at time.Time
}

func (l lost) Wait(ctx context.Context) error {
	select {
	case <-time.After(time.Until(l.at)):
		return fmt.Errorf("lost: %w", &meta.NoKindMatchError{})
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestLateAbsenceIsReportedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		const late = 42*time.Second + 420*time.Millisecond
		optional := source.Optional[string](lost{feed{name: "lost", delay: time.Hour}, time.Now().Add(late)})
		c := controller.New("test", l.takes(0), controller.Options{})
		for _, s := range []source.Source[string]{feed{name: "there", existing: []string{"a"}}, optional} {
			if err := c.Watch(s); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		pass(late)
		expect(t, "reconciles", l.take(), late.String()+" begin a")
		if err := c.Ready(); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// there is a feed whose kind exists
type there struct{ feed }

func (f there) Wait(ctx context.Context) error {
	select {
	case <-time.After(f.delay):
		return f.why
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestExistingOptionalSourceIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, why := range map[string]error{"it lists": nil, "it may not": errors.New("forbidden")} {
			c := controller.New("test", newLog().takes(0), controller.Options{})
			f := there{feed{name: "f", delay: time.Minute, why: why}}
			if err := c.Watch(source.Optional[string](f)); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- c.Run(ctx) }()
			pass(30 * time.Second)
			if c.Ready() == nil {
				t.Errorf("%s: the controller is ready", name)
			}
			pass(time.Minute)
			if err := c.Ready(); err != nil {
				t.Errorf("%s: got %v", name, err)
			}
			cancel()
			<-ended
		}
	})
}

func TestSubscriptionsComeAndGoWhileTheControllerRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		s := start(t, l.takes(0), controller.Options{})
		added := feed{name: "added", existing: []string{"a"}, delay: time.Minute, lingers: time.Second,
			started: make(chan handler.Queue[string], 1)}
		subscription, err := s.c.Subscribe(added)
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		expect(t, "reconciles", l.take(), "0s begin a")
		if err := s.c.Ready(); err == nil || !strings.Contains(err.Error(), "feed added has not synced") {
			t.Errorf("got %v", err)
		}
		pass(time.Minute)
		if err := s.c.Ready(); err != nil {
			t.Errorf("got %v", err)
		}
		began := time.Now()
		subscription.Close()
		subscription.Close()
		if took := time.Since(began); took != added.lingers {
			t.Errorf("Close took %v", took)
		}
		s.queue.Add("b")
		pass(0)
		expect(t, "reconciles after Close", l.take(), "1m2s begin b")
		if err := s.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestSubscriptionThatIsClosedBeforeItHasSyncedHoldsUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		c := controller.New("test", l.takes(0), controller.Options{})
		early, err := c.Subscribe(feed{name: "early"})
		if err != nil {
			t.Fatal(err)
		}
		early.Close()
		slow, err := c.Subscribe(feed{name: "slow", delay: time.Hour})
		if err := errors.Join(err, c.Watch(feed{name: "quick", existing: []string{"a"}})); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		pass(time.Second)
		slow.Close()
		pass(0)
		expect(t, "reconciles", l.take(), "1s begin a")
		if err := c.Ready(); err != nil {
			t.Error(err)
		}
		cancel()
		<-ended
	})
}

func TestWarmSourcesFeedTheQueueBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		c := controller.New("test", l.takes(0), controller.Options{WarmUp: true})
		if err := c.Watch(feed{name: "f", existing: []string{"a"}, delay: time.Minute}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		warm, ended := make(chan error, 1), make(chan error, 1)
		go func() { warm <- c.WarmUp().Run(ctx) }()
		pass(30 * time.Second)
		if c.Ready() == nil {
			t.Error("ready while the sources sync")
		}
		pass(time.Hour)
		expect(t, "reconciles of one that does not lead", l.take())
		leading, lost := context.WithCancel(t.Context())
		go func() { ended <- c.Run(leading) }()
		pass(0)
		expect(t, "reconciles of the leader", l.take(), "1h0m30s begin a")
		lost()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-warm; err != nil {
			t.Error(err)
		}
	})
}

func TestWarmUpLeavesTheSourcesToARunThatCameFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, newLog().takes(0), controller.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		warm := make(chan error, 1)
		go func() { warm <- s.c.WarmUp().Run(ctx) }()
		pass(time.Second)
		cancel()
		if err := <-warm; err != nil {
			t.Error(err)
		}
		s.queue.Add("a")
		if err := s.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestWarmUpReturnsTheErrorOfASource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := errors.New("the broker is gone")
		c := controller.New("test", reconcile.Func[string](newLog().takes(0)), controller.Options{})
		if err := c.Watch(feed{name: "f", fails: time.Second, failure: fails}); err != nil {
			t.Fatal(err)
		}
		if err := c.WarmUp().Run(t.Context()); !errors.Is(err, fails) {
			t.Errorf("got %v", err)
		}
	})
}
