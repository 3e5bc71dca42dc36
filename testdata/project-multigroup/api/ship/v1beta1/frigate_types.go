/*
Copyright 2026.
*/

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FrigateSpec is the desired state of a Frigate. Replace message with your own fields, then run make generate manifests.
type FrigateSpec struct {
	// message is an example of a field with validation.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message"`
}

// FrigateStatus is the observed state of a Frigate. Only the controller writes it.
type FrigateStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions describe the state of the Frigate. Ready is True when the actual state matches the spec of observedGeneration.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=frigates,scope=Namespaced
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"

// Frigate is the Schema of frigates.
type Frigate struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the desired state.
	// +required
	Spec FrigateSpec `json:"spec"`

	// status is the observed state.
	// +optional
	Status FrigateStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true

// FrigateList is a list of Frigate objects.
type FrigateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Frigate `json:"items"`
}
