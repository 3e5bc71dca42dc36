package builtin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
)

var appsV1 = appsv1.SchemeGroupVersion

// AppsKinds are the kinds of apps.
func AppsKinds() []Kind {
	return []Kind{controllerRevisions(), daemonSets(), deployments(), replicaSets(), statefulSets()}
}

func appsDefaults() []Defaulter {
	return []Defaulter{
		DefaultsOf(func(deployment *appsv1.Deployment) {
			spec := &deployment.Spec
			SetPointer(&spec.Replicas, 1)
			Set(&spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
			if spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
				SetPointer(&spec.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
				SetPointer(&spec.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
				SetPointer(&spec.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
			}
			SetPointer(&spec.RevisionHistoryLimit, 10)
			SetPointer(&spec.ProgressDeadlineSeconds, 600)
		}),
		DefaultsOf(func(daemon *appsv1.DaemonSet) {
			setTemplateGeneration(daemon, templateGeneration(daemon))
			spec := &daemon.Spec
			Set(&spec.UpdateStrategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
			if spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
				SetPointer(&spec.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
				SetPointer(&spec.UpdateStrategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
				SetPointer(&spec.UpdateStrategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
			}
			SetPointer(&spec.RevisionHistoryLimit, 10)
		}),
		DefaultsOf(func(stateful *appsv1.StatefulSet) {
			spec := &stateful.Spec
			Set(&spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
			if spec.UpdateStrategy.Type == "" {
				spec.UpdateStrategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
				SetPointer(&spec.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
			}
			if rolling := spec.UpdateStrategy.RollingUpdate; rolling != nil && spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType {
				SetPointer(&rolling.Partition, 0)
				SetPointer(&rolling.MaxUnavailable, intstr.FromInt32(1))
			}
			for i := range spec.VolumeClaimTemplates {
				spec.VolumeClaimTemplates[i].TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}
			}
			SetPointer(&spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
			Set(&spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
			Set(&spec.PersistentVolumeClaimRetentionPolicy.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
			SetPointer(&spec.Replicas, 1)
			SetPointer(&spec.RevisionHistoryLimit, 10)
		}),
		DefaultsOf(func(replicas *appsv1.ReplicaSet) { SetPointer(&replicas.Spec.Replicas, 1) }),
	}
}

// Columns of kinds that have a template for pods.

const (
	containersText = "Names of each container in the template."
	imagesText     = "Images referenced by each container in the template."
)

func namesOf(containers []corev1.Container) string {
	var names []string
	for _, container := range containers {
		names = append(names, container.Name)
	}
	return strings.Join(names, ",")
}

// nameInBytes is validation.NameIsDNSSubdomain in the words of kinds whose checks are generated.
func nameInBytes(name string, prefix bool) []string {
	messages := validation.NameIsDNSSubdomain(name, prefix)
	for i := range messages {
		messages[i] = strings.Replace(messages[i], "more than 253 characters", "more than 253 bytes", 1)
	}
	return messages
}

func imagesOf(containers []corev1.Container) string {
	var images []string
	for _, container := range containers {
		images = append(images, container.Image)
	}
	return strings.Join(images, ",")
}

func containerColumns[T runtime.Object](template func(object T) *corev1.PodTemplateSpec) []Column {
	return []Column{
		Col("Containers", "string wide", containersText, func(object T) any { return namesOf(template(object).Spec.Containers) }),
		Col("Images", "string wide", imagesText, func(object T) any { return imagesOf(template(object).Spec.Containers) }),
	}
}

func selectorText(selector *metav1.LabelSelector) string {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return "<invalid>"
	}
	return parsed.String()
}

// selecting checks the selector of a kind, and that the template for its pods is selected.
func (f *Findings) selecting(kind string, selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, at *field.Path) {
	f.selector(at.Child("selector"), selector)
	if selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		f.invalid(at.Child("selector"), selector, "empty selector is invalid for "+kind)
	}
}

func (f *Findings) selected(selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, at *field.Path, evenEmpty bool) bool {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return false
	}
	if (evenEmpty || !parsed.Empty()) && !parsed.Matches(labels.Set(template.Labels)) {
		f.invalid(at.Child("template", "metadata", "labels"), template.Labels, "`selector` does not match template `labels`")
	}
	return true
}

// alwaysRestarts checks that the pods of a kind do not end by themselves.
func (f *Findings) alwaysRestarts(kind string, spec *corev1.PodSpec, at *field.Path) {
	oneOf(f, at.Child("restartPolicy"), spec.RestartPolicy, corev1.RestartPolicyAlways)
	if spec.ActiveDeadlineSeconds != nil {
		f.forbidden(at.Child("activeDeadlineSeconds"), "activeDeadlineSeconds in "+kind+" is not Supported")
	}
}

func (f *Findings) counters(at *field.Path, counters ...counter) {
	for _, c := range counters {
		f.notNegative(at.Child(c.name), c.value)
	}
}

type counter struct {
	name  string
	value int64
}

// collisions checks a counter that only grows.
func (f *Findings) collisions(now, was *int32) {
	if was != nil && Deref(now) < *was {
		f.invalid(field.NewPath("status", "collisionCount"), Deref(now), "cannot be decremented")
	}
}

// Deployments.

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

func (f *Findings) atMost(at *field.Path, name string, value, most int32, of string) {
	if value > most {
		f.invalid(at.Child(name), value, "cannot be greater than "+of)
	}
}

func templateWarnings(template *corev1.PodTemplateSpec) []string {
	return podWarnings(&template.ObjectMeta, &template.Spec, field.NewPath("spec", "template"))
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

// replicated checks the template of a kind whose pods are equal.
func (f *Findings) replicated(message string, selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, at *field.Path) {
	if !f.selected(selector, template, at, false) {
		f.invalid(at.Child("selector"), selector, message)
		return
	}
	f.Add(validateTemplate(template, at.Child("template"))...)
	f.alwaysRestarts("ReplicaSet", &template.Spec, at.Child("template", "spec"))
}

// Replica sets.

func replicaSets() Kind {
	doc, template := appsv1.ReplicaSetStatus{}.SwaggerDoc(), func(r *appsv1.ReplicaSet) *corev1.PodTemplateSpec { return &r.Spec.Template }
	return Kind{
		GVK: appsV1.WithKind("ReplicaSet"), Resource: "replicasets", Short: []string{"rs"}, Categories: []string{"all"}, Namespaced: true,
		Columns: append(append([]Column{
			Col("Desired", "integer", appsv1.ReplicaSetSpec{}.SwaggerDoc()["replicas"], func(r *appsv1.ReplicaSet) any { return int64(Deref(r.Spec.Replicas)) }),
			Col("Current", "integer", doc["replicas"], func(r *appsv1.ReplicaSet) any { return int64(r.Status.Replicas) }),
			Col("Ready", "integer", doc["readyReplicas"], func(r *appsv1.ReplicaSet) any { return int64(r.Status.ReadyReplicas) }),
			SinceColumn,
		}, containerColumns(template)...),
			Col("Selector", "string wide", appsv1.ReplicaSetSpec{}.SwaggerDoc()["selector"], func(r *appsv1.ReplicaSet) any { return metav1.FormatLabelSelector(r.Spec.Selector) })),
		Scale: func(object runtime.Object) Scaled {
			r := object.(*appsv1.ReplicaSet)
			return Scaled{r.Spec.Replicas, r.Status.Replicas, selectorText(r.Spec.Selector)}
		},
		Rules: Rules{
			Unconditional: true, Reset: []string{"status"}, Spec: Typed1(func(r *appsv1.ReplicaSet) any { return r.Spec }),
			Create: Change1(func(r *appsv1.ReplicaSet) { r.Status = appsv1.ReplicaSetStatus{} }),
			Update: Change2(func(r, old *appsv1.ReplicaSet) { r.Status = old.Status }),
			Validate: Typed1(func(r *appsv1.ReplicaSet) field.ErrorList {
				return append(ValidateMetadata(&r.ObjectMeta, true, validation.NameIsDNSSubdomain), validateReplicaSet(&r.Spec)...)
			}),
			ValidateUpdate: Typed2(func(r, old *appsv1.ReplicaSet) field.ErrorList {
				f := Findings{append(ValidateMetadataUpdate(r, old), validateReplicaSet(&r.Spec)...)}
				f.immutable(field.NewPath("spec", "selector"), r.Spec.Selector, old.Spec.Selector)
				return f.List
			}),
			Warnings: Typed1(func(r *appsv1.ReplicaSet) []string {
				return append(dnsLabelWarning(r.Name, "Pod names and hostnames"), templateWarnings(&r.Spec.Template)...)
			}),
			UpdateWarnings: Typed2(func(r, old *appsv1.ReplicaSet) []string {
				if r.Generation == old.Generation {
					return nil
				}
				return templateWarnings(&r.Spec.Template)
			}),
		},
		Status: &Rules{
			Unconditional: true, Reset: []string{"spec"},
			Update: Change2(func(r, old *appsv1.ReplicaSet) { r.Spec = old.Spec }),
			ValidateUpdate: Typed2(func(r, old *appsv1.ReplicaSet) field.ErrorList {
				f, s := Findings{ValidateMetadataUpdate(r, old)}, r.Status
				f.replicaStatus(s.Replicas, s.FullyLabeledReplicas, s.ReadyReplicas, s.AvailableReplicas, s.TerminatingReplicas, s.ObservedGeneration)
				return f.List
			}),
		},
	}
}

func (f *Findings) replicaStatus(replicas, labeled, ready, available int32, terminating *int32, generation int64) {
	at := field.NewPath("status")
	f.counters(at, counter{"replicas", int64(replicas)}, counter{"fullyLabeledReplicas", int64(labeled)}, counter{"readyReplicas", int64(ready)}, counter{"availableReplicas", int64(available)}, counter{"observedGeneration", generation})
	f.notNegativeIfSet(at.Child("terminatingReplicas"), terminating)
	f.atMost(at, "fullyLabeledReplicas", labeled, replicas, "status.replicas")
	f.atMost(at, "readyReplicas", ready, replicas, "status.replicas")
	f.atMost(at, "availableReplicas", available, replicas, "status.replicas")
	f.atMost(at, "availableReplicas", available, ready, "readyReplicas")
}

func validateReplicaSet(spec *appsv1.ReplicaSetSpec) field.ErrorList {
	var f Findings
	at := field.NewPath("spec")
	f.notNegative(at.Child("replicas"), int64(Deref(spec.Replicas)))
	f.notNegative(at.Child("minReadySeconds"), int64(spec.MinReadySeconds))
	if spec.Selector == nil {
		f.Required(at.Child("selector"), "")
	} else {
		f.selecting("deployment", spec.Selector, &spec.Template, at)
	}
	f.replicated("invalid label selector", spec.Selector, &spec.Template, at)
	return f.List
}

// Stateful sets.

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

// Daemon sets.

// templateGeneration counts changes of the template. It was a field once, and is an annotation now.
func templateGeneration(d *appsv1.DaemonSet) int64 {
	generation, _ := strconv.ParseInt(d.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
	return generation
}

func setTemplateGeneration(d *appsv1.DaemonSet, generation int64) {
	annotations := map[string]string{}
	for name, value := range d.Annotations {
		annotations[name] = value
	}
	annotations[appsv1.DeprecatedTemplateGeneration] = strconv.FormatInt(generation, 10)
	d.Annotations = annotations
}

func daemonSets() Kind {
	doc, template := appsv1.DaemonSetStatus{}.SwaggerDoc(), func(d *appsv1.DaemonSet) *corev1.PodTemplateSpec { return &d.Spec.Template }
	number := func(name, field string, value func(s appsv1.DaemonSetStatus) int32) Column {
		return Col(name, "integer", doc[field], func(d *appsv1.DaemonSet) any { return int64(value(d.Status)) })
	}
	return Kind{
		GVK: appsV1.WithKind("DaemonSet"), Resource: "daemonsets", unshown: appsv1.DeprecatedTemplateGeneration, Short: []string{"ds"}, Categories: []string{"all"}, Namespaced: true,
		Columns: append(append([]Column{
			number("Desired", "desiredNumberScheduled", func(s appsv1.DaemonSetStatus) int32 { return s.DesiredNumberScheduled }),
			number("Current", "currentNumberScheduled", func(s appsv1.DaemonSetStatus) int32 { return s.CurrentNumberScheduled }),
			number("Ready", "numberReady", func(s appsv1.DaemonSetStatus) int32 { return s.NumberReady }),
			number("Up-to-date", "updatedNumberScheduled", func(s appsv1.DaemonSetStatus) int32 { return s.UpdatedNumberScheduled }),
			number("Available", "numberAvailable", func(s appsv1.DaemonSetStatus) int32 { return s.NumberAvailable }),
			Col("Node Selector", "string", corev1.PodSpec{}.SwaggerDoc()["nodeSelector"], func(d *appsv1.DaemonSet) any { return labels.FormatLabels(d.Spec.Template.Spec.NodeSelector) }),
			SinceColumn,
		}, containerColumns(template)...),
			Col("Selector", "string wide", appsv1.DaemonSetSpec{}.SwaggerDoc()["selector"], func(d *appsv1.DaemonSet) any { return metav1.FormatLabelSelector(d.Spec.Selector) })),
		Rules: Rules{
			Unconditional: true, Reset: []string{"status"}, Spec: Typed1(func(d *appsv1.DaemonSet) any { return []any{d.Spec, templateGeneration(d)} }),
			Create: Change1(func(d *appsv1.DaemonSet) {
				d.Status = appsv1.DaemonSetStatus{}
				setTemplateGeneration(d, max(1, templateGeneration(d)))
			}),
			Update: Change2(func(d, old *appsv1.DaemonSet) {
				d.Status = old.Status
				generation := templateGeneration(old)
				if !equality.Semantic.DeepEqual(d.Spec.Template, old.Spec.Template) {
					generation++
				}
				setTemplateGeneration(d, generation)
			}),
			Validate: Typed1(func(d *appsv1.DaemonSet) field.ErrorList {
				return append(ValidateMetadata(&d.ObjectMeta, true, validation.NameIsDNSSubdomain), validateDaemonSet(d)...)
			}),
			ValidateUpdate: Typed2(func(d, old *appsv1.DaemonSet) field.ErrorList {
				f := Findings{ValidateMetadataUpdate(d, old)}
				f.immutable(field.NewPath("spec", "selector"), d.Spec.Selector, old.Spec.Selector)
				f.Add(validateDaemonSet(d)...)
				return f.List
			}),
			Warnings: Typed1(func(d *appsv1.DaemonSet) []string { return templateWarnings(&d.Spec.Template) }),
			UpdateWarnings: Typed2(func(d, old *appsv1.DaemonSet) []string {
				if templateGeneration(d) == templateGeneration(old) {
					return nil
				}
				return templateWarnings(&d.Spec.Template)
			}),
		},
		Status: &Rules{
			Unconditional: true, Reset: []string{"spec"},
			Update: Change2(func(d, old *appsv1.DaemonSet) {
				d.Spec = old.Spec
				setTemplateGeneration(d, templateGeneration(old))
			}),
			ValidateUpdate: Typed2(func(d, old *appsv1.DaemonSet) field.ErrorList {
				f, s, at := Findings{ValidateMetadataUpdate(d, old)}, d.Status, field.NewPath("status")
				f.counters(at, counter{"currentNumberScheduled", int64(s.CurrentNumberScheduled)}, counter{"numberMisscheduled", int64(s.NumberMisscheduled)},
					counter{"desiredNumberScheduled", int64(s.DesiredNumberScheduled)}, counter{"numberReady", int64(s.NumberReady)}, counter{"observedGeneration", s.ObservedGeneration},
					counter{"updatedNumberScheduled", int64(s.UpdatedNumberScheduled)}, counter{"numberAvailable", int64(s.NumberAvailable)}, counter{"numberUnavailable", int64(s.NumberUnavailable)})
				f.notNegativeIfSet(at.Child("collisionCount"), s.CollisionCount)
				f.collisions(s.CollisionCount, old.Status.CollisionCount)
				return f.List
			}),
		},
	}
}

func validateDaemonSet(d *appsv1.DaemonSet) field.ErrorList {
	var f Findings
	spec, at := &d.Spec, field.NewPath("spec")
	f.selector(at.Child("selector"), spec.Selector)
	f.selected(spec.Selector, &spec.Template, at, true)
	if spec.Selector != nil && len(spec.Selector.MatchLabels)+len(spec.Selector.MatchExpressions) == 0 {
		f.invalid(at.Child("selector"), spec.Selector, "empty selector is invalid for daemonset")
	}
	f.Add(validateTemplate(&spec.Template, at.Child("template"))...)
	f.alwaysRestarts("DaemonSet", &spec.Template.Spec, at.Child("template", "spec"))
	f.notNegative(at.Child("minReadySeconds"), int64(spec.MinReadySeconds))
	f.notNegative(at.Child("templateGeneration"), templateGeneration(d))
	strategy, here := spec.UpdateStrategy, at.Child("updateStrategy")
	switch strategy.Type {
	case appsv1.OnDeleteDaemonSetStrategyType:
	case appsv1.RollingUpdateDaemonSetStrategyType:
		unavailable, surge, here := *strategy.RollingUpdate.MaxUnavailable, *strategy.RollingUpdate.MaxSurge, here.Child("rollingUpdate")
		f.intOrPercent(here.Child("maxUnavailable"), unavailable)
		f.intOrPercent(here.Child("maxSurge"), surge)
		f.atMostAll(here.Child("maxUnavailable"), unavailable)
		f.atMostAll(here.Child("maxSurge"), surge)
		switch {
		case numberOf(unavailable) != 0 && numberOf(surge) != 0:
			f.invalid(here.Child("maxSurge"), surge, "may not be set when maxUnavailable is non-zero")
		case numberOf(unavailable) == 0 && numberOf(surge) == 0:
			f.Required(here.Child("maxUnavailable"), "cannot be 0 when maxSurge is 0")
		}
	default:
		if r := strategy.RollingUpdate; r != nil { // in the API server's own types, two numbers
			strategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: new(Deref(r.MaxUnavailable)), MaxSurge: new(Deref(r.MaxSurge))}
		}
		f.Add(field.NotSupported(here, strategy, []string{string(appsv1.RollingUpdateDaemonSetStrategyType), string(appsv1.OnDeleteDaemonSetStrategyType)}))
	}
	f.notNegativeIfSet(at.Child("revisionHistoryLimit"), spec.RevisionHistoryLimit)
	return f.List
}

// Controller revisions.

func controllerRevisions() Kind {
	check := func(r *appsv1.ControllerRevision) Findings {
		f := Findings{ValidateMetadata(&r.ObjectMeta, true, validation.NameIsDNSSubdomain)}
		f.notNegative(field.NewPath("revision"), r.Revision)
		return f
	}
	return Kind{
		GVK: appsV1.WithKind("ControllerRevision"), Resource: "controllerrevisions", Namespaced: true,
		Columns: []Column{
			Col("Controller", "string", "Controller of the object", func(r *appsv1.ControllerRevision) any {
				owner := metav1.GetControllerOf(r)
				if owner == nil {
					return "<none>"
				}
				gv, _ := schema.ParseGroupVersion(owner.APIVersion)
				return strings.ToLower(gv.WithKind(owner.Kind).GroupKind().String()) + "/" + owner.Name
			}),
			Col("Revision", "string", appsv1.ControllerRevision{}.SwaggerDoc()["revision"], func(r *appsv1.ControllerRevision) any { return r.Revision }),
			SinceColumn,
		},
		Rules: Rules{
			Unconditional: true,
			Validate: Typed1(func(r *appsv1.ControllerRevision) field.ErrorList {
				f, data, at := check(r), bytes.TrimSpace(r.Data.Raw), field.NewPath("data")
				var value any
				if len(data) == 0 {
					f.Required(at, "data is mandatory")
				} else if err := json.Unmarshal(data, &value); err != nil {
					f.invalid(at, "<value omitted>", "error parsing data: "+err.Error())
				} else if value == nil {
					f.Required(at, "data is mandatory")
				} else if _, ok := value.(map[string]any); !ok {
					f.Required(at, "data must be a valid JSON object")
				}
				return f.List
			}),
			ValidateUpdate: Typed2(func(r, old *appsv1.ControllerRevision) field.ErrorList {
				f := check(r)
				f.List = append(ValidateMetadataUpdate(r, old), f.List...)
				f.immutable(field.NewPath("data"), r.Data, old.Data)
				return f.List
			}),
		},
	}
}

// Templates, and what came before replica sets.

// PodTemplates are the kind of that name, which nothing but authors of other systems use.
func PodTemplates() Kind {
	return Kind{
		GVK: CoreV1.WithKind("PodTemplate"), Resource: "podtemplates", Namespaced: true, Returned: true,
		Columns: []Column{
			Col("Containers", "string", containersText, func(t *corev1.PodTemplate) any { return namesOf(t.Template.Spec.Containers) }),
			Col("Images", "string", imagesText, func(t *corev1.PodTemplate) any { return imagesOf(t.Template.Spec.Containers) }),
			Col("Pod Labels", "string", "The labels for the pod template.", func(t *corev1.PodTemplate) any { return labels.FormatLabels(t.Template.Labels) }),
		},
		Rules: Rules{
			Unconditional: true, Spec: Typed1(func(t *corev1.PodTemplate) any { return t.Template }),
			Validate: Typed1(func(t *corev1.PodTemplate) field.ErrorList {
				return append(ValidateMetadata(&t.ObjectMeta, true, validation.NameIsDNSSubdomain), validateTemplate(&t.Template, field.NewPath("template"))...)
			}),
			ValidateUpdate: Typed2(func(t, old *corev1.PodTemplate) field.ErrorList {
				return append(ValidateMetadataUpdate(t, old), validateTemplate(&t.Template, field.NewPath("template"))...)
			}),
			Warnings: Typed1(func(t *corev1.PodTemplate) []string {
				return podWarnings(&t.Template.ObjectMeta, &t.Template.Spec, field.NewPath("template"))
			}),
		},
	}
}

// ReplicationControllers are what ReplicaSets were before.
func ReplicationControllers() Kind {
	type controller = corev1.ReplicationController
	doc := corev1.ReplicationControllerStatus{}.SwaggerDoc()
	template := func(c *controller) *corev1.PodTemplateSpec {
		if c.Spec.Template == nil {
			return &corev1.PodTemplateSpec{}
		}
		return c.Spec.Template
	}
	check := func(c *controller) field.ErrorList {
		var f Findings
		at := field.NewPath("spec")
		f.notNegative(at.Child("minReadySeconds"), int64(c.Spec.MinReadySeconds))
		if len(c.Spec.Selector) == 0 {
			f.Required(at.Child("selector"), "")
		}
		f.notNegative(at.Child("replicas"), int64(Deref(c.Spec.Replicas)))
		if c.Spec.Template == nil {
			f.Required(at.Child("template"), "")
			return f.List
		}
		if selector := labels.SelectorFromSet(c.Spec.Selector); !selector.Empty() && !selector.Matches(labels.Set(c.Spec.Template.Labels)) {
			f.invalid(at.Child("template", "metadata", "labels"), c.Spec.Template.Labels, "`selector` does not match template `labels`")
		}
		f.Add(validateTemplate(c.Spec.Template, at.Child("template"))...)
		f.alwaysRestarts("ReplicationController", &c.Spec.Template.Spec, at.Child("template", "spec"))
		return f.List
	}
	return Kind{
		GVK: CoreV1.WithKind("ReplicationController"), Resource: "replicationcontrollers", Short: []string{"rc"}, Categories: []string{"all"}, Namespaced: true, Policy: rest.OrphanDependents,
		Columns: append(append([]Column{
			Col("Desired", "integer", corev1.ReplicationControllerSpec{}.SwaggerDoc()["replicas"], func(c *controller) any { return int64(Deref(c.Spec.Replicas)) }),
			Col("Current", "integer", doc["replicas"], func(c *controller) any { return int64(c.Status.Replicas) }),
			Col("Ready", "integer", doc["readyReplicas"], func(c *controller) any { return int64(c.Status.ReadyReplicas) }),
			SinceColumn,
		}, containerColumns(template)...),
			Col("Selector", "string wide", corev1.ReplicationControllerSpec{}.SwaggerDoc()["selector"], func(c *controller) any { return labels.FormatLabels(c.Spec.Selector) })),
		Scale: func(object runtime.Object) Scaled {
			c := object.(*controller)
			return Scaled{c.Spec.Replicas, c.Status.Replicas, labels.Set(c.Spec.Selector).AsSelector().String()}
		},
		Selectable: []string{"status.replicas"},
		Fields: func(object runtime.Object, set fields.Set) {
			set["status.replicas"] = fmt.Sprint(object.(*controller).Status.Replicas)
		},
		Rules: Rules{
			Unconditional: true, Reset: []string{"status"}, Spec: Typed1(func(c *controller) any { return c.Spec }),
			Create: Change1(func(c *controller) { c.Status = corev1.ReplicationControllerStatus{} }),
			Update: Change2(func(c, old *controller) { c.Status = old.Status }),
			Validate: Typed1(func(c *controller) field.ErrorList {
				metadata := ValidateMetadata(&c.ObjectMeta, true, nameInBytes)
				metadata = slices.DeleteFunc(metadata, func(problem *field.Error) bool { return problem.Field == "metadata.generateName" }) // the name it gives says it
				return append(metadata, check(c)...)
			}),
			ValidateUpdate: Typed2(func(c, old *controller) field.ErrorList { return append(ValidateMetadataUpdate(c, old), check(c)...) }),
			Warnings: Typed1(func(c *controller) []string {
				return append(dnsLabelWarning(c.Name, "Pod names and hostnames"), templateWarnings(template(c))...)
			}),
			UpdateWarnings: Typed2(func(c, old *controller) []string {
				if c.Generation == old.Generation {
					return nil
				}
				return templateWarnings(template(c))
			}),
		},
		Status: &Rules{
			Unconditional: true, Reset: []string{"spec"},
			Update: Change2(func(c, old *controller) { c.Spec = old.Spec }),
			ValidateUpdate: Typed2(func(c, old *controller) field.ErrorList {
				f, s := Findings{ValidateMetadataUpdate(c, old)}, c.Status
				f.replicaStatus(s.Replicas, s.FullyLabeledReplicas, s.ReadyReplicas, s.AvailableReplicas, nil, s.ObservedGeneration)
				return f.List
			}),
		},
	}
}
