package builtin

import (
	"fmt"
	"strings"

	horizontalpodautoscalerregistry "k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

type autoscaler = autoscalingv2.HorizontalPodAutoscaler

// AutoscalingKinds returns the kind HorizontalPodAutoscaler in two versions. The newer version is stored.
func AutoscalingKinds() []Kind {
	stored := autoscalers()
	older := Kind{
		GVK: autoscalingv1.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), Resource: stored.Resource,
		Short: stored.Short, Categories: stored.Categories,
		Namespaced: true, Of: &stored, Hub: autoscalingv2.SchemeGroupVersion,
	}
	return []Kind{older, stored}
}

func autoscalers() Kind {
	spec, status := autoscalingv2.HorizontalPodAutoscalerSpec{}.SwaggerDoc(),
		autoscalingv2.HorizontalPodAutoscalerStatus{}.SwaggerDoc()
	return Kind{
		GVK: autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), Resource: "horizontalpodautoscalers",
		Short: []string{"hpa"}, Categories: []string{"all"}, Namespaced: true,
		Columns: []Column{
			Col("Reference", "string", spec["scaleTargetRef"],
				func(a *autoscaler) any { return a.Spec.ScaleTargetRef.Kind + "/" + a.Spec.ScaleTargetRef.Name }),
			Col("Targets", "string", spec["metrics"], func(a *autoscaler) any { return targetsText(a) }),
			Col("MinPods", "string", spec["minReplicas"], func(a *autoscaler) any {
				if a.Spec.MinReplicas == nil {
					return "<unset>"
				}
				return fmt.Sprint(*a.Spec.MinReplicas)
			}),
			Col("MaxPods", "string", spec["maxReplicas"], func(a *autoscaler) any { return int64(a.Spec.MaxReplicas) }),
			Col("Replicas", "string", status["currentReplicas"],
				func(a *autoscaler) any { return int64(a.Status.CurrentReplicas) }),
			SinceColumn,
		},
		Rules:  By(horizontalpodautoscalerregistry.Strategy),
		Status: new(By(horizontalpodautoscalerregistry.StatusStrategy)),
	}
}

// targetsText returns the table cell that lists the metrics with their current and target values.
func targetsText(a *autoscaler) string {
	var list []string
	of := func(target autoscalingv2.MetricTarget) string {
		if target.AverageValue != nil {
			return fmt.Sprintf("<unknown>/%s (avg)", target.AverageValue.String())
		}
		return fmt.Sprintf("<unknown>/%s", target.Value.String())
	}
	resources := func(name corev1.ResourceName, target autoscalingv2.MetricTarget,
		now autoscalingv2.MetricValueStatus) string {
		have, want := "<unknown>", "<auto>"
		if target.AverageValue != nil {
			if now.AverageValue != nil {
				have = now.AverageValue.String()
			}
			return fmt.Sprintf("%s: %s/%s", name, have, target.AverageValue.String())
		}
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
			list = append(list, resources(metric.Resource.Name, metric.Resource.Target, Deref(now.Resource).Current))
		case autoscalingv2.ContainerResourceMetricSourceType:
			list = append(list, resources(metric.ContainerResource.Name, metric.ContainerResource.Target,
				autoscalingv2.MetricValueStatus{}))
		case autoscalingv2.PodsMetricSourceType:
			list = append(list, strings.TrimSuffix(of(metric.Pods.Target), " (avg)"))
		case autoscalingv2.ObjectMetricSourceType:
			list = append(list, of(metric.Object.Target))
		case autoscalingv2.ExternalMetricSourceType:
			list = append(list, of(metric.External.Target))
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
