package manager_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/manager"
)

func TestRunReturnsNilWhenItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, log := newManager(t, newAPIServer(), manager.Options{})
		controller := make(chan struct{})
		add(t, m, until(controller))
		r := start(t, m)
		<-controller
		if err := r.stop(); err != nil {
			t.Errorf("got %v", err)
		}
		contains(t, log.String(), "msg=stopping", "msg=stopped")
	})
}

func TestServersAnswerBeforeAnythingElseRuns(t *testing.T) {
	m, log := newManager(t, newAPIServer(), manager.Options{ProbeAddress: loopback})
	answered := make(chan int, 1)
	add(t, m, runFunc(func(context.Context) error {
		code, _ := get(t, log.url(t, "probes")+"/healthz")
		answered <- code
		return nil
	}))
	start(t, m)
	if code := <-answered; code != http.StatusOK {
		t.Errorf("got %d", code)
	}
}

func TestNothingRunsWhenAnAddressIsTaken(t *testing.T) {
	free, err := net.Listen("tcp", loopback)
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	m, _ := newManager(t, newAPIServer(), manager.Options{
		ProbeAddress: free.Addr().String(), MetricsAddress: taken(t), MetricsInsecure: true,
	})
	add(t, m, runFunc(func(context.Context) error { t.Error("it ran"); return nil }))
	err = m.Run(t.Context())
	if err == nil {
		t.Fatal("Run did not fail")
	}
	contains(t, err.Error(), "metrics: ", "address already in use")
	again, err := net.Listen("tcp", free.Addr().String())
	if err != nil {
		t.Fatalf("the other address was not given back: %v", err)
	}
	again.Close()
}

// TestStopGoesFromControllersToServers stops a manager whose controller looks around when it is told to stop, and only
// then ends.
func TestStopGoesFromControllersToServers(t *testing.T) {
	m, log := newManager(t, newAPIServer(), manager.Options{ProbeAddress: loopback})
	begun, otherBegun := make(chan struct{}), make(chan struct{})
	otherStopped, controllerEnded := make(chan struct{}), make(chan struct{})
	add(t, m,
		always{worker{name: "other", runFunc: func(ctx context.Context) error {
			close(otherBegun)
			<-ctx.Done()
			close(otherStopped)
			select {
			case <-controllerEnded:
			default:
				t.Error("the others were stopped before the controllers had ended")
			}
			if code, _ := get(t, log.url(t, "probes")+"/readyz"); code != http.StatusOK {
				t.Errorf("the servers were stopped before the others had ended: %d", code)
			}
			return nil
		}}},
		worker{name: "controller", runFunc: func(ctx context.Context) error {
			close(begun)
			<-ctx.Done()
			select {
			case <-otherStopped:
				t.Error("the others were stopped while a controller ran")
			default:
			}
			close(controllerEnded)
			return nil
		}},
	)
	r := start(t, m)
	<-begun
	<-otherBegun
	url := log.url(t, "probes")
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(url, "http://")); err == nil {
		t.Error("the probes are served after Run")
	}
}

func TestAddIsForTheTimeBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newManager(t, newAPIServer(), manager.Options{})
		begun := make(chan struct{})
		add(t, m, until(begun))
		start(t, m)
		<-begun
		err := m.Add(worker{name: "late"})
		if !errors.Is(err, manager.ErrStarted) {
			t.Fatalf("got %v, want ErrStarted", err)
		}
		contains(t, err.Error(), "add late")
	})
}

func TestNamesAreUnique(t *testing.T) {
	m, _ := newManager(t, newAPIServer(), manager.Options{})
	add(t, m, worker{name: "guestbook"}, runFunc(nil), runFunc(nil))
	err := m.Add(always{worker{name: "guestbook"}})
	if err == nil {
		t.Fatal("got no error")
	}
	contains(t, err.Error(), `another controller "guestbook"`)
}

func TestRunIsForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newManager(t, newAPIServer(), manager.Options{})
		begun := make(chan struct{})
		add(t, m, until(begun))
		r := start(t, m)
		<-begun
		if err := m.Run(t.Context()); !errors.Is(err, manager.ErrStarted) {
			t.Errorf("while it runs: got %v, want ErrStarted", err)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		if err := m.Run(t.Context()); !errors.Is(err, manager.ErrStarted) {
			t.Errorf("after it has run: got %v, want ErrStarted", err)
		}
	})
}

func TestErrorOfARunnableEndsRunAndNamesIt(t *testing.T) {
	fails := func(context.Context) error { return errBroken }
	for want, r := range map[string]manager.Runnable{
		"guestbook: broken":            worker{name: "guestbook", runFunc: fails},
		"syncer: broken":               always{worker{name: "syncer", runFunc: fails}},
		"manager_test.runFunc: broken": runFunc(fails),
	} {
		synctest.Test(t, func(t *testing.T) {
			m, _ := newManager(t, newAPIServer(), manager.Options{})
			stopped := make(chan struct{})
			add(t, m, r, runFunc(func(ctx context.Context) error {
				<-ctx.Done()
				close(stopped)
				return nil
			}))
			err := m.Run(t.Context())
			if !errors.Is(err, errBroken) || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
			<-stopped
		})
	}
}

func TestRunnableThatEndsEarlyEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newManager(t, newAPIServer(), manager.Options{})
		add(t, m, runFunc(func(context.Context) error { return nil }))
		r := start(t, m)
		synctest.Wait()
		select {
		case <-r.ended:
			t.Errorf("Run returned %v", r.err)
		default:
		}
	})
}

// TestErrorDuringShutdownIsReturned is about a runnable that fails on its own while the group before it stops.
func TestErrorDuringShutdownIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newManager(t, newAPIServer(), manager.Options{})
		stopping := make(chan struct{})
		add(t, m,
			worker{name: "slow", runFunc: func(ctx context.Context) error {
				<-ctx.Done()
				close(stopping)
				time.Sleep(time.Second)
				return nil
			}},
			always{worker{name: "other", runFunc: func(context.Context) error {
				<-stopping
				return errBroken
			}}},
		)
		r := start(t, m)
		synctest.Wait()
		if err := r.stop(); err == nil || err.Error() != "other: broken" {
			t.Errorf("got %v, want the error of other", err)
		}
	})
}

func TestErrorOfWhatWasStoppedIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, log := newManager(t, newAPIServer(), manager.Options{})
		add(t, m,
			worker{name: "polite", runFunc: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }},
			worker{name: "flush", runFunc: func(ctx context.Context) error { <-ctx.Done(); return errBroken }},
		)
		r := start(t, m)
		synctest.Wait()
		if err := r.stop(); err != nil {
			t.Errorf("got %v", err)
		}
		contains(t, log.String(), `runnable=flush err=broken`)
		if strings.Contains(log.String(), "runnable=polite") {
			t.Error("the end of the context was logged as an error")
		}
	})
}

func TestStragglersAreNamedAtTheTimeout(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{0: 30 * time.Second, 5 * time.Second: 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			m, _ := newManager(t, newAPIServer(), manager.Options{GracefulShutdownTimeout: timeout})
			release := make(chan struct{})
			hang := func(context.Context) error { <-release; return nil }
			begun, otherStopped := make(chan struct{}), make(chan struct{})
			add(t, m, worker{name: "zebra", runFunc: hang}, until(begun), worker{name: "ant", runFunc: hang}, runFunc(hang),
				always{worker{name: "other", runFunc: func(ctx context.Context) error {
					<-ctx.Done()
					close(otherStopped)
					return nil
				}}})
			r := start(t, m)
			<-begun
			start := time.Now()
			err := r.stop()
			if took := time.Since(start); took != want {
				t.Errorf("stop took %s, want %s", took, want)
			}
			if err == nil {
				t.Fatal("got no error")
			}
			if want := "still running at the end of the shutdown timeout: zebra, ant, manager_test.runFunc"; err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			<-otherStopped
			close(release)
		})
	}
}

func TestErrorComesWithTheStragglers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newManager(t, newAPIServer(), manager.Options{GracefulShutdownTimeout: time.Second})
		release := make(chan struct{})
		defer close(release)
		add(t, m,
			worker{name: "stuck", runFunc: func(context.Context) error { <-release; return nil }},
			worker{name: "failing", runFunc: func(context.Context) error { return errBroken }},
		)
		err := m.Run(t.Context())
		if !errors.Is(err, errBroken) {
			t.Fatalf("got %v", err)
		}
		contains(t, err.Error(), "failing: broken", "stuck")
	})
}

func TestNewNeedsAConfig(t *testing.T) {
	if _, err := manager.New(nil, manager.Options{}); err == nil {
		t.Error("got no error")
	}
}
