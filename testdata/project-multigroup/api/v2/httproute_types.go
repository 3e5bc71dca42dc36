/*
Copyright 2026.
*/

package v2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HTTPRouteSpec is the desired state of a HTTPRoute. Replace message with your own fields, then run make generate manifests.
type HTTPRouteSpec struct {
	// message is an example of a field with validation.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message"`
}

// HTTPRouteStatus is the observed state of a HTTPRoute. Only the controller writes it.
type HTTPRouteStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions describe the state of the HTTPRoute. Ready is True when the actual state matches the spec of observedGeneration.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=httproutes,scope=Namespaced
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"

// HTTPRoute is the Schema of httproutes.
type HTTPRoute struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the desired state.
	// +required
	Spec HTTPRouteSpec `json:"spec"`

	// status is the observed state.
	// +optional
	Status HTTPRouteStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true

// HTTPRouteList is a list of HTTPRoute objects.
type HTTPRouteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []HTTPRoute `json:"items"`
}
