package leaderelection

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

// The rules tested here are L01 of the conformance list: one leader at a time, expiry by local observation, release,
// and an end of the leader's context that always comes, and comes in time.

// L01
func TestOneOfTwoCandidatesLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		a := start(t, s, "a")
		<-a.leading
		b := start(t, s, "b")
		time.Sleep(time.Hour)
		if b.led() {
			t.Error("b leads while a renews")
		}
		if a.leadCtx.Err() != nil {
			t.Errorf("a stopped leading: %v", context.Cause(a.leadCtx))
		}
		if a.Leader() != "a" || b.Leader() != "a" {
			t.Errorf("leader is %q for a and %q for b", a.Leader(), b.Leader())
		}
	})
}

func TestLeaseTellsWhoLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		a := start(t, s, "a")
		<-a.leading
		time.Sleep(time.Minute)
		spec := s.lease().Spec
		if *spec.HolderIdentity != "a" || *spec.LeaseDurationSeconds != 15 || *spec.LeaseTransitions != 0 {
			t.Errorf("lease is %v", spec)
		}
		if age := time.Since(spec.AcquireTime.Time); age != time.Minute {
			t.Errorf("acquired %s ago", age)
		}
		if age := time.Since(spec.RenewTime.Time); age > 2*time.Second {
			t.Errorf("renewed %s ago", age)
		}
	})
}

func TestRenewingTakesOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, newServer(), "a")
		time.Sleep(time.Hour)
		if gets, creates := a.link.count("get"), a.link.count("create"); gets != 1 || creates != 1 {
			t.Errorf("%d gets and %d creates", gets, creates)
		}
		if updates := a.link.count("update"); updates < 1800 || updates > 2400 {
			t.Errorf("%d updates in an hour, want one every 1.5 s to 2 s", updates)
		}
	})
}

// L01
func TestExpiryIsJudgedByLocalObservation(t *testing.T) {
	for name, offset := range map[string]time.Duration{"holder's clock is behind": -time.Hour, "holder's clock is ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				a := start(t, s, "a")
				<-a.leading
				a.link.fail(func(context.Context, string) error { return errDown })
				s.edit(func(l *coordinationv1.Lease) { l.Spec.RenewTime.Time = time.Now().Add(offset) })
				begun := time.Now()
				b := start(t, s, "b")
				<-b.leading
				if took := time.Since(begun); took != 15*time.Second {
					t.Errorf("took over after %s, want the lease duration to the moment", took)
				}
			})
		})
	}
}

func TestTheHoldersDurationCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		a := newCandidate(t, s, "a", func(o *Options) { o.LeaseDuration = time.Minute }).run(t)
		<-a.leading
		a.link.fail(func(context.Context, string) error { return errDown })
		begun := time.Now()
		b := start(t, s, "b")
		<-b.leading
		if took := time.Since(begun); took < time.Minute {
			t.Errorf("took over after %s although a was promised a minute", took)
		}
	})
}

func TestOnlyOneOfTheCandidatesGetsAnExpiredLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		dead := newCandidate(t, s, "dead", func(o *Options) { o.ReleaseOnExit = false }).run(t)
		<-dead.leading
		dead.stop()
		var all []*candidate
		for _, identity := range strings.Split("abcdefgh", "") {
			all = append(all, start(t, s, identity))
		}
		time.Sleep(time.Hour)
		leaders := 0
		for _, c := range all {
			if c.led() {
				leaders++
			}
		}
		if leaders != 1 {
			t.Errorf("%d leaders", leaders)
		}
	})
}

func TestWriteWhoseAnswerWasLostCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		c := newCandidate(t, s, "a", nil)
		c.link.after = func(verb string) error {
			if verb == "create" {
				return errDown
			}
			return nil
		}
		c.run(t)
		begun := time.Now()
		<-c.leading
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("led after %s", took)
		}
	})
}

func TestEndBeforeLeadershipIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		a := start(t, s, "a")
		<-a.leading
		b := start(t, s, "b")
		time.Sleep(time.Minute)
		b.stop()
		<-b.ended
		if b.err != nil || b.led() {
			t.Errorf("Run returned %v", b.err)
		}
	})
}

func TestStatusMetricFollowsLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := metrics.NewRegistry()
		a := newCandidate(t, newServer(), "a", func(o *Options) { o.Metrics = registry })
		status := registry.Gauge("leader_election_master_status", "", "name")
		if got := status.Value("guestbook"); got != 0 {
			t.Errorf("%v before Run", got)
		}
		a.run(t)
		<-a.leading
		if got := status.Value("guestbook"); got != 1 {
			t.Errorf("%v while leading", got)
		}
		a.stop()
		<-a.ended
		if got := status.Value("guestbook"); got != 0 {
			t.Errorf("%v after Run", got)
		}
	})
}
