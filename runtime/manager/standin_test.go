package manager_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/events"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// fake has what a test of a controller's setup wants, and nothing else.
type fake struct {
	*manager.Manager
	client  client.Client
	scheme  *runtime.Scheme
	indexed []string
	added   []manager.Runnable
	probes  []string
}

func (f *fake) GetClient() client.Client            { return f.client }
func (f *fake) GetScheme() *runtime.Scheme          { return f.scheme }
func (f *fake) GetCache() *cache.Cache              { return nil }
func (f *fake) GetFieldIndexer() cache.FieldIndexer { return f }
func (f *fake) GetLogger() *slog.Logger             { return nil }
func (f *fake) GetControllerOptions() manager.Options {
	return manager.Options{MaxConcurrentReconciles: 7}
}
func (f *fake) GetEventRecorderFor(string) *events.Recorder {
	return events.NewFakeRecorder(1).Recorder
}

func (f *fake) Add(r manager.Runnable) error {
	f.added = append(f.added, r)
	return nil
}

func (f *fake) AddHealthzCheck(name string, _ func(*http.Request) error) error {
	f.probes = append(f.probes, name)
	return nil
}

func (f *fake) IndexField(_ context.Context, _ object.Object, field string, _ cache.IndexerFunc) error {
	f.indexed = append(f.indexed, field)
	return nil
}

// named is a client of which a test knows that it is it.
type named struct{ client.Client }

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{client: named{}, scheme: runtime.NewScheme()}
	if err := corev1.AddToScheme(f.scheme); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestAStandInIsAskedFirst(t *testing.T) {
	f := newFake(t)
	m := manager.Of(f)
	if m.Client() != f.client || m.Scheme() != f.scheme || m.StandIn() != any(f) {
		t.Errorf("the manager has the client %v and the scheme %p, want those of the stand-in", m.Client(), m.Scheme())
	}
	if m.MaxConcurrentReconciles() != 7 {
		t.Errorf("%d workers, want the 7 of the stand-in", m.MaxConcurrentReconciles())
	}
	m.Logger().Info("nobody logs this")
	m.AddHealthz("ping", nil)
	if err := m.Cache().IndexField(t.Context(), &corev1.Pod{}, "node", nil); err != nil || len(f.indexed) != 1 || len(f.probes) != 1 {
		t.Errorf("%v; indexed %q, probes %q, want one each", err, f.indexed, f.probes)
	}
	m.EventRecorderFor("pods").Eventf(&corev1.Pod{}, nil, events.Normal, "Started", "Start", "started")
}

func TestAControllerIsAddedToAStandIn(t *testing.T) {
	f := newFake(t)
	nothing := reconcile.Func[reconcile.Request](func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, nil
	})
	err := controller.For[*corev1.Pod](manager.Of(f)).Owns(&corev1.ConfigMap{}).Complete(nothing)
	if err != nil || len(f.added) != 1 {
		t.Errorf("%v; %d runnables were added, want 1", err, len(f.added))
	}
}

func TestWhatAStandInHasNotIsAnError(t *testing.T) {
	m := manager.Of(struct{}{})
	err := m.Live().Get(t.Context(), client.ObjectKey{Name: "a"}, &corev1.Node{})
	if err == nil {
		t.Error("an object was read from nowhere")
	}
	if err := corev1.AddToScheme(m.Scheme()); err != nil {
		t.Fatal(err)
	}
	err = m.APIReader().Get(t.Context(), client.ObjectKey{Name: "a"}, &corev1.Node{})
	if err == nil || !strings.Contains(err.Error(), "struct {} stands in for what has an API server") {
		t.Errorf("the error is %v, want one that names the stand-in", err)
	}
}

// wrapper gives a manager another client, as programs do too.
type wrapper struct {
	*manager.Manager
	client client.Client
}

func (w *wrapper) GetClient() client.Client { return w.client }

func TestAWrapperHasTheRestOfItsManager(t *testing.T) {
	f := newFake(t)
	w := &wrapper{manager.Of(f), named{f.client}}
	m := manager.Of(w)
	if m.Client() != w.client || m.Scheme() != f.scheme {
		t.Errorf("the client is %v and the scheme %p, want that of the wrapper, and that of what it wraps", m.Client(), m.Scheme())
	}
	if err := m.Add(manager.RunnableFunc(func(context.Context) error { return nil })); err != nil || len(f.added) != 1 {
		t.Errorf("%v; %d runnables were added to what is wrapped, want 1", err, len(f.added))
	}
	if err := m.Cache().IndexField(t.Context(), &corev1.Pod{}, "node", nil); err != nil || len(f.indexed) != 1 {
		t.Errorf("%v; indexed %q, want one", err, f.indexed)
	}
}

func TestAWrapperOfAConnectionHasTheRestOfIt(t *testing.T) {
	f := newFake(t)
	m := manager.Of(struct{ manager.Connection }{manager.Of(f)})
	if m.Client() != f.client || m.Scheme() != f.scheme {
		t.Errorf("the client is %v and the scheme %p, want those of what is embedded", m.Client(), m.Scheme())
	}
	if err := m.Cache().IndexField(t.Context(), &corev1.Pod{}, "node", nil); err != nil || len(f.indexed) != 1 {
		t.Errorf("%v; indexed %q, want one", err, f.indexed)
	}
}

func TestARealManagerRunsWhatItsWrapperWasGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		real, _ := newManager(t, newAPIServer(), manager.Options{})
		m := manager.Of(&wrapper{Manager: real})
		ran := errors.New("it ran")
		if err := m.Add(manager.RunnableFunc(func(context.Context) error { return ran })); err != nil {
			t.Fatal(err)
		}
		if m.Cache() != real.Cache() || m.Live() != real.Live() {
			t.Error("the wrapper has another cache or client than its manager")
		}
		if err := m.Run(t.Context()); !errors.Is(err, ran) {
			t.Errorf("Run returns %v, want the error of the runnable", err)
		}
	})
}

func TestOfAManagerIsThatManager(t *testing.T) {
	m := manager.Of(struct{}{})
	if manager.Of(m) != m {
		t.Error("Of a manager is another one")
	}
	if mapper := manager.Of(newFake(t)).RESTMapper(); mapper == nil {
		t.Error("a stand-in that embeds no manager has no mapper")
	}
	if manager.Of((*fake)(nil)) == nil {
		t.Error("Of a nil pointer is nil")
	}
}
