package client_test

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

// A program's own loop can wait for the server after an outage: it continues soon after the server is back, and sends
// no requests before.
func ExampleREST_Reachable() {
	server := newServer()
	server.respond("GET /readyz", "ok")
	server.on(getA, func(n int) answer {
		if n == 0 {
			return answer{code: http.StatusInternalServerError, body: "etcd failed"}
		}
		return answer{body: foundA}
	})
	scheme := runtime.NewScheme()
	_ = corev1.AddToScheme(scheme)
	c, err := client.New(&rest.Config{Host: "http://server"},
		client.Options{Scheme: scheme, HTTPClient: &http.Client{Transport: server}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	for {
		var a corev1.ConfigMap
		err := c.Get(ctx, keyA, &a)
		if err == nil {
			fmt.Println("found", a.Name)
			return
		}
		fmt.Println("not yet")
		if err := c.Reachable(ctx); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// not yet
	// found a
}
