package manager_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

func TestClusterHasItsOwnConnectionAndTheManagersRest(t *testing.T) {
	m,
		log := newManager(t, newAPIServer(),
		manager.Options{Controller: manager.ControllerOptions{MaxConcurrentReconciles: 3}})
	if m.Cluster("remote") != nil {
		t.Error("there is a cluster already")
	}
	c, err := m.AddCluster("remote", newAPIServer().config(), manager.ClusterOptions{})
	ok(t, err)
	if m.Cluster("remote") != c || c.Name() != "remote" {
		t.Errorf("got %v", m.Cluster("remote"))
	}
	if c.Live() == m.Live() || c.Cache() == m.Cache() || c.Client() == m.Client() || c.RESTMapper() == m.RESTMapper() ||
		c.Live().Journal() == m.Live().Journal() {
		t.Error("something is that of the manager")
	}
	if c.Scheme() != m.Scheme() || c.MaxConcurrentReconciles() != 3 {
		t.Error("something is not that of the manager")
	}
	c.Logger().Info("hello")
	contains(t, log.String(), "msg=hello cluster=remote")
	scheme := kruntime.NewScheme()
	if c, err := m.AddCluster("other", newAPIServer().config(), manager.ClusterOptions{Scheme: scheme}); err != nil ||
		c.Scheme() != scheme {
		t.Errorf("got %v", err)
	}
}

func TestClustersThatCannotBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newManager(t, newAPIServer(), manager.Options{})
		config := newAPIServer().config()
		_, err := m.AddCluster("", config, manager.ClusterOptions{})
		_, noConfig := m.AddCluster("remote", nil, manager.ClusterOptions{})
		_, added := m.AddCluster("remote", config, manager.ClusterOptions{})
		_, twice := m.AddCluster("remote", config, manager.ClusterOptions{})
		if err == nil || noConfig == nil || added != nil || twice == nil {
			t.Errorf("got %v, %v, %v, %v", err, noConfig, added, twice)
		}
		begun := make(chan struct{})
		add(t, m, until(begun))
		r := start(t, m)
		<-begun
		ok(t, r.stop())
		if _, err := m.AddCluster("late", config, manager.ClusterOptions{}); !errors.Is(err, manager.ErrStopped) {
			t.Errorf("got %v, want ErrStopped", err)
		}
	})
}

// testClusters runs a manager of the test's namespace that copies the objects of another cluster. Another namespace of
// the server takes the place of that cluster.
func testClusters(t *testing.T, c live) {
	remote := &corev1.Namespace{}
	remote.GenerateName = "remote-"
	ok(t, c.Create(t.Context(), remote))
	m, log := c.newManager(t, c.config, manager.Options{HealthProbeBindAddress: loopback,
		LeaderElection: manager.LeaderElectionOptions{Enabled: true, ID: "copier", Namespace: c.namespace}})
	cluster,
		err := m.AddCluster("remote", c.config,
		manager.ClusterOptions{Cache: cache.Options{Namespaces: []string{remote.Name}}})
	ok(t, err)
	here := reconciles[*corev1.ConfigMap](t, m)
	copies := reconcile.Func[reconcile.Request](func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		original := &corev1.ConfigMap{}
		if err := cluster.Client().Get(ctx, r.NamespacedName, original); err != nil {
			return reconcile.Result{}, err
		}
		return reconcile.Result{}, m.Client().Create(ctx, &corev1.ConfigMap{ObjectMeta: c.meta(original.Name),
			Data: original.Data})
	})
	err = controller.For[*corev1.ConfigMap](cluster).Complete(copies)
	if err == nil || !strings.Contains(err.Error(), `there is another controller "configmap"`) {
		t.Errorf("got %v", err)
	}
	ok(t, controller.For[*corev1.ConfigMap](cluster).Named("copier").Complete(copies))
	r := start(t, m)
	original := &corev1.ConfigMap{Data: map[string]string{"of": "remote"}}
	original.Namespace, original.Name = remote.Name, "a"
	ok(t, c.Create(t.Context(), original))
	await(t, here, "a")
	copied := &corev1.ConfigMap{}
	ok(t, m.Client().Get(t.Context(), object.Key{Namespace: c.namespace, Name: "a"}, copied))
	if copied.Data["of"] != "remote" {
		t.Errorf("got %v", copied.Data)
	}
	wantAnswer(t, log.url(t, "probes")+"/readyz?verbose", 200, "[+] configmap\n[+] copier\n")
	contains(t, log.String(), "cluster=remote controller=copier")
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}

// testUnreachableCluster uses a cluster whose server cannot be reached.
func testUnreachableCluster(t *testing.T, c live) {
	m, log := c.newManager(t, c.config, manager.Options{HealthProbeBindAddress: loopback})
	cluster, err := m.AddCluster("gone", &rest.Config{Host: "https://" + taken(t), Timeout: 2 * time.Second},
		manager.ClusterOptions{Namespaces: []string{""}})
	ok(t, err)
	here := reconciles[*corev1.ConfigMap](t, m)
	ok(t, controller.For[*corev1.Secret](cluster).Named("far").Complete(reconcile.Func[reconcile.Request](nil)))
	start(t, m)
	ok(t, c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: c.meta("a")}))
	await(t, here, "a")
	_, body := get(t, log.url(t, "probes")+"/readyz")
	contains(t, body, "[+] configmap\n[-] far: kind Secret has not synced")
}

// addCluster adds a cluster whose server is an in-memory API server.
func addCluster(t *testing.T, m *manager.Manager, name string) *manager.Cluster {
	t.Helper()
	c, err := m.AddCluster(name, newAPIServer().config(), manager.ClusterOptions{})
	ok(t, err)
	return c
}

// begins returns a runnable that runs until it is stopped, and reports its beginning and its end.
func begins(begun, ended chan<- struct{}) runFunc {
	return func(ctx context.Context) error {
		begun <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return ctx.Err()
	}
}

func TestClusterRunsAtOnceAndStopsWithoutTheManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, log := newManager(t, newAPIServer(), manager.Options{})
		r := start(t, m)
		synctest.Wait()
		begun, ended := make(chan struct{}, 10), make(chan struct{}, 10)
		for round := range 3 {
			c := addCluster(t, m, "remote")
			ok(t, c.Add(worker{begins(begun, ended), "w"}))
			synctest.Wait()
			if len(begun) != round+1 || len(ended) != round {
				t.Fatalf("begun %d times, ended %d times", len(begun), len(ended))
			}
			err := c.Add(worker{begins(begun, ended), "w"})
			if err == nil || !strings.Contains(err.Error(), `another controller "w"`) {
				t.Errorf("got %v", err)
			}
			ok(t, c.Stop(t.Context()))
			ok(t, c.Stop(t.Context()))
			if len(ended) != round+1 || m.Cluster("remote") != nil {
				t.Errorf("it has ended %d times", len(ended))
			}
			if err := c.Add(worker{begins(begun, ended), "x"}); !errors.Is(err, manager.ErrStopped) {
				t.Errorf("got %v", err)
			}
		}
		if err := r.stop(); err != nil {
			t.Errorf("got %v\n%s", err, log)
		}
	})
}

func TestClusterThatIsStoppedBeforeRunDoesNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newManager(t, newAPIServer(), manager.Options{LeaderElection: manager.LeaderElectionOptions{Enabled: true,
			ID: "x", Namespace: "ns"}})
		begun, ended := make(chan struct{}, 10), make(chan struct{}, 10)
		early, kept := addCluster(t, m, "early"), addCluster(t, m, "kept")
		ok(t, errors.Join(early.Add(worker{begins(begun, ended), "early"}), kept.Add(worker{begins(begun, ended), "kept"})))
		ok(t, early.Stop(t.Context()))
		r := start(t, m)
		time.Sleep(time.Minute)
		if len(begun) != 1 {
			t.Errorf("%d runnables have begun", len(begun))
		}
		ok(t, r.stop())
		if len(ended) != 1 {
			t.Error("what is left of the clusters did not end with the manager")
		}
	})
}

func TestClusterOfAFollowerRunsWhenItLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer()
		opts := manager.Options{LeaderElection: manager.LeaderElectionOptions{Enabled: true, ID: "x", Namespace: "ns"}}
		first, _ := newManager(t, s, opts)
		leader := start(t, first)
		time.Sleep(time.Second)
		second, _ := newManager(t, s, opts)
		start(t, second)
		time.Sleep(time.Minute)
		begun, ended := make(chan struct{}, 10), make(chan struct{}, 10)
		c, gone := addCluster(t, second, "remote"), addCluster(t, second, "gone")
		ok(t, errors.Join(c.Add(worker{begins(begun, ended), "elected"}), gone.Add(worker{begins(begun, ended), "gone"})))
		ok(t, c.Add(always{worker{begins(begun, ended), "always"}}))
		synctest.Wait()
		if len(begun) != 1 {
			t.Errorf("%d runnables of a follower have begun", len(begun))
		}
		ok(t, gone.Stop(t.Context()))
		ok(t, leader.stop())
		time.Sleep(time.Minute)
		if len(begun) != 2 {
			t.Errorf("%d runnables of the leader have begun", len(begun))
		}
		ok(t, c.Stop(t.Context()))
		if len(ended) != 2 {
			t.Errorf("%d have ended", len(ended))
		}
		ok(t, addCluster(t, second, "next").Add(worker{begins(begun, ended), "elected"}))
		synctest.Wait()
		if len(begun) != 3 {
			t.Error("what is added to a leader does not run")
		}
		err := addCluster(t, second, "last").Add(grouped{worker{begins(begun, ended), "y"}})
		if err == nil || !strings.Contains(err.Error(), "leader election group other") {
			t.Errorf("got %v", err)
		}
	})
}

// grouped is a worker that belongs to a leader election group.
type grouped struct{ worker }

func (grouped) LeaderElectionGroup() string { return "other" }

func TestSlowRunnablesAreNamedAndAwaitedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, log := newManager(t, newAPIServer(), manager.Options{})
		r := start(t, m)
		c := addCluster(t, m, "remote")
		release := make(chan struct{})
		ok(t, c.Add(worker{name: "stubborn", runFunc: func(context.Context) error {
			<-release
			return errBroken
		}}))
		synctest.Wait()
		within, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Stop(within); !errors.Is(err, context.DeadlineExceeded) ||
			!strings.HasSuffix(err.Error(), "still running: stubborn") {
			t.Errorf("got %v", err)
		}
		close(release)
		ok(t, c.Stop(t.Context()))
		contains(t, log.String(), `msg="ended with an error when it was stopped"`, "runnable=stubborn")
		if err := r.stop(); err != nil {
			t.Errorf("what a stopped cluster returned failed the manager: %v", err)
		}
	})
}

// series returns the lines of a registry that have a label value beginning with one of names.
func series(t *testing.T, r *metrics.Registry, names ...string) []string {
	t.Helper()
	var text strings.Builder
	_, err := r.WriteTo(&text)
	ok(t, err)
	var found []string
	for line := range strings.Lines(text.String()) {
		if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(line, `="`+name) }) {
			found = append(found, line)
		}
	}
	return found
}

func TestStoppedClusterLeavesNoMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scheme := kruntime.NewScheme()
		ok(t, corev1.AddToScheme(scheme))
		m, _ := newManager(t, newAPIServer(), manager.Options{Scheme: scheme})
		start(t, m)
		for _, ran := range []bool{true, false} {
			own := metrics.NewRegistry()
			c, err := m.AddCluster("remote", newAPIServer().config(), manager.ClusterOptions{Cache: cache.Options{Metrics: own}})
			ok(t, err)
			idle := reconcile.Func[reconcile.Request](func(context.Context,
				reconcile.Request) (reconcile.Result, error) {
				return reconcile.Result{}, nil
			})
			ok(t, controller.For[*corev1.ConfigMap](c).Named("far").Owns(&corev1.Secret{}).Complete(idle))
			if ran {
				time.Sleep(time.Minute)
			}
			if len(series(t, m.Metrics(), "far")) < 5 || len(series(t, own, "configmaps", "secrets")) < 2 {
				t.Errorf("before the stop: %v and %v", series(t, m.Metrics(), "far"), series(t, own, "configmaps", "secrets"))
			}
			ok(t, c.Stop(t.Context()))
			if left := slices.Concat(series(t, m.Metrics(), "far"), series(t, own, "configmaps", "secrets")); len(left) > 0 {
				t.Errorf("left behind:\n%s", strings.Join(left, ""))
			}
		}
	})
}

func TestFailureInAClusterStopsTheManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newManager(t, newAPIServer(), manager.Options{})
		r := start(t, m)
		synctest.Wait()
		ok(t, addCluster(t, m, "remote").Add(runFunc(func(context.Context) error { return errBroken })))
		<-r.ended
		if !errors.Is(r.err, errBroken) {
			t.Errorf("got %v", r.err)
		}
	})
}

// testClustersComeAndGo runs a manager of the test's namespace. Another namespace takes the place of the clusters.
func testClustersComeAndGo(t *testing.T, c live) {
	remote := &corev1.Namespace{}
	remote.GenerateName = "remote-"
	ok(t, c.Create(t.Context(), remote))
	m, log := c.newManager(t, c.config, manager.Options{HealthProbeBindAddress: loopback,
		LeaderElection: manager.LeaderElectionOptions{Enabled: true, ID: "dynamic", Namespace: c.namespace}})
	here := reconciles[*corev1.ConfigMap](t, m)
	start(t, m)
	ok(t, c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: c.meta("a")}))
	await(t, here, "a")
	before := 0
	for range 20 { // the stack of a goroutine that has not started does not contain its creator
		wantAnswer(t, log.url(t, "probes")+"/readyz?verbose", 200, "[+] configmap\n")
		before = max(before, len(managerGoroutines()))
	}
	for round := range 2 {
		own := metrics.NewRegistry()
		cluster, err := m.AddCluster("remote", c.config, manager.ClusterOptions{
			Namespaces: []string{remote.Name}, Cache: cache.Options{Metrics: own},
		})
		ok(t, err)
		names := make(chan string, 100)
		events := cluster.EventRecorder("far")
		ok(t, controller.For[*corev1.ConfigMap](cluster).Named("far").Complete(reconcile.Func[reconcile.Request](
			func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
				cm := &corev1.ConfigMap{}
				if err := cluster.Client().Get(ctx, r.NamespacedName, cm); err != nil {
					return reconcile.Result{}, client.IgnoreNotFound(err)
				}
				events.Eventf(cm, nil, corev1.EventTypeNormal, "Seen", "See", "in round %d", round)
				names <- cm.Name
				return reconcile.Result{}, nil
			})))
		name := fmt.Sprintf("round-%d", round)
		cm := &corev1.ConfigMap{}
		cm.Namespace, cm.Name = remote.Name, name
		ok(t, c.Create(t.Context(), cm))
		await(t, names, name)
		wantAnswer(t, log.url(t, "probes")+"/readyz?verbose", 200, "[+] configmap\n[+] far\n")
		ok(t, cluster.Stop(t.Context()))
		wantAnswer(t, log.url(t, "probes")+"/readyz?verbose", 200, "[+] configmap\n")
		wantEvent(t, c, object.KeyOf(cm))
		if left := slices.Concat(series(t, m.Metrics(), "far"), series(t, own, "configmaps")); len(left) > 0 {
			t.Errorf("left behind:\n%s", strings.Join(left, ""))
		}
	}
	ok(t, eventually(t, func() error {
		if left := managerGoroutines(); len(left) > before {
			return fmt.Errorf("%d goroutines before, %d after:\n%s", before, len(left), strings.Join(left, "\n\n"))
		}
		return nil
	}))
}

// wantEvent fails the test unless an event about the object exists.
func wantEvent(t *testing.T, c live, about object.Key) {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("events.k8s.io/v1")
	list.SetKind("EventList")
	ok(t, c.List(t.Context(), list, client.InNamespace(about.Namespace)))
	for _, event := range list.Items {
		if name, _, _ := unstructured.NestedString(event.Object, "regarding", "name"); name == about.Name {
			return
		}
	}
	t.Errorf("no event about %s among %d", about, len(list.Items))
}
