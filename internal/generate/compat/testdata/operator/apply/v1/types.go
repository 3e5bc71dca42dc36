// Package v1 has kinds with apply configurations.
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +groupName=apply.example.com
package v1

import (
	"example.com/operator/shared"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// SchemeGroupVersion is the group and version of the kinds.
var SchemeGroupVersion = schema.GroupVersion{Group: "apply.example.com", Version: "v1"}

// Phase says how far it is.
type Phase string

// Names are names.
type Names []string

// Item is part of a ship.
//
// It has two paragraphs.
// +structType=atomic
type Item struct {
	// Name of the item.
	Name string `json:"name"`
	// +optional
	Weight *resource.Quantity `json:"weight,omitempty"`
	Next   *Item              `json:"next,omitempty"` // trailing
	After  int                `json:"after,omitempty"`
}

// Base is embedded.
type Base struct {
	Title  string `json:"title"`
	Nested []Item `json:"nested,omitempty"`
}

// Outer is embedded with a name.
type Outer struct {
	Flag bool `json:"flag,omitempty"`
}

// unused is not part of any kind.
type unused struct {
	A string `json:"a"`
}

// ShipSpec is what is wanted.
type ShipSpec struct {
	Base          `json:",inline"`
	shared.Common `json:",inline"`
	Outer         `json:"outer,omitempty"`

	// Phase of the ship.
	Phase Phase `json:"phase,omitempty"`
	Names Names `json:"names,omitempty"`
	// Items are listed.
	// +listType=map
	// +listMapKey=name
	Items     []Item                                    `json:"items,omitempty"`
	Pointers  []*Item                                   `json:"pointers,omitempty"`
	List      *[]Item                                   `json:"list,omitempty"`
	Strings   []string                                  `json:"strings,omitempty"`
	Bytes     []byte                                    `json:"bytes,omitempty"`
	ByName    map[string]Item                           `json:"byName,omitempty"`
	Labels    map[string]string                         `json:"labels,omitempty"`
	Deep      map[string][]Item                         `json:"deep,omitempty"`
	Port      intstr.IntOrString                        `json:"port,omitempty"`
	Raw       *runtime.RawExtension                     `json:"raw,omitempty"`
	UID       types.UID                                 `json:"uid,omitempty"`
	Selector  *metav1.LabelSelector                     `json:"selector,omitempty"`
	Ref       *corev1.LocalObjectReference              `json:"ref,omitempty"`
	Refs      []corev1.LocalObjectReference             `json:"refs,omitempty"`
	Resources corev1.ResourceRequirements               `json:"resources,omitempty"`
	Until     *metav1.Time                              `json:"until,omitempty"`
	Float     float64                                   `json:"float,omitempty"`
	Limits    map[corev1.ResourceName]resource.Quantity `json:"limits,omitempty"`
	Hidden    string                                    `json:"-"`
	private   string
}

// ShipStatus is what is.
type ShipStatus struct {
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	Count      *int32             `json:"count,omitempty"`
}

// A detached comment.

// Ship sails.
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=ships
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
type Ship struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ShipSpec    `json:"spec,omitempty"`
	Status *ShipStatus `json:"status,omitempty"`
}

// ShipList has ships.
// +kubebuilder:object:root=true
type ShipList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Ship `json:"items"`
}

// Harbour is one for all.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
type Harbour struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Depth int64 `json:"depth"`
}

// Manual is a kind by a tag of client-gen.
// +genclient
// +genclient:noStatus
// +genclient:method=Scale,verb=update,subresource=scale
// +kubebuilder:object:root=true
type Manual struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status ShipStatus `json:"status,omitempty"`
}

// Skipped gets nothing.
// +kubebuilder:object:root=true
// +kubebuilder:resource
// +kubebuilder:ac:generate=false
type Skipped struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}
