package cache_test

import (
	"fmt"
	"log/slog"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// full returns a server with 50,000 ConfigMaps, of which 10 are in the namespace small.
func full() *api {
	a := newAPI()
	for n := range 50_000 {
		ns := "big"
		if n%5000 == 0 {
			ns = "small"
		}
		a.put(configMaps, configMap(ns, fmt.Sprint(n)))
	}
	return a
}

// benchmarked returns a synced cache of the objects of a.
func benchmarked(b *testing.B, a *api, opts cache.Options) (*cache.Cache, *cache.Informer) {
	opts.Logger = slog.New(slog.DiscardHandler)
	c := cache.New(connect(b, a), opts)
	i, err := c.Informer(&corev1.ConfigMap{})
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = c.Run(b.Context()) }()
	if err := i.Wait(b.Context()); err != nil {
		b.Fatal(err)
	}
	return c, i
}

// scopes are the options of the measured caches.
var scopes = map[string]cache.Options{"all": {}, "namespaces": {Namespaces: []string{"big", "small"}}}

func BenchmarkGet(b *testing.B) {
	for name, opts := range scopes {
		b.Run(name, func(b *testing.B) {
			c, _ := benchmarked(b, full(), opts)
			var o corev1.ConfigMap
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Get(b.Context(), object.Key{Namespace: "small", Name: "5000"}, &o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkListOfASmallNamespace lists a namespace that has 10 of 50,000 cached objects.
func BenchmarkListOfASmallNamespace(b *testing.B) {
	for name, opts := range scopes {
		b.Run(name, func(b *testing.B) { benchmarkList(b, opts, 10, client.InNamespace("small")) })
	}
}

func BenchmarkListOfAll(b *testing.B) {
	for name, opts := range scopes {
		b.Run(name, func(b *testing.B) { benchmarkList(b, opts, 50_000) })
	}
}

func benchmarkList(b *testing.B, opts cache.Options, want int, of ...client.ListOption) {
	c, _ := benchmarked(b, full(), opts)
	var list corev1.ConfigMapList
	b.ReportAllocs()
	for b.Loop() {
		if err := c.List(b.Context(), &list, of...); err != nil || len(list.Items) != want {
			b.Fatal(len(list.Items), err)
		}
	}
}

// BenchmarkEvent measures the time from a change at the server to the call of a handler.
func BenchmarkEvent(b *testing.B) {
	for name, opts := range scopes {
		b.Run(name, func(b *testing.B) {
			a := full()
			_, i := benchmarked(b, a, opts)
			received := make(chan struct{}, 1)
			if err := i.AddHandler(func(e informer.Event[object.Object]) {
				if !e.Initial {
					received <- struct{}{}
				}
			}).Wait(b.Context()); err != nil {
				b.Fatal(err)
			}
			o := configMap("small", "5000")
			b.ReportAllocs()
			for b.Loop() {
				a.put(configMaps, o)
				<-received
			}
		})
	}
}

// BenchmarkMemory measures the memory per cached object.
func BenchmarkMemory(b *testing.B) {
	for name, opts := range scopes {
		b.Run(name, func(b *testing.B) {
			a := full()
			before := heap()
			c, _ := benchmarked(b, a, opts)
			for b.Loop() {
			}
			b.ReportMetric(float64(heap()-before)/50_000, "B/object")
			runtime.KeepAlive(c)
			runtime.KeepAlive(a)
		})
	}
}

// heap returns the number of heap bytes in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
