package builtin

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

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
