package lockedcall

import (
	"context"
	"sync"

	kclient "github.com/kctrl-dev/kctrl/runtime/client"
	kreconcile "github.com/kctrl-dev/kctrl/runtime/reconcile"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type reconciler struct {
	client.Client
	mu    sync.Mutex
	known map[string]bool
}

func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[req.Name] = true
	return ctrl.Result{}, r.Update(ctx, &corev1.Pod{}) // want `lockedcall: Update while the lock of line 21 is held`
}

func (r *reconciler) short(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	r.mu.Lock()
	r.known[req.Name] = true
	r.mu.Unlock()
	return ctrl.Result{}, r.Update(ctx, &corev1.Pod{})
}

func (r *reconciler) store(ctx context.Context) error { return r.Create(ctx, &corev1.Pod{}) }

func (r *reconciler) byCallee(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	r.mu.Lock()
	err := r.store(ctx) // want `store calls Create at a.go:34 while the lock`
	r.mu.Unlock()
	return ctrl.Result{}, err
}

type own struct {
	kclient.Client
	mu sync.RWMutex
}

func (o *own) Reconcile(ctx context.Context, req kreconcile.Request) (kreconcile.Result, error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	err := o.Get(ctx, req.NamespacedName, &corev1.Pod{})
	if err == nil {
		err = o.Get(ctx, req.NamespacedName, &corev1.Pod{}, kclient.Live) // want `Get while the lock`
	}
	return kreconcile.Result{}, err
}

type perObject struct {
	client.Client
	locks map[string]*sync.Mutex
}

func (p *perObject) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p.locks[req.Name].Lock()
	defer p.locks[req.Name].Unlock()
	return ctrl.Result{}, p.Update(ctx, &corev1.Pod{})
}
