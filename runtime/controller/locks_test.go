package controller

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// observed is an object that reports each read of its version. The log of writes reads the version while it holds its
// own lock.
type observed struct {
	metav1.PartialObjectMetadata
	look func()
}

func (o *observed) GetResourceVersion() string {
	o.look()
	return o.PartialObjectMetadata.GetResourceVersion()
}

// TestEventQueueHoldsNoLockOverThatOfItsWrites checks that the event queue does not hold its lock while it calls the
// log of writes. The request has failed, is being reconciled, and has more events than the queue keeps.
func TestEventQueueHoldsNoLockOverThatOfItsWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, end := make(chan struct{}), make(chan struct{})
		c := New("test", reconcile.Func[reconcile.Request](func(context.Context,
			reconcile.Request) (reconcile.Result, error) {
			begun <- struct{}{}
			<-end
			return reconcile.Result{}, errors.New("broken")
		}), Options{Logger: slog.New(slog.DiscardHandler), BaseDelay: worldLimit})
		j := &client.Journal{}
		if err := c.Watch(journaled{journal: j}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		looks, held := 0, 0
		o := &observed{PartialObjectMetadata: *state("uid", "2"), look: func() {
			looks++
			if !c.events.mu.TryLock() {
				held++
				return
			}
			c.events.mu.Unlock()
		}}
		o.Namespace, o.Name = theThing.Namespace, theThing.Name
		e := event{Type: informer.Updated, Old: state("uid", "1"), Object: o}
		c.events.Add(theThing)
		<-begun
		writes.LogOf(j).Record(ctx, writes.Write{UID: "uid", ResourceVersion: "2", Changed: true})
		for range maxUndecided + 2 {
			sourceQueue[reconcile.Request]{c.events, writes.LogOf(j)}.Because(partKind, e).Add(theThing)
		}
		end <- struct{}{}
		synctest.Wait()
		during := looks
		sourceQueue[reconcile.Request]{c.events, writes.LogOf(j)}.Because(partKind, e).Add(theThing) // during the backoff
		synctest.Wait()
		if during <= maxUndecided+2 || looks <= during+1 { // each call of Because reads the version once itself
			t.Errorf("%d looks while it ran, and %d after it", during, looks-during)
		}
		if held > 0 {
			t.Errorf("of %d looks at the version of an object %d were with the lock of the queue", looks, held)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	})
}
