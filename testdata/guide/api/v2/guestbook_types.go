package v2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GuestbookSpec is the desired state of a Guestbook.
type GuestbookSpec struct {
	// replicas is the number of pods.
	// +optional
	// +default=1
	Replicas *int32 `json:"replicas,omitempty"`

	// image is the container image.
	// +required
	Image string `json:"image"`

	// location is where the pods run.
	// +required
	Location Location `json:"location"`
}

// Location names a region, and a zone in it.
type Location struct {
	// region of the cloud.
	// +required
	Region string `json:"region"`

	// zone in the region.
	// +optional
	Zone string `json:"zone,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion

// Guestbook is the schema of guestbooks.
type Guestbook struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the desired state.
	// +required
	Spec GuestbookSpec `json:"spec"`
}

// +kubebuilder:object:root=true

// GuestbookList is a list of Guestbook objects.
type GuestbookList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Guestbook `json:"items"`
}
