package starter_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/compat/starter"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/workqueue"
)

// ticks is a source in the form of controller-runtime: Start does not block, and WaitForSync says when it has synced.
type ticks struct{ synced time.Duration }

func (ticks) Start(ctx context.Context, queue handler.Queue[string]) error {
	go func() {
		<-ctx.Done()
	}()
	queue.Add("first")
	return nil
}

func (s ticks) WaitForSync(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(s.synced):
		return nil
	}
}

func TestOfStartsAndWaitsUntilItHasSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		queue := workqueue.New[string](workqueue.Options{})
		start, ended := time.Now(), make(chan error)
		go func() {
			ended <- starter.SourceOf(ticks{time.Minute}).Run(ctx, queue, func() {
				if took := time.Since(start); took != time.Minute {
					t.Errorf("synced after %v", took)
				}
				cancel()
			})
		}()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if queue.Len() != 1 {
			t.Errorf("%d requests", queue.Len())
		}
	})
}

func TestOfFailsWithStart(t *testing.T) {
	failed := errors.New("cannot start")
	s := starter.SourceOf(starter.SourceFunc[string](func(context.Context, handler.Queue[string]) error { return failed }))
	if err := s.Run(t.Context(), nil, func() { t.Error("synced") }); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
	if !errors.Is(s.Err(), failed) {
		t.Errorf("Err returns %v", s.Err())
	}
}

func TestOfThatIsStoppedBeforeItHasSyncedIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := starter.SourceOf(ticks{time.Hour}).Run(ctx, workqueue.New[string](workqueue.Options{}), func() {}); err != nil {
			t.Error(err)
		}
	})
}

// starting is what a library has for controller-runtime.
type starting struct{ err error }

func (s starting) Start(context.Context) error { return s.err }

// everywhere runs without the leadership.
type everywhere struct{ starting }

func (everywhere) NeedLeaderElection() bool { return false }

func TestRunnableOfAsksForLeaderElection(t *testing.T) {
	failed := errors.New("failed")
	if err := starter.RunnableOf(starting{failed}).Run(t.Context()); err != failed {
		t.Errorf("ended with %v", err)
	}
	if r := starter.RunnableOf(starting{}).(manager.LeaderElectionRunnable); !r.NeedLeaderElection() {
		t.Error("it runs without the leadership")
	}
	if r := starter.RunnableOf(everywhere{}).(manager.LeaderElectionRunnable); r.NeedLeaderElection() {
		t.Error("it waits for the leadership")
	}
}
