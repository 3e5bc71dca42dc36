package builtin

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func statefulSets() Kind {
	template := func(s *appsv1.StatefulSet) *corev1.PodTemplateSpec { return &s.Spec.Template }
	// The path of a claim's template is another for updates.
	warnings := func(s *appsv1.StatefulSet, claim ...string) (warnings cautions) {
		for i := range s.Spec.VolumeClaimTemplates {
			at := field.NewPath("spec", "volumeClaimTemplates").Index(i)
			for _, name := range claim {
				at = at.Child(name)
			}
			warnings.wholeStorage(&s.Spec.VolumeClaimTemplates[i].Spec, at)
		}
		if limit := s.Spec.RevisionHistoryLimit; limit != nil && *limit < 0 {
			warnings = append(warnings, "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended")
		}
		return warnings
	}
	return Kind{
		GVK: appsV1.WithKind("StatefulSet"), Resource: "statefulsets", Short: []string{"sts"}, Categories: []string{"all"}, Namespaced: true,
		Columns: append([]Column{
			Col("Ready", "string", "Number of the pod with ready state", func(s *appsv1.StatefulSet) any {
				return fmt.Sprintf("%d/%d", s.Status.ReadyReplicas, Deref(s.Spec.Replicas))
			}),
			SinceColumn,
		}, containerColumns(template)...),
		Scale: func(object runtime.Object) Scaled {
			s := object.(*appsv1.StatefulSet)
			return Scaled{s.Spec.Replicas, s.Status.Replicas, selectorText(s.Spec.Selector)}
		},
		Rules: Rules{
			Unconditional: true, Reset: []string{"status"}, Spec: Typed1(func(s *appsv1.StatefulSet) any { return s.Spec }),
			Create: Change1(func(s *appsv1.StatefulSet) { s.Status = appsv1.StatefulSetStatus{} }),
			Update: Change2(func(s, old *appsv1.StatefulSet) { s.Status = old.Status }),
			Validate: Typed1(func(s *appsv1.StatefulSet) field.ErrorList {
				return append(ValidateMetadata(&s.ObjectMeta, true, validation.NameIsDNSLabel), validateStatefulSet(&s.Spec, false)...)
			}),
			ValidateUpdate: Typed2(func(s, old *appsv1.StatefulSet) field.ErrorList {
				f, at := Findings{append(ValidateMetadataUpdate(s, old), validateStatefulSet(&s.Spec, true)...)}, field.NewPath("spec")
				f.immutable(at.Child("selector"), s.Spec.Selector, old.Spec.Selector)
				f.immutable(at.Child("volumeClaimTemplates"), s.Spec.VolumeClaimTemplates, old.Spec.VolumeClaimTemplates)
				f.immutable(at.Child("serviceName"), s.Spec.ServiceName, old.Spec.ServiceName)
				f.immutable(at.Child("podManagementPolicy"), s.Spec.PodManagementPolicy, old.Spec.PodManagementPolicy)
				return f.List
			}),
			Warnings: Typed1(func(s *appsv1.StatefulSet) []string {
				return append(templateWarnings(&s.Spec.Template), warnings(s)...)
			}),
			UpdateWarnings: Typed2(func(s, old *appsv1.StatefulSet) []string {
				if s.Generation == old.Generation {
					return warnings(s, "Spec")
				}
				return append(templateWarnings(&s.Spec.Template), warnings(s, "Spec")...)
			}),
		},
		Status: &Rules{
			Unconditional: true, Reset: []string{"spec"},
			Update: Change2(func(s, old *appsv1.StatefulSet) { s.Spec = old.Spec }),
			ValidateUpdate: Typed2(func(object, old *appsv1.StatefulSet) field.ErrorList {
				f, s, at := Findings{}, object.Status, field.NewPath("status")
				f.counters(at, counter{"replicas", int64(s.Replicas)}, counter{"readyReplicas", int64(s.ReadyReplicas)}, counter{"currentReplicas", int64(s.CurrentReplicas)},
					counter{"updatedReplicas", int64(s.UpdatedReplicas)}, counter{"availableReplicas", int64(s.AvailableReplicas)}, counter{"observedGeneration", s.ObservedGeneration})
				f.notNegativeIfSet(at.Child("collisionCount"), s.CollisionCount)
				f.atMost(at, "readyReplicas", s.ReadyReplicas, s.Replicas, "status.replicas")
				f.atMost(at, "currentReplicas", s.CurrentReplicas, s.Replicas, "status.replicas")
				f.atMost(at, "updatedReplicas", s.UpdatedReplicas, s.Replicas, "status.replicas")
				f.atMost(at, "availableReplicas", s.AvailableReplicas, s.Replicas, "status.replicas")
				f.atMost(at, "availableReplicas", s.AvailableReplicas, s.ReadyReplicas, "status.readyReplicas")
				f.Add(ValidateMetadataUpdate(object, old)...)
				f.collisions(s.CollisionCount, old.Status.CollisionCount)
				return f.List
			}),
		},
	}
}

func validateStatefulSet(spec *appsv1.StatefulSetSpec, existing bool) field.ErrorList {
	var f Findings
	at := field.NewPath("spec")
	if policy := spec.PodManagementPolicy; policy != appsv1.OrderedReadyPodManagement && policy != appsv1.ParallelPodManagement {
		f.invalid(at.Child("podManagementPolicy"), policy, "must be 'OrderedReady' or 'Parallel'")
	}
	strategy, here := spec.UpdateStrategy, at.Child("updateStrategy")
	switch strategy.Type {
	case appsv1.OnDeleteStatefulSetStrategyType:
		if strategy.RollingUpdate != nil {
			f.invalid(here.Child("rollingUpdate"), strategy.RollingUpdate, "only allowed for updateStrategy 'RollingUpdate'")
		}
	case appsv1.RollingUpdateStatefulSetStrategyType:
		if strategy.RollingUpdate != nil {
			here := here.Child("rollingUpdate")
			f.notNegative(here.Child("partition"), int64(Deref(strategy.RollingUpdate.Partition)))
			if unavailable := strategy.RollingUpdate.MaxUnavailable; unavailable != nil {
				f.intOrPercent(here.Child("maxUnavailable"), *unavailable)
				if numberOf(*unavailable) == 0 {
					f.invalid(here.Child("maxUnavailable"), *unavailable, "cannot be 0")
				}
				f.atMostAll(here.Child("maxUnavailable"), *unavailable)
			}
		}
	default:
		f.invalid(here, strategy, "must be 'RollingUpdate' or 'OnDelete'")
	}
	if policy, here := spec.PersistentVolumeClaimRetentionPolicy, at.Child("persistentVolumeClaimRetentionPolicy"); policy != nil {
		known := []appsv1.PersistentVolumeClaimRetentionPolicyType{appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
		oneOfListed(&f, here.Child("whenDeleted"), policy.WhenDeleted, known...)
		oneOfListed(&f, here.Child("whenScaled"), policy.WhenScaled, known...)
	}
	if !existing {
		for i := range spec.VolumeClaimTemplates {
			f.claim(&spec.VolumeClaimTemplates[i].Spec, at.Child("volumeClaimTemplates").Index(i).Child("spec"))
		}
		if spec.ServiceName != "" {
			f.label(at.Child("serviceName"), spec.ServiceName)
		}
	}
	f.notNegative(at.Child("replicas"), int64(Deref(spec.Replicas)))
	f.notNegative(at.Child("minReadySeconds"), int64(spec.MinReadySeconds))
	if spec.Ordinals != nil {
		f.notNegative(at.Child("ordinals.start"), int64(spec.Ordinals.Start))
	}
	if spec.Selector == nil {
		f.Required(at.Child("selector"), "")
	} else {
		f.selecting("statefulset", spec.Selector, &spec.Template, at)
	}
	if f.selected(spec.Selector, &spec.Template, at, false) {
		f.Add(validateTemplate(statefulTemplate(spec), at.Child("template"))...)
	} else {
		f.invalid(at.Child("selector"), spec.Selector, "")
	}
	f.alwaysRestarts("StatefulSet", &spec.Template.Spec, at.Child("template", "spec"))
	return f.List
}

// statefulTemplate is the template as it is for each pod: with its claims, and with names that the set gives.
func statefulTemplate(spec *appsv1.StatefulSetSpec) *corev1.PodTemplateSpec {
	template := spec.Template.DeepCopy()
	template.Spec.Subdomain, template.Spec.Hostname = "", ""
	var volumes []corev1.Volume
	claimed := map[string]bool{}
	for _, claim := range spec.VolumeClaimTemplates {
		if !claimed[claim.Name] {
			volumes = append(volumes, corev1.Volume{Name: claim.Name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name}}})
		}
		claimed[claim.Name] = true
	}
	for _, volume := range template.Spec.Volumes {
		if !claimed[volume.Name] {
			volumes = append(volumes, volume)
		}
	}
	template.Spec.Volumes = volumes
	return template
}
