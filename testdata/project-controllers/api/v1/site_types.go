/*
Copyright 2026.
*/

package v1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SiteSpec is the desired state of a Site.
type SiteSpec struct {
	// image is the image of the containers.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +default="nginx:1.29"
	Image string `json:"image,omitempty"`

	// replicas is the desired number of Pods.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +default=1
	Replicas *int32 `json:"replicas,omitempty"`

	// mode says whether pages are made when they are asked for.
	// +optional
	// +default="Static"
	Mode SiteMode `json:"mode,omitempty"`

	// domains are the domains.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Format=hostname
	Domains []string `json:"domains,omitempty"`

	// tls are the tls.
	// +optional
	TLS *SiteTLS `json:"tls,omitempty"`

	// storage is the storage.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!quantity(string(self)).isLessThan(quantity(string(oldSelf)))",message="storage may only grow"
	Storage *resource.Quantity `json:"storage,omitempty"`
}

// SiteStatus is the observed state of a Site. Only the controller writes it.
type SiteStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions describe the state of the Site. Available is True when enough replicas run, Progressing during a rollout, and Degraded after an error.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// replicas is the number of Pods.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// readyReplicas is the number of ready Pods.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`

	// selector selects the Pods, in the form of the scale subresource.
	// +optional
	Selector *string `json:"selector,omitempty"`
}

// SiteMode is mode of a Site.
// +kubebuilder:validation:Enum=Static;Dynamic
type SiteMode string

// The values of SiteMode.
const (
	SiteModeStatic  SiteMode = "Static"
	SiteModeDynamic SiteMode = "Dynamic"
)

// SiteTLS is tls of a Site.
type SiteTLS struct {
	// secretRef names a Secret.
	// +optional
	SecretRef *SiteSecretReference `json:"secretRef,omitempty"`
}

// SiteSecretReference names a Secret in the namespace of the Site.
type SiteSecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=sites,scope=Namespaced,shortName=si,categories=all
// +kubebuilder:printcolumn:name="Image",type="string",JSONPath=".spec.image"
// +kubebuilder:printcolumn:name="Replicas",type="integer",JSONPath=".spec.replicas"
// +kubebuilder:printcolumn:name="Mode",type="string",JSONPath=".spec.mode"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"

// Site is the Schema of sites.
type Site struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the desired state.
	// +required
	Spec SiteSpec `json:"spec"`

	// status is the observed state.
	// +optional
	Status SiteStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true

// SiteList is a list of Site objects.
type SiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Site `json:"items"`
}
