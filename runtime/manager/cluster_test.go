package manager_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

func TestClusterHasItsOwnConnectionAndTheManagersRest(t *testing.T) {
	m, log := newManager(t, newAPIServer(), manager.Options{MaxConcurrentReconciles: 3})
	if m.Cluster("remote") != nil {
		t.Error("there is a cluster already")
	}
	c, err := m.AddCluster("remote", newAPIServer().config(), manager.ClusterOptions{})
	ok(t, err)
	if m.Cluster("remote") != c || c.Name() != "remote" {
		t.Errorf("got %v", m.Cluster("remote"))
	}
	if c.Live() == m.Live() || c.Cache() == m.Cache() || c.Client() == m.Client() || c.RESTMapper() == m.RESTMapper() || c.Live().Journal() == m.Live().Journal() {
		t.Error("something is that of the manager")
	}
	if c.Scheme() != m.Scheme() || c.Metrics() != m.Metrics() || c.MaxConcurrentReconciles() != 3 {
		t.Error("something is not that of the manager")
	}
	c.Logger().Info("hello")
	contains(t, log.String(), "msg=hello cluster=remote")
	scheme := kruntime.NewScheme()
	if c, err := m.AddCluster("other", newAPIServer().config(), manager.ClusterOptions{Scheme: scheme}); err != nil || c.Scheme() != scheme {
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

// testClusters has a manager of the test's namespace that copies what it finds in another cluster, which here is another
// namespace.
func testClusters(t *testing.T, c live) {
	remote := &corev1.Namespace{}
	remote.GenerateName = "remote-"
	ok(t, c.Create(t.Context(), remote))
	m, log := c.newManager(t, c.config, manager.Options{ProbeAddress: loopback, LeaderElection: true, LeaderElectionID: "copier", LeaderElectionNamespace: c.namespace})
	cluster, err := m.AddCluster("remote", c.config, manager.ClusterOptions{Cache: cache.Options{Namespaces: []string{remote.Name}}})
	ok(t, err)
	here := reconciles[*corev1.ConfigMap](t, m)
	copies := reconcile.Func[reconcile.Request](func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		original := &corev1.ConfigMap{}
		if err := cluster.Client().Get(ctx, r.NamespacedName, original); err != nil {
			return reconcile.Result{}, err
		}
		return reconcile.Result{}, m.Client().Create(ctx, &corev1.ConfigMap{ObjectMeta: c.meta(original.Name), Data: original.Data})
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

// testUnreachableCluster has a cluster that is not there.
func testUnreachableCluster(t *testing.T, c live) {
	m, log := c.newManager(t, c.config, manager.Options{ProbeAddress: loopback})
	cluster, err := m.AddCluster("gone", &rest.Config{Host: "https://" + taken(t), Timeout: 2 * time.Second}, manager.ClusterOptions{Namespaces: []string{""}})
	ok(t, err)
	here := reconciles[*corev1.ConfigMap](t, m)
	ok(t, controller.For[*corev1.Secret](cluster).Named("far").Complete(reconcile.Func[reconcile.Request](nil)))
	start(t, m)
	ok(t, c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: c.meta("a")}))
	await(t, here, "a")
	_, body := get(t, log.url(t, "probes")+"/readyz")
	contains(t, body, "[+] configmap\n[-] far: kind Secret has not synced")
}
