package controller_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/events"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/predicate"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/source"
)

// stub is a controller.Manager without a server. It keeps the runnables that are added.
type stub struct {
	controller.Manager // nil
	live               *client.REST
	cache              *cache.Cache
	metrics            *metrics.Registry
	added              []named
}

type named interface{ Name() string }

// unreachable is a server that cannot be reached.
type unreachable struct{}

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("no route")
}

func newStub(t *testing.T) *stub {
	t.Helper()
	live, err := client.New(&rest.Config{Host: "http://server"}, client.Options{
		Scheme: newScheme(t), HTTPClient: &http.Client{Transport: unreachable{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &stub{live: live, cache: cache.New(live, cache.Options{}), metrics: metrics.NewRegistry()}
}

func (s *stub) Add(r controller.Runnable) error {
	for _, other := range s.added {
		if other.Name() == r.(named).Name() {
			return fmt.Errorf("%q is taken", other.Name())
		}
	}
	s.added = append(s.added, r.(named))
	return nil
}

func (s *stub) Client() client.Client                 { return client.NewClient(s.cache, s.live) }
func (s *stub) EventRecorder(string) *events.Recorder { return nil }
func (s *stub) Cache() *cache.Cache                   { return s.cache }
func (s *stub) Scheme() *runtime.Scheme               { return s.live.Scheme() }
func (s *stub) RESTMapper() meta.RESTMapper           { return s.live.RESTMapper() }
func (s *stub) Logger() *slog.Logger                  { return slog.New(slog.DiscardHandler) }
func (s *stub) Metrics() *metrics.Registry            { return s.metrics }
func (s *stub) MaxConcurrentReconciles() int          { return 7 }

// nothing is a reconciler that does nothing.
var nothing = reconcile.Func[reconcile.Request](func(context.Context, reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, nil
})

func TestControllerHasTheNameOfItsKindUnlessItIsNamed(t *testing.T) {
	m := newStub(t)
	err := errors.Join(
		controller.For[*corev1.ConfigMap](m).Complete(nothing),
		controller.For[*corev1.ConfigMap](m).Named("other").Complete(nothing),
	)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "names", []string{m.added[0].Name(), m.added[1].Name()}, "configmap", "other")
}

func TestNameThatIsTakenIsAnError(t *testing.T) {
	m := newStub(t)
	if err := controller.For[*corev1.ConfigMap](m).Complete(nothing); err != nil {
		t.Fatal(err)
	}
	if err := controller.For[*corev1.Secret](m).Named("configmap").Complete(nothing); err == nil ||
		!strings.Contains(err.Error(), "taken") {
		t.Errorf("got %v", err)
	}
}

func TestCompleteReportsEveryMistake(t *testing.T) {
	noEvents := func(context.Context, informer.Event[object.Object], handler.Queue[reconcile.Request]) {}
	for _, r := range []struct {
		name     string
		complete func(m *stub) error
		want     []string
	}{
		{"no reconciler", func(m *stub) error { return controller.For[*corev1.ConfigMap](m).Complete(nil) },
			[]string{"controller configmap: the reconciler is nil"}},
		{"For a kind that the scheme does not know", func(m *stub) error {
			return controller.For[*rbacv1.Role](m).Named(
				"x").Complete(nothing)
		}, []string{"controller x", "Role"}},
		{"For a kind without a type", func(m *stub) error {
			return controller.For[*metav1.PartialObjectMetadata](m).Complete(
				nothing)
		}, []string{"no apiVersion and kind"}},
		{"For no pointer", func(m *stub) error {
			return controller.For[object.Object](m).Owns(&corev1.Secret{}).Complete(
				nothing)
		}, []string{"object.Object"}},
		{"both", func(m *stub) error { return controller.For[*metav1.PartialObjectMetadata](m).Complete(nil) },
			[]string{"no apiVersion and kind", "reconciler is nil"}},
		{"Owns and Watches of what has no kind", func(m *stub) error {
			return controller.For[*corev1.ConfigMap](m).Owns(&metav1.PartialObjectMetadata{}).Watches(nil,
				noEvents).Complete(nothing)
		}, []string{"controller configmap", "*v1.PartialObjectMetadata has no apiVersion and kind set", "expected pointer"}},
		{"two Go types of a kind that has a handler", func(m *stub) error {
			i, err := m.cache.Informer(&corev1.ConfigMap{})
			if err != nil {
				return err
			}
			i.AddHandler(func(informer.Event[object.Object]) {})
			untyped := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
			return controller.For[*corev1.ConfigMap](m).Watches(untyped, noEvents).Complete(nothing)
		}, []string{"ConfigMap is cached as *v1.ConfigMap"}},
		{"metadata of what the scheme does not know", func(m *stub) error {
			return controller.For[*corev1.ConfigMap](m).WatchesMetadata(&rbacv1.Role{}, noEvents).Complete(nothing)
		}, []string{"watch metadata", "Role"}},
		{"Owns and predicates of a controller whose requests name nothing", func(m *stub) error {
			return controller.ForRequests[string](m, "x").Owns(&corev1.Secret{}).WithPredicates(
				predicate.ResourceVersionChanged()).
				Complete(reconcile.Func[string](nil))
		}, []string{"begin with For", "is for the kind of For"}},
		{"Owns of a controller of requests that it maps itself", func(m *stub) error {
			return controller.ForRequests[reconcile.Request](m, "x").Owns(&corev1.Secret{}).Complete(nothing)
		}, []string{"begin with For"}},
		{"For of one that has a kind, or other requests", func(m *stub) error {
			controller.ForRequests[string](m, "x").For(&corev1.Secret{}).Complete(nil)
			return controller.For[*corev1.ConfigMap](m).For(&corev1.ConfigMap{}).Complete(nothing)
		}, []string{"controller configmap: For is for a controller of a reconcile.Request that has no kind yet"}},
		{"a rate limiter of names for other requests", func(m *stub) error {
			return controller.ForRequests[string](m, "x").WithOptions(controller.Options{RateLimiter: hourly{}}).Complete(
				reconcile.Func[string](nil))
		}, []string{"controller x: Options.RateLimiter is for a reconcile.Request, not for string"}},
		{"nothing says what it reconciles", func(m *stub) error {
			return controller.ForRequests[reconcile.Request](m,
				"").Complete(nothing)
		}, []string{"nothing to reconcile"}},
		{"Owns of what has only a name", func(m *stub) error {
			return controller.ForRequests[reconcile.Request](m, "x").Owns(&corev1.Secret{}).Complete(nothing)
		}, []string{"controller x: Owns needs a kind of owners"}},
		{"nothing is watched", func(m *stub) error {
			return controller.ForRequests[string](m, "x").Complete(reconcile.Func[string](nil))
		}, []string{"controller x: nothing is watched, so it would never reconcile: call Watches or WatchesSource"}},
		{"nothing is watched by what has only a name", func(m *stub) error {
			return controller.ForRequests[reconcile.Request](m, "x").Complete(nothing)
		}, []string{"controller x: nothing is watched"}},
		{"Of without a name and a reconciler", func(m *stub) error {
			return controller.ForRequests[string](m,
				"").Complete(nil)
		}, []string{"reconciler is nil"}},
	} {
		m := newStub(t)
		err := r.complete(m)
		if err == nil || len(m.added) > 0 {
			t.Errorf("%s: got %v, and %d were added", r.name, err, len(m.added))
			continue
		}
		for _, part := range r.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q is not in %q", r.name, part, err)
			}
		}
	}
}

// The builder accepts requests of any type. The controller waits for its sources in the order of the calls.
func TestBuilderOfAnyRequests(t *testing.T) {
	m := newStub(t)
	timer := source.Func("timer", func(context.Context, handler.Queue[string], func()) error { return nil })
	typed := func(context.Context, *corev1.Secret) []string { return nil }
	untyped := func(context.Context, informer.Event[object.Object], handler.Queue[string]) {}
	c, err := controller.ForRequests[string](m, "x").Named("strings").WithOptions(
		controller.Options{MaxConcurrentReconciles: 3}).
		WatchesSource(timer).WatchesOptional(&corev1.ConfigMap{}, untyped).Watches(handler.For(typed)).
		Build(reconcile.Func[string](func(context.Context, string) (reconcile.Result, error) {
			return reconcile.Result{},
				nil
		}))
	if err != nil || c.Name() != "strings" || len(m.added) != 1 {
		t.Fatalf("got %v, %d added", err, len(m.added))
	}
	var text strings.Builder
	if _, err := m.metrics.WriteTo(&text); err != nil ||
		!strings.Contains(text.String(), `controller_runtime_max_concurrent_reconciles{controller="strings"} 3`) {
		t.Errorf("the options do not count: %v\n%s", err, text.String())
	}
	ofSecret := func(context.Context, *corev1.Secret) []reconcile.Request { return nil }
	forKind := controller.For[*corev1.ConfigMap](m).Watches(handler.For[*corev1.Secret](ofSecret)).WatchesOptional(
		handler.For(ofSecret))
	if err := forKind.Owns(&corev1.Secret{}).Complete(nothing); err != nil {
		t.Errorf("typed watches for For: %v", err)
	}
}

// The order of the calls does not matter: Owns may come before For.
func TestKindOfAControllerIsSetLater(t *testing.T) {
	m := newStub(t)
	b := controller.ForRequests[reconcile.Request](m, "")
	b.Owns(&corev1.Secret{}).WithEventFilter(predicate.SpecChanged())
	b.For(&corev1.ConfigMap{}, predicate.LabelsChanged())
	c, err := b.Build(nothing)
	if err != nil || c.Name() != "configmap" || len(m.added) != 1 {
		t.Fatalf("got %v, %d added", err, len(m.added))
	}
	if c, err := controller.ForRequests[reconcile.Request](m,
		"mine").For(&corev1.ConfigMap{}).Build(nothing); err != nil || c.Name() != "mine" {
		t.Errorf("a name that is said first does not stay: %v", err)
	}
	if _, err := controller.ForRequests[reconcile.Request](m, "maps").Watches(&corev1.Secret{},
		handler.ForObject[object.Object]()).Build(nothing); err != nil {
		t.Errorf("one that has only a name: %v", err)
	}
}

// byKind is a manager whose options set the number of workers for one kind.
type byKind struct{ *stub }

func (byKind) Concurrency(kind schema.GroupKind) int {
	return map[string]int{"ConfigMap": 4}[kind.String()]
}

func TestWorkersOfAKindAreThoseThatTheManagerHasForIt(t *testing.T) {
	for want, build := range map[string]func(m controller.Manager) error{
		`{controller="configmap"} 4`: func(m controller.Manager) error {
			return controller.For[*corev1.ConfigMap](m).Complete(
				nothing)
		},
		`{controller="secret"} 7`: func(m controller.Manager) error {
			return controller.For[*corev1.Secret](m).Complete(
				nothing)
		},
		`{controller="own"} 2`: func(m controller.Manager) error {
			return controller.For[*corev1.ConfigMap](m).Named("own").WithOptions(
				controller.Options{MaxConcurrentReconciles: 2}).Complete(nothing)
		},
	} {
		m := newStub(t)
		if err := build(byKind{m}); err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if _, err := m.metrics.WriteTo(&text); err != nil {
			t.Fatal(err)
		}
		if line := "controller_runtime_max_concurrent_reconciles" + want; !strings.Contains(text.String(), line) {
			t.Errorf("%s is not in\n%s", line, text.String())
		}
	}
}

func TestOptionsThatAreNotSetAreThoseOfTheManager(t *testing.T) {
	for want, opts := range map[string]controller.Options{"7": {}, "2": {MaxConcurrentReconciles: 2}} {
		m := newStub(t)
		if err := controller.For[*corev1.ConfigMap](m).WithOptions(opts).Complete(nothing); err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if _, err := m.metrics.WriteTo(&text); err != nil {
			t.Fatal(err)
		}
		if line := `controller_runtime_max_concurrent_reconciles{controller="configmap"} ` +
			want; !strings.Contains(text.String(), line) {
			t.Errorf("%s is not in\n%s", line, text.String())
		}
	}
}

func TestWarmUpIsARunnableOfItsOwn(t *testing.T) {
	m := newStub(t)
	c, err := controller.For[*corev1.ConfigMap](m).WithOptions(controller.Options{WarmUp: true}).Build(nothing)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "names", []string{m.added[0].Name(), m.added[1].Name()}, "configmap", "configmap sources")
	if warm := c.WarmUp().(interface{ NeedLeaderElection() bool }); warm.NeedLeaderElection() || !c.NeedLeaderElection() {
		t.Error("the sources are to run in every process, and the controller in one")
	}
}

// limiter is a rate limiter that records its calls.
type limiter struct{ l *log }

func (m limiter) When(r string) time.Duration {
	m.l.add("when " + r)
	if r == "never" {
		return -1
	}
	return time.Hour
}

func (m limiter) Forget(r string) { m.l.add("forget " + r) }

// hourly is a rate limiter with a delay of an hour.
type hourly struct{}

func (hourly) When(reconcile.Request) time.Duration { return time.Hour }
func (hourly) Forget(reconcile.Request)             {}

func TestRateLimiterIsAnOptionForNamesOfObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		once := source.Func("once", func(ctx context.Context, queue handler.Queue[reconcile.Request], synced func()) error {
			queue.Add(reconcile.Request{NamespacedName: object.Key{Name: "a"}})
			synced()
			<-ctx.Done()
			return nil
		})
		c, err := controller.ForRequests[reconcile.Request](newStub(t),
			"limited").WithOptions(controller.Options{RateLimiter: hourly{}}).WatchesSource(once).
			Build(reconcile.Func[reconcile.Request](func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
				l.add(req.Name)
				return reconcile.Result{}, errBroken
			}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		pass(90 * time.Minute)
		expect(t, "reconciles", l.take(), "0s a", "1h0m0s a")
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestRateLimiterSetsTheDelayOfFailedRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		m := newStub(t)
		feed := feed{name: "first", started: make(chan handler.Queue[string], 1)}
		c, err := controller.ForRequests[string](m, "limited").WithRateLimiter(limiter{l}).WatchesSource(feed).Build(
			l.returns(
				answer{err: errBroken}, answer{err: errBroken}, answer{after: time.Minute},
				answer{err: reconcile.TerminalError(errBroken)}, answer{err: errBroken}, answer{},
			))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		queue := <-feed.started
		queue.Add("a")
		pass(2 * time.Minute)
		queue.Add("a") // a foreign change causes an attempt but does not end the backoff
		pass(24 * time.Hour)
		expect(t, "the first", l.take(), "0s a", "0s when a", "2m0s a", "2m0s when a", "1h0m0s a", "1h0m0s forget a",
			"1h1m0s a", "1h1m0s forget a")
		queue.Add("never")
		pass(time.Minute)
		expect(t, "one that does not wait", l.take(), "24h2m0s never", "24h2m0s when never", "24h2m0.000000001s never",
			"24h2m0.000000001s forget never")
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
