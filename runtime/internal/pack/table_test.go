package pack

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BenchmarkTable packs and unpacks objects that share labels, annotations and owners. It runs with a table for repeated
// strings, and with a table that is already full.
func BenchmarkTable(b *testing.B) {
	objects := make([]*metav1.PartialObjectMetadata, 1000)
	for i := range objects {
		app := fmt.Sprint("shop-", i%40)
		objects[i] = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprint("team-", i%20), Name: fmt.Sprintf("%s-%x", app, i*7919), ResourceVersion: fmt.Sprint(i),
			Labels: map[string]string{"app.kubernetes.io/name": app, "app.kubernetes.io/managed-by": "kctrl",
				"tier": "backend"},
			Annotations:     map[string]string{"example.com/owner": fmt.Sprint("team-", i%20)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app}},
		}}
	}
	for _, size := range []int{tableEntries, 0} {
		p, err := New(&metav1.PartialObjectMetadata{})
		if err != nil {
			b.Fatal(err)
		}
		for n := range tableEntries - size {
			p.strings.numbers[fmt.Sprint("not in any object ", n)] = n
		}
		packed, bytes := make([]Packed, len(objects)), 0
		pack := func(i int) {
			if packed[i], err = p.Pack(objects[i]); err != nil {
				b.Fatal(err)
			}
		}
		for range tableObjects {
			for i := range objects {
				pack(i)
			}
		}
		for _, one := range packed {
			bytes += len(one)
		}
		b.Run(fmt.Sprintf("pack/entries=%d", size), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				pack(i % len(objects))
			}
			b.ReportMetric(float64(bytes)/float64(len(objects)), "bytes/object")
		})
		b.Run(fmt.Sprintf("unpack/entries=%d", size), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := p.Unpack(packed[i%len(objects)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
