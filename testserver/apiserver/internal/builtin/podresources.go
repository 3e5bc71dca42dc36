package builtin

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What pods ask for, of their containers and as a whole: defaults, how well they are served, checks, and what a resize may change.

// defaultRequests are a container's limits, where it has no others.
func defaultRequests(resources *corev1.ResourceRequirements) {
	if resources.Limits != nil && resources.Requests == nil {
		resources.Requests = corev1.ResourceList{}
	}
	for name, quantity := range resources.Limits {
		if _, ok := resources.Requests[name]; !ok {
			resources.Requests[name] = quantity.DeepCopy()
		}
	}
}

// ofPods reports whether a pod as a whole may ask for a resource.
func ofPods(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || isHugePages(name)
}

func asksFor(resources *corev1.ResourceRequirements) bool {
	return resources != nil && len(resources.Requests)+len(resources.Limits) > 0
}

// defaultPodResources completes what a pod as a whole asks for, if it asks for something, from what its containers do.
func defaultPodResources(spec *corev1.PodSpec) {
	if !asksFor(spec.Resources) {
		return
	}
	requests, limits := spec.Resources.Requests.DeepCopy(), spec.Resources.Limits.DeepCopy()
	add := func(list *corev1.ResourceList, from corev1.ResourceList, wanted func(corev1.ResourceName) bool) {
		for name, quantity := range from {
			if _, there := (*list)[name]; there || !ofPods(name) || !wanted(name) {
				continue
			}
			if *list == nil {
				*list = corev1.ResourceList{}
			}
			(*list)[name] = quantity.DeepCopy()
		}
	}
	ofContainers := together(spec, limitsOf)
	add(&limits, ofContainers, func(name corev1.ResourceName) bool {
		_, requested := requests[name]
		return isHugePages(name) && !requested
	})
	add(&requests, together(spec, requestsOf), mayOvercommit)
	add(&requests, limits, func(corev1.ResourceName) bool { return true })
	add(&limits, larger(requests, ofContainers), func(name corev1.ResourceName) bool { return limitedEverywhere(spec, name) })
	spec.Resources.Requests, spec.Resources.Limits = requests, limits
}

// larger are the quantities of the names in both lists, of each the larger one.
func larger(a, b corev1.ResourceList) corev1.ResourceList {
	both := corev1.ResourceList{}
	for name, quantity := range a {
		other, ok := b[name]
		switch {
		case ok && other.Cmp(quantity) > 0:
			both[name] = other
		case ok:
			both[name] = quantity
		}
	}
	return both
}

func limitedEverywhere(spec *corev1.PodSpec, name corev1.ResourceName) bool {
	everywhere := true
	EachContainer(spec, nil, func(container *corev1.Container, _ *field.Path) {
		_, limited := container.Resources.Limits[name]
		everywhere = everywhere && limited
	})
	return everywhere
}

func requestsOf(container *corev1.Container) corev1.ResourceList { return container.Resources.Requests }
func limitsOf(container *corev1.Container) corev1.ResourceList   { return container.Resources.Limits }

// together is what the containers of a pod need at once: all of them, or an init container with those before it that stay.
func together(spec *corev1.PodSpec, of func(*corev1.Container) corev1.ResourceList) corev1.ResourceList {
	add := func(sum, list corev1.ResourceList) {
		for name, quantity := range list {
			total := sum[name].DeepCopy()
			total.Add(quantity)
			sum[name] = total
		}
	}
	all, stay, start := corev1.ResourceList{}, corev1.ResourceList{}, corev1.ResourceList{}
	for i := range spec.Containers {
		add(all, of(&spec.Containers[i]))
	}
	for i := range spec.InitContainers {
		container := &spec.InitContainers[i]
		needed := of(container).DeepCopy() // first, since a sum is written as its first term
		if needed == nil {
			needed = corev1.ResourceList{}
		}
		add(needed, stay)
		if Deref(container.RestartPolicy) == corev1.ContainerRestartPolicyAlways {
			add(all, of(container))
			add(stay, of(container))
		}
		most(start, needed)
	}
	most(all, start)
	return all
}

// most raises the quantities of a list to those of another one.
func most(list, other corev1.ResourceList) {
	for name, quantity := range other {
		if was, ok := list[name]; !ok || quantity.Cmp(was) > 0 {
			list[name] = quantity
		}
	}
}

// qosOf is how well a pod is served, by its requests and limits.
func qosOf(spec *corev1.PodSpec) corev1.PodQOSClass {
	if spec.Resources != nil && asksForAny(spec.Resources) {
		return qosOfRequirements(spec.Resources)
	}
	var class corev1.PodQOSClass
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			class = commonQOS(class, qosOfRequirements(&containers[i].Resources))
		}
	}
	Set(&class, corev1.PodQOSBestEffort)
	return class
}

func asksForAny(resources *corev1.ResourceRequirements) bool {
	for _, list := range []corev1.ResourceList{resources.Requests, resources.Limits} {
		for name := range list {
			if ofPods(name) {
				return true
			}
		}
	}
	return false
}

func qosOfRequirements(resources *corev1.ResourceRequirements) corev1.PodQOSClass {
	var class corev1.PodQOSClass
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		request, limit := resources.Requests[name], resources.Limits[name]
		switch {
		case !request.Equal(limit):
			return corev1.PodQOSBurstable
		case request.IsZero():
			class = commonQOS(class, corev1.PodQOSBestEffort)
		default:
			class = commonQOS(class, corev1.PodQOSGuaranteed)
		}
	}
	return class
}

// commonQOS is the class of two that are one pod's. The first is none before there is any.
func commonQOS(one, other corev1.PodQOSClass) corev1.PodQOSClass {
	if one == "" || one == other {
		return other
	}
	return corev1.PodQOSBurstable
}

// podResources checks what the pod as a whole asks for.
func (c *podChecks) podResources(at *field.Path) {
	resources := c.spec.Resources
	if resources == nil {
		return
	}
	at = at.Child("resources")
	if isWindows(c.spec) {
		c.forbidden(at, "may not be set for a windows pod")
		return
	}
	if resources.Claims != nil {
		c.forbidden(at.Child("claims"), "claims may not be set for Resources at pod-level")
	}
	c.requirements(resources, at, func(f *Findings, at *field.Path, name corev1.ResourceName) {
		if f.resourceName(at, name) && !ofPods(name) {
			f.Add(field.NotSupported(at, name, []corev1.ResourceName{"cpu", "hugepages-", "memory"}))
		}
	})
	requests, limits := together(c.spec, requestsOf), together(c.spec, limitsOf)
	for _, name := range sortedMap(requests) {
		needed := requests[name]
		if whole, ok := resources.Requests[name]; ok && needed.Cmp(whole) > 0 {
			c.invalid(at.Child("requests").Key(string(name)), whole.String(), "must be greater than or equal to aggregate container requests of "+needed.String())
		}
	}
	for _, name := range sortedMap(limits) {
		needed := limits[name]
		if whole, ok := resources.Limits[name]; ok && isHugePages(name) && needed.Cmp(whole) > 0 {
			c.invalid(at.Child("limits").Key(string(name)), whole.String(), "must be greater than or equal to aggregate container limits of "+needed.String())
		}
	}
	for i, container := range c.spec.Containers {
		for _, name := range sortedMap(container.Resources.Limits) {
			limit := container.Resources.Limits[name]
			if whole, ok := resources.Limits[name]; ok && limit.Cmp(whole) > 0 {
				c.invalid(at.Child("containers").Index(i).Key(string(name)).Child("limits"), limit.String(), "must be less than or equal to pod limits of "+whole.String())
			}
		}
	}
}

// keepPodResources is for clients that do not know that a pod as a whole may ask for something.
func keepPodResources(spec, old *corev1.PodSpec) {
	if spec.Resources == nil {
		spec.Resources = old.Resources.DeepCopy()
	}
}

// ResizeRules are those of the subresource that changes what containers of a pod get.
func ResizeRules() Rules {
	return Rules{
		Unconditional: true, Spec: Typed1(func(p *corev1.Pod) any { return p.Spec }),
		Update: Change2(func(p, old *corev1.Pod) {
			resize(p, old)
			keepPodResources(&p.Spec, &old.Spec)
			defaultPodResources(&p.Spec)
		}),
		ValidateUpdate: Typed2(validateResize),
	}
}

// resize leaves of an update what a resize may change, unless it has other containers: that is refused.
func resize(p, old *corev1.Pod) {
	if len(p.Spec.Containers) != len(old.Spec.Containers) || len(p.Spec.InitContainers) != len(old.Spec.InitContainers) {
		return
	}
	spec := old.Spec.DeepCopy()
	spec.Resources, spec.Containers, spec.InitContainers = p.Spec.Resources, resized(p.Spec.Containers, spec.Containers), resized(p.Spec.InitContainers, spec.InitContainers)
	p.Spec, p.Status = *spec, old.Status
	metav1.ResetObjectMetaForStatus(&p.ObjectMeta, &old.ObjectMeta)
}

// resized are containers as they were but for what they ask for. Those that have other names are returned as they are.
func resized(now, was []corev1.Container) []corev1.Container {
	for i := range was {
		if now[i].Name != was[i].Name {
			return now
		}
		was[i].Resources, was[i].ResizePolicy = now[i].Resources, now[i].ResizePolicy
	}
	return was
}

func validateResize(p, old *corev1.Pod) field.ErrorList {
	f, at := Findings{append(ValidateMetadataUpdate(p, old), validatePodSpecOf(p)...)}, field.NewPath("spec")
	_, static := old.Annotations[corev1.MirrorPodAnnotationKey]
	switch {
	case static:
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods cannot be resized")}
	case isWindows(&old.Spec):
		return field.ErrorList{field.Forbidden(field.NewPath(""), "windows pods cannot be resized")}
	}
	was := old.Status.QOSClass
	if Set(&was, qosOf(&old.Spec)); was != qosOf(&p.Spec) {
		f.invalid(at, p.Status.QOSClass, "Pod QOS Class may not change as a result of resizing")
	}
	if !resizable(old.Status.ContainerStatuses) {
		f.forbidden(at, "Pod running on node without support for resize")
	}
	rest := p.Spec.DeepCopy()
	if resources := rest.Resources; asksFor(resources) || asksFor(old.Spec.Resources) {
		before := Deref(old.Spec.Resources)
		f.removed(resources, &before, at.Child("resources"), "pod-level resource")
		if setBack(resources, &before); old.Spec.Resources == nil && len(resources.Requests)+len(resources.Limits)+len(resources.Claims) == 0 {
			rest.Resources = nil
		}
		if !equality.Semantic.DeepEqual(rest.Resources, old.Spec.Resources) {
			f.forbidden(at, "only cpu and memory resources are mutable at pod-level")
		}
	}
	same := f.sameContainers(p.Spec.Containers, old.Spec.Containers, at, "containers")
	if !f.sameContainers(p.Spec.InitContainers, old.Spec.InitContainers, at, "initContainers") || !same {
		return f.List
	}
	for i := range old.Spec.InitContainers {
		f.removed(&p.Spec.InitContainers[i].Resources, &old.Spec.InitContainers[i].Resources, at.Child("initContainers").Index(i).Child("resources"), "resource")
	}
	for i := range old.Spec.Containers {
		f.removed(&p.Spec.Containers[i].Resources, &old.Spec.Containers[i].Resources, at.Child("containers").Index(i).Child("resources"), "resource")
	}
	f.onlyResized(rest, &old.Spec, at)
	if len(f.List) == 0 && !equality.Semantic.DeepEqual(*rest, old.Spec) {
		f.forbidden(at, "only cpu and memory resources are mutable")
	}
	return f.List
}

// resizable reports whether the node of a pod knows of resizes, as far as that is known.
func resizable(statuses []corev1.ContainerStatus) bool {
	for _, status := range statuses {
		if status.State.Running != nil {
			return status.Resources != nil
		}
	}
	return true
}

// sameContainers reports whether containers have the names that they had.
func (f *Findings) sameContainers(now, was []corev1.Container, at *field.Path, name string) bool {
	before := len(f.List)
	if len(now) != len(was) {
		f.forbidden(at.Child(name), name+" may not be added or removed on resize")
		return false
	}
	for i := range now {
		if now[i].Name != was[i].Name {
			f.forbidden(at.Child(name).Index(i).Child("name"), name+" may not be renamed or reordered on resize")
		}
	}
	return len(f.List) == before
}

// removed finds what is not asked for any more.
func (f *Findings) removed(now, was *corev1.ResourceRequirements, at *field.Path, what string) {
	for _, lists := range []struct {
		name     string
		now, was corev1.ResourceList
	}{{"requests", now.Requests, was.Requests}, {"limits", now.Limits, was.Limits}} {
		for name := range lists.was {
			if _, ok := lists.now[name]; !ok {
				f.forbidden(at.Child(lists.name), fmt.Sprintf("%s %s cannot be removed", what, lists.name))
				break
			}
		}
	}
}

// onlyResized finds what else has changed of containers, and sets back what may change.
func (f *Findings) onlyResized(spec, old *corev1.PodSpec, at *field.Path) {
	for i := range spec.Containers {
		setBack(&spec.Containers[i].Resources, &old.Containers[i].Resources)
		if !equality.Semantic.DeepEqual(spec.Containers[i], old.Containers[i]) {
			f.forbidden(at, "only cpu and memory resources are mutable")
		}
	}
	for i := range spec.InitContainers {
		container, here := &spec.InitContainers[i], at.Child("initContainers").Index(i)
		changed := !equality.Semantic.DeepEqual(*container, old.InitContainers[i])
		setBack(&container.Resources, &old.InitContainers[i].Resources)
		if !equality.Semantic.DeepEqual(*container, old.InitContainers[i]) {
			f.forbidden(here, "only cpu and memory resources for init or sidecar containers are mutable")
		}
		if !changed || Deref(container.RestartPolicy) == corev1.ContainerRestartPolicyAlways {
			continue
		}
		for _, policy := range container.ResizePolicy {
			if policy.RestartPolicy == corev1.RestartContainer {
				f.forbidden(here, "non-sidecar init containers with a resize policy of RestartContainer cannot be resized")
			}
		}
	}
}

// setBack makes CPU and memory what they were.
func setBack(now, was *corev1.ResourceRequirements) {
	for _, lists := range []struct {
		now *corev1.ResourceList
		was corev1.ResourceList
	}{{&now.Requests, was.Requests}, {&now.Limits, was.Limits}} {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			delete(*lists.now, name)
			if quantity, ok := lists.was[name]; ok {
				if *lists.now == nil {
					*lists.now = corev1.ResourceList{}
				}
				(*lists.now)[name] = quantity
			}
		}
	}
}
