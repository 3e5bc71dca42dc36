package cache_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// exampleCache runs a cache in front of an in-memory API server with two ConfigMaps until stop is called.
func exampleCache() (c *cache.Cache, stop func()) {
	server := newAPI()
	for _, name := range []string{"blue", "green"} {
		server.put(configMaps, configMap("default", name))
	}
	scheme := runtime.NewScheme()
	_ = corev1.AddToScheme(scheme)
	live, err := client.New(&rest.Config{Host: "http://server"},
		client.Options{Scheme: scheme, HTTPClient: &http.Client{Transport: server}})
	if err != nil {
		panic(err)
	}
	c = cache.New(live, cache.Options{Logger: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	c.Begin()
	go func() { ended <- c.Run(ctx) }()
	return c, func() {
		cancel()
		<-ended
	}
}

// Each iterates over the cached objects without copying them.
func ExampleEach() {
	c, stop := exampleCache()
	defer stop()
	if _, err := c.Informer(&corev1.ConfigMap{}); err != nil {
		fmt.Println(err)
		return
	}
	keys := 0
	for cm, err := range cache.Each(context.Background(), c, &corev1.ConfigMap{}, client.InNamespace("default")) {
		if err != nil {
			fmt.Println(err)
			return
		}
		keys += len(cm.Data)
	}
	fmt.Println("keys in all ConfigMaps:", keys)
	// Output: keys in all ConfigMaps: 2
}

// An index finds objects by a value that a function derives from them, and iterates over ranges of values in order.
func ExampleNewIndex() {
	c, stop := exampleCache()
	defer stop()
	byKey, err := cache.NewIndex(c, &corev1.ConfigMap{}, func(cm *corev1.ConfigMap) []string {
		return []string{cm.Data["key"]}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	for cm, err := range byKey.Get(ctx, "green") {
		fmt.Println(cm.Name, err)
	}
	for cm, err := range byKey.Range(ctx, "a", "c") {
		fmt.Println(cm.Name, err)
	}
	// Output:
	// green <nil>
	// blue <nil>
}

// A program without a manager announces that the cache will run, so that reads wait instead of failing.
func ExampleCache_Begin() {
	server := newAPI()
	server.put(configMaps, configMap("default", "blue"))
	scheme := runtime.NewScheme()
	_ = corev1.AddToScheme(scheme)
	live, err := client.New(&rest.Config{Host: "http://server"},
		client.Options{Scheme: scheme, HTTPClient: &http.Client{Transport: server}})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := cache.New(live, cache.Options{Logger: slog.New(slog.DiscardHandler)})
	if _, err := c.Informer(&corev1.ConfigMap{}); err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	var blue corev1.ConfigMap
	fmt.Println("before:", errors.Is(c.Get(ctx, object.KeyOf(configMap("default", "blue")), &blue), cache.ErrNotRunning))
	c.Begin()
	go func() { ended <- c.Run(ctx) }()
	fmt.Println(c.Get(ctx, object.KeyOf(configMap("default", "blue")), &blue), blue.Name)
	cancel()
	<-ended
	// Output:
	// before: true
	// <nil> blue
}
