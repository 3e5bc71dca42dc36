// Package v2 has apply configurations elsewhere.
// +kubebuilder:ac:generate=true
// +kubebuilder:ac:output:package=../../clients/apply
// +groupName=apply.example.com
package v2

import (
	v1 "example.com/operator/apply/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SchemeGroupVersion is the group and version of the kinds.
var SchemeGroupVersion = schema.GroupVersion{Group: "apply.example.com", Version: "v2"}

// Ship sails.
// +kubebuilder:object:root=true
// +kubebuilder:resource
type Ship struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Old v1.ShipSpec `json:"old,omitempty"`
}
