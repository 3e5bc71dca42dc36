package builtin

import (
	"errors"
	"fmt"

	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/node"
	runtimeclassregistry "k8s.io/kubernetes/pkg/registry/node/runtimeclass"
	"k8s.io/kubernetes/pkg/util/tolerations"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
)

// This file contains the kind RuntimeClass of node.k8s.io/v1 and its effects on pods.

// NodeKinds returns the kinds of the group node.k8s.io.
func NodeKinds() []Kind { return []Kind{runtimeClasses()} }

func runtimeClasses() Kind {
	type class = nodev1.RuntimeClass
	return Kind{
		GVK: nodev1.SchemeGroupVersion.WithKind("RuntimeClass"), Resource: "runtimeclasses",
		Columns: []Column{
			Col("Handler", "string", "", func(c *class) any { return c.Handler }),
			SinceColumn,
		},
		Rules: By(runtimeclassregistry.Strategy),
	}
}

// runtimeClassOf returns the runtime class of a pod, or nil if the pod names none.
func (cluster Cluster) runtimeClassOf(pod *corev1.Pod) (*nodev1.RuntimeClass, error) {
	if pod.Spec.RuntimeClassName == nil {
		return nil, nil
	}
	name := *pod.Spec.RuntimeClassName
	if messages := content.IsPathSegmentName(name); len(messages) > 0 {
		return nil, unaskable(fmt.Sprintf("invalid resource name %q: %v", name, messages))
	} else if name == "" {
		return nil, unaskable("resource name may not be empty")
	}
	object, err := cluster.Read(nodev1.GroupName, "v1", "runtimeclasses", "", name)
	if err != nil { // the class is missing, or its name is invalid
		return nil, fmt.Errorf("pod rejected: RuntimeClass %q not found", name)
	}
	return object.(*nodev1.RuntimeClass), nil
}

// unaskable is the error for a name that cannot be part of a path. The server returns it unchanged.
type unaskable string

func (u unaskable) Error() string { return string(u) }

// rejected converts an error about the runtime class of a pod to the error that the client receives.
func rejected(a admission.Attributes, err error) error {
	if _, ok := err.(unaskable); ok || err == nil {
		return err
	}
	return admission.NewForbidden(a, err)
}

var errOtherOverhead = errors.New("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")

// runAsClass sets the overhead and the scheduling of a new pod from its runtime class.
func (cluster Cluster) runAsClass(pod *corev1.Pod) error {
	class, err := cluster.runtimeClassOf(pod)
	if class == nil {
		return err
	}
	spec := &pod.Spec
	if class.Overhead != nil {
		overhead := class.Overhead.DeepCopy().PodFixed
		if len(spec.Overhead) > 0 && !equality.Semantic.DeepEqual(overhead, spec.Overhead) {
			return errOtherOverhead
		}
		spec.Overhead = overhead
	}
	if class.Scheduling == nil {
		return nil
	}
	scheduling := class.Scheduling.DeepCopy()
	for _, name := range sortedMap(scheduling.NodeSelector) {
		value := scheduling.NodeSelector[name]
		if own, ok := spec.NodeSelector[name]; ok && own != value {
			return fmt.Errorf("conflict: runtimeClass.scheduling.nodeSelector[%s] = %s; pod.spec.nodeSelector[%s] = %s", name,
				value, name, own)
		}
		spec.NodeSelector = orMake(spec.NodeSelector)
		spec.NodeSelector[name] = value
	}
	change(pod, func(internal runtime.Object) {
		own := &internal.(*core.Pod).Spec.Tolerations
		*own = tolerations.MergeTolerations(*own, internalOf(class.DeepCopy()).(*node.RuntimeClass).Scheduling.Tolerations)
	})
	return nil
}

// reviewOverhead rejects a new pod whose overhead differs from the overhead of its runtime class.
func (cluster Cluster) reviewOverhead(pod *corev1.Pod) error {
	class, err := cluster.runtimeClassOf(pod)
	switch {
	case err != nil:
		return err
	case class != nil && class.Overhead != nil && !equality.Semantic.DeepEqual(class.Overhead.PodFixed, pod.Spec.Overhead):
		return errOtherOverhead
	case (class == nil || class.Overhead == nil) && pod.Spec.Overhead != nil:
		return errors.New("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
	}
	return nil
}
