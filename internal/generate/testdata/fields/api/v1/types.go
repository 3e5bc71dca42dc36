// Package v1 has a field for everything that a CRD can say.
// +kubebuilder:object:generate=true
// +groupName=fields.example.com
package v1

import (
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Color is one of three.
// +kubebuilder:validation:Enum=red;green;"dark blue"
type Color string

// Phase is an enum of constants.
// +k8s:enum
type Phase string

// The phases.
const (
	PhaseRunning Phase = "Running"
	PhasePending Phase = "Pending"
)

// Percent is a number with bounds.
// +kubebuilder:validation:Minimum=0
// +kubebuilder:validation:Maximum=100
type Percent int32

// Names is a list of names.
// +kubebuilder:validation:MaxItems=8
// +kubebuilder:validation:items:MinLength=1
// +kubebuilder:validation:items:Pattern=`^[a-z]+$`
type Names []string

// Labels maps names to values.
// +mapType=granular
type Labels map[string]string

// Token marshals itself.
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:Format=password
type Token struct {
	text string
}

// MarshalJSON writes the text.
func (t Token) MarshalJSON() ([]byte, error) { return json.Marshal(t.text) }

// UnmarshalJSON reads the text.
func (t *Token) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &t.text) }

// Word is text that marshals itself.
type Word struct{ letters []rune }

// MarshalText writes the letters.
func (w Word) MarshalText() ([]byte, error) { return []byte(string(w.letters)), nil }

// Common is embedded.
type Common struct {
	// suspended stops everything.
	// +kubebuilder:default=false
	Suspended bool `json:"suspended,omitempty"`
	// shared is in the embedded struct.
	Shared *string `json:"shared,omitempty"`
}

// Server is a network server.
// +structType=atomic
type Server struct {
	// host is where it is.
	// +kubebuilder:validation:Format=hostname
	Host string `json:"host"`
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:validation:ExclusiveMaximum=false
	Port int32 `json:"port"`
	// +kubebuilder:default:={weight: 2, tags: {"a", "b"}}
	Options *Options `json:"options,omitempty"`
}

// Options has defaults.
type Options struct {
	// +kubebuilder:validation:MultipleOf=2
	Weight int64 `json:"weight,omitempty"`
	// +listType=set
	Tags []string `json:"tags,omitempty"`
}

// Choice is one of its members.
// +kubebuilder:validation:ExactlyOneOf=inline;ref
// +kubebuilder:validation:AtMostOneOf=ref;other
type Choice struct {
	Inline *string                      `json:"inline,omitempty"`
	Ref    *corev1.LocalObjectReference `json:"ref,omitempty"`
	Other  *corev1.SecretKeySelector    `json:"other,omitempty"`
}

// FieldsSpec is the desired state.
//
// It has a second paragraph, with a list:
//
//   - first
//   - second
//
// TODO: this line is left out.
// ---
// And all of this.
// +kubebuilder:validation:XValidation:rule="self.min <= self.max",message="min must not be above max",fieldPath=".min",reason=FieldValueInvalid
// +kubebuilder:validation:XValidation:rule="!has(self.text) || self.text != 'never'",messageExpression="'not ' + self.text"
type FieldsSpec struct {
	Common `json:",inline"`

	Min int `json:"min"`
	Max int `json:"max"`

	// text has many rules: a very long description that does not fit on one line of YAML and is therefore folded, with "quotes" and 'apostrophes' and a colon: here.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:example="an-example"
	// +kubebuilder:title="The text"
	// +optional
	Text string `json:"text,omitempty"`

	Bool   bool   `json:"bool"`
	Int32  int32  `json:"int32"`
	Uint32 uint32 `json:"uint32"`
	Int64  int64  `json:"int64"`
	Int8   int8   `json:"int8"`
	Bytes  []byte `json:"bytes,omitempty"`

	// +kubebuilder:default=red
	Color Color `json:"color,omitempty"`
	// +kubebuilder:validation:Enum=red;green
	Narrow Color `json:"narrow,omitempty"`
	Phase  Phase `json:"phase,omitempty"`
	// +kubebuilder:validation:Maximum=50
	Share Percent `json:"share,omitempty"`

	Names Names `json:"names,omitempty"`
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:UniqueItems=false
	Lists  [][]string        `json:"lists,omitempty"`
	Labels Labels            `json:"labels,omitempty"`
	Map    map[string]Server `json:"map,omitempty"`
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=3
	Lookup map[Color][]Options `json:"lookup,omitempty"`

	// +listType=map
	// +listMapKey=host
	// +listMapKey=port
	Servers []Server `json:"servers,omitempty"`
	// +nullable
	Server *Server `json:"server,omitempty"`
	Choice Choice  `json:"choice,omitempty"`

	Token Token `json:"token,omitempty"`
	Word  *Word `json:"word,omitempty"`

	Time      metav1.Time       `json:"time,omitempty"`
	MicroTime *metav1.MicroTime `json:"microTime,omitempty"`
	Duration  metav1.Duration   `json:"duration,omitempty"`
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:default="10m"
	Refresh  *metav1.Duration     `json:"refresh,omitempty"`
	Quantity resource.Quantity    `json:"quantity,omitempty"`
	IntOr    intstr.IntOrString   `json:"intOr,omitempty"`
	Raw      runtime.RawExtension `json:"raw,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:EmbeddedResource
	Resource runtime.RawExtension  `json:"resource,omitempty"`
	JSON     *apiextensionsv1.JSON `json:"json,omitempty"`
	UID      types.UID             `json:"uid,omitempty"`
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Schemaless
	Anything apiextensionsv1.JSON `json:"anything,omitempty"`

	Template corev1.PodTemplateSpec `json:"template,omitempty"`
	// +kubebuilder:externalDocs:url="https://example.com/docs",description="More"
	Env []corev1.EnvVar `json:"env,omitempty"`

	// +k8s:immutable
	Fixed string `json:"fixed,omitempty"`
	// +k8s:required
	Needed string `json:"needed,omitempty"`
	// +default={"a": 1}
	Defaults map[string]int64 `json:"defaults,omitempty"`

	Hidden  string        `json:"-"`
	private time.Duration `json:"-"`
}

// FieldsStatus is the observed state.
type FieldsStatus struct {
	Replicas int32  `json:"replicas,omitempty"`
	Selector string `json:"selector,omitempty"`
}

// Fields is a kind with everything.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.min,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=fieldsets,singular=fieldset,shortName=fs;fields,categories=all,scope=Cluster
// +kubebuilder:printcolumn:name="Text",type=string,JSONPath=`.spec.text`,description="the text",priority=1
// +kubebuilder:printcolumn:name="Int",type=integer,format=int32,JSONPath=".spec.int32"
// +kubebuilder:selectablefield:JSONPath=".spec.text"
// +kubebuilder:metadata:annotations="example.com/a=b",labels="app=fields"
type Fields struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   FieldsSpec   `json:"spec,omitempty"`
	Status FieldsStatus `json:"status,omitempty"`
}

// FieldsList is a list of Fields.
// +kubebuilder:object:root=true
type FieldsList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Fields `json:"items"`
}
