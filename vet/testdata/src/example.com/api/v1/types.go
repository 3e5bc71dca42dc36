// Package v1 has kinds for the tests.
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

type SiteSpec struct {
	Image string
	Size  int
}

type SiteStatus struct {
	Phase      string
	Conditions []metav1.Condition
}

// +kubebuilder:object:root=true

// Site is namespaced.
type Site struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec   SiteSpec
	Status SiteStatus
}

func (s *Site) DeepCopy() *Site { return &Site{} }

func (s *Site) DeepCopyObject() runtime.Object { return s }

// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster

// Tenant is cluster-scoped.
type Tenant struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Status SiteStatus
}

func (t *Tenant) DeepCopyObject() runtime.Object { return t }
