package builtin

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func deployments() Kind {
	template := func(d *appsv1.Deployment) *corev1.PodTemplateSpec { return &d.Spec.Template }
	doc := appsv1.DeploymentStatus{}.SwaggerDoc()
	return Kind{
		GVK: appsV1.WithKind("Deployment"), Resource: "deployments", Short: []string{"deploy"}, Categories: []string{"all"}, Namespaced: true,
		Columns: append(append([]Column{
			Col("Ready", "string", "Number of the pod with ready state", func(d *appsv1.Deployment) any {
				return fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, Deref(d.Spec.Replicas))
			}),
			Col("Up-to-date", "string", doc["updatedReplicas"], func(d *appsv1.Deployment) any { return int64(d.Status.UpdatedReplicas) }),
			Col("Available", "string", doc["availableReplicas"], func(d *appsv1.Deployment) any { return int64(d.Status.AvailableReplicas) }),
			SinceColumn,
		}, containerColumns(template)...),
			Col("Selector", "string wide", appsv1.DeploymentSpec{}.SwaggerDoc()["selector"], func(d *appsv1.Deployment) any { return selectorText(d.Spec.Selector) })),
		Scale: func(object runtime.Object) Scaled {
			d := object.(*appsv1.Deployment)
			return Scaled{d.Spec.Replicas, d.Status.Replicas, selectorText(d.Spec.Selector)}
		},
		Rules: Rules{
			Unconditional: true, Reset: []string{"status"},
			Spec:   Typed1(func(d *appsv1.Deployment) any { return []any{d.Spec, d.Annotations} }),
			Create: Change1(func(d *appsv1.Deployment) { d.Status = appsv1.DeploymentStatus{} }),
			Update: Change2(func(d, old *appsv1.Deployment) { d.Status = old.Status }),
			Validate: Typed1(func(d *appsv1.Deployment) field.ErrorList {
				return append(ValidateMetadata(&d.ObjectMeta, true, validation.NameIsDNSSubdomain), validateDeployment(&d.Spec)...)
			}),
			ValidateUpdate: Typed2(func(d, old *appsv1.Deployment) field.ErrorList {
				f := Findings{append(ValidateMetadataUpdate(d, old), validateDeployment(&d.Spec)...)}
				f.immutable(field.NewPath("spec", "selector"), d.Spec.Selector, old.Spec.Selector)
				return f.List
			}),
			Warnings: Typed1(func(d *appsv1.Deployment) []string {
				return append(dnsLabelWarning(d.Name, "Pod names and hostnames"), templateWarnings(&d.Spec.Template)...)
			}),
			UpdateWarnings: Typed2(func(d, old *appsv1.Deployment) []string {
				if d.Generation == old.Generation {
					return nil
				}
				return templateWarnings(&d.Spec.Template)
			}),
		},
		Status: &Rules{
			Unconditional: true, Reset: []string{"spec", "metadata.labels"},
			Update: Change2(func(d, old *appsv1.Deployment) { d.Spec, d.Labels = old.Spec, old.Labels }),
			ValidateUpdate: Typed2(func(d, old *appsv1.Deployment) field.ErrorList {
				f, s, at := Findings{ValidateMetadataUpdate(d, old)}, d.Status, field.NewPath("status")
				f.counters(at, counter{"observedGeneration", s.ObservedGeneration}, counter{"replicas", int64(s.Replicas)}, counter{"updatedReplicas", int64(s.UpdatedReplicas)},
					counter{"readyReplicas", int64(s.ReadyReplicas)}, counter{"availableReplicas", int64(s.AvailableReplicas)}, counter{"unavailableReplicas", int64(s.UnavailableReplicas)})
				f.notNegativeIfSet(at.Child("terminatingReplicas"), s.TerminatingReplicas)
				f.notNegativeIfSet(at.Child("collisionCount"), s.CollisionCount)
				f.atMost(at, "updatedReplicas", s.UpdatedReplicas, s.Replicas, "status.replicas")
				f.atMost(at, "readyReplicas", s.ReadyReplicas, s.Replicas, "status.replicas")
				f.atMost(at, "availableReplicas", s.AvailableReplicas, s.Replicas, "status.replicas")
				f.atMost(at, "availableReplicas", s.AvailableReplicas, s.ReadyReplicas, "readyReplicas")
				f.collisions(s.CollisionCount, old.Status.CollisionCount)
				return f.List
			}),
		},
	}
}

func validateDeployment(spec *appsv1.DeploymentSpec) field.ErrorList {
	var f Findings
	at := field.NewPath("spec")
	f.notNegative(at.Child("replicas"), int64(Deref(spec.Replicas)))
	if spec.Selector == nil {
		f.Required(at.Child("selector"), "")
	} else {
		f.selecting("deployment", spec.Selector, &spec.Template, at)
	}
	f.replicated("invalid label selector", spec.Selector, &spec.Template, at)
	strategy, here := spec.Strategy, at.Child("strategy")
	switch strategy.Type {
	case appsv1.RecreateDeploymentStrategyType:
		if strategy.RollingUpdate != nil {
			f.forbidden(here.Child("rollingUpdate"), "may not be specified when strategy `type` is 'Recreate'")
		}
	case appsv1.RollingUpdateDeploymentStrategyType:
		unavailable, surge, here := *strategy.RollingUpdate.MaxUnavailable, *strategy.RollingUpdate.MaxSurge, here.Child("rollingUpdate")
		f.intOrPercent(here.Child("maxUnavailable"), unavailable)
		f.intOrPercent(here.Child("maxSurge"), surge)
		if numberOf(unavailable) == 0 && numberOf(surge) == 0 {
			f.invalid(here.Child("maxUnavailable"), unavailable, "may not be 0 when `maxSurge` is 0")
		}
		f.atMostAll(here.Child("maxUnavailable"), unavailable)
	default:
		f.Add(field.NotSupported(here, spec.Strategy, []string{string(appsv1.RecreateDeploymentStrategyType), string(appsv1.RollingUpdateDeploymentStrategyType)}))
	}
	f.notNegative(at.Child("minReadySeconds"), int64(spec.MinReadySeconds))
	f.notNegativeIfSet(at.Child("revisionHistoryLimit"), spec.RevisionHistoryLimit)
	if seconds := spec.ProgressDeadlineSeconds; seconds != nil {
		f.notNegative(at.Child("progressDeadlineSeconds"), int64(*seconds))
		if *seconds <= spec.MinReadySeconds {
			f.invalid(at.Child("progressDeadlineSeconds"), seconds, "must be greater than minReadySeconds")
		}
	}
	return f.List
}
