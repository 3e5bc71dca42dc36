package deployment

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// claim returns the ReplicaSets of the Deployment. It adopts a ReplicaSet that matches the selector and has no
// controller. It releases a ReplicaSet that the Deployment controls and the selector no longer matches. If the
// Deployment is being deleted, claim neither adopts nor releases ReplicaSets.
func (ro *rollout) claim(ctx context.Context) (claimed []*appsv1.ReplicaSet, err error) {
	selector, err := metav1.LabelSelectorAsSelector(ro.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("selector: %w", err)
	}
	var all appsv1.ReplicaSetList
	if err := ro.List(ctx, &all, client.InNamespace(ro.Namespace)); err != nil {
		return nil, err
	}
	for i := range all.Items {
		set := &all.Items[i]
		matches := selector.Matches(labels.Set(set.Labels))
		owner := metav1.GetControllerOfNoCopy(set)
		switch {
		case owner != nil && owner.UID != ro.UID:
		case owner != nil && matches:
			claimed = append(claimed, set)
		case ro.DeletionTimestamp != nil:
		case owner != nil:
			err = ro.release(ctx, set)
		case matches && set.DeletionTimestamp == nil:
			if err = ro.adopt(ctx, set); err == nil && metav1.IsControlledBy(set, ro.Deployment) {
				claimed = append(claimed, set)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return claimed, nil
}

// adopt makes the Deployment the controller of set. It first reads the Deployment from the API server, because the
// cache may lag. If the Deployment is being deleted, or was replaced by another one with the same name, adopt
// returns an error, because the garbage collector would also delete set.
func (ro *rollout) adopt(ctx context.Context, set *appsv1.ReplicaSet) error {
	var now appsv1.Deployment
	if err := ro.Get(ctx, object.KeyOf(ro.Deployment), &now, client.Live); err != nil {
		return err
	}
	if now.UID != ro.UID || now.DeletionTimestamp != nil {
		return fmt.Errorf("adopt ReplicaSet %s: the Deployment is not there any more", set.Name)
	}
	base := set.DeepCopy()
	if err := controllerutil.SetControllerReference(ro.Deployment, set, ro.Scheme()); err != nil {
		return err
	}
	err := ro.Patch(ctx, set, client.StrategicMergeFromWithOptimisticLock(base))
	if apierrors.IsNotFound(err) {
		base.DeepCopyInto(set)
		return nil
	}
	return err
}

func (ro *rollout) release(ctx context.Context, set *appsv1.ReplicaSet) error {
	base := set.DeepCopy()
	if err := controllerutil.RemoveControllerReference(ro.Deployment, set, ro.Scheme()); err != nil {
		return err
	}
	return client.IgnoreNotFound(ro.Patch(ctx, set, client.StrategicMergeFromWithOptimisticLock(base)))
}
