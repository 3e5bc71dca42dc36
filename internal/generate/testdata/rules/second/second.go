// +kubebuilder:rbac:groups="",resources=pods,verbs=delete

// Package second adds to the rules of first.
package second

// +kubebuilder:rbac:groups=example.com,resources=widgets;widgets/status,verbs=get;patch
// +kubebuilder:rbac:groups=example.com,resources=gadgets,verbs=get;patch

var _ = 1
