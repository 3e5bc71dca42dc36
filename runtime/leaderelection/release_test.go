package leaderelection

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

func TestHandoverAfterReleaseIsQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		a := start(t, s, "a")
		<-a.leading
		b := start(t, s, "b")
		time.Sleep(time.Minute)
		a.stop()
		<-a.ended
		released := time.Now()
		<-b.leading
		if took := time.Since(released); took > 2*time.Second {
			t.Errorf("took over %s after the release, want at most a retry period", took)
		}
		if a.err != nil {
			t.Errorf("a ended with %v", a.err)
		}
		if got := *s.lease().Spec.LeaseTransitions; got != 1 {
			t.Errorf("%d transitions, want 1", got)
		}
	})
}

func TestWithoutReleaseTheLeaseExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		a := newCandidate(t, s, "a", func(o *Options) { o.ReleaseOnExit = false }).run(t)
		<-a.leading
		b := start(t, s, "b")
		time.Sleep(time.Minute)
		a.stop()
		<-a.ended
		stopped := time.Now()
		<-b.leading
		if took := time.Since(stopped); took < 13*time.Second || took > 19*time.Second {
			t.Errorf("took over after %s, want the lease duration", took)
		}
	})
}

func TestLeaseIsHeldUntilTheLeaderHasReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		a := newCandidate(t, s, "a", nil)
		a.drain, a.result = time.Minute, errDown
		a.run(t)
		<-a.leading
		b := start(t, s, "b")
		time.Sleep(time.Minute)
		a.stop()
		<-b.leading
		if since := time.Since(a.left); since < 0 || since > 2*time.Second {
			t.Errorf("b led %s after a had left", since)
		}
		<-a.ended
		if a.err == nil || errors.Is(a.err, ErrLost) || !errors.Is(a.err, errDown) {
			t.Errorf("Run returned %v, want what the leader returned", a.err)
		}
	})
}

func TestLeaderThatReturnsGivesTheLeaseBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		c := newCandidate(t, s, "a", nil)
		for range 2 {
			if err := c.Run(t.Context(), func(context.Context) error { return errDown }); err != errDown {
				t.Errorf("Run returned %v", err)
			}
			if got := holder(s.lease()); got != "" {
				t.Errorf("holder is %q after Run", got)
			}
		}
	})
}

func TestReleaseRetriesAfterAConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		c := newCandidate(t, s, "a", nil)
		err := c.Run(t.Context(), func(context.Context) error {
			s.edit(func(l *coordinationv1.Lease) { l.Labels = map[string]string{"team": "web"} })
			return nil
		})
		if got := s.lease(); err != nil || holder(got) != "" || got.Labels["team"] != "web" {
			t.Errorf("Run returned %v, lease is %v", err, got)
		}
	})
}

func TestReleaseGivesUpInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, newServer(), "a")
		<-a.leading
		a.link.fail(func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() })
		a.stop()
		stopped := time.Now()
		<-a.ended
		if took := time.Since(stopped); took > 10*time.Second || a.err != nil {
			t.Errorf("Run returned %v after %s", a.err, took)
		}
	})
}

func TestReleaseLeavesTheLeaseOfOthersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		c := newCandidate(t, s, "a", nil)
		_ = c.Run(t.Context(), func(context.Context) error {
			s.edit(func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("b") })
			return nil
		})
		if got := holder(s.lease()); got != "b" {
			t.Errorf("holder is %q", got)
		}
	})
}
