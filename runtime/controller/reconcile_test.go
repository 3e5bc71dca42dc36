package controller_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	kctrllog "github.com/kctrl-dev/kctrl/runtime/log"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

var errBroken = errors.New("broken")

func TestRequestIsNeverReconciledTwiceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		s := start(t, l.takes(time.Minute), controller.Options{MaxConcurrentReconciles: 3})
		s.queue.Add("a")
		pass(time.Second)
		s.queue.Add("a", "a")
		pass(time.Second)
		s.queue.Add("a")
		pass(time.Hour)
		expect(t, "the added one, and one for all that came meanwhile", l.take(), "0s begin a", "1m0s end a", "1m0s begin a",
			"2m0s end a")
		if err := s.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestAsManyRequestsAreReconciledAtOnceAsThereAreWorkers(t *testing.T) {
	for workers, want := range map[int]time.Duration{-1: 6 * time.Minute, 0: 6 * time.Minute, 1: 6 * time.Minute,
		3: 2 * time.Minute, 9: time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			l := newLog()
			s := start(t, l.takes(time.Minute), controller.Options{MaxConcurrentReconciles: workers})
			s.queue.Add("a", "b", "c", "d", "e", "f")
			pass(time.Hour)
			lines := l.take()
			if last := lines[len(lines)-1]; len(lines) != 12 || !strings.HasPrefix(last, want.String()+" ") {
				t.Errorf("%d workers: the last is %q, want it after %v", workers, last, want)
			}
			s.end()
		})
	}
}

func TestErrorIsRetriedWithBackoffUntilItSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		s := start(t, l.returns(answer{err: errBroken}, answer{err: errBroken}, answer{err: errBroken}, answer{}),
			controller.Options{BaseDelay: time.Second})
		s.queue.Add("a")
		pass(time.Hour)
		expect(t, "reconciles", l.take(), "0s a", "1s a", "3s a", "7s a")
		s.end()
	})
}

func TestBackoffHasAMaximum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		s := start(t, l.returns(answer{err: errBroken}), controller.Options{BaseDelay: time.Second,
			MaxDelay: 2 * time.Second})
		s.queue.Add("a")
		pass(8 * time.Second)
		expect(t, "reconciles", l.take(), "0s a", "1s a", "3s a", "5s a", "7s a")
		s.end()
	})
}

func TestSuccessEndsTheBackoff(t *testing.T) {
	for name, success := range map[string]answer{"success": {}, "requeue": {after: time.Hour},
		"terminal error": {err: reconcile.TerminalError(errBroken)}} {
		synctest.Test(t, func(t *testing.T) {
			l := newLog()
			fails := answer{err: errBroken}
			s := start(t, l.returns(fails, fails, success, fails, answer{}), controller.Options{BaseDelay: time.Second})
			s.queue.Add("a")
			pass(10 * time.Second)
			s.queue.Add("a")
			pass(10 * time.Second)
			expect(t, name, l.take(), "0s a", "1s a", "3s a", "10s a", "11s a")
			s.end()
		})
	}
}

func TestRequeueAfterReconcilesAgainThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		s := start(t, l.returns(answer{after: time.Minute}, answer{after: time.Hour}, answer{after: -1}),
			controller.Options{})
		s.queue.Add("a")
		pass(24 * time.Hour)
		expect(t, "reconciles", l.take(), "0s a", "1m0s a", "1h1m0s a")
		s.end()
	})
}

func TestRequeueBacksOffAndIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		again := answer{requeue: true}
		s := start(t, l.returns(again, again, answer{err: errBroken}, again, answer{after: time.Minute, requeue: true},
			answer{}), controller.Options{BaseDelay: time.Second})
		s.queue.Add("a")
		pass(time.Hour)
		expect(t, "reconciles, of which one fails and the last but one says when", l.take(), "0s a", "1s a", "3s a", "7s a",
			"15s a", "1m15s a")
		wantMetrics(t, s,
			`controller_runtime_reconcile_total{controller="test",result="requeue"} 3`,
			`controller_runtime_reconcile_total{controller="test",result="requeue_after"} 1`,
			`controller_runtime_reconcile_errors_total{controller="test"} 1`,
		)
		if logged := strings.Count(s.logs.String(), "reconcile failed"); logged != 1 {
			t.Errorf("%d failures logged, want 1: %s", logged, s.logs)
		}
		s.end()
	})
}

// TestCountersAreThereFromTheStart checks that counters exist with the value zero before they are first incremented.
// Otherwise a rate would miss the first increment.
func TestCountersAreThereFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, newLog().takes(0), controller.Options{})
		wantMetrics(t, s,
			`controller_runtime_reconcile_total{controller="test",result="success"} 0`,
			`controller_runtime_reconcile_total{controller="test",result="error"} 0`,
			`controller_runtime_reconcile_errors_total{controller="test"} 0`,
			`controller_runtime_terminal_reconcile_errors_total{controller="test"} 0`,
			`controller_runtime_reconcile_panics_total{controller="test"} 0`,
			`controller_runtime_reconcile_timeouts_total{controller="test"} 0`,
		)
		s.end()
	})
}

func TestErrorCountsMoreThanRequeueAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		s := start(t, l.returns(answer{after: time.Hour, err: errBroken}, answer{}),
			controller.Options{BaseDelay: time.Second})
		s.queue.Add("a")
		pass(24 * time.Hour)
		expect(t, "reconciles", l.take(), "0s a", "1s a")
		s.end()
	})
}

func TestTerminalErrorIsReportedAndNotRetried(t *testing.T) {
	for name, err := range map[string]error{
		"plain":   reconcile.TerminalError(errBroken),
		"wrapped": fmt.Errorf("shelf: %w", reconcile.TerminalError(errBroken)),
		"joined":  errors.Join(errors.New("other"), reconcile.TerminalError(errBroken)),
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLog()
			s := start(t, l.returns(answer{err: err}), controller.Options{})
			s.queue.Add("a")
			pass(time.Hour)
			expect(t, name, l.take(), "0s a")
			s.queue.Add("a")
			pass(time.Hour)
			expect(t, name+", after a change", l.take(), "1h0m0s a")
			s.end()
			if !strings.Contains(s.logs.String(), "broken") {
				t.Errorf("%s: not logged: %s", name, s.logs)
			}
		})
	}
}

func TestPanicIsAnErrorWithAStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		s := start(t, func(_ context.Context, request string) (reconcile.Result, error) {
			l.add(request)
			panic("oh no")
		}, controller.Options{BaseDelay: time.Second})
		s.queue.Add("a")
		pass(2 * time.Second)
		expect(t, "retries", l.take(), "0s a", "1s a")
		s.end()
		for _, part := range []string{"reconcile panicked", "oh no", "reconcile_test.go"} {
			if !strings.Contains(s.logs.String(), part) {
				t.Errorf("%q is not in %s", part, s.logs)
			}
		}
		wantMetrics(t, s, `controller_runtime_reconcile_panics_total{controller="test"} 2`)
	})
}

func TestConflictIsNoErrorInTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		conflict := fmt.Errorf("update: %w", apierrors.NewConflict(schema.GroupResource{Resource: "shelves"}, "a", errBroken))
		s := start(t, l.returns(answer{err: conflict}, answer{}), controller.Options{BaseDelay: time.Second})
		s.queue.Add("a")
		pass(time.Minute)
		expect(t, "reconciles", l.take(), "0s a", "1s a")
		s.end()
		if log := s.logs.String(); strings.Contains(log, "level=ERROR") ||
			!strings.Contains(log, "level=DEBUG msg=\"reconcile worked with an old state") {
			t.Errorf("got %s", log)
		}
	})
}

func TestErrorOfTheEndIsNoFailure(t *testing.T) {
	errQuit := errors.New("quit")
	for name, answer := range map[string]func(context.Context) error{
		"the error of the context": func(ctx context.Context) error { return fmt.Errorf("get: %w", ctx.Err()) },
		"its cause":                func(ctx context.Context) error { return fmt.Errorf("get: %w", context.Cause(ctx)) },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := start(t, func(ctx context.Context, _ string) (reconcile.Result, error) {
				<-ctx.Done()
				return reconcile.Result{}, answer(ctx)
			}, controller.Options{})
			s.queue.Add("a")
			synctest.Wait()
			s.stop(errQuit)
			if err := <-s.ended; err != nil {
				t.Errorf("%s: Run returned %v", name, err)
			}
			if strings.Contains(s.logs.String(), "level=ERROR") {
				t.Errorf("%s: logged %s", name, s.logs)
			}
			wantMetrics(t, s, `controller_runtime_reconcile_total{controller="test",result="stopped"} 1`)
		})
	}
}

func TestReconcilerLogsWithTheKeyAndAnIDOfTheReconcile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, func(ctx context.Context, _ string) (reconcile.Result, error) {
			kctrllog.FromContext(ctx).Info("hello")
			return reconcile.Result{}, nil
		}, controller.Options{})
		s.queue.Add("a")
		s.queue.Add("b")
		synctest.Wait()
		s.end()
		ids := map[string]bool{}
		for line := range strings.Lines(s.logs.String()) {
			if strings.Contains(line, "msg=hello controller=test key=") {
				_, id, _ := strings.Cut(strings.TrimSpace(line), "reconcileID=")
				ids[id] = true
			}
		}
		if len(ids) != 2 || ids[""] {
			t.Errorf("ids %v in %s", ids, s.logs)
		}
	})
}

func TestMetricsCountReconcilesByResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		s := start(t, l.returns(answer{err: errBroken}, answer{after: time.Minute},
			answer{err: reconcile.TerminalError(errBroken)}, answer{}),
			controller.Options{MaxConcurrentReconciles: 2})
		s.queue.Add("a")
		pass(time.Hour)
		s.queue.Add("a")
		synctest.Wait()
		wantMetrics(t, s,
			`controller_runtime_reconcile_total{controller="test",result="success"} 1`,
			`controller_runtime_reconcile_total{controller="test",result="error"} 2`,
			`controller_runtime_reconcile_total{controller="test",result="requeue_after"} 1`,
			`controller_runtime_reconcile_errors_total{controller="test"} 2`,
			`controller_runtime_terminal_reconcile_errors_total{controller="test"} 1`,
			`controller_runtime_max_concurrent_reconciles{controller="test"} 2`,
			`controller_runtime_active_workers{controller="test"} 0`,
			`controller_runtime_reconcile_time_seconds_count{controller="test"} 4`,
		)
		s.end()
	})
}

// wantMetrics fails the test unless the controller's metrics contain the lines.
func wantMetrics(t *testing.T, s *run, lines ...string) {
	t.Helper()
	var text strings.Builder
	if _, err := s.metrics.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if !strings.Contains(text.String(), line+"\n") {
			t.Errorf("%s is not in\n%s", line, text.String())
		}
	}
}
