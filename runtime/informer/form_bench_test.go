package informer_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
)

// newObject returns the metadata of an object as typical programs write them.
func newObject(i int) obj {
	name := fmt.Sprintf("widget-%06d", i)
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: fmt.Sprint("team-", i%20), Name: name, ResourceVersion: fmt.Sprint(1000 + i), Generation: 1,
		CreationTimestamp: metav1.NewTime(time.Unix(1_767_225_600+int64(i), 0)),
		UID:               types.UID(fmt.Sprintf("%08x-6c1d-4f43-9d43-%012x", i*7919, i*104729)),
		Labels:            map[string]string{"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "shop", "tier": "backend"},
		Annotations:       map[string]string{"bench.example.com/checksum": fmt.Sprintf("%064x", i*7919)},
	}}
	return o
}

// listing is a source that has one list and nothing else.
type listing struct{ count int }

func (l listing) List(context.Context, metav1.ListOptions) (*client.Page[obj], error) {
	page := &client.Page[obj]{ResourceVersion: "1"}
	for i := range l.count {
		page.Items = append(page.Items, newObject(i))
	}
	return page, nil
}

func (l listing) Watch(ctx context.Context, _ metav1.ListOptions) (client.Stream[obj], error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// storeOf returns a store with that many objects.
func storeOf(b *testing.B, in form, count int) informer.Store[obj] {
	b.Helper()
	inf := informer.New(listing{count}, in(options{DisableWatchList: true, Logger: slog.New(slog.DiscardHandler)}))
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- inf.Run(ctx) }()
	<-inf.Synced()
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	return inf.Store()
}

func heap() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

// BenchmarkStoreAll looks at 10,000 objects, and says what each takes in the heap.
func BenchmarkStoreAll(b *testing.B) {
	const count = 10_000
	for name, in := range forms {
		b.Run(name, func(b *testing.B) {
			before := heap()
			store := storeOf(b, in, count)
			each := (heap() - before) / count
			b.ReportAllocs()
			for b.Loop() {
				for _, o := range store.All() {
					if o.Name == "" {
						b.Fatal("no name")
					}
				}
			}
			b.ReportMetric(each, "heap-bytes/object")
		})
	}
}

func BenchmarkStoreGet(b *testing.B) {
	for name, in := range forms {
		b.Run(name, func(b *testing.B) {
			store := storeOf(b, in, 10_000)
			keys := store.Keys()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, ok := store.Get(keys[i%len(keys)]); !ok {
					b.Fatal("not found")
				}
			}
		})
	}
}
