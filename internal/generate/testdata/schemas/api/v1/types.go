// Package v1 has fields for which controller-gen fails.
// +kubebuilder:object:generate=true
// +groupName=schemas.example.com
package v1

import (
	"net"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/schemas/other"
)

// Thing is a kind.
// +kubebuilder:object:root=true
type Thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ThingSpec `json:"spec"`
}

// Data is written in base64.
type Data []byte

type Key = string

// List is a list.
type List = []string

// +kubebuilder:validation:MinProperties=1
type Dict = map[string]int32

type Inline = struct {
	A string `json:"a"`
}

type Ptr = *string

// Proto is one.
// +kubebuilder:validation:MaxLength=9
type Proto corev1.Protocol

// Box is generic.
type Box[T any] struct {
	Value T           `json:"value"`
	Names map[Key]Key `json:"names"`
	List  List        `json:"list"`
}

type ThingSpec struct {
	Box Box[Data] `json:"box"`
	// +kubebuilder:validation:MinLength=1
	Data  Data           `json:"data"`
	Many  []Data         `json:"many"`
	By    map[Key]Key    `json:"by"`
	Names map[string]Key `json:"names"`
	// +kubebuilder:validation:MaxItems=3
	List   List   `json:"list"`
	Dict   Dict   `json:"dict"`
	Dicts  []Dict `json:"dicts"`
	Inline Inline `json:"inline"`
	Ptr    Ptr    `json:"ptr,omitempty"`
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:Pattern=`^U`
	Protocol corev1.Protocol `json:"protocol"`
	// +kubebuilder:validation:items:MaxLength=5
	Protocols []corev1.Protocol `json:"protocols"`
	// +kubebuilder:validation:Minimum=3
	Size *other.Size `json:"size,omitempty"`
	// +kubebuilder:validation:MinLength=3
	Name other.Name `json:"name"`
	Blob other.Blob `json:"blob"`
	// +kubebuilder:validation:MaxLength=5
	Blob2 other.Blob `json:"blob2"`
	IP    net.IP     `json:"ip"`
	// +kubebuilder:validation:Pattern=`^[0-9]+s$`
	Wait metav1.Duration `json:"wait"`
	// +kubebuilder:validation:Pattern=`^[0-9]+$`
	Quantity resource.Quantity `json:"quantity"`
	// +kubebuilder:validation:MaxItems=2
	Foreign other.Names `json:"foreign"`
	Proto   Proto       `json:"proto"`
}
