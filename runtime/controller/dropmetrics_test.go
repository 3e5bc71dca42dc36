package controller_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/controller"
)

// The registry keeps nothing of a controller that has dropped its metrics: a metric that is forgotten in the list would be
// left with its name.
func TestMetricsOfAControllerCanBeDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		s := start(t, l.returns(answer{err: errBroken}, answer{after: time.Second}, answer{}), controller.Options{ReconcileTimeout: time.Second})
		s.queue.Add("a")
		pass(time.Minute)
		s.end()
		wantMetrics(t, s, `controller_runtime_reconcile_total{controller="test",result="error"} 1`)
		s.c.DropMetrics()
		var text strings.Builder
		if _, err := s.metrics.WriteTo(&text); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.String()) {
			if strings.Contains(line, `"test"`) {
				t.Errorf("left: %s", line)
			}
		}
	})
}

// A builder is given a prototype for a type that is of any kind.
func TestKindOfAnUnstructuredControllerIsThatOfItsPrototype(t *testing.T) {
	m := newStub(t)
	if err := controller.ForPrototype(m, gadget("", "")).Complete(nothing); err != nil {
		t.Fatal(err)
	}
	expect(t, "names", []string{m.added[0].Name()}, "gadget")
}
