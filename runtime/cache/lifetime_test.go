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

// TestUnreachableCacheIsFreed checks that a client does not keep a cache in memory. A manager's client outlives the
// caches in front of it.
func TestUnreachableCacheIsFreed(t *testing.T) {
	live, err := client.New(&rest.Config{Host: "http://localhost"}, client.Options{Scheme: apiruntime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	c := New(live, Options{})
	freed := make(chan struct{})
	runtime.AddCleanup(c, func(freed chan struct{}) { close(freed) }, freed)
	reference := weak.Make(c)
	// Run has returned, so nothing that Run started keeps the cache either.
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
	writes.LogOf(live.Journal()).Record(t.Context(), writes.Write{}) // no cache receives the write
}
