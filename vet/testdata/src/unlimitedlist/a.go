package unlimitedlist

import (
	"context"

	kclient "github.com/kctrl-dev/kctrl/runtime/client"
	kreconcile "github.com/kctrl-dev/kctrl/runtime/reconcile"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type reconciler struct {
	client.Client
	reader client.Reader
	core   typed.CoreV1Interface
}

func newReconciler(m ctrl.Manager) *reconciler {
	return &reconciler{Client: m.GetClient(), reader: m.GetAPIReader()}
}

func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var pods corev1.PodList
	if err := r.reader.List(ctx, &pods); err != nil { // want `unlimitedlist: List reads every Pod of the cluster live`
		return ctrl.Result{}, err
	}
	if _, err := r.core.Pods("").List(ctx, metav1.ListOptions{}); err != nil { // want `List reads every Pod of the cluster live`
		return ctrl.Result{}, err
	}
	if _, err := r.core.Pods(req.Namespace).List(ctx, metav1.ListOptions{}); err != nil {
		return ctrl.Result{}, err
	}
	if _, err := r.core.Pods("").List(ctx, metav1.ListOptions{LabelSelector: "a=b"}); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.reader.List(ctx, &pods, client.Limit(1)); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.List(ctx, &pods)
}

type own struct {
	kclient.Client
	live *kclient.REST
}

func (o *own) Reconcile(ctx context.Context, req kreconcile.Request) (kreconcile.Result, error) {
	var pods corev1.PodList
	if err := o.List(ctx, &pods, kclient.Live); err != nil { // want `List reads every Pod`
		return kreconcile.Result{}, err
	}
	if err := o.live.List(ctx, &pods); err != nil { // want `List reads every Pod`
		return kreconcile.Result{}, err
	}
	return kreconcile.Result{}, o.List(ctx, &pods, kclient.Live, kclient.InNamespace(req.Namespace))
}
