package informer_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
)

type lease = *coordinationv1.Lease

// leases is an API server in memory that has as many leases as it is told, in one list, and watches that stay silent.
type leases struct {
	mu    sync.Mutex
	count int
}

func (l *leases) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	answer := func(body string) (*http.Response, error) {
		header := http.Header{"Content-Type": []string{"application/json"}}
		return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}
	switch {
	case r.URL.Path == "/apis/coordination.k8s.io/v1":
		return answer(`{"kind":"APIResourceList","groupVersion":"coordination.k8s.io/v1","resources":[{"name":"leases","kind":"Lease","namespaced":true}]}`)
	case r.URL.Query().Has("watch"):
		body, writer := io.Pipe()
		context.AfterFunc(r.Context(), func() { _ = writer.CloseWithError(r.Context().Err()) })
		return &http.Response{StatusCode: http.StatusOK, Body: body, Request: r}, nil
	}
	var items []string
	for i := range l.count {
		items = append(items, fmt.Sprintf(`{"metadata":{"namespace":"ns","name":"l%d","uid":"u%d","resourceVersion":"%d"}}`, i, i, i+1))
	}
	return answer(`{"kind":"LeaseList","apiVersion":"coordination.k8s.io/v1","metadata":{"resourceVersion":"9"},"items":[` + strings.Join(items, ",") + `]}`)
}

// R13
func TestKeepingOneObjectDoesNotKeepTheListItCameIn(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := coordinationv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	server := &leases{count: 100}
	c, err := client.New(&rest.Config{Host: "http://in.memory", Transport: server}, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := client.NewListWatcher(c, lease(&coordinationv1.Lease{}), client.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	var gone []weak.Pointer[coordinationv1.Lease]
	inf := informer.New(watcher, informer.Options[lease]{Name: "leases", DisableWatchList: true})
	reg := inf.AddHandler(func(e informer.Event[lease]) {
		mu.Lock()
		defer mu.Unlock()
		if e.Object.Name != "l50" {
			gone = append(gone, weak.Make(e.Object))
		}
	})
	done := make(chan error)
	go func() { done <- inf.Run(ctx) }()
	<-reg.Synced()
	kept, ok := inf.Store().Get(keyOf("l50"))
	if !ok || len(gone) != 99 {
		t.Fatalf("%v, %d objects", ok, len(gone))
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	inf, reg = nil, nil
	goruntime.GC()
	goruntime.GC()
	held := 0
	for _, p := range gone {
		if p.Value() != nil {
			held++
		}
	}
	if held > 5 { // what the stack of an ended goroutine may still hold
		t.Errorf("%d of 99 objects are held by one of their list", held)
	}
	goruntime.KeepAlive(kept)
}
