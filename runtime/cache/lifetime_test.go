package cache

import (
	"context"
	"runtime"
	"testing"
	"weak"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
)

// TestUnreachableCacheIsFreed checks clients that outlive the caches in front of them, as a manager's client does.
func TestUnreachableCacheIsFreed(t *testing.T) {
	live, err := client.New(&rest.Config{Host: "http://localhost"}, client.Options{Scheme: apiruntime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	c := New(live, Options{})
	freed := make(chan struct{})
	runtime.AddCleanup(c, func(freed chan struct{}) { close(freed) }, freed)
	reference := weak.Make(c)
	// It has run: nothing of that keeps it either.
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Run(ended); err != nil {
		t.Fatal(err)
	}
	runtime.KeepAlive(c)
	c = nil
	runtime.GC()
	if reference.Value() != nil {
		t.Fatal("the journal of the client keeps the cache")
	}
	<-freed
	writes.LogOf(live.Journal()).Record(t.Context(), writes.Write{}) // without a receiver
}
