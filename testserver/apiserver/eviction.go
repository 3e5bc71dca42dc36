package apiserver

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/util/dryrun"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/builtin"
)

var evictionKind = policyv1.SchemeGroupVersion.WithKind("Eviction")

// evictionPart returns the subresource that deletes a pod, if the disruption budgets that select the pod allow it.
func evictionPart(s *Server, objects *registry, k *kind, f family) part {
	evict := func(ctx context.Context, name string, object runtime.Object, validate rest.ValidateObjectFunc,
		options *metav1.CreateOptions) (runtime.Object, error) {
		eviction := object.(*policyv1.Eviction)
		if eviction.Name != name {
			return nil, apierrors.NewBadRequest("name in URL does not match name in Eviction object")
		}
		deletion, err := deletionOf(eviction, options)
		if err != nil {
			return nil, err
		}
		found, err := objects.Get(ctx, name, &metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		if validate != nil {
			if err := validate(ctx, eviction.DeepCopyObject()); err != nil {
				return nil, err
			}
		}
		if status, err := s.disrupt(ctx, found.(*corev1.Pod), dryrun.IsDryRun(deletion.DryRun)); status != nil || err != nil {
			return status, err
		}
		if !dryrun.IsDryRun(deletion.DryRun) {
			if err := noteDisruption(ctx, s, name, deletion); err != nil {
				return nil, err
			}
		}
		if _, _, err := objects.Delete(ctx, name, rest.ValidateAllObjectFunc, deletion); err != nil {
			return nil, err
		}
		return &metav1.Status{Status: metav1.StatusSuccess}, nil
	}
	return part{creater: creater{func() runtime.Object { return &policyv1.Eviction{} }, evict},
		scope: newScopeOf(k, f, evictionKind, policyv1.SchemeGroupVersion, "eviction", nil, objects)}
}

// deletionOf returns the options for the deletion of an evicted pod. The deletion is a dry run if eviction or options
// request a dry run.
func deletionOf(eviction *policyv1.Eviction, options *metav1.CreateOptions) (*metav1.DeleteOptions, error) {
	if eviction.DeleteOptions == nil {
		return &metav1.DeleteOptions{DryRun: options.DryRun}, nil
	}
	deletion := eviction.DeleteOptions.DeepCopy()
	if builtin.Deref(deletion.IgnoreStoreReadErrorWithClusterBreakingPotential) {
		return nil, apierrors.NewInvalid(evictionKind.GroupKind(), eviction.Name, field.ErrorList{
			field.Invalid(field.NewPath("deleteOptions", "ignoreStoreReadErrorWithClusterBreakingPotential"), true,
				"can not be set for pod eviction, try after removing the option")})
	}
	switch {
	case len(deletion.DryRun) == 0:
		deletion.DryRun = options.DryRun
	case len(options.DryRun) > 0 && !slices.Equal(deletion.DryRun, options.DryRun):
		//lint:ignore ST1005 the real server says it so
		return nil, fmt.Errorf("Non-matching dry-run options in request and content: %v and %v", options.DryRun,
			deletion.DryRun)
	}
	return deletion, nil
}

// noteDisruption sets the disruption condition of an evicted pod, and updates the version in the preconditions of its
// deletion.
func noteDisruption(ctx context.Context, s *Server, name string, deletion *metav1.DeleteOptions) error {
	status := s.endpointOf(corev1.SchemeGroupVersion.WithResource("pods")).parts["status"].storage.(subresource)
	given := metav1.Preconditions{}
	if deletion.Preconditions != nil {
		given = *deletion.Preconditions
	}
	conflict := func(what, given, has, reason string) error {
		return apierrors.NewConflict(corev1.Resource("Pod"), name,
			fmt.Errorf("the %s in the precondition (%s) does not match the %s in record (%s). The object might have been %s",
				what, given, what, has, reason))
	}
	note := func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		pod := old.(*corev1.Pod).DeepCopy()
		if uid := builtin.Deref(given.UID); uid != "" && uid != pod.UID {
			return nil, conflict("UID", string(uid), string(pod.UID), "deleted and then recreated")
		}
		if version := builtin.Deref(given.ResourceVersion); version != "" && version != pod.ResourceVersion {
			return nil, conflict("ResourceVersion", version, pod.ResourceVersion, "modified")
		}
		podutil.UpdatePodCondition(&pod.Status, &corev1.PodCondition{Type: corev1.DisruptionTarget,
			Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting"})
		return pod, nil
	}
	updated, _, err := status.Update(ctx, name, rest.DefaultUpdatedObjectInfo(nil, note), rest.ValidateAllObjectFunc,
		rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	if err == nil && given.ResourceVersion != nil {
		given.ResourceVersion = new(updated.(*corev1.Pod).ResourceVersion)
		deletion.Preconditions = &given
	}
	return err
}

// disrupt subtracts a disruption from the pod's budget. If the budget is exhausted, it returns a status.
func (s *Server) disrupt(ctx context.Context, pod *corev1.Pod, dryRun bool) (runtime.Object, error) {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed ||
		pod.Status.Phase == corev1.PodPending || pod.DeletionTimestamp != nil {
		return nil, nil
	}
	var budgets []*builtin.Budget
	for _, object := range s.readAll("policy", "v1", "poddisruptionbudgets", pod.Namespace) {
		b := object.(*builtin.Budget)
		if selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector); err == nil &&
			selector.Matches(labels.Set(pod.Labels)) {
			budgets = append(budgets, b)
		}
	}
	switch len(budgets) {
	case 0:
		return nil, nil
	case 1:
	default:
		return &metav1.Status{Status: metav1.StatusFailure,
			Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
			Code:    500}, nil
	}
	b, healthy := budgets[0], podutil.IsPodReady(pod)
	if !healthy && (builtin.Deref(b.Spec.UnhealthyPodEvictionPolicy) == policyv1.AlwaysAllow ||
		b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0) {
		return nil, nil
	}
	refused := func(format string, arguments ...any) error {
		err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes,
			metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: fmt.Sprintf(format, arguments...)})
		return err
	}
	objects := s.endpointOf(policyv1.SchemeGroupVersion.WithResource(
		"poddisruptionbudgets")).parts["status"].storage.(subresource)
	ctx = request.WithNamespace(ctx, b.Namespace)
	key, err := objects.key(ctx, b.Name)
	if err != nil {
		return nil, err
	}
	_, err = objects.guarded(ctx, key, false, storage.Preconditions{}, dryRun,
		func(existing runtime.Object) (runtime.Object, error) {
			b := existing.(*builtin.Budget)
			switch {
			case b.Status.ObservedGeneration < b.Generation:
				err := refused("The disruption budget %s is still being processed by the server.", b.Name)
				err.(*apierrors.StatusError).ErrStatus.Details.RetryAfterSeconds = 10
				return nil, err
			case b.Status.DisruptionsAllowed < 0:
				return nil, apierrors.NewForbidden(policyv1.Resource("poddisruptionbudget"), b.Name,
					fmt.Errorf("pdb disruptions allowed is negative"))
			case b.Status.DisruptionsAllowed == 0:
				return nil, refused("The disruption budget %s needs %d healthy pods and has %d currently", b.Name,
					b.Status.DesiredHealthy, b.Status.CurrentHealthy)
			}
			b.Status.DisruptionsAllowed--
			if b.Status.DisruptedPods == nil {
				b.Status.DisruptedPods = map[string]metav1.Time{}
			}
			b.Status.DisruptedPods[pod.Name] = metav1.Now()
			return b, nil
		})
	return nil, err
}
