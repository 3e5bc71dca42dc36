package builtin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/admission"
	resourcehelper "k8s.io/component-helpers/resource"
)

// limitRangesIn returns the LimitRanges of a namespace sorted by name. The real server uses any order.
func (cluster Cluster) limitRangesIn(namespace string) (ranges []*corev1.LimitRange) {
	for _, object := range cluster.ReadAll("", "v1", "limitranges", namespace) {
		ranges = append(ranges, object.(*corev1.LimitRange))
	}
	slices.SortFunc(ranges, func(a, b *corev1.LimitRange) int { return cmp.Compare(a.Name, b.Name) })
	return ranges
}

// limited returns the pod of a write to which LimitRanges apply, or nil. LimitRanges apply to creations, which set the
// containers, and to resizes, because only these change the resources of containers.
func limited(a admission.Attributes) *corev1.Pod {
	pod, ok := a.GetObject().(*corev1.Pod)
	if old, is := a.GetOldObject().(*corev1.Pod); is && old.DeletionTimestamp != nil {
		return nil
	}
	if !ok || a.GetSubresource() != map[admission.Operation]string{admission.Create: "",
		admission.Update: "resize"}[a.GetOperation()] {
		return nil
	}
	return pod
}

// defaultByLimits sets unset resources of containers from the LimitRanges of the namespace, and adds an annotation that
// lists them.
func (cluster Cluster) defaultByLimits(a admission.Attributes) {
	pod := limited(a)
	if pod == nil {
		return
	}
	for _, limits := range cluster.limitRangesIn(a.GetNamespace()) {
		var given []string
		for _, limit := range limits.Spec.Limits {
			if limit.Type != corev1.LimitTypeContainer {
				continue
			}
			for i := range pod.Spec.Containers {
				given = append(given, fillContainer(&pod.Spec.Containers[i], "container", limit)...)
			}
			for i := range pod.Spec.InitContainers {
				given = append(given, fillContainer(&pod.Spec.InitContainers[i], "init container", limit)...)
			}
		}
		if len(given) > 0 {
			pod.Annotations = orMake(pod.Annotations)
			pod.Annotations["kubernetes.io/limit-ranger"] = "LimitRanger plugin set: " + strings.Join(given, "; ")
		}
	}
}

// fillContainer sets unset resources of a container, and returns a description of what it has set.
func fillContainer(container *corev1.Container, sort string, limit corev1.LimitRangeItem) (given []string) {
	fill := func(list *corev1.ResourceList, from corev1.ResourceList, what string) {
		var names []string
		for _, name := range sortedMap(from) {
			if _, is := (*list)[name]; !is {
				*list = orMake(*list)
				(*list)[name] = from[name]
				names = append(names, string(name))
			}
		}
		if len(names) > 0 {
			given = append(given, fmt.Sprintf("%s %s for %s %s", strings.Join(names, ", "), what, sort, container.Name))
		}
	}
	fill(&container.Resources.Requests, limit.DefaultRequest, "request")
	fill(&container.Resources.Limits, limit.Default, "limit")
	return given
}

func orMake[M ~map[K]V, K comparable, V any](m M) M {
	if m == nil {
		m = M{}
	}
	return m
}

// reviewPodLimits rejects a pod with resources outside the LimitRanges of its namespace.
func (cluster Cluster) reviewPodLimits(a admission.Attributes) error {
	pod := limited(a)
	if pod == nil {
		return nil
	}
	var options resourcehelper.PodResourcesOptions
	whole := Deref(pod.Spec.Resources)
	return cluster.reviewLimits(a, func(limit corev1.LimitRangeItem) (problems []error) {
		switch limit.Type {
		case corev1.LimitTypeContainer:
			for _, container := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
				problems = append(problems, beyond(limit, container.Resources.Requests, container.Resources.Limits)...)
			}
		case corev1.LimitTypePod:
			problems = beyond(limit, ofPod(resourcehelper.AggregateContainerRequests(pod, options), whole.Requests),
				ofPod(resourcehelper.AggregateContainerLimits(pod, options), whole.Limits))
		}
		return problems
	})
}

// ofPod returns the resources of a whole pod: those of its containers, but the CPU and memory that are set for the pod.
func ofPod(containers, whole corev1.ResourceList) corev1.ResourceList {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if quantity, ok := whole[name]; ok {
			containers[name] = quantity
		}
	}
	return containers
}

// reviewClaimLimits rejects a claim with resources outside the LimitRanges of its namespace.
func (cluster Cluster) reviewClaimLimits(a admission.Attributes) error {
	claim, ok := a.GetObject().(*corev1.PersistentVolumeClaim)
	if old, is := a.GetOldObject().(*corev1.PersistentVolumeClaim); is && old.DeletionTimestamp != nil {
		return nil
	}
	if !ok || a.GetSubresource() != "" {
		return nil
	}
	requests := claim.Spec.Resources.Requests
	return cluster.reviewLimits(a, func(limit corev1.LimitRangeItem) (problems []error) {
		if limit.Type != corev1.LimitTypePersistentVolumeClaim {
			return nil
		}
		for _, name := range sortedMap(limit.Min) {
			problems = append(problems, below(limit.Type, name, limit.Min[name], requests, nil))
		}
		for _, name := range sortedMap(limit.Max) {
			problems = append(problems, requestAbove(limit.Type, name, limit.Max[name], requests))
		}
		return problems
	})
}

// reviewLimits rejects a write if it violates a LimitRange. The error contains all violations of the first such
// LimitRange.
func (cluster Cluster) reviewLimits(a admission.Attributes, problems func(limit corev1.LimitRangeItem) []error) error {
	for _, limits := range cluster.limitRangesIn(a.GetNamespace()) {
		var all []error
		for _, limit := range limits.Spec.Limits {
			all = append(all, problems(limit)...)
		}
		if err := utilerrors.NewAggregate(all); err != nil {
			return admission.NewForbidden(a, err)
		}
	}
	return nil
}

func beyond(limit corev1.LimitRangeItem, requests, limits corev1.ResourceList) (problems []error) {
	for _, name := range sortedMap(limit.Min) {
		problems = append(problems, below(limit.Type, name, limit.Min[name], requests, limits))
	}
	for _, name := range sortedMap(limit.Max) {
		problems = append(problems, above(limit.Type, name, limit.Max[name], requests, limits))
	}
	for _, name := range sortedMap(limit.MaxLimitRequestRatio) {
		problems = append(problems, overRatio(limit.Type, name, limit.MaxLimitRequestRatio[name], requests, limits))
	}
	return problems
}

func below(of corev1.LimitType, name corev1.ResourceName, least resource.Quantity, requests,
	limits corev1.ResourceList) error {
	request, requested := requests[name]
	limit, limited := limits[name]
	switch {
	case !requested:
		return fmt.Errorf("minimum %s usage per %s is %s.  No request is specified", name, of, least.String())
	case request.Cmp(least) < 0:
		return fmt.Errorf("minimum %s usage per %s is %s, but request is %s", name, of, least.String(), request.String())
	case limited && limit.Cmp(least) < 0:
		return fmt.Errorf("minimum %s usage per %s is %s, but limit is %s", name, of, least.String(), limit.String())
	}
	return nil
}

func above(of corev1.LimitType, name corev1.ResourceName, most resource.Quantity, requests,
	limits corev1.ResourceList) error {
	limit, limited := limits[name]
	switch {
	case !limited:
		return fmt.Errorf("maximum %s usage per %s is %s.  No limit is specified", name, of, most.String())
	case limit.Cmp(most) > 0:
		return fmt.Errorf("maximum %s usage per %s is %s, but limit is %s", name, of, most.String(), limit.String())
	}
	if _, requested := requests[name]; !requested {
		return nil
	}
	return requestAbove(of, name, most, requests)
}

func requestAbove(of corev1.LimitType, name corev1.ResourceName, most resource.Quantity,
	requests corev1.ResourceList) error {
	request, requested := requests[name]
	switch {
	case !requested:
		return fmt.Errorf("maximum %s usage per %s is %s.  No request is specified", name, of, most.String())
	case request.Cmp(most) > 0:
		return fmt.Errorf("maximum %s usage per %s is %s, but request is %s", name, of, most.String(), request.String())
	}
	return nil
}

func overRatio(of corev1.LimitType, name corev1.ResourceName, most resource.Quantity, requests,
	limits corev1.ResourceList) error {
	request, limit := requests[name], limits[name]
	switch {
	case request.IsZero():
		return fmt.Errorf("%s max limit to request ratio per %s is %s, but no request is specified or request is 0", name, of,
			most.String())
	case limit.IsZero():
		return fmt.Errorf("%s max limit to request ratio per %s is %s, but no limit is specified or limit is 0", name, of,
			most.String())
	}
	if ratio := inMilli(limit, request); ratio*1000 > float64(most.MilliValue()) {
		return fmt.Errorf("%s max limit to request ratio per %s is %s, but provided ratio is %f", name, of, most.String(),
			ratio)
	}
	return nil
}

// inMilli returns the ratio of two quantities. It is computed in thousandths, unless that overflows.
func inMilli(limit, request resource.Quantity) float64 {
	if limit.Value() <= resource.MaxMilliValue && request.Value() <= resource.MaxMilliValue {
		return float64(limit.MilliValue()) / float64(request.MilliValue())
	}
	return float64(limit.Value()) / float64(request.Value())
}
