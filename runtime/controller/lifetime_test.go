package controller

import (
	"context"
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"
	"weak"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/source"
)

// journaled is a source whose objects are written by clients of a journal. It is synced at once and ends with its context,
// or when quit is closed.
type journaled struct {
	journal *client.Journal
	quit    chan struct{}
}

func (j journaled) Run(ctx context.Context, _ handler.Queue[reconcile.Request], synced func()) error {
	synced()
	select {
	case <-ctx.Done():
	case <-j.quit:
	}
	return nil
}

func (journaled) Err() error                 { return nil }
func (journaled) String() string             { return "journaled" }
func (j journaled) Journal() *client.Journal { return j.journal }

// records reports whether a controller records a write that a client tells j.
func records(t *testing.T, c *Controller[reconcile.Request], j *client.Journal, uid types.UID) bool {
	t.Helper()
	w := writes.Write{
		GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Key: object.Key{Name: "a"}, UID: uid, ResourceVersion: "1",
	}
	begun := c.events.own.begins()
	end := writes.LogOf(j).Begin(t.Context(), w)
	defer end()
	writes.LogOf(j).Record(t.Context(), w)
	o := c.events.own
	o.mu.Lock()
	noted := o.writes.has(ownWrite{uid: uid, version: "1"})
	o.mu.Unlock()
	if counted := o.begins() > begun; counted != noted {
		t.Errorf("the controller recorded the begin of the write: %v, and its end: %v", counted, noted)
	}
	return noted
}

func doNothing(context.Context, reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, nil
}

func TestControllerRecordsWritesUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &client.Journal{}
		c := New("test", reconcile.Func[reconcile.Request](doNothing), Options{Logger: slog.New(slog.DiscardHandler)})
		for range 2 { // sources of one cache share its journal
			if err := c.Watch(source.Optional[reconcile.Request](journaled{journal: j})); err != nil {
				t.Fatal(err)
			}
		}
		if !records(t, c, j, "before") { // whose event may come later
			t.Error("a controller that is to run does not record a write")
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		synctest.Wait()
		if !records(t, c, j, "while") {
			t.Error("a controller that runs does not record a write")
		}
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if records(t, c, j, "after") {
			t.Error("a controller that has ended records a write")
		}
	})
}

// TestControllerThatNeverRunsIsFreed builds a controller and forgets it, as a manager does that cannot add it.
func TestControllerThatNeverRunsIsFreed(t *testing.T) {
	j := &client.Journal{}
	c := New("test", reconcile.Func[reconcile.Request](doNothing), Options{})
	if err := c.Watch(journaled{journal: j}); err != nil {
		t.Fatal(err)
	}
	freed := make(chan struct{})
	reference := weak.Make(c.events.own)
	runtime.AddCleanup(c.events.own, func(freed chan struct{}) { close(freed) }, freed)
	runtime.KeepAlive(c)
	c = nil
	runtime.GC()
	if reference.Value() != nil {
		t.Fatal("the journal keeps the controller")
	}
	<-freed
	writes.LogOf(j).Record(t.Context(), writes.Write{UID: "later"})
}

func TestClosedSubscriptionOfAControllerThatHasNotRunRecordsNothing(t *testing.T) {
	j := &client.Journal{}
	c := New("test", reconcile.Func[reconcile.Request](doNothing), Options{})
	s, err := c.Subscribe(journaled{journal: j})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if records(t, c, j, "closed") {
		t.Error("the controller records a write of a journal without a source")
	}
}

func TestControllerRecordsWritesUntilTheLastSourceOfAJournalEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, other := &client.Journal{}, &client.Journal{}
		c := New("test", reconcile.Func[reconcile.Request](doNothing), Options{Logger: slog.New(slog.DiscardHandler)})
		first, err := c.Subscribe(journaled{journal: shared})
		if err != nil {
			t.Fatal(err)
		}
		second := journaled{journal: shared, quit: make(chan struct{})}
		for _, s := range []journaled{second, {journal: other}} {
			if err := c.Watch(s); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		synctest.Wait()
		first.Close()
		if !records(t, c, shared, "one left") {
			t.Error("the controller does not record a write, though a source of the journal runs")
		}
		close(second.quit) // as one of a cluster that has stopped
		synctest.Wait()
		if records(t, c, shared, "none left") {
			t.Error("the controller records a write of a journal without a source")
		}
		if !records(t, c, other, "other") {
			t.Error("the controller does not record a write of another journal")
		}
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	})
}

func TestWarmControllerRecordsWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &client.Journal{}
		c := New("test", reconcile.Func[reconcile.Request](doNothing), Options{WarmUp: true, Logger: slog.New(slog.DiscardHandler)})
		if err := c.Watch(journaled{journal: j}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.WarmUp().Run(ctx) }()
		synctest.Wait()
		if !records(t, c, j, "warm") {
			t.Error("a controller whose sources run does not record a write")
		}
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if records(t, c, j, "after") {
			t.Error("a controller whose sources have ended records a write")
		}
	})
}
