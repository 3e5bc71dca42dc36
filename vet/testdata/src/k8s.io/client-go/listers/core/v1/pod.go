// Package v1 is a stub.
package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

type PodLister interface {
	List(selector labels.Selector) ([]*corev1.Pod, error)
	Pods(namespace string) PodNamespaceLister
}

type PodNamespaceLister interface {
	List(selector labels.Selector) ([]*corev1.Pod, error)
	Get(name string) (*corev1.Pod, error)
}
