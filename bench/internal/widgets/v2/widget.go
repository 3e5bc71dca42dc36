// Package v2 contains a later version of the kind of package v1, with moved fields.
package v2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
)

// GroupVersion is the API group and version of this package.
var GroupVersion = schema.GroupVersion{Group: "bench.example.com", Version: "v2"}

// AddToScheme registers the kinds of this package.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Widget{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// Scale is the number of replicas.
type Scale struct {
	Replicas int32 `json:"replicas,omitempty"`
}

// WidgetSpec is the desired state.
type WidgetSpec struct {
	Scale   Scale          `json:"scale,omitempty"`
	Runs    []v1.Container `json:"runs,omitempty"`
	Listens []v1.Port      `json:"listens,omitempty"`
}

type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WidgetSpec      `json:"spec,omitempty"`
	Status            v1.WidgetStatus `json:"status,omitempty"`
}

// DeepCopyObject returns a deep copy of w.
func (w *Widget) DeepCopyObject() runtime.Object {
	c := *w
	w.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	w.Status.DeepCopyInto(&c.Status)
	c.Spec.Runs, c.Spec.Listens = nil, append([]v1.Port(nil), w.Spec.Listens...)
	for i := range w.Spec.Runs {
		c.Spec.Runs = append(c.Spec.Runs, *w.Spec.Runs[i].DeepCopy())
	}
	return &c
}
