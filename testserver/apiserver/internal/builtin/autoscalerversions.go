package builtin

import (
	"encoding/json"
	"maps"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	metricsAnnotation    = "autoscaling.alpha.kubernetes.io/metrics"
	currentAnnotation    = "autoscaling.alpha.kubernetes.io/current-metrics"
	conditionsAnnotation = "autoscaling.alpha.kubernetes.io/conditions"
	behaviorAnnotation   = "autoscaling.alpha.kubernetes.io/behavior"
)

// AddAutoscalerConversions has a scheme convert the versions of HorizontalPodAutoscalers.
func AddAutoscalerConversions(scheme *runtime.Scheme) error {
	if err := scheme.AddConversionFunc((*autoscaler)(nil), (*autoscalingv1.HorizontalPodAutoscaler)(nil), func(a, b any, _ conversion.Scope) error {
		return toOlder(a.(*autoscaler), b.(*autoscalingv1.HorizontalPodAutoscaler))
	}); err != nil {
		return err
	}
	if err := scheme.AddConversionFunc((*autoscalingv1.HorizontalPodAutoscaler)(nil), (*autoscaler)(nil), func(a, b any, _ conversion.Scope) error {
		toNewer(a.(*autoscalingv1.HorizontalPodAutoscaler), b.(*autoscaler))
		return nil
	}); err != nil {
		return err
	}
	return addListConversion(scheme, func(in *autoscalingv2.HorizontalPodAutoscalerList, out *autoscalingv1.HorizontalPodAutoscalerList) error {
		out.ListMeta, out.Items = in.ListMeta, make([]autoscalingv1.HorizontalPodAutoscaler, len(in.Items))
		for i := range in.Items {
			if err := toOlder(&in.Items[i], &out.Items[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func addListConversion[A, B any](scheme *runtime.Scheme, convert func(in *A, out *B) error) error {
	return scheme.AddConversionFunc((*A)(nil), (*B)(nil), func(a, b any, _ conversion.Scope) error { return convert(a.(*A), b.(*B)) })
}

// olderMetric is a metric as the older version has it in its annotation.
func olderMetric(metric autoscalingv2.MetricSpec) autoscalingv1.MetricSpec {
	older := autoscalingv1.MetricSpec{Type: autoscalingv1.MetricSourceType(metric.Type)}
	if m := metric.Resource; m != nil {
		older.Resource = &autoscalingv1.ResourceMetricSource{Name: m.Name, TargetAverageUtilization: m.Target.AverageUtilization, TargetAverageValue: m.Target.AverageValue}
	}
	if m := metric.ContainerResource; m != nil {
		older.ContainerResource = &autoscalingv1.ContainerResourceMetricSource{Name: m.Name, Container: m.Container, TargetAverageUtilization: m.Target.AverageUtilization, TargetAverageValue: m.Target.AverageValue}
	}
	if m := metric.Pods; m != nil {
		older.Pods = &autoscalingv1.PodsMetricSource{MetricName: m.Metric.Name, Selector: m.Metric.Selector}
		if m.Target.AverageValue != nil {
			older.Pods.TargetAverageValue = *m.Target.AverageValue
		}
	}
	if m := metric.External; m != nil {
		older.External = &autoscalingv1.ExternalMetricSource{MetricName: m.Metric.Name, MetricSelector: m.Metric.Selector, TargetValue: m.Target.Value, TargetAverageValue: m.Target.AverageValue}
	}
	if m := metric.Object; m != nil {
		older.Object = &autoscalingv1.ObjectMetricSource{Target: autoscalingv1.CrossVersionObjectReference(m.DescribedObject), MetricName: m.Metric.Name, Selector: m.Metric.Selector, AverageValue: m.Target.AverageValue}
		if m.Target.Value != nil {
			older.Object.TargetValue = *m.Target.Value
		}
	}
	return older
}

func newerMetric(metric autoscalingv1.MetricSpec) autoscalingv2.MetricSpec {
	newer := autoscalingv2.MetricSpec{Type: autoscalingv2.MetricSourceType(metric.Type)}
	used := func(utilization *int32, value *resource.Quantity) autoscalingv2.MetricTarget {
		target := autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageUtilization: utilization, AverageValue: value}
		if utilization != nil {
			target.Type = autoscalingv2.UtilizationMetricType
		}
		return target
	}
	if m := metric.Resource; m != nil {
		newer.Resource = &autoscalingv2.ResourceMetricSource{Name: m.Name, Target: used(m.TargetAverageUtilization, m.TargetAverageValue)}
	}
	if m := metric.ContainerResource; m != nil {
		newer.ContainerResource = &autoscalingv2.ContainerResourceMetricSource{Name: m.Name, Container: m.Container, Target: used(m.TargetAverageUtilization, m.TargetAverageValue)}
	}
	if m := metric.Pods; m != nil {
		newer.Pods = &autoscalingv2.PodsMetricSource{Metric: autoscalingv2.MetricIdentifier{Name: m.MetricName, Selector: m.Selector}, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &m.TargetAverageValue}}
	}
	if m := metric.External; m != nil {
		target := autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: m.TargetValue, AverageValue: m.TargetAverageValue}
		if m.TargetValue == nil {
			target.Type = autoscalingv2.AverageValueMetricType
		}
		newer.External = &autoscalingv2.ExternalMetricSource{Metric: autoscalingv2.MetricIdentifier{Name: m.MetricName, Selector: m.MetricSelector}, Target: target}
	}
	if m := metric.Object; m != nil {
		target := autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: &m.TargetValue, AverageValue: m.AverageValue}
		if m.AverageValue != nil {
			target.Type = autoscalingv2.AverageValueMetricType
		}
		newer.Object = &autoscalingv2.ObjectMetricSource{DescribedObject: autoscalingv2.CrossVersionObjectReference(m.Target), Metric: autoscalingv2.MetricIdentifier{Name: m.MetricName, Selector: m.Selector}, Target: target}
	}
	return newer
}

// olderStatus is the state of a metric as the older version has it in its annotation.
func olderStatus(metric autoscalingv2.MetricStatus) autoscalingv1.MetricStatus {
	older := autoscalingv1.MetricStatus{Type: autoscalingv1.MetricSourceType(metric.Type)}
	if m := metric.Resource; m != nil {
		older.Resource = &autoscalingv1.ResourceMetricStatus{Name: m.Name, CurrentAverageUtilization: m.Current.AverageUtilization, CurrentAverageValue: Deref(m.Current.AverageValue)}
	}
	if m := metric.ContainerResource; m != nil {
		older.ContainerResource = &autoscalingv1.ContainerResourceMetricStatus{Name: m.Name, Container: m.Container, CurrentAverageUtilization: m.Current.AverageUtilization, CurrentAverageValue: Deref(m.Current.AverageValue)}
	}
	if m := metric.Pods; m != nil {
		older.Pods = &autoscalingv1.PodsMetricStatus{MetricName: m.Metric.Name, Selector: m.Metric.Selector, CurrentAverageValue: Deref(m.Current.AverageValue)}
	}
	if m := metric.External; m != nil {
		older.External = &autoscalingv1.ExternalMetricStatus{MetricName: m.Metric.Name, MetricSelector: m.Metric.Selector, CurrentValue: Deref(m.Current.Value), CurrentAverageValue: m.Current.AverageValue}
	}
	if m := metric.Object; m != nil {
		older.Object = &autoscalingv1.ObjectMetricStatus{Target: autoscalingv1.CrossVersionObjectReference(m.DescribedObject), MetricName: m.Metric.Name, Selector: m.Metric.Selector, CurrentValue: Deref(m.Current.Value), AverageValue: m.Current.AverageValue}
	}
	return older
}

func newerStatus(metric autoscalingv1.MetricStatus) autoscalingv2.MetricStatus {
	newer := autoscalingv2.MetricStatus{Type: autoscalingv2.MetricSourceType(metric.Type)}
	if m := metric.Resource; m != nil {
		newer.Resource = &autoscalingv2.ResourceMetricStatus{Name: m.Name, Current: autoscalingv2.MetricValueStatus{AverageUtilization: m.CurrentAverageUtilization, AverageValue: &m.CurrentAverageValue}}
	}
	if m := metric.ContainerResource; m != nil {
		newer.ContainerResource = &autoscalingv2.ContainerResourceMetricStatus{Name: m.Name, Container: m.Container, Current: autoscalingv2.MetricValueStatus{AverageUtilization: m.CurrentAverageUtilization, AverageValue: &m.CurrentAverageValue}}
	}
	if m := metric.Pods; m != nil {
		newer.Pods = &autoscalingv2.PodsMetricStatus{Metric: autoscalingv2.MetricIdentifier{Name: m.MetricName, Selector: m.Selector}, Current: autoscalingv2.MetricValueStatus{AverageValue: &m.CurrentAverageValue}}
	}
	if m := metric.External; m != nil {
		newer.External = &autoscalingv2.ExternalMetricStatus{Metric: autoscalingv2.MetricIdentifier{Name: m.MetricName, Selector: m.MetricSelector}, Current: autoscalingv2.MetricValueStatus{Value: &m.CurrentValue, AverageValue: m.CurrentAverageValue}}
	}
	if m := metric.Object; m != nil {
		newer.Object = &autoscalingv2.ObjectMetricStatus{
			DescribedObject: autoscalingv2.CrossVersionObjectReference(m.Target), Metric: autoscalingv2.MetricIdentifier{Name: m.MetricName, Selector: m.Selector},
			Current: autoscalingv2.MetricValueStatus{Value: &m.CurrentValue, AverageValue: m.AverageValue},
		}
	}
	return newer
}

func toOlder(in *autoscaler, out *autoscalingv1.HorizontalPodAutoscaler) error {
	*out = autoscalingv1.HorizontalPodAutoscaler{ObjectMeta: *in.ObjectMeta.DeepCopy()}
	out.Spec = autoscalingv1.HorizontalPodAutoscalerSpec{ScaleTargetRef: autoscalingv1.CrossVersionObjectReference(in.Spec.ScaleTargetRef), MinReplicas: in.Spec.MinReplicas, MaxReplicas: in.Spec.MaxReplicas}
	out.Status = autoscalingv1.HorizontalPodAutoscalerStatus{
		ObservedGeneration: in.Status.ObservedGeneration, LastScaleTime: in.Status.LastScaleTime, CurrentReplicas: in.Status.CurrentReplicas, DesiredReplicas: in.Status.DesiredReplicas,
	}
	for _, name := range []string{metricsAnnotation, currentAnnotation, conditionsAnnotation, behaviorAnnotation} {
		delete(out.Annotations, name)
	}
	note := func(name string, value any) error {
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		if out.Annotations == nil {
			out.Annotations = map[string]string{}
		}
		out.Annotations[name] = string(text)
		return nil
	}
	var others []autoscalingv1.MetricSpec
	for _, metric := range in.Spec.Metrics {
		if m := metric.Resource; metric.Type == autoscalingv2.ResourceMetricSourceType && m != nil && m.Name == corev1.ResourceCPU && m.Target.AverageUtilization != nil {
			out.Spec.TargetCPUUtilizationPercentage = m.Target.AverageUtilization
			continue
		}
		others = append(others, olderMetric(metric))
	}
	for _, metric := range in.Status.CurrentMetrics {
		if m := metric.Resource; m != nil && m.Name == corev1.ResourceCPU && m.Current.AverageUtilization != nil {
			out.Status.CurrentCPUUtilizationPercentage = m.Current.AverageUtilization
		}
	}
	if len(in.Status.CurrentMetrics) > 0 {
		var current []autoscalingv1.MetricStatus
		for _, metric := range in.Status.CurrentMetrics {
			current = append(current, olderStatus(metric))
		}
		if err := note(currentAnnotation, current); err != nil {
			return err
		}
	}
	if others != nil {
		if err := note(metricsAnnotation, others); err != nil {
			return err
		}
	}
	if in.Spec.Behavior != nil {
		behavior, err := json.Marshal(behaviorAsStored(in.Spec.Behavior))
		if err != nil {
			return err
		}
		metav1Annotate(&out.ObjectMeta.Annotations, behaviorAnnotation, string(behavior))
	}
	if len(in.Status.Conditions) > 0 {
		return note(conditionsAnnotation, in.Status.Conditions)
	}
	return nil
}

func metav1Annotate(annotations *map[string]string, name, value string) {
	if *annotations == nil {
		*annotations = map[string]string{}
	}
	(*annotations)[name] = value
}

// behaviorAsStored is the behavior with the names that the annotation has, which are those of Go fields.
func behaviorAsStored(behavior *autoscalingv2.HorizontalPodAutoscalerBehavior) any {
	rules := func(r *autoscalingv2.HPAScalingRules) any {
		if r == nil {
			return nil
		}
		type policy struct {
			Type          autoscalingv2.HPAScalingPolicyType
			Value         int32
			PeriodSeconds int32
		}
		var policies []policy
		for _, p := range r.Policies {
			policies = append(policies, policy(p))
		}
		return struct {
			StabilizationWindowSeconds *int32
			SelectPolicy               *autoscalingv2.ScalingPolicySelect
			Policies                   []policy
			Tolerance                  *resource.Quantity
		}{r.StabilizationWindowSeconds, r.SelectPolicy, policies, r.Tolerance}
	}
	return struct{ ScaleUp, ScaleDown any }{rules(behavior.ScaleUp), rules(behavior.ScaleDown)}
}

func toNewer(in *autoscalingv1.HorizontalPodAutoscaler, out *autoscaler) {
	*out = autoscaler{ObjectMeta: *in.ObjectMeta.DeepCopy()}
	out.Annotations = maps.Clone(in.Annotations)
	out.Spec = autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: autoscalingv2.CrossVersionObjectReference(in.Spec.ScaleTargetRef), MinReplicas: in.Spec.MinReplicas, MaxReplicas: in.Spec.MaxReplicas}
	out.Status = autoscalingv2.HorizontalPodAutoscalerStatus{
		ObservedGeneration: in.Status.ObservedGeneration, LastScaleTime: in.Status.LastScaleTime, CurrentReplicas: in.Status.CurrentReplicas, DesiredReplicas: in.Status.DesiredReplicas,
	}
	var others []autoscalingv1.MetricSpec
	if json.Unmarshal([]byte(in.Annotations[metricsAnnotation]), &others) == nil {
		for _, metric := range others {
			out.Spec.Metrics = append(out.Spec.Metrics, newerMetric(metric))
		}
	}
	if in.Spec.TargetCPUUtilizationPercentage != nil {
		out.Spec.Metrics = append(out.Spec.Metrics, cpuMetric(*in.Spec.TargetCPUUtilizationPercentage))
	}
	if len(out.Spec.Metrics) == 0 {
		out.Spec.Metrics = []autoscalingv2.MetricSpec{cpuMetric(80)}
	}
	var behavior autoscalingv2.HorizontalPodAutoscalerBehavior
	if json.Unmarshal([]byte(in.Annotations[behaviorAnnotation]), &behavior) == nil && behavior != (autoscalingv2.HorizontalPodAutoscalerBehavior{}) {
		out.Spec.Behavior = &behavior
	}
	var conditions []autoscalingv2.HorizontalPodAutoscalerCondition
	if json.Unmarshal([]byte(in.Annotations[conditionsAnnotation]), &conditions) == nil {
		out.Status.Conditions = conditions
	}
	if use := in.Status.CurrentCPUUtilizationPercentage; use != nil {
		out.Status.CurrentMetrics = []autoscalingv2.MetricStatus{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricStatus{
			Name: corev1.ResourceCPU, Current: autoscalingv2.MetricValueStatus{AverageUtilization: use},
		}}}
	}
	var current []autoscalingv1.MetricStatus
	if text, there := in.Annotations[currentAnnotation]; there && json.Unmarshal([]byte(text), &current) == nil { // has more than the field
		out.Status.CurrentMetrics = make([]autoscalingv2.MetricStatus, len(current))
		for i, metric := range current {
			out.Status.CurrentMetrics[i] = newerStatus(metric)
		}
	}
	for _, name := range []string{metricsAnnotation, currentAnnotation, conditionsAnnotation, behaviorAnnotation} {
		delete(out.Annotations, name)
	}
}
