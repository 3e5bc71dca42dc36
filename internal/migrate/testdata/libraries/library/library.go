// Package library stands for libraries that speak controller-runtime.
package library

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Count returns how many ConfigMaps there are.
func Count(ctx context.Context, r client.Reader, opts ...client.ListOption) (int, error) {
	var list corev1.ConfigMapList
	err := r.List(ctx, &list, opts...)
	return len(list.Items), err
}

// Getter is what clients do, and all that is asked of one.
type Getter interface {
	Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error
}

// Input has what a wait is told.
type Input struct {
	Getter   Getter
	Client   client.Client
	Selected []client.ListOption
	Objects  []client.Object
}

// Wait gets an object.
func Wait(ctx context.Context, in Input) error {
	return in.Getter.Get(ctx, client.ObjectKey{}, &corev1.ConfigMap{})
}

// Proxy makes clients.
type Proxy interface {
	Name() string
	NewClient(ctx context.Context) (client.Client, error)
	Named() (c client.Client, err error)
	Names(ctx context.Context, list client.ObjectList, options []client.ListOption) ([]string, error)
}

// Open opens a proxy.
func Open(p Proxy) (client.Client, error) { return p.NewClient(context.Background()) }

// Cluster has a client.
type Cluster struct{ Reader client.Reader }

// GetClient returns its client.
func (Cluster) GetClient() client.Client { return nil }

// Environment is a client, and has a manager.
type Environment struct {
	client.Client
	Manager ctrl.Manager
	Log     logr.Logger
}

// Suite runs a manager for tests.
type Suite struct{ ctrl.Manager }

// Installer has somebody set up a manager.
type Installer interface {
	SetUp(m ctrl.Manager) error
}

// Requested lets pass what was asked for.
type Requested struct{ predicate.Funcs }

// Selected lets pass what is selected, if that can be.
func Selected(selector string) (predicate.Predicate, error) {
	if selector == "" {
		return nil, errors.New("no selector")
	}
	return predicate.ResourceVersionChangedPredicate{}, nil
}

// All lets pass what all let pass.
func All(predicates ...predicate.Predicate) predicate.Predicate { return predicate.And(predicates...) }

// Later is a result with another time.
func Later(r ctrl.Result) ctrl.Result { return r }

// Wrap is a reconciler around another one.
func Wrap(r reconcile.Reconciler) reconcile.Reconciler { return r }

// Visit calls a function for each object.
func Visit(ctx context.Context, c client.Client, visit func(c client.Client, o client.Object) error) error {
	return visit(c, &corev1.ConfigMap{})
}

// Recorder records events.
type Recorder struct{ record.EventRecorder }

// Generic is of any type.
func Generic[T any](t T) T { return t }

// Setup adds to a manager.
func Setup(mgr ctrl.Manager, name string) error { return nil }

// Both returns a client, how many there are, and an error.
func Both() (client.Client, int, error) { return nil, 0, nil }

// Runner is what reconcilers are, by another name.
type Runner interface {
	Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error)
}

// Run runs a reconciler, and a function that is one.
func Run(r Runner, f func(ctx context.Context, req ctrl.Request) (ctrl.Result, error)) {}

// NewLog returns a logger.
func NewLog() logr.Logger { return logr.Discard() }

// Log logs.
func Log(log logr.Logger) {}

// Limiter returns how long requests wait that have failed.
func Limiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()
}
