// Package api is in a module of its own.
// +groupName=third.example.com
// +versionName=v2
package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Thing is a thing.
// +kubebuilder:object:root=true
type Thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Names             []string `json:"names,omitempty"`
}
