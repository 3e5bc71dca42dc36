package manager_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/leaderelection"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

// storm is a proxy in front of the API server that can also answer requests itself.
type storm struct {
	next    http.RoundTripper
	code    atomic.Int32 // answer every request with this code; 0 passes requests on
	refused atomic.Int64 // number of requests that the proxy answered

	mu      sync.Mutex
	watches map[*severable]struct{} // open watches
}

// RoundTrip implements http.RoundTripper.
func (s *storm) RoundTrip(req *http.Request) (*http.Response, error) {
	if code := s.code.Load(); code != 0 {
		s.refused.Add(1)
		header := http.Header{"Content-Type": {"text/plain"}}
		if code == http.StatusTooManyRequests {
			header.Set("Retry-After", "1")
		}
		return &http.Response{StatusCode: int(code), Header: header, Body: io.NopCloser(bytes.NewReader(nil)), Request: req},
			nil
	}
	resp, err := s.next.RoundTrip(req)
	if err == nil && req.URL.Query().Get("watch") != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		body := &severable{ReadCloser: resp.Body, storm: s}
		s.watches[body] = struct{}{}
		resp.Body = body
	}
	return resp, err
}

// rage answers every request with code until it has done so for that many further requests. Then it passes requests on
// again. If sever is true, it first breaks all watches.
func (s *storm) rage(t *testing.T, code int32, sever bool, refusals int64) {
	t.Helper()
	from := s.refused.Load()
	s.code.Store(code)
	if sever {
		s.sever()
	}
	ok(t, eventually(t, func() error {
		if got := s.refused.Load() - from; got < refusals {
			return fmt.Errorf("%d of %d requests were refused", got, refusals)
		}
		return nil
	}))
	s.code.Store(0)
}

// rageOn breaks all watches and answers every request with 500 until the manager's informer reports an error. Then it
// passes requests on and waits until the informer has recovered, whose pauses have become long by then.
func (s *storm) rageOn(t *testing.T, m *manager.Manager) {
	t.Helper()
	i, err := m.Cache().Informer(&corev1.ConfigMap{})
	ok(t, err)
	s.code.Store(http.StatusInternalServerError)
	s.sever()
	ok(t, eventually(t, func() error {
		if i.Err() == nil {
			return errors.New("the informer is in step")
		}
		return nil
	}))
	s.code.Store(0)
	end := time.Now()
	ok(t, eventually(t, i.Err))
	t.Logf("the informer is back %s after the end of the last of several storms",
		time.Since(end).Round(100*time.Millisecond))
}

// sever breaks all watches.
func (s *storm) sever() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for body := range s.watches {
		body.ReadCloser.Close()
	}
}

// severable is the body of a watch that storm can close.
type severable struct {
	io.ReadCloser
	storm *storm
}

func (b *severable) Close() error {
	b.storm.mu.Lock()
	defer b.storm.mu.Unlock()
	delete(b.storm.watches, b)
	return b.ReadCloser.Close()
}

const counters = 40

// load increments counters in ConfigMaps from several clients.
type load struct {
	c live
	// done counts the successful increments of each counter, and doubtful those with an unknown result.
	done, doubtful [counters]atomic.Int64
	total          atomic.Int64 // both together
	failed         atomic.Int64 // requests that failed
}

// run increments counters from several goroutines until ctx ends.
func (l *load) run(ctx context.Context) (wait func()) {
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for i := worker; ctx.Err() == nil; i += 3 {
				l.count(i % counters)
				<-tick.C
			}
		})
	}
	return all.Wait
}

// count increments one counter.
func (l *load) count(i int) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	cm := &corev1.ConfigMap{}
	if err := l.c.Get(ctx, l.c.counter(i), cm); err != nil {
		l.failed.Add(1)
		return
	}
	want, _ := strconv.Atoi(cm.Data["want"])
	cm.Data["want"] = strconv.Itoa(want + 1)
	switch err := l.c.Update(ctx, cm); {
	case err == nil:
		l.done[i].Add(1)
	case apierrors.IsConflict(err):
		return
	default:
		l.doubtful[i].Add(1)
		l.failed.Add(1)
	}
	l.total.Add(1)
}

// suffer waits until that many more requests have failed.
func (l *load) suffer(t *testing.T, times int64) {
	t.Helper()
	from := l.failed.Load()
	ok(t, eventually(t, func() error {
		if got := l.failed.Load() - from; got < times {
			return fmt.Errorf("failed %d of %d times", got, times)
		}
		return nil
	}))
}

// more waits until that many more increments were made.
func (l *load) more(t *testing.T, times int64) {
	t.Helper()
	from := l.total.Load()
	ok(t, eventually(t, func() error {
		if got := l.total.Load() - from; got < times {
			return fmt.Errorf("counted %d of %d times", got, times)
		}
		return nil
	}))
}

func (c live) counter(i int) object.Key {
	return object.Key{Namespace: c.namespace, Name: fmt.Sprintf("counter-%d", i)}
}

// settled returns nil if the controller has seen the current state of all counters and no increment was lost.
func (l *load) settled(ctx context.Context) error {
	for i := range counters {
		cm := &corev1.ConfigMap{}
		if err := l.c.Get(ctx, l.c.counter(i), cm); err != nil {
			return err
		}
		want, err := strconv.Atoi(cm.Data["want"])
		if err != nil || cm.Data["seen"] != cm.Data["want"] {
			return fmt.Errorf("%s: want %s, seen %s", cm.Name, cm.Data["want"], cm.Data["seen"])
		}
		if low, high := l.done[i].Load(), l.done[i].Load()+l.doubtful[i].Load(); int64(want) < low || int64(want) > high {
			return fmt.Errorf("%s: %d, but counted up from %d to %d times", cm.Name, want, low, high)
		}
	}
	return nil
}

// sees returns a reconciler that writes into each counter the value that it has read.
func sees(c client.Client) reconcile.Func[reconcile.Request] {
	return func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		cm := &corev1.ConfigMap{}
		if err := c.Get(ctx, r.NamespacedName, cm); err != nil || cm.Data["seen"] == cm.Data["want"] {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		cm.Data["seen"] = cm.Data["want"]
		return reconcile.Result{}, c.Update(ctx, cm)
	}
}

// testStorms disturbs its server, so no other test may use the server at the same time.
func testStorms(t *testing.T, c live) {
	for i := range counters {
		cm := &corev1.ConfigMap{ObjectMeta: c.meta(c.counter(i).Name), Data: map[string]string{"want": "0"}}
		ok(t, c.Create(t.Context(), cm))
	}
	s := &storm{watches: map[*severable]struct{}{}}
	config := rest.CopyConfig(c.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { s.next = next; return s })
	m, _ := c.newManager(t, config, manager.Options{})
	ok(t, controller.For[*corev1.ConfigMap](m).WithOptions(controller.Options{MaxConcurrentReconciles: 4,
		MaxDelay: time.Second}).Complete(sees(m.Client())))
	start(t, m)

	l := &load{c: c}
	calm(t, l)
	goroutines, heap := runtime.NumGoroutine(), heapSize()
	ctx, cancel := context.WithCancel(t.Context())
	wait := l.run(ctx)
	defer func() { cancel(); wait() }()
	for _, code := range []int32{http.StatusTooManyRequests, http.StatusInternalServerError} {
		for range 2 {
			l.more(t, 50)
			s.rage(t, code, false, 20)
		}
		l.more(t, 50)
		s.rage(t, code, true, 3) // after a rejected watch, the informer waits before it retries
	}
	s.rageOn(t, m)
	for _, part := range []testenv.Part{testenv.APIServer, testenv.Etcd} {
		l.more(t, 50)
		ok(t, c.env.Kill(part))
		l.suffer(t, 12)
		ok(t, c.env.Restart(part))
	}
	l.more(t, 100)
	cancel()
	wait()
	calm(t, l)
	ok(t, eventually(t, func() error {
		if now := runtime.NumGoroutine(); now > goroutines+8 {
			return fmt.Errorf("%d goroutines before and %d after", goroutines, now)
		}
		return nil
	}))
	grown := heapSize() - heap
	t.Logf("%d requests refused; %d goroutines before, %d after; %d KiB of heap more", s.refused.Load(), goroutines,
		runtime.NumGoroutine(), grown>>10)
	if grown > 16<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
}

// calm increments every counter once and waits until the controller has seen the result.
func calm(t *testing.T, l *load) {
	t.Helper()
	for i := range counters {
		l.count(i)
	}
	ok(t, eventually(t, func() error { return l.settled(t.Context()) }))
}

// heapSize returns the number of heap bytes in use.
func heapSize() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// replicas are the processes of one operator, each as a goroutine.
type replicas struct {
	c       live
	leading atomic.Int32 // number of leading replicas
	terms   atomic.Int32 // how often a replica began to lead
	twice   atomic.Bool  // whether two replicas ever led at the same time
	lost    atomic.Int32 // how often a replica ended because it lost its lease
}

// run runs count replicas until ctx ends. It restarts a replica that has lost its lease or could not read its initial
// state from the API server, as the kubelet would.
func (r *replicas) run(ctx context.Context, t *testing.T, count int) (wait func()) {
	var all sync.WaitGroup
	for range count {
		all.Go(func() {
			again := time.NewTicker(500 * time.Millisecond)
			defer again.Stop()
			for ; ctx.Err() == nil; <-again.C {
				m, err := r.manager()
				if err != nil {
					continue
				}
				switch err := m.Run(ctx); {
				case errors.Is(err, leaderelection.ErrLost):
					r.lost.Add(1)
				case err != nil:
					t.Errorf("a replica ended: %v", err)
					return
				}
			}
		})
	}
	return all.Wait
}

func (r *replicas) manager() (*manager.Manager, error) {
	m, err := manager.New(r.c.config, manager.Options{
		Scheme: r.c.Scheme(), Logger: slog.New(slog.DiscardHandler), Namespaces: []string{r.c.namespace},
		LeaderElection: manager.LeaderElectionOptions{Enabled: true, ID: "slow", Namespace: r.c.namespace,
			LeaseDuration: 4 * time.Second, RenewDeadline: 3 * time.Second, RetryPeriod: 500 * time.Millisecond},
	})
	if err != nil {
		return nil, err
	}
	opts := controller.Options{MaxConcurrentReconciles: 4, MaxDelay: time.Second}
	return m, errors.Join(controller.For[*corev1.ConfigMap](m).WithOptions(opts).Complete(sees(m.Client())),
		m.Add(worker{name: "term", runFunc: r.term}))
}

// term runs as long as its replica leads.
func (r *replicas) term(ctx context.Context) error {
	r.terms.Add(1)
	if r.leading.Add(1) > 1 {
		r.twice.Store(true)
	}
	<-ctx.Done()
	r.leading.Add(-1)
	return nil
}

// testSlowStorage slows its server down, so no other test may use the server at the same time.
func testSlowStorage(t *testing.T, c live) {
	for i := range counters {
		cm := &corev1.ConfigMap{ObjectMeta: c.meta(c.counter(i).Name), Data: map[string]string{"want": "0"}}
		ok(t, c.Create(t.Context(), cm))
	}
	l, r := &load{c: c}, &replicas{c: c}
	ctx, cancel := context.WithCancel(t.Context())
	replicasEnded := r.run(ctx, t, 2)
	calm(t, l)
	goroutines, heap := runtime.NumGoroutine(), heapSize()
	working, pause := context.WithCancel(ctx)
	loadEnded := l.run(working)
	defer func() { cancel(); loadEnded(); replicasEnded() }()
	// The tests after this one use the same server.
	defer func() { ok(t, c.env.Slow(0)) }()

	ok(t, c.env.Slow(100*time.Millisecond))
	l.more(t, 60)
	ok(t, c.env.Slow(500*time.Millisecond))
	l.more(t, 20)
	ok(t, c.env.Slow(20*time.Millisecond))
	ok(t, c.env.Kill(testenv.APIServer))
	l.suffer(t, 12)
	ok(t, c.env.Restart(testenv.APIServer))
	l.more(t, 60)
	ok(t, c.env.Slow(30*time.Second))
	l.suffer(t, 12)
	codes := c.refusals(t)
	ok(t, c.env.Slow(0))
	l.more(t, 200)

	pause()
	loadEnded()
	calm(t, l)
	if r.twice.Load() {
		t.Error("two replicas led at a time")
	}
	ok(t, eventually(t, func() error {
		if now := runtime.NumGoroutine(); now > goroutines+8 || r.leading.Load() != 1 {
			return fmt.Errorf("%d goroutines before and %d after; %d leaders", goroutines, now, r.leading.Load())
		}
		return nil
	}))
	grown := heapSize() - heap
	t.Logf("answers of a server without storage: %v; %d of %d requests failed; %d terms, %d lost; %d goroutines before, "+
		"%d after; %d KiB of heap more",
		codes, l.failed.Load(), l.total.Load(), r.terms.Load(), r.lost.Load(), goroutines, runtime.NumGoroutine(), grown>>10)
	if grown > 16<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	cancel()
	replicasEnded()
	ok(t, eventually(t, func() error {
		if left := managerGoroutines(); len(left) > 0 {
			return fmt.Errorf("left behind:\n%s", strings.Join(left, "\n\n"))
		}
		return nil
	}))
}

// refusals returns the status codes with which the API server answers writes while its storage is too slow.
func (c live) refusals(t *testing.T) (codes []int) {
	t.Helper()
	httpClient, err := rest.HTTPClientFor(c.config)
	ok(t, err)
	for range 2 {
		body := strings.NewReader(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"refused"}}`)
		resp, err := httpClient.Post(c.config.Host+"/api/v1/namespaces/"+c.namespace+"/configmaps?timeout=1s",
			"application/json", body)
		if err != nil && strings.Contains(err.Error(), "stream error") {
			codes = append(codes, cut)
			continue
		}
		ok(t, err)
		resp.Body.Close()
		codes = append(codes, resp.StatusCode)
		if resp.StatusCode < http.StatusInternalServerError {
			t.Errorf("a write was answered with %s", resp.Status)
		}
	}
	return codes
}
