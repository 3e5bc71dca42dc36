// Package shared has types that several kinds use.
package shared

// Reference names an object.
// +kubebuilder:object:generate=true
type Reference struct {
	Name      string  `json:"name"`
	Namespace *string `json:"namespace,omitempty"`
}

// Plain needs no deep copy.
type Plain struct {
	Value int `json:"value"`
}

// Chain copies itself.
// +kubebuilder:object:generate=true
type Chain struct {
	Links []Reference `json:"links,omitempty"`
	Own   *Custom     `json:"own,omitempty"`
}

// Custom has deep copies written by hand.
// +kubebuilder:object:generate=false
type Custom struct {
	Data map[string][]byte `json:"data,omitempty"`
}

// DeepCopyInto copies the receiver into out.
func (in *Custom) DeepCopyInto(out *Custom) { *out = *in }

// DeepCopy copies the receiver.
func (in *Custom) DeepCopy() *Custom { out := *in; return &out }
