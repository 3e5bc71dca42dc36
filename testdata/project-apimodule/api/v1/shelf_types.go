/*
Copyright 2026.
*/

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ShelfSpec is the desired state of a Shelf.
type ShelfSpec struct {
	// rows are the rows.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +default=3
	Rows int32 `json:"rows,omitempty"`
}

// ShelfStatus is the observed state of a Shelf. Only the controller writes it.
type ShelfStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions describe the state of the Shelf. Ready is True when the actual state matches the spec of observedGeneration.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=shelves,scope=Namespaced
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:storageversion

// Shelf is the Schema of shelves.
type Shelf struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the desired state.
	// +required
	Spec ShelfSpec `json:"spec"`

	// status is the observed state.
	// +optional
	Status ShelfStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true

// ShelfList is a list of Shelf objects.
type ShelfList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Shelf `json:"items"`
}
