package controller

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/source"
)

// journaled is a source whose objects are written by the clients of a journal. It syncs at once and ends with its
// context.
type journaled struct {
	journal *client.Journal
	queue   chan<- handler.Queue[reconcile.Request] // receives the source's queue, unless it is nil
}

func (j journaled) Run(ctx context.Context, queue handler.Queue[reconcile.Request], synced func()) error {
	if j.queue != nil {
		j.queue <- queue
	}
	synced()
	<-ctx.Done()
	return nil
}

func (journaled) Err() error                 { return nil }
func (journaled) String() string             { return "journaled" }
func (j journaled) Journal() *client.Journal { return j.journal }

func doNothing(context.Context, reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, nil
}

// TestControllerThatNeverRunsIsFreed builds a controller, writes with its context and drops it. The log of writes must
// not keep it.
func TestControllerThatNeverRunsIsFreed(t *testing.T) {
	j := &client.Journal{}
	c := New("test", reconcile.Func[reconcile.Request](doNothing), Options{})
	if err := c.Watch(source.Optional[reconcile.Request](journaled{journal: j})); err != nil {
		t.Fatal(err)
	}
	w := writes.Write{UID: "uid", ResourceVersion: "1", Changed: true}
	writes.LogOf(j).Record(c.events.writer.Context(t.Context()), w)
	freed := make(chan struct{})
	reference := weak.Make(c)
	runtime.AddCleanup(c, func(freed chan struct{}) { close(freed) }, freed)
	runtime.KeepAlive(c)
	c = nil
	runtime.GC()
	if reference.Value() != nil {
		t.Fatal("the log of writes keeps the controller")
	}
	<-freed
}

// TestEventsAreMatchedWithTheWritesOfTheirSource uses two clusters whose objects have the same UIDs and versions. A
// write counts as own only for events of the cluster that it was sent to.
func TestEventsAreMatchedWithTheWritesOfTheirSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		fails := func(context.Context, reconcile.Request) (reconcile.Result, error) {
			attempts++
			return reconcile.Result{}, errors.New("broken")
		}
		c := New("test", reconcile.Func[reconcile.Request](fails), Options{Logger: slog.New(slog.DiscardHandler),
			BaseDelay: time.Hour})
		own, other := &client.Journal{}, &client.Journal{}
		queues := map[*client.Journal]chan handler.Queue[reconcile.Request]{
			own: make(chan handler.Queue[reconcile.Request], 1), other: make(chan handler.Queue[reconcile.Request], 1),
		}
		for j, queue := range queues {
			if err := c.Watch(source.Optional[reconcile.Request](journaled{journal: j, queue: queue})); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		c.events.Add(theThing)
		synctest.Wait()
		writes.LogOf(own).Record(ctx, writes.Write{UID: "u", ResourceVersion: "1", Changed: true})
		for _, step := range []struct {
			journal *client.Journal
			want    int
		}{{own, 1}, {other, 2}} {
			(<-queues[step.journal]).(sourceQueue[reconcile.Request]).Because(partKind, update("u", "1")).Add(theThing)
			<-time.After(2 * time.Second)
			synctest.Wait()
			if attempts != step.want {
				t.Errorf("%d attempts, want %d", attempts, step.want)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	})
}
