// Package grafana contains the dashboards of grafana-operator, ported with docs/from-controller-runtime.md. The
// operator writes each dashboard to the HTTP API of the Grafana instances that it selects.
//
// +groupName=grafana.porting.kctrl.test
// +versionName=v1
// +kubebuilder:object:generate=true
package grafana

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of the kinds.
var GroupVersion = schema.GroupVersion{Group: "grafana.porting.kctrl.test", Version: "v1"}

// AddToScheme registers the kinds.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Grafana{}, &GrafanaList{}, &Dashboard{}, &DashboardList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// GrafanaSpec has the address of a Grafana instance.
type GrafanaSpec struct {
	URL string `json:"url"`
}

// Grafana is an instance.
// +kubebuilder:object:root=true
type Grafana struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              GrafanaSpec `json:"spec,omitempty"`
}

// +kubebuilder:object:root=true
type GrafanaList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Grafana `json:"items"`
}

// ConfigMapKey names a value of a ConfigMap.
type ConfigMapKey struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

// DashboardSpec is the desired state.
type DashboardSpec struct {
	InstanceSelector metav1.LabelSelector `json:"instanceSelector"`
	// +optional
	JSON string `json:"json,omitempty"`
	// +optional
	ConfigMapRef *ConfigMapKey `json:"configMapRef,omitempty"`
	// ResyncPeriod is the interval between writes of an unchanged dashboard.
	// +optional
	ResyncPeriod metav1.Duration `json:"resyncPeriod,omitempty"`
}

// DashboardStatus is the observed state.
type DashboardStatus struct {
	// +optional
	Hash string `json:"hash,omitempty"`
	// +optional
	Instances []string `json:"instances,omitempty"`
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Dashboard is a dashboard of the selected instances.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Dashboard struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              DashboardSpec   `json:"spec,omitempty"`
	Status            DashboardStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true
type DashboardList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Dashboard `json:"items"`
}
