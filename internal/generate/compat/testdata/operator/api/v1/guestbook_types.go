package v1

import (
	"example.com/operator/shared"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Mode says how. It has two values. The second one is the default, and this sentence is long enough to be cut somewhere.
// +kubebuilder:validation:Enum=Fast;Safe
type Mode string

// Entry is one entry.
type Entry struct {
	// Author wrote it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^[a-z]+$`
	Author string `json:"author"`
	// +optional
	Text *string `json:"text,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=5
	Stars int32 `json:"stars,omitempty"`
}

// Template is what is made of each entry.
type Template struct {
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              corev1.ResourceRequirements `json:"spec,omitempty"`
}

// GuestbookSpec is what the user wants.
// +kubebuilder:validation:XValidation:rule="self.size > 0",message="must have room"
type GuestbookSpec struct {
	shared.Common `json:",inline"`
	// Size is how many entries there may be.
	// +kubebuilder:default=3
	Size int64 `json:"size"`
	// Mode of the book.
	// +kubebuilder:default=Safe
	Mode Mode `json:"mode,omitempty"`
	// Entries are all entries.
	// +listType=map
	// +listMapKey=author
	Entries []Entry `json:"entries,omitempty"`
	// +listType=set
	Tags     []string                      `json:"tags,omitempty"`
	Labels   map[string]string             `json:"labels,omitempty"`
	ByName   map[string]*Entry             `json:"byName,omitempty"`
	Limits   map[string]resource.Quantity  `json:"limits,omitempty"`
	Port     intstr.IntOrString            `json:"port,omitempty"`
	Since    *metav1.Time                  `json:"since,omitempty"`
	Wait     *metav1.Duration              `json:"wait,omitempty"`
	Raw      runtime.RawExtension          `json:"raw,omitempty"`
	Key      []byte                        `json:"key,omitempty"`
	Secret   *corev1.SecretKeySelector     `json:"secret,omitempty"`
	Matrix   [][]int                       `json:"matrix,omitempty"`
	Nested   map[string]map[string][]Entry `json:"nested,omitempty"`
	Template Template                      `json:"template,omitempty"`
}

// GuestbookStatus is what is.
type GuestbookStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	Ready      int32              `json:"ready"`
	Selector   string             `json:"selector,omitempty"`
}

// Guestbook is a book for guests.
//
// It may have several paragraphs. TODO is not among them.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.ready,selectorpath=.status.selector
// +kubebuilder:resource:shortName=gb;book,categories=all,scope=Namespaced
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`,description="How many",priority=1
// +kubebuilder:metadata:annotations={"a=b","c=d"},labels={"app=book"}
// +kubebuilder:storageversion
type Guestbook struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GuestbookSpec   `json:"spec,omitempty"`
	Status GuestbookStatus `json:"status,omitempty"`
}

// GuestbookList has guestbooks.
// +kubebuilder:object:root=true
type GuestbookList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Guestbook `json:"items"`
}
