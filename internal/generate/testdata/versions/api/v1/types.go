// +kubebuilder:object:generate=true
// +groupName=versions.example.com
// +kubebuilder:validation:Optional

// Package v1 is the stored version.
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

type (
	// JobSpec is the desired state.
	JobSpec struct {
		// +kubebuilder:validation:Required
		Name string `json:"name"`
		Note string `json:"note"`
	}

	// JobStatus is the observed state.
	JobStatus struct {
		// Done says that it is over.
		Done bool `json:"done"`
	}
)

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status

// Job is a kind in two versions.
type Job struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              JobSpec   `json:"spec,omitempty"`
	Status            JobStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// JobList is a list of Jobs.
type JobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Job `json:"items"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion

// Batch is a kind whose versions have one Go type.
type Batch struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              map[string]*JobSpec `json:"spec,omitempty"`
}
