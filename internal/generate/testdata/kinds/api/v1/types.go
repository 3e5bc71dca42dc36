// Package v1 has two kinds that share types.
// +groupName=kinds.example.com
// +kubebuilder:object:generate=true
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/kinds/shared"
)

// Policy is cluster scoped.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=pol
type Policy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PolicySpec `json:"spec,omitempty"`
}

// PolicySpec refers to other objects.
type PolicySpec struct {
	shared.Reference `json:",inline"`
	Chain            shared.Chain                  `json:"chain,omitempty"`
	Plain            shared.Plain                  `json:"plain"`
	ByName           map[string][]shared.Reference `json:"byName,omitempty"`
	Pointers         []*shared.Plain               `json:"pointers,omitempty"`
}

// PolicyList is a list of Policies.
// +kubebuilder:object:root=true
type PolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Policy `json:"items"`
}

// Mouse has an irregular plural.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Mouse struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   MouseSpec   `json:"spec,omitempty"`
	Status MouseStatus `json:"status,omitempty"`
}

// MouseSpec is empty.
type MouseSpec struct{}

// MouseStatus embeds a template of another kind.
type MouseStatus struct {
	Template struct {
		metav1.TypeMeta `json:",inline"`
	} `json:"-"`
	// +optional
	LastPolicy *PolicySpec `json:"lastPolicy,omitempty"`
}

// MouseList is a list of Mice.
// +kubebuilder:object:root=true
type MouseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Mouse `json:"items"`
}
