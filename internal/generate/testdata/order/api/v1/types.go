// Package v1 has fields whose rules controller-gen writes in an order that differs from run to run.
// +groupName=order.example.com
// +kubebuilder:object:generate=true
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Thing is a kind.
// +kubebuilder:object:root=true
type Thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:validation:XValidation:rule="self != 'a'",message="not a"
	// +k8s:immutable
	// +kubebuilder:validation:XValidation:rule="self != 'b'",message="not b"
	Name string `json:"name"`

	// +k8s:immutable
	// +kubebuilder:validation:XValidation:rule="self.size() > 1"
	// +listType=map
	// +listMapKey=x
	// +k8s:listMapKey=y
	Points []Point `json:"points"`
}

// Point is a place.
type Point struct {
	X int32 `json:"x"`
	Y int32 `json:"y"`
}
