// Command walk runs one controller over one object in memory and sends it one watch event. It reports the functions and
// the goroutines that run from the arrival of the event to the call of the reconciler: it writes coverage counters into
// the directory of its argument, and prints the function that each goroutine of the runtime began with.
// TestAnEventTakesFewSteps builds it with -cover.
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
	goruntime.SetBlockProfileRate(1) // every wait
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
	before := waits()
	err = errors.Join(err, coverage.ClearCounters())
	_, unread := io.WriteString(arrive, changed)
	err = errors.Join(err, unread, <-called)
	for name, count := range waits() {
		if count > before[name] {
			fmt.Println(name)
		}
	}
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

// waits returns how often the goroutines of the runtime have stopped waiting, by the function that they began with.
// While no event arrives all of them wait, so an event ends a wait of each goroutine that passes it on.
func waits() map[string]int64 {
	records := make([]goruntime.BlockProfileRecord, 10_000)
	n, _ := goruntime.BlockProfile(records)
	counts := map[string]int64{}
	for _, record := range records[:n] {
		frames, first := goruntime.CallersFrames(record.Stack()), ""
		for more := true; more; {
			var frame goruntime.Frame
			frame, more = frames.Next()
			if strings.Contains(frame.Function, "/kctrl/runtime/") {
				first = frame.Function // the frames begin with the innermost one
			}
		}
		if first != "" {
			counts[first] += record.Count
		}
	}
	return counts
}
