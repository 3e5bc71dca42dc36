// Command walk runs one controller over one object in memory, and writes the coverage counters of what runs from the arrival
// of one watch event to the call of the reconciler into the folder that it is called with. It is built by TestWalkOfAnEvent,
// with -cover.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	goruntime "runtime"
	"runtime/coverage"
	"runtime/metrics"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/source"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// server answers lists with one config map, and watches with what is written into events.
type server struct{ events io.Reader }

func (s server) RoundTrip(r *http.Request) (*http.Response, error) {
	code, body := http.StatusOK, io.Reader(strings.NewReader(`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"namespace":"ns","name":"one","uid":"u","resourceVersion":"1"}}]}`))
	switch {
	case r.URL.Query().Has("sendInitialEvents"):
		code, body = http.StatusUnprocessableEntity, strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
	case r.URL.Query().Has("watch"):
		body = s.events
	}
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(body), Request: r}, nil
}

const changed = `{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"ns","name":"one","uid":"u","resourceVersion":"2"}}}` + "\n"

func run(folder string) error {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	events, arrive := io.Pipe()
	informers, err := newCache(server{events})
	if err != nil {
		return err
	}
	called := make(chan error, 1)
	first := true
	c := controller.New("walk", reconcile.Func[reconcile.Request](func(context.Context, reconcile.Request) (reconcile.Result, error) {
		if first {
			called <- coverage.WriteMetaDir(folder)
		} else {
			called <- coverage.WriteCountersDir(folder)
		}
		first = false
		return reconcile.Result{}, nil
	}), controller.Options{})
	if err := c.Watch(source.Kind(informers, &corev1.ConfigMap{}, handler.ForObject[*corev1.ConfigMap]())); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- informers.Run(ctx) }()
	go func() { ended <- c.Run(ctx) }()
	err = <-called
	settle()
	err = errors.Join(err, coverage.ClearCounters())
	_, unread := io.WriteString(arrive, changed)
	err = errors.Join(err, unread, <-called)
	cancel()
	return errors.Join(err, arrive.Close(), <-ended, <-ended)
}

func newCache(s server) (*cache.Cache, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	live, err := client.New(&rest.Config{Host: "http://walk"}, client.Options{Scheme: scheme, Mapper: mapper, HTTPClient: &http.Client{Transport: s}})
	if err != nil {
		return nil, err
	}
	return cache.New(live, cache.Options{}), nil
}

// settle returns when all other goroutines wait for something.
func settle() {
	state := []metrics.Sample{{Name: "/sched/goroutines/running:goroutines"}, {Name: "/sched/goroutines/runnable:goroutines"}}
	for quiet := 0; quiet < 100; quiet++ { // the counts are approximate
		goruntime.Gosched()
		if metrics.Read(state); state[0].Value.Uint64() > 1 || state[1].Value.Uint64() > 0 {
			quiet = 0
		}
	}
}
