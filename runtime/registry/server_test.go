package registry

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/testserver/inmemory"
)

// server is a real API server and a namespace on it for the test.
type server struct {
	*client.REST
	config    *rest.Config
	namespace string
}

func TestOnAServer(t *testing.T) {
	env := inmemory.Start(t)
	scheme := kruntime.NewScheme()
	ok(t, corev1.AddToScheme(scheme))
	ok(t, rbacv1.AddToScheme(scheme))
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	ok(t, err)
	for _, test := range []struct {
		rule string
		run  func(t *testing.T, s server)
	}{
		{"a controller has the rights of its service account alone", testServiceAccount},
		{"a controller that moves to another lease runs once at a time", testMigration},
		{"a controller that moves to another program runs once at a time", testMoveToAnotherProgram},
	} {
		t.Run(test.rule, func(t *testing.T) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "registry-"}}
			ok(t, c.Create(t.Context(), namespace))
			test.run(t, server{c, env.Config, namespace.Name})
		})
	}
}

func (s server) newManager(t *testing.T, opts manager.Options) (*manager.Manager, *journal) {
	t.Helper()
	log := &journal{}
	opts.Logger = slog.New(slog.NewTextHandler(log, nil))
	opts.Namespaces, opts.LeaderElection.Namespace = []string{s.namespace}, s.namespace
	m, err := manager.New(s.config, opts)
	ok(t, err)
	ok(t, corev1.AddToScheme(m.Scheme()))
	return m, log
}

// eventually repeats try until it succeeds or a minute has passed.
func eventually(t *testing.T, try func() error) {
	t.Helper()
	tick, timeout := time.NewTicker(50*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatal(err)
		}
	}
}

// grant allows a service account to create ConfigMaps.
func (s server) grant(t *testing.T, account string) {
	t.Helper()
	named := metav1.ObjectMeta{Namespace: s.namespace, Name: account}
	ok(t, s.Create(t.Context(), &rbacv1.Role{ObjectMeta: named, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}},
	}}))
	ok(t, s.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: named, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: s.namespace, Name: account}},
	}))
}

func testServiceAccount(t *testing.T, s server) {
	m, log := s.newManager(t, manager.Options{LeaderElection: manager.LeaderElectionOptions{Enabled: true,
		ID: "accounts"}})
	r := New(Options{UseServiceAccountCredentials: true})
	results := make(chan error)
	r.Register(Descriptor{
		Name:  "writer",
		Needs: []Need{{Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Verbs: []string{"create"}}},
		New: func(_ context.Context, c *Context) (Controller, error) {
			return runOnly(func(ctx context.Context) error {
				for n := 0; ; n++ {
					err := c.Client().Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace,
						Name: fmt.Sprint("written-", n)}})
					select {
					case results <- err:
					case <-ctx.Done():
						return nil
					}
				}
			}), nil
		},
	})
	ok(t, r.AddTo(t.Context(), m))
	if want := `may not create configmaps in namespace ` + s.namespace; !strings.Contains(log.String(), want) {
		t.Errorf("%q is not in\n%s", want, log)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- m.Run(ctx) }()
	err := <-results
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "system:serviceaccount:"+s.namespace+":writer") {
		t.Errorf("got %v", err)
	}
	s.grant(t, "writer")
	eventually(t, func() error { return <-results })
	cancel()
	ok(t, <-ended)
}

// release is a running program with the controller that moves.
type release struct {
	cancel context.CancelFunc
	ended  chan error
	led    chan struct{} // closed when the controller runs
}

// deploy runs a release whose controller has that election.
func (s server) deploy(t *testing.T, running *atomic.Int32, election controller.Election) *release {
	t.Helper()
	return s.deployProgram(t, running, "movers", "", election)
}

// deployProgram runs a release of a program, with the LeaderMigrationConfiguration in file unless that is empty.
func (s server) deployProgram(t *testing.T, running *atomic.Int32, program, file string,
	election controller.Election) *release {
	t.Helper()
	m, _ := s.newManager(t, manager.Options{
		LeaderElection: manager.LeaderElectionOptions{Enabled: true, ID: program, LeaseDuration: 3 * time.Second,
			RenewDeadline: 2 * time.Second, RetryPeriod: 100 * time.Millisecond},
	})
	r := New(Options{})
	if file != "" {
		ok(t, r.setLeaderMigration(file))
	}
	d := &release{ended: make(chan error, 1), led: make(chan struct{})}
	r.Register(Descriptor{Name: "mover", Election: election, New: building(runOnly(func(ctx context.Context) error {
		if running.Add(1) > 1 {
			t.Error("the controller runs twice")
		}
		defer running.Add(-1)
		close(d.led)
		<-ctx.Done()
		return nil
	}))})
	ok(t, r.AddTo(t.Context(), m))
	ctx, cancel := context.WithCancel(t.Context())
	d.cancel = cancel
	go func() { d.ended <- m.Run(ctx) }()
	return d
}

func (d *release) stop(t *testing.T) {
	t.Helper()
	d.cancel()
	ok(t, <-d.ended)
}

func (d *release) leads() bool {
	select {
	case <-d.led:
		return true
	default:
		return false
	}
}

// testMoveToAnotherProgram moves a controller from one program to another: both programs are rolled out with a new
// file, one after the other.
func testMoveToAnotherProgram(t *testing.T, s server) {
	var running atomic.Int32
	inOld, inNew := migrationFile(t, "mover", "old"), migrationFile(t, "mover", "new")
	old := s.deployProgram(t, &running, "old", inOld, controller.Election{})
	<-old.led
	idle := s.deployProgram(t, &running, "new", inOld, controller.Election{})
	next := s.deployProgram(t, &running, "new", inNew,
		controller.Election{}) // waits for the other replica of its program and for the old program
	idle.stop(t)
	if idle.leads() || next.leads() {
		t.Error("the controller runs in a program that it has not moved to")
	}
	old.stop(t)
	<-next.led
	after := s.deployProgram(t, &running, "old", inNew, controller.Election{})
	next.stop(t)
	after.stop(t)
	if after.leads() || running.Load() != 0 {
		t.Error("the controller runs where it was")
	}
}

// testMigration deploys three releases, each replacing the one before: before, during and after the move of the
// controller.
func testMigration(t *testing.T, s server) {
	var running atomic.Int32
	before := s.deploy(t, &running, controller.Election{})
	<-before.led
	moving := s.deploy(t, &running, controller.Election{Group: "moved", MigratesFrom: controller.MainGroup})
	if moving.leads() {
		t.Error("the controller runs before its old lease was given back")
	}
	before.stop(t)
	<-moving.led
	after := s.deploy(t, &running, controller.Election{Group: "moved"})
	if after.leads() {
		t.Error("the controller runs before its new lease was given back")
	}
	moving.stop(t)
	<-after.led
	after.stop(t)
	if running.Load() != 0 {
		t.Error("the controller still runs")
	}
}
