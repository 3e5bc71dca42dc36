package builtin

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
)

// replicated checks the template of a kind whose pods are equal.
func (f *Findings) replicated(message string, selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, at *field.Path) {
	if !f.selected(selector, template, at, false) {
		f.invalid(at.Child("selector"), selector, message)
		return
	}
	f.Add(validateTemplate(template, at.Child("template"))...)
	f.alwaysRestarts("ReplicaSet", &template.Spec, at.Child("template", "spec"))
}

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

// nameInBytes is validation.NameIsDNSSubdomain in the words of kinds whose checks are generated.
func nameInBytes(name string, prefix bool) []string {
	messages := validation.NameIsDNSSubdomain(name, prefix)
	for i := range messages {
		messages[i] = strings.Replace(messages[i], "more than 253 characters", "more than 253 bytes", 1)
	}
	return messages
}
