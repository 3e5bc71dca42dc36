package leaderelection

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// L01
func TestLeaderContextEndsBeforeTheLeaseCanBeTaken(t *testing.T) {
	hang := func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }
	for name, fault := range map[string]func(context.Context, string) error{
		"connection refused": func(context.Context, string) error { return errDown },
		"server hangs":       hang,
		"client hangs":       func(context.Context, string) error { time.Sleep(time.Hour); return errDown },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				a := start(t, s, "a")
				<-a.leading
				b := start(t, s, "b")
				time.Sleep(time.Minute)
				a.link.fail(fault)
				renewed := s.lease().Spec.RenewTime.Time
				<-a.leadCtx.Done()
				if held := time.Since(renewed); held > 10*time.Second || held < 9*time.Second {
					t.Errorf("context ended %s after the last renewal, want the renew deadline", held)
				}
				if b.led() {
					t.Error("b led already")
				}
				<-b.leading
				if !b.led() || time.Since(renewed) < 15*time.Second {
					t.Errorf("b led %s after the renewal", time.Since(renewed))
				}
				<-a.ended
				if !errors.Is(a.err, ErrLost) || !errors.Is(context.Cause(a.leadCtx), ErrLost) {
					t.Errorf("Run returned %v, cause %v; want ErrLost", a.err, context.Cause(a.leadCtx))
				}
			})
		})
	}
}

func TestLostTellsWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, newServer(), "a")
		<-a.leading
		a.link.fail(func(context.Context, string) error { return errDown })
		<-a.ended
		want := "leadership lost: lease guestbook-system/guestbook not renewed for 10s: connection refused"
		if !errors.Is(a.err, ErrLost) || !errors.Is(a.err, errDown) || a.err.Error() != want {
			t.Errorf("got %v, want %s", a.err, want)
		}
	})
}

// L01
func TestLostWhenSomebodyElseHoldsTheLease(t *testing.T) {
	for name, holder := range map[string]*string{"other": new("b"), "nobody": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				a := start(t, s, "a")
				<-a.leading
				a.result = errDown
				s.edit(func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = holder })
				changed := time.Now()
				<-a.ended
				if took := time.Since(changed); took > 2*time.Second {
					t.Errorf("noticed after %s", took)
				}
				if !errors.Is(a.err, ErrLost) || !errors.Is(a.err, errDown) {
					t.Errorf("Run returned %v, want ErrLost and the leader's error", a.err)
				}
				if got := s.lease().Spec.HolderIdentity; got != nil && *got == "a" {
					t.Error("a wrote itself back")
				}
			})
		})
	}
}

func TestLeaderSurvivesAShortOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, newServer(), "a")
		<-a.leading
		for range 20 {
			a.link.fail(func(context.Context, string) error { return errDown })
			time.Sleep(5 * time.Second)
			a.link.fail(nil)
			time.Sleep(5 * time.Second)
		}
		if a.leadCtx.Err() != nil {
			t.Errorf("lost: %v", context.Cause(a.leadCtx))
		}
	})
}

func TestLeaderSurvivesAConflictAndKeepsLabels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		a := start(t, s, "a")
		<-a.leading
		s.edit(func(l *coordinationv1.Lease) { l.Labels = map[string]string{"team": "web"} })
		time.Sleep(time.Minute)
		if a.leadCtx.Err() != nil {
			t.Errorf("lost: %v", context.Cause(a.leadCtx))
		}
		if got := s.lease(); got.Labels["team"] != "web" || time.Since(got.Spec.RenewTime.Time) > 2*time.Second {
			t.Errorf("lease is %v", got)
		}
	})
}

func TestDeletedLeaseIsCreatedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		a := start(t, s, "a")
		<-a.leading
		s.remove()
		time.Sleep(3 * time.Second)
		if a.leadCtx.Err() != nil || holder(s.lease()) != "a" {
			t.Errorf("lost: %v; lease is %v", context.Cause(a.leadCtx), s.lease().Spec)
		}
	})
}
