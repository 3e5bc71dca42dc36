// Package v1beta1 has the kinds of webapp.example.com, version v1beta1.
// +kubebuilder:object:generate=true
// +groupName=webapp.example.com
package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Guestbook is a book for guests.
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=gb;book,categories=all,scope=Namespaced
// +kubebuilder:metadata:annotations={"a=b","c=d"},labels={"app=book"}
// +kubebuilder:deprecatedversion:warning="use v1"
type Guestbook struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Pages are how many pages there are.
	Pages *int32 `json:"pages,omitempty"`
}

// Visitor comes and goes.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=visitors
type Visitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Name string `json:"name"`
}
