// Package v1alpha1 is the version before.
// +kubebuilder:object:generate=true
// +groupName=versions.example.com
// +versionName=v1alpha1
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "example.com/versions/api/v1"
)

// JobSpec is the desired state.
type JobSpec struct {
	Title string `json:"title"`
	// Next has its type in another package of the project.
	Next *v1.JobSpec `json:"next,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion:warning="use v1"
// +kubebuilder:unservedversion

// Job is a kind in two versions.
type Job struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              JobSpec `json:"spec,omitempty"`
}

// +kubebuilder:object:root=true

// JobList is a list of Jobs.
type JobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Job `json:"items"`
}

// Batch is the type of the other version.
type Batch v1.Batch
