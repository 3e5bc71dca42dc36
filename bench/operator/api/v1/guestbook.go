//go:generate go tool controller-gen object paths=.

// Package v1 is the API of the compared operator: the kind that kctrl scaffolds.
// +groupName=webapp.example.com
// +kubebuilder:object:generate=true
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of this package.
var GroupVersion = schema.GroupVersion{Group: "webapp.example.com", Version: "v1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Guestbook{}, &GuestbookList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// GuestbookSpec is the desired state.
type GuestbookSpec struct {
	// Message is any text.
	// +optional
	Message string `json:"message,omitempty"`
}

// GuestbookStatus is the observed state.
type GuestbookStatus struct {
	// ObservedGeneration is the generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions contain Ready.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Guestbook is the kind of the operator.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Guestbook struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              GuestbookSpec   `json:"spec,omitempty"`
	Status            GuestbookStatus `json:"status,omitempty"`
}

// GuestbookList is a list of Guestbooks.
// +kubebuilder:object:root=true
type GuestbookList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Guestbook `json:"items"`
}
