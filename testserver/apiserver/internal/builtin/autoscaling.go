package builtin

import (
	"fmt"
	"slices"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

type autoscaler = autoscalingv2.HorizontalPodAutoscaler

// AutoscalingKinds is one kind in two versions, of which the newer one is stored.
func AutoscalingKinds() []Kind {
	stored := autoscalers()
	older := Kind{
		GVK: autoscalingv1.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), Resource: stored.Resource, Short: stored.Short, Categories: stored.Categories,
		Namespaced: true, Of: &stored, Hub: autoscalingv2.SchemeGroupVersion,
	}
	return []Kind{older, stored}
}

func cpuMetric(utilization int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
		Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &utilization},
	}}
}

func autoscalingDefaults() []Defaulter {
	rules := func(given *autoscalingv2.HPAScalingRules, window *int32, policies ...autoscalingv2.HPAScalingPolicy) *autoscalingv2.HPAScalingRules {
		most := autoscalingv2.MaxChangePolicySelect
		full := &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: window, SelectPolicy: &most, Policies: policies}
		if given == nil {
			return full
		}
		if given.SelectPolicy != nil {
			full.SelectPolicy = given.SelectPolicy
		}
		if given.StabilizationWindowSeconds != nil {
			full.StabilizationWindowSeconds = given.StabilizationWindowSeconds
		}
		if given.Policies != nil {
			full.Policies = given.Policies
		}
		full.Tolerance = given.Tolerance
		return full
	}
	return []Defaulter{
		DefaultsOf(func(a *autoscalingv1.HorizontalPodAutoscaler) { SetPointer(&a.Spec.MinReplicas, 1) }),
		DefaultsOf(func(a *autoscaler) {
			SetPointer(&a.Spec.MinReplicas, 1)
			if len(a.Spec.Metrics) == 0 {
				a.Spec.Metrics = []autoscalingv2.MetricSpec{cpuMetric(80)}
			}
			if behavior := a.Spec.Behavior; behavior != nil {
				share := autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15}
				behavior.ScaleUp = rules(behavior.ScaleUp, new(int32), autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: 15}, share)
				behavior.ScaleDown = rules(behavior.ScaleDown, nil, share)
			}
		}),
	}
}

func autoscalers() Kind {
	spec, status := autoscalingv2.HorizontalPodAutoscalerSpec{}.SwaggerDoc(), autoscalingv2.HorizontalPodAutoscalerStatus{}.SwaggerDoc()
	return Kind{
		GVK: autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), Resource: "horizontalpodautoscalers", Short: []string{"hpa"}, Categories: []string{"all"}, Namespaced: true,
		Columns: []Column{
			Col("Reference", "string", spec["scaleTargetRef"], func(a *autoscaler) any { return a.Spec.ScaleTargetRef.Kind + "/" + a.Spec.ScaleTargetRef.Name }),
			Col("Targets", "string", spec["metrics"], func(a *autoscaler) any { return targetsText(a) }),
			Col("MinPods", "string", spec["minReplicas"], func(a *autoscaler) any {
				if a.Spec.MinReplicas == nil {
					return "<unset>"
				}
				return fmt.Sprint(*a.Spec.MinReplicas)
			}),
			Col("MaxPods", "string", spec["maxReplicas"], func(a *autoscaler) any { return int64(a.Spec.MaxReplicas) }),
			Col("Replicas", "string", status["currentReplicas"], func(a *autoscaler) any { return int64(a.Status.CurrentReplicas) }),
			SinceColumn,
		},
		Rules: Rules{
			Unconditional: true, Reset: []string{"status"}, Spec: Typed1(func(a *autoscaler) any { return a.Spec }),
			Create: Change1(func(a *autoscaler) { a.Status = autoscalingv2.HorizontalPodAutoscalerStatus{} }),
			Update: Change2(func(a, old *autoscaler) { a.Status = old.Status }),
			Validate: Typed1(func(a *autoscaler) field.ErrorList {
				return append(ValidateMetadata(&a.ObjectMeta, true, validation.NameIsDNSSubdomain), validateAutoscaler(&a.Spec)...)
			}),
			ValidateUpdate: Typed2(func(a, old *autoscaler) field.ErrorList {
				return append(ValidateMetadataUpdate(a, old), validateAutoscaler(&a.Spec)...)
			}),
		},
		Status: &Rules{
			Unconditional: true, Reset: []string{"spec"},
			Update: Change2(func(a, old *autoscaler) { a.Spec = old.Spec }),
			ValidateUpdate: Typed2(func(a, old *autoscaler) field.ErrorList {
				f, at := Findings{ValidateMetadataUpdate(a, old)}, field.NewPath("status")
				for i, condition := range a.Status.Conditions {
					if condition.ObservedGeneration != nil {
						f.notNegative(at.Child("conditions").Index(i).Child("observedGeneration"), *condition.ObservedGeneration)
					}
				}
				f.notNegative(at.Child("currentReplicas"), int64(a.Status.CurrentReplicas))
				f.notNegative(at.Child("desiredReplicas"), int64(a.Status.DesiredReplicas))
				return f.List
			}),
		},
	}
}

// targetsText is what a table says of the metrics and of what they are now.
func targetsText(a *autoscaler) string {
	var list []string
	current := func(value *resource.Quantity) string {
		if value == nil {
			return "<unknown>"
		}
		return value.String()
	}
	of := func(target autoscalingv2.MetricTarget, now *autoscalingv2.MetricValueStatus) string {
		if now == nil {
			now = &autoscalingv2.MetricValueStatus{}
		}
		if target.AverageValue != nil {
			return fmt.Sprintf("%s/%s (avg)", current(now.AverageValue), target.AverageValue.String())
		}
		return fmt.Sprintf("%s/%s", current(now.Value), target.Value.String())
	}
	resources := func(name corev1.ResourceName, target autoscalingv2.MetricTarget, now *autoscalingv2.MetricValueStatus) string {
		if now == nil {
			now = &autoscalingv2.MetricValueStatus{}
		}
		if target.AverageValue != nil {
			return fmt.Sprintf("%s: %s/%s", name, current(now.AverageValue), target.AverageValue.String())
		}
		have, want := "<unknown>", "<auto>"
		if now.AverageUtilization != nil {
			have = fmt.Sprintf("%d%%", *now.AverageUtilization)
		}
		if target.AverageUtilization != nil {
			want = fmt.Sprintf("%d%%", *target.AverageUtilization)
		}
		return fmt.Sprintf("%s: %s/%s", name, have, want)
	}
	for i, metric := range a.Spec.Metrics {
		var now autoscalingv2.MetricStatus
		if i < len(a.Status.CurrentMetrics) {
			now = a.Status.CurrentMetrics[i]
		}
		switch metric.Type {
		case autoscalingv2.ResourceMetricSourceType:
			var value *autoscalingv2.MetricValueStatus
			if now.Resource != nil {
				value = &now.Resource.Current
			}
			list = append(list, resources(metric.Resource.Name, metric.Resource.Target, value))
		case autoscalingv2.ContainerResourceMetricSourceType:
			list = append(list, resources(metric.ContainerResource.Name, metric.ContainerResource.Target, nil))
		case autoscalingv2.PodsMetricSourceType:
			list = append(list, strings.TrimSuffix(of(metric.Pods.Target, nil), " (avg)"))
		case autoscalingv2.ObjectMetricSourceType:
			list = append(list, of(metric.Object.Target, nil))
		case autoscalingv2.ExternalMetricSourceType:
			list = append(list, of(metric.External.Target, nil))
		}
	}
	switch {
	case len(list) == 0:
		return "<none>"
	case len(list) > 2:
		return fmt.Sprintf("%s + %d more...", strings.Join(list[:2], ", "), len(list)-2)
	}
	return strings.Join(list, ", ")
}

func (f *Findings) scaleTarget(reference autoscalingv2.CrossVersionObjectReference, at *field.Path, groupless bool) {
	for _, part := range []struct{ name, value string }{{"kind", reference.Kind}, {"name", reference.Name}} {
		if part.value == "" {
			f.Required(at.Child(part.name), "")
			continue
		}
		f.invalid(at.Child(part.name), part.value, content.IsPathSegmentName(part.value)...)
	}
	gv, err := schema.ParseGroupVersion(reference.APIVersion)
	if err != nil {
		f.invalid(at.Child("apiVersion"), reference.APIVersion, err.Error())
	} else if gv.Group == "" && !groupless {
		f.invalid(at.Child("apiVersion"), reference.APIVersion, "apiVersion must specify API group")
	}
}

func validateAutoscaler(spec *autoscalingv2.HorizontalPodAutoscalerSpec) field.ErrorList {
	var f Findings
	at := field.NewPath("spec")
	if spec.MinReplicas != nil && *spec.MinReplicas < 0 {
		f.invalid(at.Child("minReplicas"), *spec.MinReplicas, "must be greater than or equal to 0")
	}
	switch {
	case spec.MaxReplicas == 0:
		f.Required(at.Child("maxReplicas"), "")
	case spec.MaxReplicas < 0:
		f.invalid(at.Child("maxReplicas"), spec.MaxReplicas, "must be greater than or equal to 1")
	}
	if spec.MinReplicas != nil && spec.MaxReplicas < *spec.MinReplicas {
		f.invalid(at.Child("maxReplicas"), spec.MaxReplicas, "must be greater than or equal to `minReplicas`")
	}
	f.scaleTarget(spec.ScaleTargetRef, at.Child("scaleTargetRef"), false)
	outside := false
	for i, metric := range spec.Metrics {
		f.metric(metric, at.Child("metrics").Index(i))
		outside = outside || metric.Type == autoscalingv2.ObjectMetricSourceType || metric.Type == autoscalingv2.ExternalMetricSourceType
	}
	if spec.MinReplicas != nil && *spec.MinReplicas == 0 && !outside {
		f.forbidden(at.Child("metrics"), "must specify at least one Object or External metric to support scaling to zero replicas")
	}
	if spec.Behavior != nil {
		f.scaling(spec.Behavior.ScaleUp, at.Child("behavior", "scaleUp"))
		f.scaling(spec.Behavior.ScaleDown, at.Child("behavior", "scaleDown"))
	}
	return f.List
}

func (f *Findings) scaling(rules *autoscalingv2.HPAScalingRules, at *field.Path) {
	if rules == nil {
		return
	}
	if window := rules.StabilizationWindowSeconds; window != nil && *window < 0 {
		f.invalid(at.Child("stabilizationWindowSeconds"), window, "must be greater than or equal to zero")
	} else if window != nil && *window > 3600 {
		f.invalid(at.Child("stabilizationWindowSeconds"), window, "must be less than or equal to 3600")
	}
	if rules.SelectPolicy != nil {
		oneOf(f, at.Child("selectPolicy"), *rules.SelectPolicy, autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect, autoscalingv2.DisabledPolicySelect)
	}
	if len(rules.Policies) == 0 {
		f.Required(at.Child("policies"), "must specify at least one Policy")
	}
	for i, policy := range rules.Policies {
		here := at.Child("policies").Index(i)
		oneOf(f, here.Child("type"), policy.Type, autoscalingv2.PodsScalingPolicy, autoscalingv2.PercentScalingPolicy)
		if policy.Value <= 0 {
			f.invalid(here.Child("value"), policy.Value, "must be greater than zero")
		}
		if policy.PeriodSeconds <= 0 {
			f.invalid(here.Child("periodSeconds"), policy.PeriodSeconds, "must be greater than zero")
		} else if policy.PeriodSeconds > 1800 {
			f.invalid(here.Child("periodSeconds"), policy.PeriodSeconds, "must be less than or equal to 1800")
		}
	}
	if rules.Tolerance != nil {
		f.notNegativeQuantity(at.Child("tolerance"), *rules.Tolerance)
	}
}

func (f *Findings) metric(spec autoscalingv2.MetricSpec, at *field.Path) {
	known := []autoscalingv2.MetricSourceType{
		autoscalingv2.ObjectMetricSourceType, autoscalingv2.PodsMetricSourceType, autoscalingv2.ResourceMetricSourceType, autoscalingv2.ExternalMetricSourceType, autoscalingv2.ContainerResourceMetricSourceType,
	}
	if spec.Type == "" {
		f.Required(at.Child("type"), "must specify a metric source type")
	}
	oneOf(f, at.Child("type"), spec.Type, known...)
	var present []string
	one := func(name string, set bool, check func(at *field.Path)) {
		if !set {
			return
		}
		if present = append(present, name); len(present) == 1 {
			check(at.Child(name))
		}
	}
	one("object", spec.Object != nil, func(at *field.Path) {
		f.scaleTarget(spec.Object.DescribedObject, at.Child("describedObject"), true)
		f.measured(spec.Object.Metric.Name, spec.Object.Target, at)
		if spec.Object.Target.Value == nil && spec.Object.Target.AverageValue == nil {
			f.Required(at.Child("target", "averageValue"), "must set either a target value or averageValue")
		}
	})
	one("external", spec.External != nil, func(at *field.Path) {
		target := spec.External.Target
		f.measured(spec.External.Metric.Name, target, at)
		if target.Value == nil && target.AverageValue == nil {
			f.Required(at.Child("target", "averageValue"), "must set either a target value for metric or a per-pod target")
		}
		if target.Value != nil && target.AverageValue != nil {
			f.forbidden(at.Child("target", "value"), "may not set both a target value for metric and a per-pod target")
		}
	})
	one("pods", spec.Pods != nil, func(at *field.Path) {
		f.measured(spec.Pods.Metric.Name, spec.Pods.Target, at)
		if spec.Pods.Target.AverageValue == nil {
			f.Required(at.Child("target", "averageValue"), "must specify a positive target averageValue")
		}
	})
	one("resource", spec.Resource != nil, func(at *field.Path) {
		if spec.Resource.Name == "" {
			f.Required(at.Child("name"), "must specify a resource name")
		}
		f.used(spec.Resource.Target, at.Child("target"))
	})
	one("containerResource", spec.ContainerResource != nil, func(at *field.Path) {
		if spec.ContainerResource.Name == "" {
			f.Required(at.Child("name"), "must specify a resource name")
		} else {
			containerResourceName(f, at.Child("name"), spec.ContainerResource.Name)
		}
		if spec.ContainerResource.Container == "" {
			f.Required(at.Child("container"), "must specify a container")
		} else {
			f.label(at.Child("container"), spec.ContainerResource.Container)
		}
		f.used(spec.ContainerResource.Target, at.Child("target"))
	})
	expected := ""
	if slices.Contains(known, spec.Type) {
		expected = strings.ToLower(string(spec.Type[:1])) + string(spec.Type[1:])
		if !slices.Contains(present, expected) {
			f.Required(at.Child(expected), "must populate information for the given metric source")
		}
	}
	for _, name := range present {
		if len(present) != 1 && name != expected {
			f.forbidden(at.Child(name), "must populate the given metric source only")
		}
	}
}

func (f *Findings) measured(name string, target autoscalingv2.MetricTarget, at *field.Path) {
	if name == "" {
		f.Required(at.Child("metric", "name"), "must specify a metric name")
	} else {
		f.invalid(at.Child("metric", "name"), name, content.IsPathSegmentName(name)...)
	}
	f.metricTarget(target, at.Child("target"))
}

func (f *Findings) used(target autoscalingv2.MetricTarget, at *field.Path) {
	f.metricTarget(target, at)
	switch {
	case target.AverageUtilization == nil && target.AverageValue == nil:
		f.Required(at.Child("averageUtilization"), "must set either a target raw value or a target utilization")
	case target.AverageUtilization != nil && target.AverageValue != nil:
		f.forbidden(at.Child("averageValue"), "may not set both a target raw value and a target utilization")
	}
}

func (f *Findings) metricTarget(target autoscalingv2.MetricTarget, at *field.Path) {
	if target.Type == "" {
		f.Required(at.Child("type"), "must specify a metric target type")
	}
	if target.Type != autoscalingv2.UtilizationMetricType && target.Type != autoscalingv2.ValueMetricType && target.Type != autoscalingv2.AverageValueMetricType {
		f.invalid(at.Child("type"), target.Type, "must be either Utilization, Value, or AverageValue")
	}
	if target.Value != nil && target.Value.Sign() != 1 {
		f.invalid(at.Child("value"), target.Value, "must be positive")
	}
	if target.AverageValue != nil && target.AverageValue.Sign() != 1 {
		f.invalid(at.Child("averageValue"), target.AverageValue, "must be positive")
	}
	if target.AverageUtilization != nil && *target.AverageUtilization < 1 {
		f.invalid(at.Child("averageUtilization"), target.AverageUtilization, "must be greater than 0")
	}
}

// The older version knows but the use of CPU. What else there is it has in annotations.
