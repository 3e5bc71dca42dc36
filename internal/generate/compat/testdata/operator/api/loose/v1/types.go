// +groupName=loose.example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Reading has what APIs should not have.
// +kubebuilder:object:generate=true
type Reading struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Value  float64 `json:"value"`
	Small  float32 `json:"small,omitempty"`
	hidden int
}
