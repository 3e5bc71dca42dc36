package controller_test

import (
	"github.com/kctrl-dev/kctrl/runtime/internal/life"

	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/reflector"
)

func TestNothingIsReconciledBeforeAllSourcesHaveSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		s := start(t, l.takes(0), controller.Options{},
			feed{name: "slow", existing: []string{"a"}, delay: time.Minute},
			feed{name: "slower", existing: []string{"a", "b"}, delay: time.Hour},
		)
		pass(time.Hour - time.Second)
		expect(t, "before", l.take())
		pass(time.Second)
		expect(t, "after", l.take(), "1h0m0s begin a", "1h0m0s begin b")
		s.end()
	})
}

func TestControllerWithoutSourcesWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controller.New("idle", newLog().takes(0), controller.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		if err := c.Run(ctx); err != nil || time.Since(start) != time.Minute {
			t.Errorf("returned %v after %v", err, time.Since(start))
		}
	})
}

func TestSourceMayReportSyncedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		c := controller.New("test", l.takes(0), controller.Options{})
		if err := errors.Join(c.Watch(twice{feed{existing: []string{"a"}}}),
			c.Watch(feed{name: "slow", delay: time.Minute})); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := c.Run(ctx); err != nil {
			t.Error(err)
		}
		expect(t, "reconciles", l.take(), "1m0s begin a")
	})
}

func TestReadyNamesTheSourcesThatHaveNotSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, newLog().takes(0), controller.Options{CacheSyncTimeout: time.Hour},
			feed{name: "slow", delay: time.Minute},
			feed{name: "slower", delay: time.Hour, why: errBroken},
		)
		for _, want := range []string{"feed slow has not synced\nfeed slower has not synced: broken",
			"feed slower has not synced: broken", ""} {
			text := ""
			if err := s.c.Ready(); err != nil {
				text = err.Error()
			}
			if text != want {
				t.Errorf("got %q, want %q", text, want)
			}
			pass(59 * time.Minute)
		}
		s.end()
		if !strings.Contains(s.logs.String(), "waiting for sources") {
			t.Errorf("the log does not complain: %s", s.logs)
		}
	})
}

func TestReadyIsNilBeforeRun(t *testing.T) {
	c := controller.New("test", newLog().takes(0), controller.Options{})
	if err := c.Watch(feed{why: errBroken}); err != nil {
		t.Fatal(err)
	}
	if err := c.Ready(); err != nil || c.Name() != "test" {
		t.Errorf("%s: got %v", c.Name(), err)
	}
}

func TestReadyHasHintForTheAuthor(t *testing.T) {
	forbidden := func(group, resource string) error {
		err := apierrors.NewForbidden(schema.GroupResource{Group: group, Resource: resource}, "", errors.New("no"))
		return &reflector.SyncError{Verb: "list", Resource: resource, Err: err}
	}
	for _, r := range []struct {
		name string
		why  error
		want string
	}{
		{"forbidden", forbidden("apps", "deployments"),
			`+kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch on the reconciler`},
		{"forbidden in the core group", forbidden("", "secrets"),
			`+kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch on the reconciler`},
		{"no CRD", &reflector.SyncError{Verb: "list", Resource: "shelves",
			Err: &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Shelf"}}}, "its CRD is not installed"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := start(t, newLog().takes(0), controller.Options{}, feed{name: r.name, delay: time.Hour, why: r.why})
			if err := s.c.Ready(); err == nil || !strings.Contains(err.Error(), r.want) || !errors.Is(err, r.why) {
				t.Errorf("%s: got %v", r.name, err)
			}
			s.end()
		})
	}
}

func TestForbiddenWithoutDetailsHasNoMarker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		denied := &apierrors.StatusError{}
		denied.ErrStatus.Reason, denied.ErrStatus.Message = "Forbidden", "no"
		s := start(t, newLog().takes(0), controller.Options{},
			feed{name: "x", delay: time.Hour, why: &reflector.SyncError{Err: denied}})
		if err := s.c.Ready(); err == nil || strings.Contains(err.Error(), "marker") {
			t.Errorf("got %v", err)
		}
		s.end()
	})
}

func TestRunWaitsForWorkersAndSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		s := start(t, l.takes(time.Hour), controller.Options{MaxConcurrentReconciles: 2},
			feed{name: "slow", lingers: 2 * time.Hour})
		s.queue.Add("a", "b", "c")
		pass(time.Minute)
		stopped := time.Now()
		if err := s.end(); err != nil {
			t.Error(err)
		}
		if waited := time.Since(stopped); waited != 2*time.Hour {
			t.Errorf("the source ended after 2h, Run after %v", waited)
		}
		lines := l.take()
		if len(lines) != 4 || !strings.HasPrefix(lines[2], "1h0m0s end") || !strings.HasPrefix(lines[3], "1h0m0s end") {
			t.Errorf("got %q, want two that begin and end", lines)
		}
	})
}

func TestContextOfAReconcileEndsWithTheController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		s := start(t, func(ctx context.Context, _ string) (reconcile.Result, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			return reconcile.Result{}, nil
		}, controller.Options{})
		s.queue.Add("a")
		synctest.Wait()
		s.end()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestRunEndsWhileSourcesSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		s := start(t, l.takes(0), controller.Options{}, feed{name: "slow", existing: []string{"a"}, delay: time.Hour})
		if err := s.end(); err != nil {
			t.Error(err)
		}
		expect(t, "reconciles", l.take())
		if s.c.Ready() == nil {
			t.Error("it is ready")
		}
	})
}

func TestRunReturnsTheErrorOfASourceAndNotThatOfItsContext(t *testing.T) {
	for _, r := range []struct {
		name string
		feed feed
		want error
	}{
		{"a source fails", feed{failure: errBroken, fails: time.Minute}, errBroken},
		{"a source fails before it has synced", feed{delay: time.Hour, failure: errBroken, fails: time.Minute}, errBroken},
		{"a source fails as a context does", feed{failure: context.Canceled, fails: time.Minute}, context.Canceled},
		{"the context ends with a cause", feed{}, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := start(t, newLog().takes(0), controller.Options{}, r.feed)
			pass(2 * time.Minute)
			s.stop(errors.New("the lease was lost"))
			if err := <-s.ended; !errors.Is(err, r.want) || (r.want == nil && err != nil) {
				t.Errorf("%s: got %v", r.name, err)
			}
		})
	}
}

func TestSecondRunAndLateWatchAreErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, newLog().takes(0), controller.Options{})
		if err := s.c.Run(t.Context()); !errors.Is(err, life.ErrAlreadyRun) {
			t.Errorf("Run: %v", err)
		}
		s.end()
		if err := s.c.Watch(feed{name: "late"}); !errors.Is(err, life.ErrAlreadyRun) ||
			!strings.Contains(err.Error(), "feed late") {
			t.Errorf("Watch: %v", err)
		}
	})
}

// A builder needs a prototype for a Go type that can have any kind.
func TestKindOfAnUnstructuredControllerIsThatOfItsPrototype(t *testing.T) {
	m := newStub(t)
	if err := controller.ForRequests[reconcile.Request](m, "").For(gadget("", "")).Complete(nothing); err != nil {
		t.Fatal(err)
	}
	expect(t, "names", []string{m.added[0].Name()}, "gadget")
}
