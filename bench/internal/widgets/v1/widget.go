//go:generate go tool controller-gen object crd paths=. output:crd:dir=.

// Package v1 contains the measured kind, whose size and shape are typical of operators.
// +groupName=bench.example.com
// +kubebuilder:object:generate=true
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of this package.
var GroupVersion = schema.GroupVersion{Group: "bench.example.com", Version: "v1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// Variable is a name and a value.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

// Container is one of the programs of a Widget.
type Container struct {
	Name  string   `json:"name"`
	Image string   `json:"image"`
	Args  []string `json:"args,omitempty"`
	// +listType=map
	// +listMapKey=name
	Env []Variable `json:"env,omitempty"`
}

// Port is a port of a Widget.
type Port struct {
	Name   string `json:"name"`
	Number int32  `json:"number"`
}

// WidgetSpec is the desired state.
type WidgetSpec struct {
	Replicas int32 `json:"replicas,omitempty"`
	// +listType=map
	// +listMapKey=name
	Containers []Container `json:"containers,omitempty"`
	// +listType=map
	// +listMapKey=name
	Ports []Port `json:"ports,omitempty"`
}

// WidgetStatus is the observed state.
type WidgetStatus struct {
	ObservedGeneration int64    `json:"observedGeneration,omitempty"`
	ReadyReplicas      int32    `json:"readyReplicas,omitempty"`
	Addresses          []string `json:"addresses,omitempty"`
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Widget has no status subresource, so that one request creates a complete object.
// +kubebuilder:object:root=true
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WidgetSpec   `json:"spec,omitempty"`
	Status            WidgetStatus `json:"status,omitempty"`
}

// WidgetList is a list of Widgets.
// +kubebuilder:object:root=true
type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Widget `json:"items"`
}
