// Package widgets contains the objects of the measurements and writes them to API servers.
package widgets

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
)

// namespaces is the number of namespaces that contain the objects.
const namespaces = 20

// KeyOf returns the namespace and the name of object i.
func KeyOf(i int) (namespace, name string) {
	return fmt.Sprintf("team-%02d", i%namespaces), fmt.Sprintf("widget-%06d", i)
}

// New returns object i, which the API server stores as about 2 KB of JSON.
func New(i int) *v1.Widget {
	namespace, name := KeyOf(i)
	created := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC))
	condition := func(kind, reason string) metav1.Condition {
		return metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: "all replicas of " + name + " are up to date",
			LastTransitionTime: created, ObservedGeneration: 1,
		}
	}
	return &v1.Widget{
		TypeMeta: metav1.TypeMeta{APIVersion: v1.GroupVersion.String(), Kind: "Widget"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      name,
			Labels: map[string]string{
				"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "bench", "app.kubernetes.io/part-of": "shop",
				"tier": "backend",
			},
			Annotations: map[string]string{
				"bench.example.com/owner": "team-" + fmt.Sprint(i%97), "bench.example.com/checksum": fmt.Sprintf("%064x", i*7919),
			},
			ManagedFields: []metav1.ManagedFieldsEntry{
				managed("kubectl", created,
					`{"f:metadata":{"f:annotations":{".":{},"f:bench.example.com/owner":{}},"f:labels":{".":{},"f:tier":{}}},`+
						`"f:spec":{".":{},"f:containers":{".":{},"k:{\"name\":\"main\"}":{".":{},`+
						`"f:args":{},"f:image":{},"f:name":{}}},"f:ports":{},"f:replicas":{}}}`),
				managed("operator", created,
					`{"f:status":{".":{},"f:conditions":{".":{},"k:{\"type\":\"Ready\"}":{".":{},"f:status":{},"f:type":{}}},`+
						`"f:observedGeneration":{},"f:readyReplicas":{}}}`),
			},
		},
		Spec: v1.WidgetSpec{
			Replicas: int32(i%5 + 1),
			Containers: []v1.Container{{
				Name: "main", Image: "registry.example.com/shop/backend:v1.2.3", Args: []string{"--serve", "--port=8080"},
				Env: []v1.Variable{{Name: "LOG_LEVEL", Value: "info"}, {Name: "SHARD", Value: fmt.Sprint(i)}},
			}},
			Ports: []v1.Port{{Name: "http", Number: 8080}, {Name: "metrics", Number: 9090}},
		},
		Status: v1.WidgetStatus{
			ObservedGeneration: 1, ReadyReplicas: int32(i%5 + 1),
			Addresses:  []string{fmt.Sprintf("10.0.%d.%d", i/256%256, i%256)},
			Conditions: []metav1.Condition{condition("Ready", "Available"), condition("Progressing", "Complete")},
		},
	}
}

func managed(manager string, at metav1.Time, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: v1.GroupVersion.String(), Time: &at,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}
