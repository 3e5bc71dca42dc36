package wire_test

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var valveKind = schema.GroupVersionKind{Group: "wire.example.com", Version: "v1", Kind: "Valve"}

const valveCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: valves.wire.example.com}
spec:
  group: wire.example.com
  scope: Namespaced
  names: {kind: Valve, listKind: ValveList, plural: valves, singular: valve}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

// valve is a custom resource with a field of every sort that the formats write in their own ways.
type valve struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              valveSpec `json:"spec,omitempty"`
}

type valveSpec struct {
	Text     string              `json:"text"`
	Count    int64               `json:"count"`
	Ratio    float64             `json:"ratio"`
	Open     *bool               `json:"open,omitempty"`
	Bytes    []byte              `json:"bytes,omitempty"`
	At       metav1.Time         `json:"at"`
	Exactly  metav1.MicroTime    `json:"exactly"`
	Port     intstr.IntOrString  `json:"port"`
	Every    metav1.Duration     `json:"every"`
	Parts    []valvePart         `json:"parts,omitempty"`
	ByName   map[string][]string `json:"byName,omitempty"`
	Free     any                 `json:"free,omitempty"`
	Nothing  *valvePart          `json:"nothing"`
	Unwanted []string            `json:"unwanted,omitempty"`
}

type valvePart struct {
	Name  string            `json:"name"`
	Sizes []int32           `json:"sizes,omitempty"`
	Tags  map[string]string `json:"tags,omitempty"`
}

// DeepCopyObject implements [runtime.Object].
func (v *valve) DeepCopyObject() runtime.Object {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	c := &valve{}
	if err := json.Unmarshal(data, c); err != nil {
		panic(err)
	}
	return c
}

func newValve(namespace string, i int) *valve {
	at := time.Date(2026, 1, 2, 3, 4, i, 567890000, time.UTC)
	return &valve{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprint("valve-", i),
			Labels: map[string]string{"a": "b", "n": fmt.Sprint(i)}, Annotations: map[string]string{"size": "größe \u2028 \"quoted\" \\ <&>"},
		},
		Spec: valveSpec{
			Text: "grün \U0001F600 \t\n", Count: 1<<53 + int64(i), Ratio: 1.5 * float64(i), Open: new(i%2 == 0), Bytes: []byte{0, 0xff, byte(i)},
			At: metav1.NewTime(at), Exactly: metav1.NewMicroTime(at), Port: intstr.FromString("http"), Every: metav1.Duration{Duration: time.Hour},
			Parts:  []valvePart{{Name: "p", Sizes: []int32{1, -2, 3}}, {Name: "q", Tags: map[string]string{"t": "u"}}, {}},
			ByName: map[string][]string{"x": {"y", ""}, "": {}, "n": nil},
			Free:   map[string]any{"int": int64(-i), "float": 0.5, "list": []any{nil, true, "s", map[string]any{}}, "large": int64(-1 << 62)},
		},
	}
}
