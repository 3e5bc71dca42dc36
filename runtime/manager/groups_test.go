package manager_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/leaderelection"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// member is a worker of a leader election group.
type member struct {
	worker
	group, from string
}

func (m member) LeaderElectionGroup() string        { return m.group }
func (m member) LeaderElectionMigratesFrom() string { return m.from }

// stage is where the members of one name appear and leave.
type stage struct {
	mu sync.Mutex
	// on is who is on, by what; most is how many there were at once.
	on   map[string][]string
	most int
}

func newStage() *stage { return &stage{on: map[string][]string{}} }

// member returns a member of what that appears as who.
func (s *stage) member(what, who, group, from string) member {
	return member{group: group, from: from, worker: worker{name: what, runFunc: func(ctx context.Context) error {
		s.mu.Lock()
		s.on[what] = append(s.on[what], who)
		s.most = max(s.most, len(s.on[what]))
		s.mu.Unlock()
		<-ctx.Done()
		time.Sleep(time.Second)
		s.mu.Lock()
		defer s.mu.Unlock()
		left := s.on[what][:0]
		for _, other := range s.on[what] {
			if other != who {
				left = append(left, other)
			}
		}
		s.on[what] = left
		return nil
	}}}
}

// who returns who is on.
func (s *stage) who(what string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.on[what], ",")
}

// join starts a replica with members.
func join(t *testing.T, s *apiServer, members ...member) *running {
	t.Helper()
	m, _ := newManager(t, s, manager.Options{
		LeaderElection: true, LeaderElectionID: "guestbook", LeaderElectionNamespace: "guestbook-system", GracefulShutdownTimeout: time.Minute,
	})
	for _, one := range members {
		add(t, m, one)
	}
	return start(t, m)
}

func TestGroupsAreSpreadOverReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, on := newAPIServer(), newStage()
		replica := func(who string) *running {
			return join(t, s, on.member("a", who, "", ""), on.member("b", who, "blue", ""), on.member("c", who, controller.MainGroup, ""))
		}
		one, two := replica("one"), replica("two")
		time.Sleep(time.Minute)
		if on.who("a") == on.who("b") || on.who("a") != on.who("c") || on.who("a") == "" || on.who("b") == "" {
			t.Errorf("a is on %q, b on %q, c on %q", on.who("a"), on.who("b"), on.who("c"))
		}
		if s.holder("guestbook") == "" || s.holder("guestbook-blue") == "" || s.holder("guestbook") == s.holder("guestbook-blue") {
			t.Errorf("the leases are held by %q and %q", s.holder("guestbook"), s.holder("guestbook-blue"))
		}
		if err := one.stop(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if on.who("a") != "two" || on.who("b") != "two" || on.most != 1 {
			t.Errorf("a is on %q, b on %q; %d at once", on.who("a"), on.who("b"), on.most)
		}
		if err := two.stop(); err != nil || s.holder("guestbook") != "" || s.holder("guestbook-blue") != "" {
			t.Errorf("got %v; a lease was not given back", err)
		}
	})
}

// TestMigrationNeverOverlaps replaces two replicas by those of the next release, twice.
func TestMigrationNeverOverlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, on := newAPIServer(), newStage()
		releases := []func(who string) []member{
			func(who string) []member {
				return []member{on.member("a", who, "", ""), on.member("b", who, "blue", ""), on.member("c", who, "", "")}
			},
			func(who string) []member {
				return []member{on.member("a", who, "", ""), on.member("b", who, "blue", ""), on.member("c", who, "blue", controller.MainGroup)}
			},
			func(who string) []member {
				return []member{on.member("a", who, "", ""), on.member("b", who, "blue", ""), on.member("c", who, "blue", "")}
			},
		}
		var old []*running
		for i, release := range releases {
			name := string(rune('0' + i))
			for _, replica := range []string{"x", "y"} {
				next := join(t, s, release(name+replica)...)
				time.Sleep(time.Minute)
				if len(old) > 0 {
					if err := old[0].stop(); err != nil {
						t.Error(err)
					}
					old = old[1:]
				}
				old = append(old, next)
				time.Sleep(time.Minute)
			}
			for _, what := range []string{"a", "b", "c"} {
				if who := on.who(what); !strings.HasPrefix(who, name) {
					t.Errorf("release %d: %s is on %q", i, what, who)
				}
			}
			if i == 1 && on.who("c") != on.who("a") {
				t.Errorf("during the migration c is on %q and a on %q", on.who("c"), on.who("a"))
			}
		}
		if on.most != 1 {
			t.Errorf("%d at once", on.most)
		}
	})
}

func TestMigratingGroupEndsWithTheLeaseItCameFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, on := newAPIServer(), newStage()
		r := join(t, s, on.member("a", "one", "", ""), on.member("c", "one", "blue", controller.MainGroup))
		time.Sleep(time.Minute)
		s.give("guestbook", "thief")
		<-r.ended
		if !errors.Is(r.err, leaderelection.ErrLost) || on.who("c") != "" || s.holder("guestbook-blue") != "" {
			t.Errorf("got %v; c is on %q, the lease held by %q", r.err, on.who("c"), s.holder("guestbook-blue"))
		}
	})
}

func TestLeaseThatNobodyNeedsIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, on := newAPIServer(), newStage()
		join(t, s, on.member("b", "one", "blue", ""))
		time.Sleep(time.Minute)
		if s.holder("guestbook") != "" || s.holder("guestbook-blue") == "" {
			t.Errorf("the leases are held by %q and %q", s.holder("guestbook"), s.holder("guestbook-blue"))
		}
	})
}

func TestGroupsThatCannotBe(t *testing.T) {
	on := newStage()
	for want, members := range map[string][]member{
		`add a: leader election group "Blue": a lowercase RFC 1123 label`:         {on.member("a", "", "Blue", "")},
		`add a: leader election group "of.old": must not contain dots`:            {on.member("a", "", "", "of.old")},
		"add a: leader election group blue cannot migrate from itself":            {on.member("a", "", "blue", "blue")},
		"leader election group red migrates from blue and from main; one at a ti": {on.member("a", "", "red", "blue"), on.member("b", "", "red", "main")},
		"leader election group red migrates from blue, and that from it":          {on.member("a", "", "red", "blue"), on.member("b", "", "blue", "red")},
	} {
		m, _ := newManager(t, newAPIServer(), manager.Options{LeaderElection: true, LeaderElectionID: "guestbook", LeaderElectionNamespace: "ns"})
		var err error
		for _, one := range members {
			err = errors.Join(err, m.Add(one))
		}
		if err == nil {
			err = m.Run(t.Context())
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestControllersSayTheirGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer()
		m, log := newManager(t, s, manager.Options{LeaderElection: true, LeaderElectionID: "guestbook", LeaderElectionNamespace: "ns"})
		for name, election := range map[string]controller.Election{
			"main": {}, "blue": {Group: "blue"}, "moves": {Group: "green", MigratesFrom: "blue"}, "free": {Off: true},
		} {
			add(t, m, controller.New[string](name, reconcile.Func[string](nil), controller.Options{Election: election, Logger: m.Logger()}))
		}
		s.set(errBroken)
		start(t, m)
		synctest.Wait()
		contains(t, log.String(), "controller=free")
		s.set(nil)
		time.Sleep(time.Minute)
		contains(t, log.String(), "controller=main", "controller=blue", "controller=moves")
		for _, lease := range []string{"guestbook", "guestbook-blue", "guestbook-green"} {
			if s.holder(lease) == "" {
				t.Errorf("%s has no holder", lease)
			}
		}
	})
}

func TestHealthzTellsOfALeaderThatDoesNotStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer()
		m, _ := newManager(t, s, manager.Options{
			LeaderElection: true, LeaderElectionID: "guestbook", LeaderElectionNamespace: "ns", GracefulShutdownTimeout: time.Hour,
		})
		release := make(chan struct{})
		add(t, m, runFunc(func(context.Context) error { <-release; return nil }))
		r := start(t, m)
		time.Sleep(time.Minute)
		healthy := func() (int, string) {
			w := httptest.NewRecorder()
			manager.HealthzOf(m).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz?verbose", nil))
			return w.Code, w.Body.String()
		}
		if code, body := healthy(); code != http.StatusOK || body != "[+] leader election\n" {
			t.Errorf("while it leads: %d %s", code, body)
		}
		s.set(errBroken)
		time.Sleep(30 * time.Second)
		if code, body := healthy(); code != http.StatusOK {
			t.Errorf("within the margin: %d %s", code, body)
		}
		time.Sleep(10 * time.Second)
		code, body := healthy()
		if code != http.StatusInternalServerError {
			t.Errorf("got %d", code)
		}
		contains(t, body, "[-] leader election: lease ns/guestbook not renewed for ")
		close(release)
		<-r.ended
	})
}
