package manager_test

import (
	"context"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
	"github.com/kctrl-dev/kctrl/testserver/inmemory"
)

// live is an API server and a namespace on it that no other test uses.
type live struct {
	*client.REST
	env        *testenv.Env
	config     *rest.Config
	kubeconfig string // set only for a real server
	namespace  string
}

// rule is a guarantee to test on an API server.
type rule struct {
	name string
	test func(t *testing.T, c live)
}

// TestOnAServer starts one API server for all tests that work on any kind of server.
func TestOnAServer(t *testing.T) {
	onServer(t, inmemory.Start(t), []rule{
		{"a manager reconciles, is ready, measures, and stops without a trace", testLife},
		{"the cache runs until the others have ended", testCacheOutlivesOthers},
		{"a second manager takes over from the first", testTakeOver},
		{"two managers share the groups of leader election", testGroupsOnTwoManagers},
		{"controllers watch another cluster", testClusters},
		{"clusters come and go while the manager runs", testClustersComeAndGo},
		{"a cluster that is away stalls its own controllers only", testUnreachableCluster},
		{"a forbidden kind is reported and stalls its own controller only", testForbidden},
		{"a kind without a CRD stalls its own controller only, until there is one", testMissingCRD},
		{"metrics are for those whom RBAC allows", testSecureMetrics},
	})
}

// TestOnAServerOfProcesses runs operators as processes, which need a kubeconfig, and kills processes of a real server.
func TestOnAServerOfProcesses(t *testing.T) {
	onServer(t, testenv.Start(t, testenv.WithFaults()), []rule{
		{"a leader that is killed is followed", testLeaderKilled},
		{"a leader that was frozen writes nothing after the next one", testLeaderFrozen},
		{"without a fence it would", testUnfencedLeaderFrozen},
		{"a leader that was cut off writes nothing after the next one", testLeaderCutOff},
		{"slow storage loses no update, leaves nothing behind, and makes no second leader", testSlowStorage},
		{"no storm and no restart loses an update, or leaves anything behind", testStorms}, // the last two disturb the server
	})
}

func onServer(t *testing.T, env *testenv.Env, rules []rule) {
	c, err := client.New(env.Config, client.Options{Scheme: newScheme(t)})
	ok(t, err)
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "manager-"}}
			ok(t, c.Create(t.Context(), namespace))
			rule.test(t, live{c, env, env.Config, env.Kubeconfig, namespace.Name})
		})
	}
}

func newScheme(t *testing.T) *kruntime.Scheme {
	t.Helper()
	scheme := kruntime.NewScheme()
	for _, add := range []func(*kruntime.Scheme) error{corev1.AddToScheme, rbacv1.AddToScheme,
		authenticationv1.AddToScheme} {
		ok(t, add(scheme))
	}
	return scheme
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// meta returns metadata with that name in the test's namespace.
func (c live) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: c.namespace, Name: name}
}

// newManager returns a manager for the test's namespace that connects with config.
func (c live) newManager(t *testing.T, config *rest.Config, opts manager.Options) (*manager.Manager, *journal) {
	t.Helper()
	log := newJournal()
	opts.Scheme, opts.Logger = newScheme(t), log.logger()
	if opts.Namespaces == nil {
		opts.Namespaces = []string{c.namespace}
	}
	m, err := manager.New(config, opts)
	ok(t, err)
	return m, log
}

// reconciles adds a controller of a kind to m, and returns a channel with the names of its requests.
func reconciles[T object.Object](t *testing.T, m *manager.Manager) <-chan string {
	t.Helper()
	names := make(chan string, 100)
	err := controller.For[T](m).Complete(reconcile.Func[reconcile.Request](func(_ context.Context,
		r reconcile.Request) (reconcile.Result, error) {
		names <- r.Name
		return reconcile.Result{}, nil
	}))
	ok(t, err)
	return names
}

// await waits until names returns want.
func await(t *testing.T, names <-chan string, want string) {
	t.Helper()
	if !comes(names, want) {
		t.Fatalf("%s did not come", want)
	}
}

// comes reports whether names returns want within a minute.
func comes(names <-chan string, want string) bool {
	timeout := time.After(time.Minute)
	for {
		select {
		case name := <-names:
			if name == want {
				return true
			}
		case <-timeout:
			return false
		}
	}
}

func testLife(t *testing.T, c live) {
	m, log := c.newManager(t, c.config, manager.Options{HealthProbeBindAddress: loopback,
		Metrics: manager.MetricsOptions{BindAddress: loopback, Insecure: true}})
	labelled := make(chan string, 100)
	reconciler := reconcile.Func[reconcile.Request](func(ctx context.Context,
		r reconcile.Request) (reconcile.Result, error) {
		cm := &corev1.ConfigMap{}
		if err := m.Client().Get(ctx, r.NamespacedName, cm); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		if cm.Labels["seen"] == "yes" {
			labelled <- cm.Name
			return reconcile.Result{}, nil
		}
		cm.Labels = map[string]string{"seen": "yes"}
		return reconcile.Result{}, m.Client().Update(ctx, cm)
	})
	ok(t, controller.For[*corev1.ConfigMap](m).Complete(reconciler))
	r := start(t, m)
	ok(t, m.Live().Create(t.Context(), &corev1.ConfigMap{ObjectMeta: c.meta("a")}))
	await(t, labelled, "a")
	cm := &corev1.ConfigMap{}
	if err := c.Get(t.Context(), object.Key{Namespace: c.namespace, Name: "a"}, cm); err != nil ||
		cm.Labels["seen"] != "yes" {
		t.Errorf("got %v, %v", cm.Labels, err)
	}
	probe := log.url(t, "probes")
	wantAnswer(t, probe+"/readyz?verbose", 200, "[+] configmap\n")
	wantAnswer(t, probe+"/healthz", 200, "ok\n")
	code, metrics := get(t, log.url(t, "metrics")+"/metrics")
	if code != http.StatusOK {
		t.Errorf("got %d", code)
	}
	contains(t, metrics, `controller_runtime_reconcile_total{controller="configmap",result="success"}`,
		`workqueue_adds_total{`,
		`workqueue_depth{`, `controller_runtime_reconcile_time_seconds_bucket{controller="configmap",le=`, "go_goroutines",
		"process_start_time_seconds")

	stopped := time.Now()
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(stopped); took > 20*time.Second {
		t.Errorf("stop took %s", took)
	}
	// client-go owns the connections and keeps them for the next client. They become idle soon after their last request.
	transport, err := rest.TransportFor(c.config)
	ok(t, err)
	for end := time.Now().Add(10 * time.Second); len(leftovers()) > 0 && time.Now().Before(end); {
		utilnet.CloseIdleConnectionsFor(transport)
		runtime.Gosched()
	}
	if left := leftovers(); len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n\n"))
	}
}

// leftovers returns the stacks of the goroutines of managers and of connections.
func leftovers() []string {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return slices.DeleteFunc(strings.Split(string(stacks), "\n\n"), func(stack string) bool {
		ours := strings.Contains(stack, "/kctrl/runtime/") || strings.Contains(stack, "net/http")
		return !ours || strings.Contains(stack, "testing.")
	})
}

// testCacheOutlivesOthers adds a runnable that still needs the cache while it stops.
func testCacheOutlivesOthers(t *testing.T, c live) {
	m, log := c.newManager(t, c.config, manager.Options{})
	i, err := m.Cache().Informer(&corev1.ConfigMap{})
	ok(t, err)
	seen := make(chan string, 100)
	i.AddHandler(func(e informer.Event[object.Object]) { seen <- e.Object.GetName() })
	begun, spoke := make(chan struct{}), false
	add(t, m, always{worker{name: "last words", runFunc: func(ctx context.Context) error {
		close(begun)
		<-ctx.Done()
		if err := m.Live().Create(context.WithoutCancel(ctx), &corev1.ConfigMap{ObjectMeta: c.meta("last")}); err != nil {
			return err
		}
		if !comes(seen, "last") {
			return errBroken
		}
		spoke = true
		return nil
	}}})
	r := start(t, m)
	<-begun
	ok(t, i.Wait(t.Context()))
	if err := r.stop(); err != nil || !spoke {
		t.Errorf("got %v; the cache showed the last object: %v\n%s", err, spoke, log)
	}
}

func testTakeOver(t *testing.T, c live) {
	opts := manager.Options{LeaderElection: manager.LeaderElectionOptions{Enabled: true, ID: "guestbook",
		Namespace: c.namespace}, HealthProbeBindAddress: loopback}
	first, _ := c.newManager(t, c.config, opts)
	second, log := c.newManager(t, c.config, opts)
	byFirst, bySecond := reconciles[*corev1.ConfigMap](t, first), reconciles[*corev1.ConfigMap](t, second)
	ok(t, c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: c.meta("a")}))
	leader := start(t, first)
	await(t, byFirst, "a")
	start(t, second)
	log.wait(t, "new leader")
	wantAnswer(t, log.url(t, "probes")+"/readyz?verbose", 200, "[+] configmap\n")
	if len(bySecond) != 0 {
		t.Error("the second reconciles while the first leads")
	}
	if err := leader.stop(); err != nil {
		t.Error(err)
	}
	await(t, bySecond, "a")
	log.wait(t, "became leader")
}
