package controller_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/predicate"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/source"
	"github.com/kctrl-dev/kctrl/testserver/inmemory"
)

// Q07.
//
// TestOnAServer runs controllers on an API server, each in its own namespace.
func TestOnAServer(t *testing.T) {
	env := inmemory.Start(t)
	for name, test := range map[string]func(f *fixture){
		"OwnedObjectIsMadeAgain":                 ownedObjectIsMadeAgain,
		"EveryWatchLeadsToRequests":              everyWatchLeadsToRequests,
		"MissingRightStallsItsControllerAndSays": missingRightStallsItsController,
		"OptionalKindComesAndGoes":               optionalKindComesAndGoes,
		"RequestsAreOfAnyType":                   requestsAreOfAnyType,
		"EndOfAnObjectIsReconciled":              endOfAnObjectIsReconciled,
		"EventFilterIsForEveryKind":              eventFilterIsForEveryKind,
		"OtherWritesOfTheProcessEndNoBackoff":    otherWritesOfTheProcessEndNoBackoff,
		"FixOfAUserIsTriedAtOnce":                fixOfAUserIsTriedAtOnce,
		"NoDecisionIsStale":                      noDecisionIsStale(0),
		"NoDecisionIsStaleWhenWatchesAreLate":    noDecisionIsStale(100 * time.Millisecond),
		"NoDecisionIsStaleWhenTheyAreVeryLate":   noDecisionIsStale(time.Second),
		"WithoutConsistencyDecisionsAreStale":    withoutConsistencyDecisionsAreStale,
	} {
		t.Run(name, func(t *testing.T) { test(newFixture(t, env.Config, strings.ToLower(name))) })
	}
}

// fixture is a namespace on an API server.
type fixture struct {
	*testing.T
	ctx       context.Context
	config    *rest.Config
	client    *client.REST // an administrator's client
	namespace string
	seen      chan string // what the reconcilers reported
}

func newFixture(t *testing.T, config *rest.Config, namespace string) *fixture {
	scheme := newScheme(t)
	if err := rbacv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	live, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	f := &fixture{T: t, ctx: ctx, config: config, client: live, namespace: namespace, seen: make(chan string, 1000)}
	f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	return f
}

func (f *fixture) create(objects ...object.Object) {
	f.Helper()
	for _, o := range objects {
		if err := f.client.Create(f.ctx, o); err != nil {
			f.Fatal(err)
		}
	}
}

func (f *fixture) delete(o object.Object) {
	f.Helper()
	if err := f.client.Delete(f.ctx, o); err != nil {
		f.Fatal(err)
	}
}

// await waits until a reconciler reports what.
func (f *fixture) await(what string) {
	f.Helper()
	var seen []string
	for {
		select {
		case got := <-f.seen:
			if got == what {
				return
			}
			seen = append(seen, got)
		case <-f.ctx.Done():
			f.Fatalf("no %q in %q", what, seen)
		}
	}
}

// run runs a manager with the controllers that setup adds until the test ends, and returns the controllers by name.
func (f *fixture) run(config *rest.Config,
	setup func(m *keeper) error) map[string]*controller.Controller[reconcile.Request] {
	f.Helper()
	m, err := manager.New(config, manager.Options{Scheme: newScheme(f), Namespaces: []string{f.namespace},
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	k := &keeper{m, map[string]*controller.Controller[reconcile.Request]{}}
	if err := setup(k); err != nil {
		f.Fatal(err)
	}
	ctx, cancel := context.WithCancel(f.ctx)
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	f.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			f.Errorf("manager: %v", err)
		}
	})
	return k.controllers
}

// keeper is a manager that keeps the controllers that are added to it.
type keeper struct {
	*manager.Manager
	controllers map[string]*controller.Controller[reconcile.Request]
}

func (k *keeper) Add(r controller.Runnable) error {
	if c, ok := r.(*controller.Controller[reconcile.Request]); ok {
		k.controllers[c.Name()] = c
	}
	return k.Manager.Add(r)
}

// notes returns a reconciler that reports the name of each request after a prefix.
func (f *fixture) notes(prefix string) reconcile.Func[reconcile.Request] {
	return func(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
		f.seen <- prefix + request.Name
		return reconcile.Result{}, nil
	}
}

// keepsSecret returns a reconciler that creates a Secret for each ConfigMap, and deletes it when the ConfigMap is
// deleted.
func (f *fixture) keepsSecret(c client.Client) reconcile.Func[reconcile.Request] {
	return func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		owned := secret(request.Namespace, request.Name)
		var owner corev1.ConfigMap
		switch err := c.Get(ctx, request.NamespacedName, &owner); {
		case apierrors.IsNotFound(err):
			if err := c.Delete(ctx, owned); err != nil && !apierrors.IsNotFound(err) {
				return reconcile.Result{}, err
			}
			f.seen <- "cleaned up " + request.Name
			return reconcile.Result{}, nil
		case err != nil:
			return reconcile.Result{}, err
		}
		err := c.Get(ctx, request.NamespacedName, &corev1.Secret{})
		if err == nil || !apierrors.IsNotFound(err) {
			return reconcile.Result{}, err
		}
		if err := controllerutil.SetControllerReference(&owner, owned, c.Scheme()); err != nil {
			return reconcile.Result{}, reconcile.TerminalError(err)
		}
		if err := c.Create(ctx, owned); err != nil {
			return reconcile.Result{}, err
		}
		f.seen <- "made the secret of " + string(owner.UID)
		return reconcile.Result{}, nil
	}
}

func ownedObjectIsMadeAgain(f *fixture) {
	f.run(f.config, func(m *keeper) error {
		return controller.For[*corev1.ConfigMap](m).Owns(&corev1.Secret{}).
			WithPredicates(predicate.Object(func(o *corev1.ConfigMap) bool { return o.Name == "a" })).
			Complete(f.keepsSecret(m.Client()))
	})
	owner := newConfigMap(f.namespace, "a")
	f.create(owner)
	made := "made the secret of " + string(owner.UID)
	f.await(made)

	var owned corev1.Secret
	if err := f.client.Get(f.ctx, object.KeyOf(owner), &owned); err != nil ||
		metav1.GetControllerOf(&owned).UID != owner.UID {
		f.Fatalf("the secret has the owners %v, %v", owned.OwnerReferences, err)
	}
	f.delete(&owned)
	f.await(made)

	f.delete(owner)
	f.await("cleaned up a")
	again := newConfigMap(f.namespace, "a")
	f.create(again)
	if again.UID == owner.UID {
		f.Fatal("the same UID")
	}
	f.await("made the secret of " + string(again.UID))
}

func newConfigMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func everyWatchLeadsToRequests(f *fixture) {
	events := make(chan informer.Event[*corev1.ConfigMap])
	f.create(newConfigMap(f.namespace, "existing"), newConfigMap(f.namespace, "ignored"))
	controllers := f.run(f.config, func(m *keeper) error {
		mapped := handler.Map(func(_ context.Context, o object.Object) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: f.namespace,
				Name: "of-secret-" + o.GetName()}}}
		})
		return controller.For[*corev1.ConfigMap](m).
			Named("watcher").
			WithPredicates(predicate.Not(predicate.Object(func(o *corev1.ConfigMap) bool { return o.Name == "ignored" }))).
			Watches(&corev1.Secret{}, mapped, predicate.Object(func(o object.Object) bool { return o.GetName() != "ignored" })).
			WatchesSource(source.Channel(events, handler.ForObject[*corev1.ConfigMap]())).
			Complete(f.notes(""))
	})
	f.await("existing")
	if err := controllers["watcher"].Ready(); err != nil {
		f.Error(err)
	}
	f.create(secret(f.namespace, "ignored"), secret(f.namespace, "s"))
	f.await("of-secret-s")
	events <- informer.Event[*corev1.ConfigMap]{Object: newConfigMap(f.namespace, "sent")}
	f.await("sent")
	f.create(newConfigMap(f.namespace, "new"))
	f.await("new")
}

func missingRightStallsItsController(f *fixture) {
	const user = "reader-of-configmaps"
	f.create(
		&rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: user},
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"},
				Verbs: []string{"get", "list", "watch"}}},
		},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		},
		newConfigMap(f.namespace, "a"),
	)
	config := rest.CopyConfig(f.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	controllers := f.run(config, func(m *keeper) error {
		return errors.Join(
			controller.For[*corev1.ConfigMap](m).Named("stalled").Owns(&corev1.Secret{}).Complete(f.notes("stalled ")),
			controller.For[*corev1.ConfigMap](m).Named("other").Complete(f.notes("other ")),
		)
	})
	f.await("other a")
	if err := controllers["other"].Ready(); err != nil {
		f.Errorf("the other controller is not ready: %v", err)
	}
	f.awaitReady(controllers["stalled"], func(err error) bool {
		return err != nil && strings.Contains(err.Error(),
			`+kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch`)
	})

	var role rbacv1.ClusterRole
	if err := f.client.Get(f.ctx, object.Key{Name: user}, &role); err != nil {
		f.Fatal(err)
	}
	role.Rules[0].Resources = append(role.Rules[0].Resources, "secrets")
	if err := f.client.Update(f.ctx, &role); err != nil {
		f.Fatal(err)
	}
	f.await("stalled a")
	f.awaitReady(controllers["stalled"], func(err error) bool { return err == nil })
}

// awaitReady waits until accept returns true for the result of c.Ready.
func (f *fixture) awaitReady(c *controller.Controller[reconcile.Request], accept func(error) bool) {
	f.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := c.Ready()
		if accept(err) {
			return
		}
		select {
		case <-tick.C:
		case <-f.ctx.Done():
			f.Fatalf("Ready: %v", err)
		}
	}
}
