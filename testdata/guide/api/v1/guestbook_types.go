package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GuestbookSpec is what a user asks of a Guestbook.
type GuestbookSpec struct {
	// replicas are the replicas.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +default=1
	Replicas *int32 `json:"replicas,omitempty"`

	// image is the image.
	// +required
	Image string `json:"image"`

	// mode is Fast or Safe.
	// +optional
	// +default="Safe"
	Mode GuestbookMode `json:"mode,omitempty"`

	// ports are the ports.
	// +required
	// +listType=map
	// +listMapKey=name
	Ports []GuestbookPorts `json:"ports"`

	// configRef names a ConfigMap.
	// +optional
	ConfigRef *GuestbookConfigMapReference `json:"configRef,omitempty"`

	// region is the region.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="region is immutable"
	Region string `json:"region"`
}

// GuestbookStatus is what the controller observed. Only the controller writes it.
type GuestbookStatus struct {
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions say how the Guestbook is. Ready is True when the world matches the spec of observedGeneration.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// readyReplicas are the ready replicas.
	// +optional
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`
}

// GuestbookMode is mode of a Guestbook.
// +kubebuilder:validation:Enum=Fast;Safe
type GuestbookMode string

// The values of GuestbookMode.
const (
	GuestbookModeFast GuestbookMode = "Fast"
	GuestbookModeSafe GuestbookMode = "Safe"
)

// GuestbookPorts is one of ports of a Guestbook.
type GuestbookPorts struct {
	// name is the name.
	// +required
	Name string `json:"name"`

	// number is the number.
	// +required
	Number int32 `json:"number"`
}

// GuestbookConfigMapReference names a ConfigMap in the namespace of the Guestbook.
type GuestbookConfigMapReference struct {
	// name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=guestbooks,scope=Namespaced,shortName=gb
// +kubebuilder:printcolumn:name="Size",type="integer",JSONPath=".spec.replicas"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"

// Guestbook is the Schema of guestbooks.
type Guestbook struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the desired state.
	// +required
	Spec GuestbookSpec `json:"spec"`

	// status is the observed state.
	// +optional
	Status GuestbookStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true

// GuestbookList is a list of Guestbook objects.
type GuestbookList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Guestbook `json:"items"`
}
