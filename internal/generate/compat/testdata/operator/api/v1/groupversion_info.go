// Package v1 has the kinds of webapp.example.com, version v1.
// +kubebuilder:object:generate=true
// +groupName=webapp.example.com
package v1
