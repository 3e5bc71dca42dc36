// Package deployment implements the Deployment controller of Kubernetes on kctrl. It reconciles apps/v1 Deployments as
// kube-controller-manager does, and either controller can take over from the other at any time.
//
//	deployment.go  sets up the watches, and runs the steps of a reconcile
//	claim.go       adopts and releases ReplicaSets
//	history.go     finds the current ReplicaSet, numbers revisions, and rolls back
//	scale.go       changes the sizes of ReplicaSets when the Deployment is scaled, in proportion during a rollout
//	rollout.go     changes the sizes of ReplicaSets when the template changes: RollingUpdate and Recreate
//	status.go      computes the counts, the conditions and the progress deadline
package deployment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/events"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// Name is the name of the controller in kube-controller-manager.
const Name = "deployment-controller"

// Reconciler creates and scales the ReplicaSets of a Deployment as its spec requests. SetupWithManager sets the fields.
type Reconciler struct {
	client.Client
	recorder *events.Recorder
	podsOf   *cache.Index[*corev1.Pod, types.UID] // by the UID of their controller
}

// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;update
// +kubebuilder:rbac:groups=apps,resources=deployments/status,verbs=patch
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=deployments/finalizers,verbs=update
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager connects the reconciler to m and adds a controller. The controller reconciles a Deployment when it
// or one of its ReplicaSets changes, and when it could adopt a ReplicaSet. It also reconciles a Deployment of strategy
// Recreate when one of its pods is deleted.
func (r *Reconciler) SetupWithManager(m controller.Manager) error {
	r.Client, r.recorder = m.Client(), m.EventRecorder(Name)
	var err error
	if r.podsOf, err = cache.NewIndex(m.Cache(), &corev1.Pod{}, controllerUID); err != nil {
		return err
	}
	return controller.For[*appsv1.Deployment](m).Named(Name).
		Owns(&appsv1.ReplicaSet{}).
		Watches(handler.For(r.adopters)).
		Watches(handler.For(r.recreated, isDeletion)).
		Complete(r)
}

func controllerUID(pod *corev1.Pod) []types.UID {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return []types.UID{owner.UID}
	}
	return nil
}

func isDeletion(e informer.Event[object.Object]) bool { return e.Type == informer.Deleted }

// adopters returns the Deployments that may adopt a ReplicaSet without a controller.
func (r *Reconciler) adopters(ctx context.Context, set *appsv1.ReplicaSet) (requests []reconcile.Request) {
	if metav1.GetControllerOfNoCopy(set) != nil {
		return nil
	}
	var all appsv1.DeploymentList
	if err := r.List(ctx, &all, client.InNamespace(set.Namespace)); err != nil {
		return nil // the context has ended, or the cache is not readable yet, after which all Deployments are reconciled
	}
	for i := range all.Items {
		d := &all.Items[i]
		selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
		if err == nil && !selector.Empty() && selector.Matches(labels.Set(set.Labels)) {
			requests = append(requests, requestFor(d))
		}
	}
	return requests
}

// recreated returns the Deployment of a deleted pod if the Deployment has the strategy Recreate, because it waits for
// the deletion before it creates new pods.
func (r *Reconciler) recreated(ctx context.Context, pod *corev1.Pod) []reconcile.Request {
	var set appsv1.ReplicaSet
	var d appsv1.Deployment
	if !r.getController(ctx, pod, "ReplicaSet", &set) || !r.getController(ctx, &set, "Deployment", &d) ||
		d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		return nil
	}
	return []reconcile.Request{requestFor(&d)}
}

// getController reads the controller of o into owner, and reports whether o has a controller of that kind.
func (r *Reconciler) getController(ctx context.Context, o metav1.Object, kind string, owner object.Object) bool {
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil || ref.Kind != kind {
		return false
	}
	err := r.Get(ctx, types.NamespacedName{Namespace: o.GetNamespace(), Name: ref.Name}, owner)
	return err == nil && owner.GetUID() == ref.UID
}

func requestFor(d *appsv1.Deployment) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: d.Namespace, Name: d.Name}}
}

// Reconcile takes one step: it claims the ReplicaSets, then rolls back, scales or rolls out. It writes the status once,
// at the end, even if the step failed, because a hash collision or a ReplicaSet that could not be created is part of
// the status. Each write of a ReplicaSet causes an event, which triggers the next step.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	d := &appsv1.Deployment{}
	if err := r.Get(ctx, req.NamespacedName, d); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	ro := &rollout{Reconciler: r, Deployment: d, stored: d.DeepCopy()}
	err := ro.step(ctx)
	err = errors.Join(err, ro.store(ctx))
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: untilDeadline(d)}, err
}

// rollout is the state of one reconcile of a Deployment. All its objects are copies.
type rollout struct {
	*Reconciler
	*appsv1.Deployment
	stored *appsv1.Deployment // as stored by the API server

	current *appsv1.ReplicaSet   // the ReplicaSet of the current template, or nil
	old     []*appsv1.ReplicaSet // the other ReplicaSets, oldest first
}

func (ro *rollout) step(ctx context.Context) error {
	if equality.Semantic.DeepEqual(ro.Spec.Selector, &metav1.LabelSelector{}) {
		ro.warn("SelectingAll", "This deployment is selecting all pods. A non-empty selector is required.")
		ro.Status.ObservedGeneration = ro.Generation
		return nil
	}
	sets, err := ro.claim(ctx)
	if err != nil {
		return err
	}
	ro.current, ro.old = split(sets, &ro.Spec.Template)
	if ro.DeletionTimestamp != nil {
		if err := ro.syncRevision(ctx); err != nil {
			return err
		}
		ro.Status = ro.count()
		return nil
	}
	ro.notePause()
	if revision, asked := rollbackTo(ro.Deployment); asked && !ro.Spec.Paused {
		return ro.rollBack(ctx, revision)
	}
	if err := ro.syncRevision(ctx); err != nil {
		return err
	}
	if ro.Spec.Paused || ro.wasScaled() {
		return ro.resize(ctx)
	}
	if err := ro.rollOut(ctx); err != nil {
		return err
	}
	ro.Status = ro.countAndJudge()
	return nil
}

// resize changes the sizes of the ReplicaSets to match the size of the Deployment. It does not roll out the template.
func (ro *rollout) resize(ctx context.Context) error {
	if err := ro.scale(ctx); err != nil {
		return err
	}
	if _, asked := rollbackTo(ro.Deployment); ro.Spec.Paused && !asked {
		if err := ro.forget(ctx); err != nil {
			return err
		}
	}
	ro.Status = ro.count()
	return nil
}

func (ro *rollout) rollOut(ctx context.Context) error {
	switch ro.Spec.Strategy.Type {
	case appsv1.RecreateDeploymentStrategyType:
		return ro.recreate(ctx)
	case appsv1.RollingUpdateDeploymentStrategyType:
		return ro.roll(ctx)
	}
	return reconcile.TerminalError(fmt.Errorf("unexpected deployment strategy type: %s", ro.Spec.Strategy.Type))
}

// store patches the status and the annotations if they differ from those on the API server. A patch does not conflict
// with concurrent changes by a user. A conflict would lose some conditions, such as NewReplicaSetReason, because no
// later reconcile sets them.
func (ro *rollout) store(ctx context.Context) error {
	if equality.Semantic.DeepEqual(ro.Status, ro.stored.Status) && maps.Equal(ro.Annotations, ro.stored.Annotations) {
		return nil
	}
	base := ro.stored.DeepCopy()
	base.UID = "" // includes the UID in the patch, so that it fails for a new Deployment with the same name
	if err := ro.Reconciler.Status().Patch(ctx, ro.Deployment, client.MergeFrom(base)); err != nil {
		return client.IgnoreNotFound(err)
	}
	ro.stored = ro.Deployment.DeepCopy()
	return nil
}

// sets returns all ReplicaSets, old ones first.
func (ro *rollout) sets() []*appsv1.ReplicaSet {
	if ro.current == nil {
		return slices.Clone(ro.old)
	}
	return append(slices.Clone(ro.old), ro.current)
}

func (ro *rollout) inform(reason, format string, args ...any) {
	ro.recorder.Eventf(ro.Deployment, nil, corev1.EventTypeNormal, reason, reason, format, args...)
}

func (ro *rollout) warn(reason, format string, args ...any) {
	ro.recorder.Eventf(ro.Deployment, nil, corev1.EventTypeWarning, reason, reason, format, args...)
}
