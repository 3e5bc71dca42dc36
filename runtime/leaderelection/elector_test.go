package leaderelection

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// These tests check L01 of the conformance list: one leader at a time, expiry by local observation, release, and a
// leader's context that always ends in time.

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

func TestLeaseNamesTheLeader(t *testing.T) {
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
	for name, offset := range map[string]time.Duration{"holder's clock is behind": -time.Hour,
		"holder's clock is ahead": time.Hour} {
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

var (
	testKey = object.Key{Namespace: "guestbook-system", Name: "guestbook"}
	errDown = errors.New("connection refused")
)

// candidate is an Elector that runs in its own goroutine.
type candidate struct {
	*Elector
	link *link
	stop context.CancelFunc
	// leading is closed when the leader's function is called. From then on, leadCtx is its context.
	leading chan struct{}
	leadCtx context.Context
	// drain is how long the leader continues after its context has ended, and result is what it returns.
	drain  time.Duration
	result error
	// left is the time at which the leader returned.
	left time.Time
	// ended is closed when Run has returned err.
	ended chan struct{}
	err   error
}

func newCandidate(t *testing.T, s *server, identity string, change func(*Options)) *candidate {
	t.Helper()
	opts := Options{Namespace: testKey.Namespace, Name: testKey.Name, Identity: identity, ReleaseOnExit: true,
		Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&opts)
	}
	c := &candidate{link: newLink(s), leading: make(chan struct{}), ended: make(chan struct{})}
	var err error
	if c.Elector, err = New(c.link, opts); err != nil {
		t.Fatal(err)
	}
	return c
}

// run starts Run, and stops it at the end of the test.
func (c *candidate) run(t *testing.T) *candidate {
	ctx, cancel := context.WithCancel(context.Background())
	c.stop = cancel
	t.Cleanup(cancel)
	go func() {
		defer close(c.ended)
		c.err = c.Run(ctx, func(ctx context.Context) error {
			c.leadCtx = ctx
			close(c.leading)
			<-ctx.Done()
			time.Sleep(c.drain)
			c.left = time.Now()
			return c.result
		})
	}()
	return c
}

// led reports whether the candidate has become leader.
func (c *candidate) led() bool {
	synctest.Wait()
	select {
	case <-c.leading:
		return true
	default:
		return false
	}
}

func start(t *testing.T, s *server, identity string) *candidate {
	t.Helper()
	return newCandidate(t, s, identity, nil).run(t)
}

func TestLeaderThatOutlivesItsLeaseIsUnhealthy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const margin = 20 * time.Second
		a := newCandidate(t, newServer(), "a", nil)
		a.drain = time.Hour
		if err := a.Healthy(margin); err != nil {
			t.Errorf("before Run: %v", err)
		}
		a.run(t)
		<-a.leading
		time.Sleep(time.Hour)
		if err := a.Healthy(margin); err != nil {
			t.Errorf("while it renews: %v", err)
		}
		a.link.fail(func(context.Context, string) error { return errDown })
		time.Sleep(30 * time.Second)
		if err := a.Healthy(margin); err != nil {
			t.Errorf("within the margin: %v", err)
		}
		time.Sleep(10 * time.Second)
		if err := a.Healthy(margin); err == nil {
			t.Error("the leader is stuck, and healthy")
		}
		<-a.ended
		if err := a.Healthy(margin); err != nil {
			t.Errorf("after Run: %v", err)
		}
	})
}

func TestFollowerIsHealthy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		a := start(t, s, "a")
		<-a.leading
		b := start(t, s, "b")
		time.Sleep(time.Hour)
		if err := b.Healthy(0); err != nil {
			t.Error(err)
		}
	})
}

func TestCandidateThatYieldsLeavesAFreeLeaseToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		busy := func(o *Options) { o.Yield = func() time.Duration { return 2 * time.Second } }
		a := newCandidate(t, s, "a", busy).run(t)
		b := start(t, s, "b")
		<-b.leading
		time.Sleep(time.Minute)
		if a.led() {
			t.Error("both lead")
		}
		b.stop()
		released := time.Now()
		<-a.leading
		if took := time.Since(released); took < 2*time.Second || took > 6*time.Second {
			t.Errorf("took over after %s", took)
		}
		if a.leadCtx.Err() != nil {
			t.Error("it yields while it leads")
		}
	})
}

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

func TestLostHasTheCause(t *testing.T) {
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
func TestLostWhenAnotherProcessHoldsTheLease(t *testing.T) {
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

func TestLeaseWithFullCountersIsTaken(t *testing.T) {
	for _, transitions := range []int32{math.MaxInt32, math.MaxInt32 - 1, -5} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			a := start(t, s, "a")
			<-a.leading
			a.stop()
			<-a.ended
			s.edit(func(l *coordinationv1.Lease) { l.Spec.LeaseTransitions = &transitions })
			b := start(t, s, "b")
			<-b.leading
			if got := *s.lease().Spec.LeaseTransitions; got < 0 || got < transitions {
				t.Errorf("%d transitions after %d", got, transitions)
			}
		})
	}
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
