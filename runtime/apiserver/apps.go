package apiserver

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

// appsKinds are the kinds of apps.
func appsKinds() []kind {
	return []kind{controllerRevisions(), daemonSets(), deployments(), replicaSets(), statefulSets()}
}

func appsDefaults() []defaulter {
	return []defaulter{
		defaultsOf(func(deployment *appsv1.Deployment) {
			spec := &deployment.Spec
			setPointer(&spec.Replicas, 1)
			set(&spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
			if spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
				setPointer(&spec.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
				setPointer(&spec.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
				setPointer(&spec.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
			}
			setPointer(&spec.RevisionHistoryLimit, 10)
			setPointer(&spec.ProgressDeadlineSeconds, 600)
		}),
		defaultsOf(func(daemon *appsv1.DaemonSet) {
			setTemplateGeneration(daemon, templateGeneration(daemon))
			spec := &daemon.Spec
			set(&spec.UpdateStrategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
			if spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
				setPointer(&spec.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
				setPointer(&spec.UpdateStrategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
				setPointer(&spec.UpdateStrategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
			}
			setPointer(&spec.RevisionHistoryLimit, 10)
		}),
		defaultsOf(func(stateful *appsv1.StatefulSet) {
			spec := &stateful.Spec
			set(&spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
			if spec.UpdateStrategy.Type == "" {
				spec.UpdateStrategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
				setPointer(&spec.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
			}
			if rolling := spec.UpdateStrategy.RollingUpdate; rolling != nil && spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType {
				setPointer(&rolling.Partition, 0)
				setPointer(&rolling.MaxUnavailable, intstr.FromInt32(1))
			}
			for i := range spec.VolumeClaimTemplates {
				spec.VolumeClaimTemplates[i].TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}
			}
			setPointer(&spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
			set(&spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
			set(&spec.PersistentVolumeClaimRetentionPolicy.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
			setPointer(&spec.Replicas, 1)
			setPointer(&spec.RevisionHistoryLimit, 10)
		}),
		defaultsOf(func(replicas *appsv1.ReplicaSet) { setPointer(&replicas.Spec.Replicas, 1) }),
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

func containerColumns[T runtime.Object](template func(object T) *corev1.PodTemplateSpec) []column {
	return []column{
		col("Containers", "string wide", containersText, func(object T) any { return namesOf(template(object).Spec.Containers) }),
		col("Images", "string wide", imagesText, func(object T) any { return imagesOf(template(object).Spec.Containers) }),
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
func (f *findings) selecting(kind string, selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, at *field.Path) {
	f.selector(at.Child("selector"), selector)
	if selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		f.invalid(at.Child("selector"), selector, "empty selector is invalid for "+kind)
	}
}

func (f *findings) selected(selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, at *field.Path, evenEmpty bool) bool {
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
func (f *findings) alwaysRestarts(kind string, spec *corev1.PodSpec, at *field.Path) {
	oneOf(f, at.Child("restartPolicy"), spec.RestartPolicy, corev1.RestartPolicyAlways)
	if spec.ActiveDeadlineSeconds != nil {
		f.forbidden(at.Child("activeDeadlineSeconds"), "activeDeadlineSeconds in "+kind+" is not Supported")
	}
}

func (f *findings) counters(at *field.Path, counters ...counter) {
	for _, c := range counters {
		f.notNegative(at.Child(c.name), c.value)
	}
}

type counter struct {
	name  string
	value int64
}

// collisions checks a counter that only grows.
func (f *findings) collisions(now, was *int32) {
	if was != nil && deref(now) < *was {
		f.invalid(field.NewPath("status", "collisionCount"), deref(now), "cannot be decremented")
	}
}

// Deployments.

func deployments() kind {
	template := func(d *appsv1.Deployment) *corev1.PodTemplateSpec { return &d.Spec.Template }
	doc := appsv1.DeploymentStatus{}.SwaggerDoc()
	return kind{
		gvk: appsV1.WithKind("Deployment"), resource: "deployments", short: []string{"deploy"}, categories: []string{"all"}, namespaced: true,
		columns: append(append([]column{
			col("Ready", "string", "Number of the pod with ready state", func(d *appsv1.Deployment) any {
				return fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, deref(d.Spec.Replicas))
			}),
			col("Up-to-date", "string", doc["updatedReplicas"], func(d *appsv1.Deployment) any { return int64(d.Status.UpdatedReplicas) }),
			col("Available", "string", doc["availableReplicas"], func(d *appsv1.Deployment) any { return int64(d.Status.AvailableReplicas) }),
			sinceColumn,
		}, containerColumns(template)...),
			col("Selector", "string wide", appsv1.DeploymentSpec{}.SwaggerDoc()["selector"], func(d *appsv1.Deployment) any { return selectorText(d.Spec.Selector) })),
		scale: func(object runtime.Object) scaled {
			d := object.(*appsv1.Deployment)
			return scaled{d.Spec.Replicas, d.Status.Replicas, selectorText(d.Spec.Selector)}
		},
		rules: rules{
			unconditional: true, reset: []string{"status"},
			spec:   typed1(func(d *appsv1.Deployment) any { return []any{d.Spec, d.Annotations} }),
			create: change1(func(d *appsv1.Deployment) { d.Status = appsv1.DeploymentStatus{} }),
			update: change2(func(d, old *appsv1.Deployment) { d.Status = old.Status }),
			validate: typed1(func(d *appsv1.Deployment) field.ErrorList {
				return append(validateMetadata(&d.ObjectMeta, true, validation.NameIsDNSSubdomain), validateDeployment(&d.Spec)...)
			}),
			validateUpdate: typed2(func(d, old *appsv1.Deployment) field.ErrorList {
				f := findings{append(validateMetadataUpdate(d, old), validateDeployment(&d.Spec)...)}
				f.immutable(field.NewPath("spec", "selector"), d.Spec.Selector, old.Spec.Selector)
				return f.list
			}),
			warnings: typed1(func(d *appsv1.Deployment) []string {
				return append(dnsLabelWarning(d.Name, "Pod names and hostnames"), templateWarnings(&d.Spec.Template)...)
			}),
			updateWarnings: typed2(func(d, old *appsv1.Deployment) []string {
				if d.Generation == old.Generation {
					return nil
				}
				return templateWarnings(&d.Spec.Template)
			}),
		},
		status: &rules{
			unconditional: true, reset: []string{"spec", "metadata.labels"},
			update: change2(func(d, old *appsv1.Deployment) { d.Spec, d.Labels = old.Spec, old.Labels }),
			validateUpdate: typed2(func(d, old *appsv1.Deployment) field.ErrorList {
				f, s, at := findings{validateMetadataUpdate(d, old)}, d.Status, field.NewPath("status")
				f.counters(at, counter{"observedGeneration", s.ObservedGeneration}, counter{"replicas", int64(s.Replicas)}, counter{"updatedReplicas", int64(s.UpdatedReplicas)},
					counter{"readyReplicas", int64(s.ReadyReplicas)}, counter{"availableReplicas", int64(s.AvailableReplicas)}, counter{"unavailableReplicas", int64(s.UnavailableReplicas)})
				f.notNegativeIfSet(at.Child("terminatingReplicas"), s.TerminatingReplicas)
				f.notNegativeIfSet(at.Child("collisionCount"), s.CollisionCount)
				f.atMost(at, "updatedReplicas", s.UpdatedReplicas, s.Replicas, "status.replicas")
				f.atMost(at, "readyReplicas", s.ReadyReplicas, s.Replicas, "status.replicas")
				f.atMost(at, "availableReplicas", s.AvailableReplicas, s.Replicas, "status.replicas")
				f.atMost(at, "availableReplicas", s.AvailableReplicas, s.ReadyReplicas, "readyReplicas")
				f.collisions(s.CollisionCount, old.Status.CollisionCount)
				return f.list
			}),
		},
	}
}

func (f *findings) atMost(at *field.Path, name string, value, most int32, of string) {
	if value > most {
		f.invalid(at.Child(name), value, "cannot be greater than "+of)
	}
}

func templateWarnings(template *corev1.PodTemplateSpec) []string {
	return podWarnings(&template.ObjectMeta, &template.Spec, field.NewPath("spec", "template"))
}

func validateDeployment(spec *appsv1.DeploymentSpec) field.ErrorList {
	var f findings
	at := field.NewPath("spec")
	f.notNegative(at.Child("replicas"), int64(deref(spec.Replicas)))
	if spec.Selector == nil {
		f.required(at.Child("selector"), "")
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
		f.add(field.NotSupported(here, spec.Strategy, []string{string(appsv1.RecreateDeploymentStrategyType), string(appsv1.RollingUpdateDeploymentStrategyType)}))
	}
	f.notNegative(at.Child("minReadySeconds"), int64(spec.MinReadySeconds))
	f.notNegativeIfSet(at.Child("revisionHistoryLimit"), spec.RevisionHistoryLimit)
	if seconds := spec.ProgressDeadlineSeconds; seconds != nil {
		f.notNegative(at.Child("progressDeadlineSeconds"), int64(*seconds))
		if *seconds <= spec.MinReadySeconds {
			f.invalid(at.Child("progressDeadlineSeconds"), seconds, "must be greater than minReadySeconds")
		}
	}
	return f.list
}

// replicated checks the template of a kind whose pods are equal.
func (f *findings) replicated(message string, selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, at *field.Path) {
	if !f.selected(selector, template, at, false) {
		f.invalid(at.Child("selector"), selector, message)
		return
	}
	f.add(validateTemplate(template, at.Child("template"))...)
	f.alwaysRestarts("ReplicaSet", &template.Spec, at.Child("template", "spec"))
}

// Replica sets.

func replicaSets() kind {
	doc, template := appsv1.ReplicaSetStatus{}.SwaggerDoc(), func(r *appsv1.ReplicaSet) *corev1.PodTemplateSpec { return &r.Spec.Template }
	return kind{
		gvk: appsV1.WithKind("ReplicaSet"), resource: "replicasets", short: []string{"rs"}, categories: []string{"all"}, namespaced: true,
		columns: append(append([]column{
			col("Desired", "integer", appsv1.ReplicaSetSpec{}.SwaggerDoc()["replicas"], func(r *appsv1.ReplicaSet) any { return int64(deref(r.Spec.Replicas)) }),
			col("Current", "integer", doc["replicas"], func(r *appsv1.ReplicaSet) any { return int64(r.Status.Replicas) }),
			col("Ready", "integer", doc["readyReplicas"], func(r *appsv1.ReplicaSet) any { return int64(r.Status.ReadyReplicas) }),
			sinceColumn,
		}, containerColumns(template)...),
			col("Selector", "string wide", appsv1.ReplicaSetSpec{}.SwaggerDoc()["selector"], func(r *appsv1.ReplicaSet) any { return metav1.FormatLabelSelector(r.Spec.Selector) })),
		scale: func(object runtime.Object) scaled {
			r := object.(*appsv1.ReplicaSet)
			return scaled{r.Spec.Replicas, r.Status.Replicas, selectorText(r.Spec.Selector)}
		},
		rules: rules{
			unconditional: true, reset: []string{"status"}, spec: typed1(func(r *appsv1.ReplicaSet) any { return r.Spec }),
			create: change1(func(r *appsv1.ReplicaSet) { r.Status = appsv1.ReplicaSetStatus{} }),
			update: change2(func(r, old *appsv1.ReplicaSet) { r.Status = old.Status }),
			validate: typed1(func(r *appsv1.ReplicaSet) field.ErrorList {
				return append(validateMetadata(&r.ObjectMeta, true, validation.NameIsDNSSubdomain), validateReplicaSet(&r.Spec)...)
			}),
			validateUpdate: typed2(func(r, old *appsv1.ReplicaSet) field.ErrorList {
				f := findings{append(validateMetadataUpdate(r, old), validateReplicaSet(&r.Spec)...)}
				f.immutable(field.NewPath("spec", "selector"), r.Spec.Selector, old.Spec.Selector)
				return f.list
			}),
			warnings: typed1(func(r *appsv1.ReplicaSet) []string {
				return append(dnsLabelWarning(r.Name, "Pod names and hostnames"), templateWarnings(&r.Spec.Template)...)
			}),
			updateWarnings: typed2(func(r, old *appsv1.ReplicaSet) []string {
				if r.Generation == old.Generation {
					return nil
				}
				return templateWarnings(&r.Spec.Template)
			}),
		},
		status: &rules{
			unconditional: true, reset: []string{"spec"},
			update: change2(func(r, old *appsv1.ReplicaSet) { r.Spec = old.Spec }),
			validateUpdate: typed2(func(r, old *appsv1.ReplicaSet) field.ErrorList {
				f, s := findings{validateMetadataUpdate(r, old)}, r.Status
				f.replicaStatus(s.Replicas, s.FullyLabeledReplicas, s.ReadyReplicas, s.AvailableReplicas, s.TerminatingReplicas, s.ObservedGeneration)
				return f.list
			}),
		},
	}
}

func (f *findings) replicaStatus(replicas, labeled, ready, available int32, terminating *int32, generation int64) {
	at := field.NewPath("status")
	f.counters(at, counter{"replicas", int64(replicas)}, counter{"fullyLabeledReplicas", int64(labeled)}, counter{"readyReplicas", int64(ready)}, counter{"availableReplicas", int64(available)}, counter{"observedGeneration", generation})
	f.notNegativeIfSet(at.Child("terminatingReplicas"), terminating)
	f.atMost(at, "fullyLabeledReplicas", labeled, replicas, "status.replicas")
	f.atMost(at, "readyReplicas", ready, replicas, "status.replicas")
	f.atMost(at, "availableReplicas", available, replicas, "status.replicas")
	f.atMost(at, "availableReplicas", available, ready, "readyReplicas")
}

func validateReplicaSet(spec *appsv1.ReplicaSetSpec) field.ErrorList {
	var f findings
	at := field.NewPath("spec")
	f.notNegative(at.Child("replicas"), int64(deref(spec.Replicas)))
	f.notNegative(at.Child("minReadySeconds"), int64(spec.MinReadySeconds))
	if spec.Selector == nil {
		f.required(at.Child("selector"), "")
	} else {
		f.selecting("deployment", spec.Selector, &spec.Template, at)
	}
	f.replicated("invalid label selector", spec.Selector, &spec.Template, at)
	return f.list
}

// Stateful sets.

func statefulSets() kind {
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
	return kind{
		gvk: appsV1.WithKind("StatefulSet"), resource: "statefulsets", short: []string{"sts"}, categories: []string{"all"}, namespaced: true,
		columns: append([]column{
			col("Ready", "string", "Number of the pod with ready state", func(s *appsv1.StatefulSet) any {
				return fmt.Sprintf("%d/%d", s.Status.ReadyReplicas, deref(s.Spec.Replicas))
			}),
			sinceColumn,
		}, containerColumns(template)...),
		scale: func(object runtime.Object) scaled {
			s := object.(*appsv1.StatefulSet)
			return scaled{s.Spec.Replicas, s.Status.Replicas, selectorText(s.Spec.Selector)}
		},
		rules: rules{
			unconditional: true, reset: []string{"status"}, spec: typed1(func(s *appsv1.StatefulSet) any { return s.Spec }),
			create: change1(func(s *appsv1.StatefulSet) { s.Status = appsv1.StatefulSetStatus{} }),
			update: change2(func(s, old *appsv1.StatefulSet) { s.Status = old.Status }),
			validate: typed1(func(s *appsv1.StatefulSet) field.ErrorList {
				return append(validateMetadata(&s.ObjectMeta, true, validation.NameIsDNSLabel), validateStatefulSet(&s.Spec, false)...)
			}),
			validateUpdate: typed2(func(s, old *appsv1.StatefulSet) field.ErrorList {
				f, at := findings{append(validateMetadataUpdate(s, old), validateStatefulSet(&s.Spec, true)...)}, field.NewPath("spec")
				f.immutable(at.Child("selector"), s.Spec.Selector, old.Spec.Selector)
				f.immutable(at.Child("volumeClaimTemplates"), s.Spec.VolumeClaimTemplates, old.Spec.VolumeClaimTemplates)
				f.immutable(at.Child("serviceName"), s.Spec.ServiceName, old.Spec.ServiceName)
				f.immutable(at.Child("podManagementPolicy"), s.Spec.PodManagementPolicy, old.Spec.PodManagementPolicy)
				return f.list
			}),
			warnings: typed1(func(s *appsv1.StatefulSet) []string {
				return append(templateWarnings(&s.Spec.Template), warnings(s)...)
			}),
			updateWarnings: typed2(func(s, old *appsv1.StatefulSet) []string {
				if s.Generation == old.Generation {
					return warnings(s, "Spec")
				}
				return append(templateWarnings(&s.Spec.Template), warnings(s, "Spec")...)
			}),
		},
		status: &rules{
			unconditional: true, reset: []string{"spec"},
			update: change2(func(s, old *appsv1.StatefulSet) { s.Spec = old.Spec }),
			validateUpdate: typed2(func(object, old *appsv1.StatefulSet) field.ErrorList {
				f, s, at := findings{}, object.Status, field.NewPath("status")
				f.counters(at, counter{"replicas", int64(s.Replicas)}, counter{"readyReplicas", int64(s.ReadyReplicas)}, counter{"currentReplicas", int64(s.CurrentReplicas)},
					counter{"updatedReplicas", int64(s.UpdatedReplicas)}, counter{"availableReplicas", int64(s.AvailableReplicas)}, counter{"observedGeneration", s.ObservedGeneration})
				f.notNegativeIfSet(at.Child("collisionCount"), s.CollisionCount)
				f.atMost(at, "readyReplicas", s.ReadyReplicas, s.Replicas, "status.replicas")
				f.atMost(at, "currentReplicas", s.CurrentReplicas, s.Replicas, "status.replicas")
				f.atMost(at, "updatedReplicas", s.UpdatedReplicas, s.Replicas, "status.replicas")
				f.atMost(at, "availableReplicas", s.AvailableReplicas, s.Replicas, "status.replicas")
				f.atMost(at, "availableReplicas", s.AvailableReplicas, s.ReadyReplicas, "status.readyReplicas")
				f.add(validateMetadataUpdate(object, old)...)
				f.collisions(s.CollisionCount, old.Status.CollisionCount)
				return f.list
			}),
		},
	}
}

func validateStatefulSet(spec *appsv1.StatefulSetSpec, existing bool) field.ErrorList {
	var f findings
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
			f.notNegative(here.Child("partition"), int64(deref(strategy.RollingUpdate.Partition)))
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
	f.notNegative(at.Child("replicas"), int64(deref(spec.Replicas)))
	f.notNegative(at.Child("minReadySeconds"), int64(spec.MinReadySeconds))
	if spec.Ordinals != nil {
		f.notNegative(at.Child("ordinals.start"), int64(spec.Ordinals.Start))
	}
	if spec.Selector == nil {
		f.required(at.Child("selector"), "")
	} else {
		f.selecting("statefulset", spec.Selector, &spec.Template, at)
	}
	if f.selected(spec.Selector, &spec.Template, at, false) {
		f.add(validateTemplate(statefulTemplate(spec), at.Child("template"))...)
	} else {
		f.invalid(at.Child("selector"), spec.Selector, "")
	}
	f.alwaysRestarts("StatefulSet", &spec.Template.Spec, at.Child("template", "spec"))
	return f.list
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

func daemonSets() kind {
	doc, template := appsv1.DaemonSetStatus{}.SwaggerDoc(), func(d *appsv1.DaemonSet) *corev1.PodTemplateSpec { return &d.Spec.Template }
	number := func(name, field string, value func(s appsv1.DaemonSetStatus) int32) column {
		return col(name, "integer", doc[field], func(d *appsv1.DaemonSet) any { return int64(value(d.Status)) })
	}
	return kind{
		gvk: appsV1.WithKind("DaemonSet"), resource: "daemonsets", unshown: appsv1.DeprecatedTemplateGeneration, short: []string{"ds"}, categories: []string{"all"}, namespaced: true,
		columns: append(append([]column{
			number("Desired", "desiredNumberScheduled", func(s appsv1.DaemonSetStatus) int32 { return s.DesiredNumberScheduled }),
			number("Current", "currentNumberScheduled", func(s appsv1.DaemonSetStatus) int32 { return s.CurrentNumberScheduled }),
			number("Ready", "numberReady", func(s appsv1.DaemonSetStatus) int32 { return s.NumberReady }),
			number("Up-to-date", "updatedNumberScheduled", func(s appsv1.DaemonSetStatus) int32 { return s.UpdatedNumberScheduled }),
			number("Available", "numberAvailable", func(s appsv1.DaemonSetStatus) int32 { return s.NumberAvailable }),
			col("Node Selector", "string", corev1.PodSpec{}.SwaggerDoc()["nodeSelector"], func(d *appsv1.DaemonSet) any { return labels.FormatLabels(d.Spec.Template.Spec.NodeSelector) }),
			sinceColumn,
		}, containerColumns(template)...),
			col("Selector", "string wide", appsv1.DaemonSetSpec{}.SwaggerDoc()["selector"], func(d *appsv1.DaemonSet) any { return metav1.FormatLabelSelector(d.Spec.Selector) })),
		rules: rules{
			unconditional: true, reset: []string{"status"}, spec: typed1(func(d *appsv1.DaemonSet) any { return []any{d.Spec, templateGeneration(d)} }),
			create: change1(func(d *appsv1.DaemonSet) {
				d.Status = appsv1.DaemonSetStatus{}
				setTemplateGeneration(d, max(1, templateGeneration(d)))
			}),
			update: change2(func(d, old *appsv1.DaemonSet) {
				d.Status = old.Status
				generation := templateGeneration(old)
				if !equality.Semantic.DeepEqual(d.Spec.Template, old.Spec.Template) {
					generation++
				}
				setTemplateGeneration(d, generation)
			}),
			validate: typed1(func(d *appsv1.DaemonSet) field.ErrorList {
				return append(validateMetadata(&d.ObjectMeta, true, validation.NameIsDNSSubdomain), validateDaemonSet(d)...)
			}),
			validateUpdate: typed2(func(d, old *appsv1.DaemonSet) field.ErrorList {
				f := findings{validateMetadataUpdate(d, old)}
				f.immutable(field.NewPath("spec", "selector"), d.Spec.Selector, old.Spec.Selector)
				f.add(validateDaemonSet(d)...)
				return f.list
			}),
			warnings: typed1(func(d *appsv1.DaemonSet) []string { return templateWarnings(&d.Spec.Template) }),
			updateWarnings: typed2(func(d, old *appsv1.DaemonSet) []string {
				if templateGeneration(d) == templateGeneration(old) {
					return nil
				}
				return templateWarnings(&d.Spec.Template)
			}),
		},
		status: &rules{
			unconditional: true, reset: []string{"spec"},
			update: change2(func(d, old *appsv1.DaemonSet) {
				d.Spec = old.Spec
				setTemplateGeneration(d, templateGeneration(old))
			}),
			validateUpdate: typed2(func(d, old *appsv1.DaemonSet) field.ErrorList {
				f, s, at := findings{validateMetadataUpdate(d, old)}, d.Status, field.NewPath("status")
				f.counters(at, counter{"currentNumberScheduled", int64(s.CurrentNumberScheduled)}, counter{"numberMisscheduled", int64(s.NumberMisscheduled)},
					counter{"desiredNumberScheduled", int64(s.DesiredNumberScheduled)}, counter{"numberReady", int64(s.NumberReady)}, counter{"observedGeneration", s.ObservedGeneration},
					counter{"updatedNumberScheduled", int64(s.UpdatedNumberScheduled)}, counter{"numberAvailable", int64(s.NumberAvailable)}, counter{"numberUnavailable", int64(s.NumberUnavailable)})
				f.notNegativeIfSet(at.Child("collisionCount"), s.CollisionCount)
				f.collisions(s.CollisionCount, old.Status.CollisionCount)
				return f.list
			}),
		},
	}
}

func validateDaemonSet(d *appsv1.DaemonSet) field.ErrorList {
	var f findings
	spec, at := &d.Spec, field.NewPath("spec")
	f.selector(at.Child("selector"), spec.Selector)
	f.selected(spec.Selector, &spec.Template, at, true)
	if spec.Selector != nil && len(spec.Selector.MatchLabels)+len(spec.Selector.MatchExpressions) == 0 {
		f.invalid(at.Child("selector"), spec.Selector, "empty selector is invalid for daemonset")
	}
	f.add(validateTemplate(&spec.Template, at.Child("template"))...)
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
			f.required(here.Child("maxUnavailable"), "cannot be 0 when maxSurge is 0")
		}
	default:
		if r := strategy.RollingUpdate; r != nil { // in the API server's own types, two numbers
			strategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: new(deref(r.MaxUnavailable)), MaxSurge: new(deref(r.MaxSurge))}
		}
		f.add(field.NotSupported(here, strategy, []string{string(appsv1.RollingUpdateDaemonSetStrategyType), string(appsv1.OnDeleteDaemonSetStrategyType)}))
	}
	f.notNegativeIfSet(at.Child("revisionHistoryLimit"), spec.RevisionHistoryLimit)
	return f.list
}

// Controller revisions.

func controllerRevisions() kind {
	check := func(r *appsv1.ControllerRevision) findings {
		f := findings{validateMetadata(&r.ObjectMeta, true, validation.NameIsDNSSubdomain)}
		f.notNegative(field.NewPath("revision"), r.Revision)
		return f
	}
	return kind{
		gvk: appsV1.WithKind("ControllerRevision"), resource: "controllerrevisions", namespaced: true,
		columns: []column{
			col("Controller", "string", "Controller of the object", func(r *appsv1.ControllerRevision) any {
				owner := metav1.GetControllerOf(r)
				if owner == nil {
					return "<none>"
				}
				gv, _ := schema.ParseGroupVersion(owner.APIVersion)
				return strings.ToLower(gv.WithKind(owner.Kind).GroupKind().String()) + "/" + owner.Name
			}),
			col("Revision", "string", appsv1.ControllerRevision{}.SwaggerDoc()["revision"], func(r *appsv1.ControllerRevision) any { return r.Revision }),
			sinceColumn,
		},
		rules: rules{
			unconditional: true,
			validate: typed1(func(r *appsv1.ControllerRevision) field.ErrorList {
				f, data, at := check(r), bytes.TrimSpace(r.Data.Raw), field.NewPath("data")
				var value any
				if len(data) == 0 {
					f.required(at, "data is mandatory")
				} else if err := json.Unmarshal(data, &value); err != nil {
					f.invalid(at, "<value omitted>", "error parsing data: "+err.Error())
				} else if value == nil {
					f.required(at, "data is mandatory")
				} else if _, ok := value.(map[string]any); !ok {
					f.required(at, "data must be a valid JSON object")
				}
				return f.list
			}),
			validateUpdate: typed2(func(r, old *appsv1.ControllerRevision) field.ErrorList {
				f := check(r)
				f.list = append(validateMetadataUpdate(r, old), f.list...)
				f.immutable(field.NewPath("data"), r.Data, old.Data)
				return f.list
			}),
		},
	}
}

// Templates, and what came before replica sets.

func podTemplates() kind {
	return kind{
		gvk: coreV1.WithKind("PodTemplate"), resource: "podtemplates", namespaced: true, returned: true,
		columns: []column{
			col("Containers", "string", containersText, func(t *corev1.PodTemplate) any { return namesOf(t.Template.Spec.Containers) }),
			col("Images", "string", imagesText, func(t *corev1.PodTemplate) any { return imagesOf(t.Template.Spec.Containers) }),
			col("Pod Labels", "string", "The labels for the pod template.", func(t *corev1.PodTemplate) any { return labels.FormatLabels(t.Template.Labels) }),
		},
		rules: rules{
			unconditional: true, spec: typed1(func(t *corev1.PodTemplate) any { return t.Template }),
			validate: typed1(func(t *corev1.PodTemplate) field.ErrorList {
				return append(validateMetadata(&t.ObjectMeta, true, validation.NameIsDNSSubdomain), validateTemplate(&t.Template, field.NewPath("template"))...)
			}),
			validateUpdate: typed2(func(t, old *corev1.PodTemplate) field.ErrorList {
				return append(validateMetadataUpdate(t, old), validateTemplate(&t.Template, field.NewPath("template"))...)
			}),
			warnings: typed1(func(t *corev1.PodTemplate) []string {
				return podWarnings(&t.Template.ObjectMeta, &t.Template.Spec, field.NewPath("template"))
			}),
		},
	}
}

func replicationControllers() kind {
	type controller = corev1.ReplicationController
	doc := corev1.ReplicationControllerStatus{}.SwaggerDoc()
	template := func(c *controller) *corev1.PodTemplateSpec {
		if c.Spec.Template == nil {
			return &corev1.PodTemplateSpec{}
		}
		return c.Spec.Template
	}
	check := func(c *controller) field.ErrorList {
		var f findings
		at := field.NewPath("spec")
		f.notNegative(at.Child("minReadySeconds"), int64(c.Spec.MinReadySeconds))
		if len(c.Spec.Selector) == 0 {
			f.required(at.Child("selector"), "")
		}
		f.notNegative(at.Child("replicas"), int64(deref(c.Spec.Replicas)))
		if c.Spec.Template == nil {
			f.required(at.Child("template"), "")
			return f.list
		}
		if selector := labels.SelectorFromSet(c.Spec.Selector); !selector.Empty() && !selector.Matches(labels.Set(c.Spec.Template.Labels)) {
			f.invalid(at.Child("template", "metadata", "labels"), c.Spec.Template.Labels, "`selector` does not match template `labels`")
		}
		f.add(validateTemplate(c.Spec.Template, at.Child("template"))...)
		f.alwaysRestarts("ReplicationController", &c.Spec.Template.Spec, at.Child("template", "spec"))
		return f.list
	}
	return kind{
		gvk: coreV1.WithKind("ReplicationController"), resource: "replicationcontrollers", short: []string{"rc"}, categories: []string{"all"}, namespaced: true, policy: rest.OrphanDependents,
		columns: append(append([]column{
			col("Desired", "integer", corev1.ReplicationControllerSpec{}.SwaggerDoc()["replicas"], func(c *controller) any { return int64(deref(c.Spec.Replicas)) }),
			col("Current", "integer", doc["replicas"], func(c *controller) any { return int64(c.Status.Replicas) }),
			col("Ready", "integer", doc["readyReplicas"], func(c *controller) any { return int64(c.Status.ReadyReplicas) }),
			sinceColumn,
		}, containerColumns(template)...),
			col("Selector", "string wide", corev1.ReplicationControllerSpec{}.SwaggerDoc()["selector"], func(c *controller) any { return labels.FormatLabels(c.Spec.Selector) })),
		scale: func(object runtime.Object) scaled {
			c := object.(*controller)
			return scaled{c.Spec.Replicas, c.Status.Replicas, labels.Set(c.Spec.Selector).AsSelector().String()}
		},
		selectable: []string{"status.replicas"},
		fields: func(object runtime.Object, set fields.Set) {
			set["status.replicas"] = fmt.Sprint(object.(*controller).Status.Replicas)
		},
		rules: rules{
			unconditional: true, reset: []string{"status"}, spec: typed1(func(c *controller) any { return c.Spec }),
			create: change1(func(c *controller) { c.Status = corev1.ReplicationControllerStatus{} }),
			update: change2(func(c, old *controller) { c.Status = old.Status }),
			validate: typed1(func(c *controller) field.ErrorList {
				metadata := validateMetadata(&c.ObjectMeta, true, nameInBytes)
				metadata = slices.DeleteFunc(metadata, func(problem *field.Error) bool { return problem.Field == "metadata.generateName" }) // the name it gives says it
				return append(metadata, check(c)...)
			}),
			validateUpdate: typed2(func(c, old *controller) field.ErrorList { return append(validateMetadataUpdate(c, old), check(c)...) }),
			warnings: typed1(func(c *controller) []string {
				return append(dnsLabelWarning(c.Name, "Pod names and hostnames"), templateWarnings(template(c))...)
			}),
			updateWarnings: typed2(func(c, old *controller) []string {
				if c.Generation == old.Generation {
					return nil
				}
				return templateWarnings(template(c))
			}),
		},
		status: &rules{
			unconditional: true, reset: []string{"spec"},
			update: change2(func(c, old *controller) { c.Spec = old.Spec }),
			validateUpdate: typed2(func(c, old *controller) field.ErrorList {
				f, s := findings{validateMetadataUpdate(c, old)}, c.Status
				f.replicaStatus(s.Replicas, s.FullyLabeledReplicas, s.ReadyReplicas, s.AvailableReplicas, nil, s.ObservedGeneration)
				return f.list
			}),
		},
	}
}
