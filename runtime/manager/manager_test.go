package manager_test

import (
	"github.com/kctrl-dev/kctrl/runtime/internal/life"

	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/leaderelection"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
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
	m, log := newManager(t, newAPIServer(), manager.Options{HealthProbeBindAddress: loopback})
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
		HealthProbeBindAddress: free.Addr().String(), Metrics: manager.MetricsOptions{BindAddress: taken(t), Insecure: true},
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

// TestReadBeforeRunIsAnErrorAtOnce reads before Run, as a function that registers controllers or a main function might.
func TestReadBeforeRunIsAnErrorAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer()
		m, _ := newManager(t, s, manager.Options{})
		ok(t, corev1.AddToScheme(m.Scheme()))
		cluster := addCluster(t, m, "remote")
		for _, from := range []interface {
			Cache() *cache.Cache
			Client() client.Client
		}{m, cluster} {
			_, err := from.Cache().Informer(&corev1.ConfigMap{})
			ok(t, err)
			s.set(errBroken)
			begun := time.Now()
			err = from.Client().Get(t.Context(), object.Key{Namespace: "ns", Name: "a"}, &corev1.ConfigMap{})
			if !errors.Is(err, cache.ErrNotRunning) || time.Since(begun) > 0 {
				t.Errorf("got %v after %v", err, time.Since(begun))
			}
		}
	})
}

// TestRunnablesNeverReadTooEarly reads in runnables that start before, together with and after the caches.
func TestRunnablesNeverReadTooEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer()
		s.set(errBroken)
		m, _ := newManager(t, s, manager.Options{})
		ok(t, corev1.AddToScheme(m.Scheme()))
		results := make(chan error, 10)
		read := func(from interface{ Client() client.Client }) runFunc {
			return func(ctx context.Context) error {
				results <- from.Client().List(ctx, &corev1.ConfigMapList{})
				return nil
			}
		}
		added := func(name string) *manager.Cluster {
			c, err := m.AddCluster(name, s.config(), manager.ClusterOptions{})
			ok(t, err)
			return c
		}
		early, late := added("early"), make(chan *manager.Cluster)
		for _, from := range []*cache.Cache{m.Cache(), early.Cache()} {
			_, err := from.Informer(&corev1.ConfigMap{})
			ok(t, err)
		}
		add(t, m, always{worker{read(m), "beside"}})
		add(t, m, always{worker{read(early), "beside of a cluster"}})
		add(t, m, worker{read(m), "after"})
		add(t, m, worker{func(ctx context.Context) error {
			c := added("late")
			_, err := c.Cache().Informer(&corev1.ConfigMap{})
			ok(t, err)
			go func() { late <- c }()
			return read(c)(ctx)
		}, "of a cluster that is added while the manager runs"})
		r := start(t, m)
		stopped := <-late
		synctest.Wait()
		if len(results) > 0 {
			t.Errorf("a read did not wait: %v", <-results)
		}
		ok(t, r.stop())
		for range 4 {
			if err := <-results; err == nil || errors.Is(err, cache.ErrNotRunning) {
				t.Errorf("got %v", err)
			}
		}
		if err := read(stopped)(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-results; !errors.Is(err, cache.ErrEnded) {
			t.Errorf("after the end: got %v", err)
		}
	})
}

// TestReadsEndWithAManagerThatCannotBegin reads from the caches of a manager that cannot start because its address is
// in use.
func TestReadsEndWithAManagerThatCannotBegin(t *testing.T) {
	m, _ := newManager(t, newAPIServer(), manager.Options{HealthProbeBindAddress: taken(t)})
	ok(t, corev1.AddToScheme(m.Scheme()))
	cluster := addCluster(t, m, "remote")
	caches := []*cache.Cache{m.Cache(), cluster.Cache()}
	for _, c := range caches {
		_, err := c.Informer(&corev1.ConfigMap{})
		ok(t, err)
	}
	if err := m.Run(t.Context()); err == nil {
		t.Fatal("Run did not fail")
	}
	for _, from := range caches {
		if err := from.List(t.Context(), &corev1.ConfigMapList{}); !errors.Is(err, cache.ErrEnded) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := m.AddCluster("late", newAPIServer().config(), manager.ClusterOptions{}); !errors.Is(err,
		manager.ErrStopped) {
		t.Errorf("got %v, want ErrStopped", err)
	}
}

// TestStopGoesFromControllersToServers checks the order in which a manager stops its parts: controllers, other
// runnables, servers.
func TestStopGoesFromControllersToServers(t *testing.T) {
	m, log := newManager(t, newAPIServer(), manager.Options{HealthProbeBindAddress: loopback})
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

func TestRunnablesAddedWhileRunningStartAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newManager(t, newAPIServer(), manager.Options{})
		begun := make(chan struct{})
		add(t, m, until(begun))
		r := start(t, m)
		<-begun
		ended := make(chan struct{})
		late, other := make(chan struct{}), make(chan struct{})
		add(t, m, worker{name: "late", runFunc: func(ctx context.Context) error {
			defer close(ended)
			return until(late)(ctx)
		}}, always{worker{name: "other", runFunc: until(other)}})
		<-late
		<-other
		if err := m.Add(worker{name: "late"}); err == nil {
			t.Error("there are two of one name")
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		<-ended
		err := m.Add(worker{name: "too late"})
		if !errors.Is(err, manager.ErrStopped) {
			t.Fatalf("got %v, want ErrStopped", err)
		}
		contains(t, err.Error(), "add too late")
	})
}

func TestErrorOfWhatWasAddedLaterEndsTheManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newManager(t, newAPIServer(), manager.Options{})
		r := start(t, m)
		<-m.Elected()
		add(t, m, manager.RunnableFunc(func(context.Context) error { return errBroken }))
		<-r.ended
		if !errors.Is(r.err, errBroken) {
			t.Errorf("got %v", r.err)
		}
	})
}

func TestAddIsSafeAtAnyTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for n := range 20 {
			m, _ := newManager(t, newAPIServer(), manager.Options{
				LeaderElection: manager.LeaderElectionOptions{Enabled: n%2 == 0, ID: "guestbook", Namespace: "guestbook-system"},
			})
			var ran, added sync.WaitGroup
			for range 10 {
				added.Go(func() {
					var once sync.Once
					ran.Add(1)
					err := m.Add(manager.RunnableFunc(func(ctx context.Context) error {
						once.Do(ran.Done)
						<-ctx.Done()
						return nil
					}))
					if err != nil {
						t.Error(err)
					}
				})
			}
			r := start(t, m)
			added.Wait()
			ran.Wait()
			if err := r.stop(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestWithoutElectionElectedIsClosedWhenTheControllersStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newManager(t, newAPIServer(), manager.Options{})
		if leads(m) {
			t.Error("a manager that does not run leads")
		}
		start(t, m)
		<-m.Elected()
	})
}

// leads reports whether the manager has been elected.
func leads(m *manager.Manager) bool {
	select {
	case <-m.Elected():
		return true
	default:
		return false
	}
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
		if err := m.Run(t.Context()); !errors.Is(err, life.ErrAlreadyRun) {
			t.Errorf("while it runs: got %v, want ErrAlreadyRun", err)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		if err := m.Run(t.Context()); !errors.Is(err, life.ErrAlreadyRun) {
			t.Errorf("after it has run: got %v, want ErrAlreadyRun", err)
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

// TestErrorDuringShutdownIsReturned adds a runnable that fails while the group that stops before it is still stopping.
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

// TestNegativeTimeoutIsNoBound adds a runnable that takes hours to stop. The log must mention it from time to time.
func TestNegativeTimeoutIsNoBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, log := newManager(t, newAPIServer(), manager.Options{GracefulShutdownTimeout: -1})
		add(t, m, worker{name: "slow", runFunc: func(ctx context.Context) error {
			<-ctx.Done()
			<-time.After(3 * time.Hour)
			return nil
		}})
		r := start(t, m)
		synctest.Wait()
		begun := time.Now()
		if err := r.stop(); err != nil || time.Since(begun) != 3*time.Hour {
			t.Errorf("got %v after %v", err, time.Since(begun))
		}
		if logged := strings.Count(log.String(), "waiting for what still runs"); logged < 100 || logged > 1100 {
			t.Errorf("logged %d times", logged)
		}
	})
}

// TestStopBeforeTheStartIsNoError also uses an address with a host name, which must not be resolved.
func TestStopBeforeTheStartIsNoError(t *testing.T) {
	for _, address := range []string{loopback, "localhost:0"} {
		m, err := manager.New(&rest.Config{Host: "http://127.0.0.1:1"}, manager.Options{
			HealthProbeBindAddress: address, Metrics: manager.MetricsOptions{BindAddress: address, Insecure: true},
			Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := m.Run(ctx); err != nil {
			t.Errorf("%s: %v", address, err)
		}
		if err := m.Run(t.Context()); !errors.Is(err, life.ErrAlreadyRun) {
			t.Errorf("%s: a second Run: %v", address, err)
		}
	}
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

func TestNamesThatCannotBeAreErrors(t *testing.T) {
	for want, opts := range map[string]manager.Options{
		`"a b" cannot be a namespace: `:                          {Namespaces: []string{"a", "", "a b"}},
		`"B" cannot be a namespace: `:                            {Cache: cache.Options{Namespaces: []string{"B"}}},
		`LeaderElection.ID "Me" cannot be the name of a lease: `: {LeaderElection: manager.LeaderElectionOptions{Enabled: true, ID: "Me"}},
	} {
		if _, err := manager.New(newAPIServer().config(), opts); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	m, _ := newManager(t, newAPIServer(), manager.Options{LeaderElection: manager.LeaderElectionOptions{ID: "Me"},
		Namespaces: []string{""}}) // LeaderElection is disabled, so its invalid ID is not used
	_, err := m.AddCluster("remote", newAPIServer().config(), manager.ClusterOptions{Namespaces: []string{" b"}})
	if want := `cluster remote: " b" cannot be a namespace: `; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestNewNeedsAConfig(t *testing.T) {
	if _, err := manager.New(nil, manager.Options{}); err == nil {
		t.Error("got no error")
	}
}

// member is a worker that belongs to a leader election group.
type member struct {
	worker
	group, from, lease string
}

func (m member) LeaderElectionLease() string        { return m.lease }
func (m member) LeaderElectionGroup() string        { return m.group }
func (m member) LeaderElectionMigratesFrom() string { return m.from }

// stage records which members with one name run at the same time.
type stage struct {
	mu sync.Mutex
	// on contains the running members by name, and most the largest number that ran at one time.
	on   map[string][]string
	most int
}

func newStage() *stage { return &stage{on: map[string][]string{}} }

// member returns a member with the name what, on the replica who.
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

// who returns the replicas on which the members named what run.
func (s *stage) who(what string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.on[what], ",")
}

// join starts a replica that has the given members.
func join(t *testing.T, s *apiServer, members ...member) *running {
	t.Helper()
	m, _ := newManager(t, s, manager.Options{
		LeaderElection:          manager.LeaderElectionOptions{Enabled: true, ID: "guestbook", Namespace: "guestbook-system"},
		GracefulShutdownTimeout: time.Minute,
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
			return join(t, s, on.member("a", who, "", ""), on.member("b", who, "blue", ""),
				on.member("c", who, controller.MainGroup, ""))
		}
		one, two := replica("one"), replica("two")
		time.Sleep(time.Minute)
		if on.who("a") == on.who("b") || on.who("a") != on.who("c") || on.who("a") == "" || on.who("b") == "" {
			t.Errorf("a is on %q, b on %q, c on %q", on.who("a"), on.who("b"), on.who("c"))
		}
		if s.holder("guestbook") == "" || s.holder("guestbook-blue") == "" ||
			s.holder("guestbook") == s.holder("guestbook-blue") {
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

// TestMigrationNeverOverlaps replaces two replicas with replicas of the next release, twice. A member may never run on
// two replicas at one time.
func TestMigrationNeverOverlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, on := newAPIServer(), newStage()
		releases := []func(who string) []member{
			func(who string) []member {
				return []member{on.member("a", who, "", ""), on.member("b", who, "blue", ""), on.member("c", who, "", "")}
			},
			func(who string) []member {
				return []member{on.member("a", who, "", ""), on.member("b", who, "blue", ""),
					on.member("c", who, "blue", controller.MainGroup)}
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

func TestUnusedLeaseIsNotTouched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, on := newAPIServer(), newStage()
		join(t, s, on.member("b", "one", "blue", ""))
		time.Sleep(time.Minute)
		if s.holder("guestbook") != "" || s.holder("guestbook-blue") == "" {
			t.Errorf("the leases are held by %q and %q", s.holder("guestbook"), s.holder("guestbook-blue"))
		}
	})
}

// at returns m with that name for the lease of its group.
func (m member) at(lease string) member {
	m.lease = lease
	return m
}

// TestLeaseWithANameIsSharedByPrograms checks that the holder of a named lease runs the group, even if two programs use
// different names for the group.
func TestLeaseWithANameIsSharedByPrograms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, on := newAPIServer(), newStage()
		other := join(t, s, on.member("b", "other", "moving", "").at("shared"))
		time.Sleep(time.Minute)
		join(t, s, on.member("a", "one", "", ""), on.member("b", "one", "blue", controller.MainGroup).at("shared"),
			on.member("c", "one", "blue", ""))
		time.Sleep(time.Minute)
		if on.who("a") != "one" || on.who("b") != "other" || on.who("c") != "" {
			t.Errorf("while another program has the lease, a is on %q, b on %q, c on %q", on.who("a"), on.who("b"), on.who("c"))
		}
		if err := other.stop(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if on.who("b") != "one" || on.who("c") != "one" || on.most != 1 || s.holder("guestbook-blue") != "" ||
			s.holder("guestbook-moving") != "" {
			t.Errorf("b is on %q, c on %q, %d at once", on.who("b"), on.who("c"), on.most)
		}
	})
}

func TestGroupsThatCannotBe(t *testing.T) {
	on := newStage()
	for want, members := range map[string][]member{
		`add a: leader election group "Blue": a lowercase RFC 1123 label`: {on.member("a", "", "Blue", "")},
		`add a: leader election group "of.old": must not contain dots`:    {on.member("a", "", "", "of.old")},
		"add a: leader election group blue cannot migrate from itself":    {on.member("a", "", "blue", "blue")},
		"leader election group red migrates from blue and from main; one at a ti": {on.member("a", "", "red", "blue"),
			on.member("b", "", "red", "main")},
		`add a: lease "No" of leader election group blue: a lowercase RFC 1123`:   {on.member("a", "", "blue", "").at("No")},
		`add a: lease "x" of leader election group main: the lease of that has t`: {on.member("a", "", "", "").at("x")},
		"leader election group red has the leases x and y; one is enough": {on.member("a", "", "red", "").at("x"),
			on.member("b", "", "red", "").at("y")},
		"leader election groups red and blue have one lease, x": {on.member("a", "", "red", "").at("x"),
			on.member("b", "", "blue", "").at("x")},
		"leader election groups main and red have one lease, guestbook": {on.member("a", "", "", ""),
			on.member("b", "", "red", "").at("guestbook")},
		"leader election group red migrates from blue, and that from it": {on.member("a", "", "red", "blue"),
			on.member("b", "", "blue", "red")},
	} {
		m, _ := newManager(t, newAPIServer(), manager.Options{LeaderElection: manager.LeaderElectionOptions{Enabled: true,
			ID: "guestbook", Namespace: "ns"}})
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

func TestControllersReportTheirGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer()
		m, log := newManager(t, s, manager.Options{LeaderElection: manager.LeaderElectionOptions{Enabled: true,
			ID: "guestbook", Namespace: "ns"}})
		for name, election := range map[string]controller.Election{
			"main": {}, "blue": {Group: "blue"}, "moves": {Group: "green", MigratesFrom: "blue"},
			"named": {Group: "red", Lease: "red.example.com"}, "free": {Off: true},
		} {
			add(t, m, controller.New[string](name, reconcile.Func[string](nil),
				controller.Options{Election: election, Logger: m.Logger()}))
		}
		s.set(errBroken)
		start(t, m)
		synctest.Wait()
		contains(t, log.String(), "controller=free")
		s.set(nil)
		time.Sleep(time.Minute)
		contains(t, log.String(), "controller=main", "controller=blue", "controller=moves", "controller=named")
		for _, lease := range []string{"guestbook", "guestbook-blue", "guestbook-green", "red.example.com"} {
			if s.holder(lease) == "" {
				t.Errorf("%s has no holder", lease)
			}
		}
	})
}

func TestHealthzReportsALeaderThatDoesNotStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer()
		m, _ := newManager(t, s, manager.Options{
			LeaderElection:          manager.LeaderElectionOptions{Enabled: true, ID: "guestbook", Namespace: "ns"},
			GracefulShutdownTimeout: time.Hour,
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

// A manager without a scheme knows only its own built-in types. A missing type is an error when a controller is built
// and when a client is used, before any request is sent.
func TestManagerWithoutASchemeHasHint(t *testing.T) {
	m, _ := newManager(t, newAPIServer(), manager.Options{})
	idle := reconcile.Func[reconcile.Request](func(context.Context,
		reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, nil
	})
	if err := controller.For[*coordinationv1.Lease](m).Complete(idle); err != nil {
		t.Errorf("a Lease: %v", err)
	}
	for name, err := range map[string]error{
		"For":  controller.For[*corev1.ConfigMap](m).Complete(idle),
		"Owns": controller.For[*coordinationv1.Lease](m).Named("x").Owns(&corev1.ConfigMap{}).Complete(idle),
		"Watches": controller.ForRequests[string](m, "y").Watches(&corev1.ConfigMap{},
			nil).Complete(reconcile.Func[string](nil)),
	} {
		if err == nil || !strings.Contains(err.Error(), "AddToScheme(m.Scheme())") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	err := m.Client().Get(t.Context(), object.Key{Namespace: "ns", Name: "a"}, &corev1.ConfigMap{})
	if err == nil || !strings.Contains(err.Error(), "no kind is registered for the type v1.ConfigMap") {
		t.Errorf("Get: got %v", err)
	}
	ok(t, corev1.AddToScheme(m.Scheme()))
	ok(t, controller.For[*corev1.ConfigMap](m).Complete(idle))
}

func TestControllersHaveATimeoutOfTheirOwnAndAreNamedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m,
			log := newManager(t, newAPIServer(),
			manager.Options{Controller: manager.ControllerOptions{ShutdownTimeout: 6 * time.Second}})
		release, begun := make(chan struct{}), make(chan struct{})
		defer close(release)
		add(t, m, worker{name: "stuck", runFunc: func(context.Context) error {
			close(begun)
			<-release
			return nil
		}})
		r := start(t, m)
		<-begun
		stopping := time.Now()
		err := r.stop()
		if took := time.Since(stopping); took != 6*time.Second || err == nil ||
			!strings.Contains(err.Error(), "shutdown timeout: stuck") {
			t.Errorf("got %v after %s", err, took)
		}
		if logged := strings.Count(log.String(), "waiting for what still runs"); logged != 2 {
			t.Errorf("logged %d times:\n%s", logged, log)
		}
	})
}

func TestControllersThatAreLateDoNotCutTheOthersOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m,
			_ := newManager(t, newAPIServer(),
			manager.Options{Controller: manager.ControllerOptions{ShutdownTimeout: 6 * time.Second}})
		release, finished := make(chan struct{}), false
		defer close(release)
		add(t, m, worker{name: "stuck", runFunc: func(context.Context) error { <-release; return nil }})
		add(t, m, always{worker{name: "other", runFunc: func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(2 * time.Second) // time to finish work that has begun
			finished = true
			return nil
		}}})
		r := start(t, m)
		synctest.Wait()
		if err := r.stop(); err == nil || !strings.HasSuffix(err.Error(), "shutdown timeout: stuck") || !finished {
			t.Errorf("got %v, and the other one has ended: %t", err, finished)
		}
	})
}

func TestResyncPeriodHasJitter(t *testing.T) {
	m, _ := newManager(t, newAPIServer(), manager.Options{MinResyncPeriod: time.Hour})
	different := map[time.Duration]bool{}
	for range 100 {
		period := m.ResyncPeriod()
		if period < time.Hour || period >= 2*time.Hour {
			t.Fatalf("got %s", period)
		}
		different[period] = true
	}
	if len(different) < 50 {
		t.Errorf("got %d periods", len(different))
	}
	if m, _ := newManager(t, newAPIServer(), manager.Options{}); m.ResyncPeriod() != 0 {
		t.Errorf("got %s by default", m.ResyncPeriod())
	}
}
