package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// because returns the controller's queue for an update of the object with that name. If quiet is true, the update
// changes nothing, as in a resync.
func (s *run) because(name string, quiet bool) handler.Queue[string] {
	before := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name,
		ResourceVersion: "1"}}
	now := before.DeepCopy()
	if !quiet {
		now.ResourceVersion = "2"
	}
	e := informer.Event[object.Object]{Type: informer.Updated, Old: before, Object: now}
	return becauseOf(s.queue, "Thing", e)
}

func TestReconcilerReceivesTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		s := start(t, func(ctx context.Context, request string) (reconcile.Result, error) {
			reason := controller.ReasonFrom(ctx)
			l.add(fmt.Sprintf("%s: %s (%d more)", request, reason, reason.More))
			<-time.After(time.Second)
			return reconcile.Result{}, nil
		}, controller.Options{})
		s.because("one", false).Add("a")
		synctest.Wait()
		for n := range 6 {
			s.because(fmt.Sprint("n", n), false).AddAfter("a", time.Second)
		}
		pass(time.Minute)
		s.queue.Add("a")
		s.because("quiet", true).Add("b")
		pass(time.Minute)
		expect(t, "reasons", l.take(),
			"0s a: Updated Thing ns/one (0 more)",
			"1s a: Updated Thing ns/n0, Updated Thing ns/n1, Updated Thing ns/n2, Updated Thing ns/n3, and more (2 more)",
			"1m0s a:  (0 more)",
			"1m1s b:  (0 more)",
		)
		s.end()
	})
	if reason := controller.ReasonFrom(t.Context()); reason.Causes != nil {
		t.Errorf("outside of a reconcile: got %v", reason)
	}
}

func TestExistingObjectsFollowChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		s := start(t, l.takes(time.Second), controller.Options{})
		s.queue.Add("busy")
		synctest.Wait()
		s.because("x", true).Add("existing")
		s.because("x", true).Add("existing and changed")
		pass(time.Millisecond)
		s.because("x", false).Add("changed")
		s.because("x", false).Add("existing and changed")
		pass(time.Minute)
		var order []string
		for _, line := range l.take() {
			if _, request, found := strings.Cut(line, "begin "); found {
				order = append(order, request)
			}
		}
		expect(t, "order", order, "busy", "changed", "existing and changed", "existing")
		s.end()
	})
}

func TestExistingObjectsAreNotStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		s := start(t, l.takes(time.Second), controller.Options{})
		s.queue.Add("busy")
		synctest.Wait()
		s.because("x", true).Add("existing")
		seen := -1
		for n := range 300 { // more requests than the controller can process
			s.queue.Add(fmt.Sprint("a", n), fmt.Sprint("b", n))
			pass(time.Second)
			for _, line := range l.take() {
				if strings.HasSuffix(line, "begin existing") {
					seen = n
				}
			}
		}
		if seen < 50 || seen > 200 {
			t.Errorf("what existed was reconciled after %d s", seen)
		}
		s.end()
	})
}

func TestResultSetsThePriorityOfTheNextReconcile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		s := start(t, func(_ context.Context, request string) (reconcile.Result, error) {
			l.add(request)
			if request == "busy" {
				<-time.After(time.Minute)
				return reconcile.Result{}, nil
			}
			if len(l.lines) > 2 {
				return reconcile.Result{}, nil
			}
			priority := map[string]int{"low": -10, "high": 10}[request]
			return reconcile.Result{RequeueAfter: time.Second, Priority: &priority}, nil
		}, controller.Options{})
		s.queue.Add("low")
		pass(0)
		s.queue.Add("high")
		pass(0)
		s.queue.Add("busy")
		pass(2 * time.Minute)
		expect(t, "order", l.take(), "0s low", "0s high", "0s busy", "1m0s high", "1m0s low")
		s.end()
	})
}

func TestEventsAreCollected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		s := start(t, l.takes(0), controller.Options{Debounce: time.Second})
		s.because("x", true).Add("existing")
		for range 15 {
			s.queue.Add("a")
			s.because("x", false).Add("b")
			pass(100 * time.Millisecond)
		}
		pass(time.Minute)
		expect(t, "reconciles", l.take(), "0s begin existing", "1s begin a", "1s begin b", "2s begin a", "2s begin b")
		s.end()
	})
}

func TestReconcileHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, n := newLog(), 0
		s := start(t, func(ctx context.Context, request string) (reconcile.Result, error) {
			l.add(request)
			if n++; n > 1 {
				return reconcile.Result{}, nil
			}
			<-ctx.Done()
			return reconcile.Result{}, ctx.Err()
		}, controller.Options{ReconcileTimeout: time.Minute, BaseDelay: time.Second})
		s.queue.Add("a")
		pass(time.Hour)
		expect(t, "reconciles", l.take(), "0s a", "1m1s a")
		var text strings.Builder
		if _, err := s.metrics.WriteTo(&text); err != nil ||
			!strings.Contains(text.String(), `controller_runtime_reconcile_timeouts_total{controller="test"} 1`) {
			t.Errorf("the metrics are %s, %v", text.String(), err)
		}
		s.end()
		if !strings.Contains(s.logs.String(), "longer than ReconcileTimeout") {
			t.Errorf("the log has %s", s.logs)
		}
	})
}
