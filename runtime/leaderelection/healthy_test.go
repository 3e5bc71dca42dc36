package leaderelection

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

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
