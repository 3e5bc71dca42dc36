// Package first has rules in many places.
package first

// +kubebuilder:rbac:groups="",resources=pods;services,verbs=get;list;watch
// +kubebuilder:rbac:groups=core,resources=pods/status,verbs=get;update
// +kubebuilder:rbac:groups=apps;batch,resources=deployments;jobs,verbs=*;get
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=configmaps,resourceNames=a;b,verbs=get
// +kubebuilder:rbac:urls=/metrics;/healthz,verbs=get

// Do does nothing.
func Do() {}

// +kubebuilder:rbac:groups="",namespace=infra,resources=secrets,verbs=get;list
// +kubebuilder:rbac:groups="",namespace=infra,roleName=other,resources=secrets,verbs=watch

type hidden struct{}
