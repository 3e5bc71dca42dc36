package pack_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/internal/pack"
)

// widget is an object with a spec of which the benchmark keeps only metadata and conditions.
type widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   map[string]string `json:"spec,omitempty"`
	Status struct {
		Replicas   int32              `json:"replicas,omitempty"`
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status,omitempty"`
}

func (w *widget) DeepCopyObject() runtime.Object {
	c := *w
	w.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	c.Status.Conditions = append([]metav1.Condition(nil), w.Status.Conditions...)
	return &c
}

func newWidget(i int) *widget {
	name := fmt.Sprintf("widget-%06d", i)
	created := metav1.NewTime(time.Unix(1_767_225_600+int64(i), 0))
	w := &widget{ObjectMeta: metav1.ObjectMeta{
		Namespace: fmt.Sprint("team-", i%20), Name: name, ResourceVersion: fmt.Sprint(1000 + i), Generation: 1,
		CreationTimestamp: created,
		UID:               types.UID(fmt.Sprintf("%08x-6c1d-4f43-9d43-%012x", i*7919, i*104729)),
		Labels: map[string]string{
			"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "bench", "app.kubernetes.io/part-of": "shop",
			"tier": "backend",
		},
		Annotations: map[string]string{
			"bench.example.com/owner": fmt.Sprint("team-", i%97), "bench.example.com/checksum": fmt.Sprintf("%064x", i*7919),
		},
	}}
	for _, condition := range []string{"Ready", "Progressing"} {
		w.Status.Conditions = append(w.Status.Conditions, metav1.Condition{
			Type: condition, Status: metav1.ConditionTrue, Reason: "Available", Message: "all replicas of " + name +
				" are up to date",
			LastTransitionTime: created, ObservedGeneration: 1,
		})
	}
	return w
}

// warm returns a packer that has already packed many objects, and the packed objects.
func warm(b *testing.B, count int) (*pack.Packer[*widget], []pack.Packed) {
	b.Helper()
	p, err := pack.New(&widget{})
	if err != nil {
		b.Fatal(err)
	}
	var all []pack.Packed
	for i := range count {
		packed, err := p.Pack(newWidget(i))
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, packed)
	}
	return p, all
}

func BenchmarkPack(b *testing.B) {
	p, all := warm(b, 10_000)
	widgets := make([]*widget, 10_000)
	for i := range widgets {
		widgets[i] = newWidget(10_000 + i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := p.Pack(widgets[i%len(widgets)]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(all[len(all)-1])), "bytes/object")
}

func BenchmarkUnpack(b *testing.B) {
	p, all := warm(b, 10_000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := p.Unpack(all[i%len(all)]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDeepCopy measures what a caller pays that reads an unpacked object and changes it.
func BenchmarkDeepCopy(b *testing.B) {
	w := newWidget(1)
	b.ReportAllocs()
	for b.Loop() {
		w.DeepCopyObject()
	}
}
