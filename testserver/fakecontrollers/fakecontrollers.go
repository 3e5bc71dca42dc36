package fakecontrollers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/garbagecollector"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// Controller is a fake of one controller of a cluster.
type Controller struct {
	// Name is the name of the controller in a cluster, such as "deployment-controller". If several controllers have the
	// same name, only the last one runs.
	Name string
	// Add adds the controller to m. The scheme of m has the groups core, apps, batch and discovery.k8s.io.
	Add func(m *manager.Manager) error
}

// All returns a new list of all fake controllers. Pods whose containers always restart become ready at once, and all
// other pods succeed; see [Pods].
func All() []Controller {
	return []Controller{
		namespaces, serviceAccounts, rootCertificates, GarbageCollector,
		deployments, replicaSets, replicationControllers, statefulSets, daemonSets, jobs, expiredJobs, cronJobs,
		Pods(nil), volumes, services,
	}
}

// Select returns the controllers of [All] that names select, in the form of the flag --controllers of
// kube-controller-manager: "*" selects all, "kubelet" selects one, and "-kubelet" removes one from those that "*"
// selects. An unknown name is an error.
func Select(names ...string) (selected []Controller, err error) {
	all := All()
	known := make([]string, len(all))
	for i, c := range all {
		known[i] = c.Name
	}
	for _, name := range names {
		if bare := strings.TrimPrefix(name, "-"); name != "*" && !slices.Contains(known, bare) {
			slices.Sort(known)
			return nil, fmt.Errorf("no fake controller %q; use %s", bare, strings.Join(known, ", "))
		}
	}
	for _, c := range all {
		named, removed := slices.Contains(names, c.Name), slices.Contains(names, "-"+c.Name)
		if named || !removed && slices.Contains(names, "*") {
			selected = append(selected, c)
		}
	}
	return selected, nil
}

// Options configure [New].
type Options struct {
	// Controllers are the controllers to run. If it is empty, no controller runs.
	Controllers []Controller
	// Logger is the logger of the controllers. Nil means slog.Default().
	Logger *slog.Logger
}

// New returns a manager that runs fake controllers on the API server of config until the context of its Run ends. New
// sends no request and starts no goroutine. It returns an error if a controller has no Name or no Add, or if an Add
// fails.
func New(config *rest.Config, opts Options) (*manager.Manager, error) {
	config = rest.CopyConfig(config)
	// ignore warnings, because the controller of namespaces also deletes objects of deprecated kinds
	config.WarningHandler, config.WarningHandlerWithContext = rest.NoWarnings{}, nil
	m, err := manager.New(config, manager.Options{Logger: opts.Logger})
	if err != nil {
		return nil, err
	}
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme,
		discoveryv1.AddToScheme} {
		if err := add(m.Scheme()); err != nil {
			return nil, err
		}
	}
	for i, c := range opts.Controllers {
		if c.Name == "" || c.Add == nil {
			return nil, fmt.Errorf("fake controller %d of %d: it needs a name, and Add", i+1, len(opts.Controllers))
		}
		if slices.ContainsFunc(opts.Controllers[i+1:], func(later Controller) bool { return later.Name == c.Name }) {
			continue
		}
		if err := c.Add(m); err != nil {
			return nil, fmt.Errorf("fake controller %s: %w", c.Name, err)
		}
	}
	return m, nil
}

// Start starts fake controllers, which run until the test ends, and returns when they are running. They log warnings to
// the test.
func Start(t testing.TB, config *rest.Config, controllers ...Controller) {
	t.Helper()
	m, err := New(config, Options{
		Controllers: controllers,
		Logger:      slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context())) // cleanups of the test may still wait for them
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err = m.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		if <-ended; err != nil {
			t.Errorf("fake controllers: %v", err)
		}
	})
	select {
	case <-m.Elected():
	case <-ended:
		t.FailNow() // the cleanup reports the error
	}
}

// GarbageCollector deletes objects whose owners were deleted. It is the garbage collector of kctrl's runtime.
var GarbageCollector = Controller{garbagecollector.Name, func(m *manager.Manager) error {
	c, err := garbagecollector.New(m.Config(), garbagecollector.Options{
		GraphOptions: garbagecollector.GraphOptions{HTTPClient: m.HTTPClient(), Logger: m.Logger()},
	})
	if err != nil {
		return err
	}
	return m.Add(c)
}}

// pointer is a pointer to T that is an object.
type pointer[T any] interface {
	*T
	object.Object
}

// byName returns a reconciler that calls a function with a copy of the cached object. It ignores deleted objects.
func byName[T any, P pointer[T]](c client.Client,
	f func(ctx context.Context, o P) (reconcile.Result, error)) reconcile.Func[reconcile.Request] {
	return func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		o := P(new(T))
		if err := c.Get(ctx, r.NamespacedName, o); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		return f(ctx, o)
	}
}

func requestFor(o metav1.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: object.KeyOf(o)}
}

// writeStatus patches the difference between two states of an object's status. The patch does not conflict with
// concurrent changes, but fails for another object of the same name.
func writeStatus[T object.Object](ctx context.Context, c client.Client, before, after T) error {
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	base := before.DeepCopyObject().(object.Object)
	base.SetUID("") // includes the UID in the patch
	return client.IgnoreNotFound(c.Status().Patch(ctx, after, client.MergeFrom(base)))
}

// owned finds the objects of type T that an owner controls.
type owned[T object.Object] struct {
	client client.Client
	index  *cache.Index[T, types.UID] // by the UID of the controller; "" for objects without a controller
}

func newOwned[T object.Object](m *manager.Manager, prototype T) (*owned[T], error) {
	index, err := cache.NewIndex(m.Cache(), prototype, func(o T) []types.UID {
		if owner := metav1.GetControllerOfNoCopy(o); owner != nil {
			return []types.UID{owner.UID}
		}
		return []types.UID{""}
	})
	return &owned[T]{m.Client(), index}, err
}

// by returns the objects that owner controls, ordered by name. The caller owns the copies.
func (w *owned[T]) by(ctx context.Context, namespace string, owner types.UID) (all []T, err error) {
	for o, err := range w.index.Get(ctx, owner, client.InNamespace(namespace)) {
		if err != nil {
			return nil, err
		}
		all = append(all, o.DeepCopyObject().(T))
	}
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return all, nil
}

// claim returns the objects that owner controls, as by does. First, it adopts matching objects without a controller,
// and releases objects that no longer match.
func (w *owned[T]) claim(ctx context.Context, owner object.Object, selector *metav1.LabelSelector,
	mine func(T) bool) ([]T, error) {
	match, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, reconcile.TerminalError(err)
	}
	has, err := w.by(ctx, owner.GetNamespace(), owner.GetUID())
	if err != nil {
		return nil, err
	}
	release := func(o T) error { return controllerutil.RemoveControllerReference(owner, o, w.client.Scheme()) }
	adopt := func(o T) error { return controllerutil.SetControllerReference(owner, o, w.client.Scheme()) }
	var claimed []T
	for _, o := range has {
		if match.Matches(labels.Set(o.GetLabels())) {
			claimed = append(claimed, o)
		} else if err := w.change(ctx, o, release); err != nil {
			return nil, err
		}
	}
	if owner.GetDeletionTimestamp() != nil || match.Empty() {
		return claimed, nil
	}
	free, err := w.by(ctx, owner.GetNamespace(), "")
	for _, o := range free {
		if o.GetDeletionTimestamp() != nil || !match.Matches(labels.Set(o.GetLabels())) || !mine(o) {
			continue
		}
		if err := w.change(ctx, o, adopt); err != nil {
			return nil, err
		}
		claimed = append(claimed, o)
	}
	return claimed, err
}

// change patches o with the changes that f makes. It fails if o has changed on the server in the meantime.
func (w *owned[T]) change(ctx context.Context, o T, f func(T) error) error {
	base := o.DeepCopyObject().(object.Object)
	if err := f(o); err != nil {
		return err
	}
	return client.IgnoreNotFound(w.client.Patch(ctx, o, client.StrategicMergeFromWithOptimisticLock(base)))
}

// adopters returns a handler for objects without a controller. It requests all objects of the list's kind in the same
// namespace, because one of them may adopt the object.
func adopters(c client.Client, newList func() object.List) handler.Handler[object.Object, reconcile.Request] {
	return handler.Map(func(ctx context.Context, o object.Object) (requests []reconcile.Request) {
		if metav1.GetControllerOfNoCopy(o) != nil {
			return nil
		}
		list := newList()
		if err := c.List(ctx, list, client.InNamespace(o.GetNamespace())); err != nil {
			return nil // the context has ended, or the cache cannot be read yet, after which all objects are reconciled
		}
		_ = meta.EachListItem(list, func(o runtime.Object) error {
			requests = append(requests, requestFor(o.(metav1.Object)))
			return nil
		})
		return requests
	})
}

// each calls f for all elements, and continues after errors.
func each[T any](all []T, f func(T) error) error {
	var errs []error
	for _, one := range all {
		errs = append(errs, f(one))
	}
	return errors.Join(errs...)
}
