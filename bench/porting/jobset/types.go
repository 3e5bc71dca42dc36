// Package jobset contains the core of kubernetes-sigs/jobset, ported with docs/from-controller-runtime.md: groups of
// Jobs that start, end and restart together.
//
// +groupName=jobset.porting.kctrl.test
// +versionName=v1
// +kubebuilder:object:generate=true
package jobset

import (
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of the kinds.
var GroupVersion = schema.GroupVersion{Group: "jobset.porting.kctrl.test", Version: "v1"}

// AddToScheme registers the kinds.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &JobSet{}, &JobSetList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// The conditions.
const (
	Completed = "Completed"
	Failed    = "Failed"
	Suspended = "Suspended"
)

// ReplicatedJob describes a number of identical Jobs.
type ReplicatedJob struct {
	Name string `json:"name"`
	// +kubebuilder:default=1
	Replicas int32 `json:"replicas,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Template batchv1.JobTemplateSpec `json:"template"`
}

// JobSetSpec is the desired state.
type JobSetSpec struct {
	// +listType=map
	// +listMapKey=name
	ReplicatedJobs []ReplicatedJob `json:"replicatedJobs"`
	// MaxRestarts is how often all Jobs are recreated after one has failed.
	// +optional
	MaxRestarts int32 `json:"maxRestarts,omitempty"`
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// ReplicatedJobStatus counts Jobs.
type ReplicatedJobStatus struct {
	Name      string `json:"name"`
	Active    int32  `json:"active"`
	Succeeded int32  `json:"succeeded"`
	Failed    int32  `json:"failed"`
}

// JobSetStatus is the observed state.
type JobSetStatus struct {
	// +optional
	Restarts int32 `json:"restarts"`
	// +optional
	ReplicatedJobs []ReplicatedJobStatus `json:"replicatedJobs,omitempty"`
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// JobSet is a group of Jobs.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type JobSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              JobSetSpec   `json:"spec,omitempty"`
	Status            JobSetStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true
type JobSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []JobSet `json:"items"`
}
