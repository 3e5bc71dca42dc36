// Package shared has what several kinds are made of.
package shared

// Common is in every spec.
// +kubebuilder:object:generate=true
type Common struct {
	// Paused stops everything.
	Paused *bool `json:"paused,omitempty"`
	// Owners own it.
	// +kubebuilder:validation:MaxItems=10
	Owners []string `json:"owners,omitempty"`
}

// Plain has no copies.
type Plain struct{ A []string }
