package manager_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/leaderelection"
	"github.com/kctrl-dev/kctrl/runtime/manager"
)

// candidate is a manager that runs with leader election.
type candidate struct {
	*running
	log        *journal
	manager    *manager.Manager
	controller chan struct{} // closed when the controller begins
	other      chan struct{} // closed when the runnable that needs no lease begins
}

// elect starts a manager that is a candidate for the lease guestbook.
func elect(t *testing.T, s *apiServer, more ...manager.Runnable) *candidate {
	t.Helper()
	m, log := newManager(t, s, manager.Options{
		LeaderElection:          manager.LeaderElectionOptions{Enabled: true, ID: "guestbook", Namespace: "guestbook-system"},
		GracefulShutdownTimeout: time.Minute,
	})
	c := &candidate{log: log, manager: m, controller: make(chan struct{}), other: make(chan struct{})}
	add(t, m, worker{name: "controller", runFunc: until(c.controller)},
		always{worker{name: "other", runFunc: until(c.other)}})
	add(t, m, more...)
	c.running = start(t, m)
	return c
}

// leads reports whether the controller has begun.
func (c *candidate) leads() bool {
	select {
	case <-c.controller:
		return true
	default:
		return false
	}
}

func TestFollowerRunsAllButControllers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer()
		leader := elect(t, s)
		<-leader.controller
		follower := elect(t, s)
		<-follower.other
		time.Sleep(10 * time.Minute)
		if follower.leads() || leads(follower.manager) {
			t.Error("the follower runs controllers")
		}
		if !leads(leader.manager) {
			t.Error("the leader does not say that it leads")
		}
		late := make(chan struct{})
		add(t, follower.manager, worker{name: "late", runFunc: until(late)})
		var text strings.Builder
		if _, err := follower.manager.Metrics().WriteTo(&text); err != nil {
			t.Error(err)
		}
		contains(t, text.String(), `leader_election_master_status{name="guestbook"} 0`)

		stopped := time.Now()
		if err := leader.stop(); err != nil {
			t.Error(err)
		}
		<-follower.controller
		if took := time.Since(stopped); took > 2*time.Second {
			t.Errorf("the follower led after %s, though the lease was given back", took)
		}
		<-follower.manager.Elected()
		<-late
	})
}

func TestFollowerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer()
		leader := elect(t, s)
		<-leader.controller
		follower := elect(t, s)
		<-follower.other
		if err := follower.stop(); err != nil || follower.leads() {
			t.Errorf("got %v", err)
		}
	})
}

func TestLostLeaseEndsRun(t *testing.T) {
	for name, lose := range map[string]func(*apiServer){
		"somebody else has it":   func(s *apiServer) { s.give("guestbook", "thief") },
		"it cannot be renewed":   func(s *apiServer) { s.set(errBroken) },
		"the API server is gone": func(s *apiServer) { s.set(os.ErrDeadlineExceeded) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newAPIServer()
				stopped := make(chan struct{})
				leader := elect(t, s, runFunc(func(ctx context.Context) error {
					<-ctx.Done()
					close(stopped)
					return ctx.Err()
				}))
				<-leader.controller
				time.Sleep(time.Minute)
				lose(s)
				<-leader.ended
				if !errors.Is(leader.err, leaderelection.ErrLost) {
					t.Errorf("got %v, want ErrLost", leader.err)
				}
				<-stopped
			})
		})
	}
}

func TestLostLeaseEndsRunEvenWhenAControllerDoesNotStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer()
		release := make(chan struct{})
		leader := elect(t, s, worker{name: "stuck", runFunc: func(context.Context) error { <-release; return nil }})
		<-leader.controller
		lost := time.Now()
		s.give("guestbook", "thief")
		<-leader.ended
		if took := time.Since(lost); took > time.Minute+2*time.Second {
			t.Errorf("Run returned after %s", took)
		}
		if !errors.Is(leader.err, leaderelection.ErrLost) || !strings.HasSuffix(leader.err.Error(), ": stuck") {
			t.Errorf("got %v", leader.err)
		}
		close(release)
		synctest.Wait()
	})
}

func TestErrorOfALeadingControllerEndsRunAndGivesTheLeaseBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer()
		leader := elect(t, s, worker{name: "guestbook", runFunc: func(context.Context) error { return errBroken }})
		<-leader.ended
		if !errors.Is(leader.err, errBroken) {
			t.Fatalf("got %v", leader.err)
		}
		contains(t, leader.err.Error(), "guestbook: broken")
		if holder := s.holder("guestbook"); holder != "" {
			t.Errorf("the lease has the holder %s", holder)
		}
	})
}

func TestStragglersOfALeaderAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer()
		release := make(chan struct{})
		leader := elect(t, s, worker{name: "stuck", runFunc: func(context.Context) error { <-release; return nil }})
		<-leader.controller
		err := leader.stop()
		if want := "still running at the end of the shutdown timeout: stuck"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if s.holder("guestbook") == "" {
			t.Error("the lease was given back while a controller ran")
		}
		close(release)
	})
}

func TestLeaseThatIsNotGivenBackIsAStraggler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer()
		m, _ := newManager(t, s, manager.Options{
			LeaderElection: manager.LeaderElectionOptions{Enabled: true, ID: "guestbook",
				Namespace: "guestbook-system"},
			GracefulShutdownTimeout: time.Second,
		})
		begun := make(chan struct{})
		add(t, m, until(begun))
		r := start(t, m)
		<-begun
		s.set(errBroken)
		if err := r.stop(); err == nil || !strings.HasSuffix(err.Error(), ": leader election") {
			t.Errorf("got %v", err)
		}
		time.Sleep(time.Minute) // until the elector gives up
	})
}

func TestLeaderElectionNeedsALease(t *testing.T) {
	_, err := manager.New(newAPIServer().config(),
		manager.Options{LeaderElection: manager.LeaderElectionOptions{Enabled: true}})
	if err == nil {
		t.Fatal("got no error")
	}
	contains(t, err.Error(), "LeaderElection.ID is empty")
}

func TestNothingRunsWithoutTheNamespaceOfTheLease(t *testing.T) {
	m, _ := newManager(t, newAPIServer(), manager.Options{LeaderElection: manager.LeaderElectionOptions{Enabled: true,
		ID: "guestbook"}})
	add(t, m, always{worker{name: "other", runFunc: func(context.Context) error { t.Error("it ran"); return nil }}})
	err := m.Run(t.Context())
	if err == nil {
		t.Fatal("got no error")
	}
	contains(t, err.Error(), "--leader-election-namespace")
}

func TestNamespaceOfThePodIsThatOfTheLease(t *testing.T) {
	file := filepath.Join(t.TempDir(), "namespace")
	if err := os.WriteFile(file, []byte("guestbook-system\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if namespace, err := manager.PodNamespace(file); err != nil || namespace != "guestbook-system" {
		t.Errorf("got %q, %v", namespace, err)
	}
	if _, err := manager.PodNamespace(t.TempDir()); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a folder: got %v", err)
	}
}
