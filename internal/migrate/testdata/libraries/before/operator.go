// Package operator is of an author whose libraries speak controller-runtime.
package operator

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"example.com/library"
)

// Reconciler reconciles ConfigMaps.
type Reconciler struct {
	client.Client
	APIReader client.Reader
	Recorder  record.EventRecorder
	Accept    predicate.Predicate
	Limiter   workqueue.TypedRateLimiter[reconcile.Request]
}

func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if _, err := library.Count(ctx, r.Client, client.InNamespace(req.Namespace), client.MatchingLabels{"a": "b"}); err != nil {
		return ctrl.Result{}, err
	}
	selected := []client.ListOption{client.InNamespace(req.Namespace)}
	if _, err := library.Count(ctx, r, selected...); err != nil {
		return ctrl.Result{}, err
	}
	in := library.Input{Getter: r.Client, Client: r, Selected: selected, Objects: []client.Object{&corev1.ConfigMap{}}}
	in.Client = r.Client
	if err := library.Wait(ctx, in); err != nil {
		return ctrl.Result{}, err
	}
	_ = library.Generic[client.Client](r.Client)
	return library.Later(ctrl.Result{RequeueAfter: time.Minute}), nil
}

// SetupWithManager watches what is asked for.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, accept predicate.Predicate) error {
	if err := library.Setup(mgr, "name"); err != nil {
		return err
	}
	var err error
	if r.Client, _, err = library.Both(); err != nil {
		return err
	}
	selected, err := library.Selected("a=b")
	if err != nil {
		return err
	}
	r.Accept = library.All(accept, library.Requested{})
	return ctrl.NewControllerManagedBy(mgr).
		For(&corev1.ConfigMap{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, library.Requested{}), selected)).
		Complete(library.Wrap(r))
}

// own makes clients.
type own struct{ c client.Client }

var _ library.Proxy = &own{}

func (o *own) Name() string { return "own" }

func (o *own) NewClient(context.Context) (client.Client, error) { return o.c, nil }

func (o *own) Names(ctx context.Context, list client.ObjectList, options []client.ListOption) ([]string, error) {
	if err := o.c.List(ctx, list, options...); err != nil {
		return nil, err
	}
	return names(list, options), nil
}

func (o *own) Named() (c client.Client, err error) {
	c = o.c
	return c, c.Get(context.Background(), client.ObjectKey{}, &corev1.ConfigMap{})
}

func names(list client.ObjectList, options []client.ListOption) []string { return nil }

func use(ctx context.Context, cluster library.Cluster, env *library.Environment, recorder *library.Recorder) (*Reconciler, error) {
	c, err := library.Open(&own{cluster.GetClient()})
	if err != nil {
		return nil, err
	}
	if err := cluster.GetClient().Get(ctx, client.ObjectKey{Name: "a"}, &corev1.ConfigMap{}); err != nil {
		return nil, err
	}
	if err := env.List(ctx, &corev1.ConfigMapList{}, client.InNamespace("a")); err != nil {
		return nil, err
	}
	if _, err := library.Count(ctx, env, client.Limit(1)); err != nil {
		return nil, err
	}
	if err := library.Wait(ctx, library.Input{Getter: cluster.GetClient(), Client: env.Client}); err != nil {
		return nil, err
	}
	err = library.Visit(ctx, c, func(c client.Client, o client.Object) error {
		return c.Patch(ctx, o, client.MergeFrom(o), client.FieldOwner("me"))
	})
	<-env.Manager.Elected()
	_ = env.Manager.GetClient()
	return &Reconciler{Client: env, APIReader: cluster.Reader, Recorder: recorder, Accept: library.Requested{}, Limiter: library.Limiter()}, err
}

var _ reconcile.Reconciler = &Reconciler{}

// more takes and gives in other ways.
func more(ctx context.Context, r *Reconciler, in library.Input, env *library.Environment, own struct{ library.Environment }) error {
	in.Selected = append(in.Selected, client.Limit(1))
	for _, o := range in.Selected {
		if err := r.List(ctx, &corev1.ConfigMapList{}, o); err != nil {
			return err
		}
	}
	p := &in.Client
	_ = p
	in.Client = nil
	if env.Client == nil || in.Getter == nil {
		return nil
	}
	library.Run(r, func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		return r.Reconcile(ctx, req)
	})
	env.Log.Info("a line", "a", "b")
	env.Log.Error(nil, "a line", "a", "b")
	library.Log(env.Log)
	library.Log(library.NewLog())
	library.NewLog().Error(nil, "a line", "a", "b")
	get := env.Client.Get
	return errors.Join(own.Delete(ctx, &corev1.ConfigMap{}, client.GracePeriodSeconds(0)), get(ctx, client.ObjectKey{}, &corev1.ConfigMap{}))
}
