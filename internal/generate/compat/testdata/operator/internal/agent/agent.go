// Package agent has rights of its own.
package agent

// +kubebuilder:rbac:groups=webapp.example.com,resources=visitors,verbs=list;get;watch
// +kubebuilder:rbac:groups=core;apps,resources=events,resourceNames=one;two,verbs=get

// Agent runs.
type Agent struct{}
