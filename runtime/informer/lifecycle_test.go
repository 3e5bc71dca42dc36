package informer_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/informer"
)

// C07
//
// Stronger: what must be set before the start is in Options and cannot be set too late, and a second Run is an error
// and not a warning.
func TestInformerRunsOnce(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := newSource("a"), &log{}
		inf := build(s, in(options{}))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- inf.Run(ctx) }()
		synctest.Wait()
		if err := inf.Run(ctx); !errors.Is(err, informer.ErrAlreadyRun) {
			t.Errorf("second Run: %v", err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		if err := inf.Run(t.Context()); !errors.Is(err, informer.ErrAlreadyRun) {
			t.Errorf("Run after the end: %v", err)
		}
		reg := inf.AddHandler(l.handle)
		synctest.Wait()
		reg.Remove()
		expect(t, "events after the end", l.got())
		if isClosed(reg.Synced()) || inf.Store().Len() != 1 {
			t.Errorf("synced %v, %d objects", isClosed(reg.Synced()), inf.Store().Len())
		}
	})
}

// C07
func TestRunWaitsForHandlers(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		inf := build(newSource("a"), in(options{}))
		release := make(chan struct{})
		inf.AddHandler(func(informer.Event[obj]) { <-release })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { _ = inf.Run(ctx); close(done) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if isClosed(done) {
			t.Error("Run has returned while a handler runs")
		}
		close(release)
		<-done
	})
}

// C07
func TestRunWaitsForTheReflector(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s := newSource("a")
		release := make(chan struct{})
		s.onWatch = func(metav1.ListOptions) error { <-release; return io.EOF }
		inf := build(s, in(options{Resync: time.Minute}))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { _ = inf.Run(ctx); close(done) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if isClosed(done) {
			t.Error("Run has returned while a watch is being opened")
		}
		close(release)
		<-done
	})
}

// C09, R11
//
// Stronger: there is one period for an informer and no rounding; a resync cannot fail, and a state that did not change
// is told by a resync alone, never by a relist.
func TestResyncTellsWhatTheStoreHasWithoutAskingTheServer(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := newSource("a"), &log{}
		inf := build(s, in(options{Resync: time.Minute}))
		inf.AddHandler(l.handle)
		run(t, inf)
		pass(time.Minute)
		s.update("a")
		pass(time.Minute)
		expect(t, "events", l.got(), "+a@11!", "~a@11>11", "~a@11>12", "~a@12>12")
		expect(t, "requests", s.took(), `watch! ""`)
	})
}

// C09
func TestResyncIsAtMostEverySecond(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		l := &log{}
		inf := build(newSource("a"), in(options{Resync: time.Millisecond}))
		inf.AddHandler(l.handle)
		run(t, inf)
		pass(3 * time.Second)
		expect(t, "events", l.got(), "+a@11!", "~a@11>11", "~a@11>11", "~a@11>11")
	})
}

// C12
func TestInformerIsSyncedWithTheFirstCompleteState(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s := newSource("a", "b", "c")
		s.paging = true
		s.onList = once(nil, forbidden("list"))
		inf := start(t, s, in(options{DisableWatchList: true, PageSize: 2}))
		if isClosed(inf.Synced()) || inf.Store().Len() != 0 {
			t.Errorf("synced after half a list, with %d objects", inf.Store().Len())
		}
		failure, ok := errors.AsType[*informer.SyncError](inf.Err())
		if !ok || failure.Verb != "list" || failure.Resource != "things" || !apierrors.IsForbidden(inf.Err()) {
			t.Errorf("got %v, want a forbidden list", inf.Err())
		}
		if want := "list things: things is forbidden: no right to list"; !strings.HasPrefix(inf.Err().Error(), want) {
			t.Errorf("got %q", inf.Err())
		}
		pass(2 * time.Second)
		if !isClosed(inf.Synced()) || inf.Store().Len() != 3 || inf.Err() != nil {
			t.Errorf("synced %v, %d objects, error %v", isClosed(inf.Synced()), inf.Store().Len(), inf.Err())
		}
	})
}
