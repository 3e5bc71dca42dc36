package manager_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/leaderelection"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

// gauge is a runnable that is ready when its error is nil.
type gauge struct {
	runFunc
	err atomic.Pointer[error]
}

func newGauge(err error) *gauge {
	g := &gauge{runFunc: func(ctx context.Context) error { <-ctx.Done(); return nil }}
	g.err.Store(&err)
	return g
}

func (g *gauge) Ready() error { return *g.err.Load() }

// namedGauge is a gauge with a name.
type namedGauge struct {
	*gauge
	name string
}

func (g namedGauge) Name() string { return g.name }

func probes(t *testing.T, setup func(*manager.Manager)) (url string) {
	t.Helper()
	m, log := newManager(t, newAPIServer(), manager.Options{ProbeAddress: loopback})
	setup(m)
	start(t, m)
	return log.url(t, "probes")
}

func wantAnswer(t *testing.T, url string, code int, body string) {
	t.Helper()
	gotCode, gotBody := get(t, url)
	if gotCode != code || gotBody != body {
		t.Errorf("GET %s: got %d %q\nwant %d %q", url, gotCode, gotBody, code, body)
	}
}

func TestProbesWithoutChecksAreOK(t *testing.T) {
	url := probes(t, func(*manager.Manager) {})
	wantAnswer(t, url+"/healthz", 200, "ok\n")
	wantAnswer(t, url+"/readyz", 200, "ok\n")
	wantAnswer(t, url+"/readyz?verbose", 200, "")
	wantAnswer(t, url+"/metrics", 404, "404 page not found\n")
}

func TestReadyzSaysWhichControllerIsNotReadyAndWhy(t *testing.T) {
	guestbook := newGauge(errors.Join(errors.New("kind Guestbook has not synced"), errors.New("kind Deployment has not synced")))
	url := probes(t, func(m *manager.Manager) {
		add(t, m, namedGauge{guestbook, "guestbook"}, namedGauge{newGauge(nil), "cron"})
	})
	wantAnswer(t, url+"/readyz", 500, "[+] cron\n[-] guestbook: kind Guestbook has not synced; kind Deployment has not synced\n")
	wantAnswer(t, url+"/healthz", 200, "ok\n")
	var ready error
	guestbook.err.Store(&ready)
	wantAnswer(t, url+"/readyz", 200, "ok\n")
	wantAnswer(t, url+"/readyz?verbose", 200, "[+] cron\n[+] guestbook\n")
}

func TestRunnablesOfOneTypeAreAllPartOfReadyz(t *testing.T) {
	url := probes(t, func(m *manager.Manager) { add(t, m, newGauge(errBroken), newGauge(nil)) })
	wantAnswer(t, url+"/readyz", 500, "[-] manager_test.gauge: broken\n[+] manager_test.gauge\n")
}

func TestAddedChecksArePartOfTheProbes(t *testing.T) {
	url := probes(t, func(m *manager.Manager) {
		m.AddHealthz("disk", func(r *http.Request) error {
			if r.URL.Query().Has("full") {
				return errors.New("full")
			}
			return nil
		})
		m.AddReadyz("peers", func(*http.Request) error { return errBroken })
	})
	wantAnswer(t, url+"/healthz", 200, "ok\n")
	wantAnswer(t, url+"/healthz?full", 500, "[-] disk: full\n")
	wantAnswer(t, url+"/readyz", 500, "[-] peers: broken\n")
}

func TestProbesAreRead(t *testing.T) {
	url := probes(t, func(*manager.Manager) {})
	resp, err := http.Post(url+"/healthz", "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("got %d", resp.StatusCode)
	}
	resp, err = http.Get(url + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := resp.Header.Get("Content-Type"); got != "text/plain; charset=utf-8" {
		t.Errorf("got %s", got)
	}
}

// A client that does not send what it has announced keeps no server from ending in good order.
func TestSlowClientsDoNotFailTheShutdown(t *testing.T) {
	for name, begin := range map[string]string{
		"nothing":       "",
		"half a header": "GET /healthz HTTP/1.1\r\nHost: x\r\n",
		"half a body":   "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nx",
		"a slow chunk":  "POST /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nx",
	} {
		m, log := newManager(t, newAPIServer(), manager.Options{
			ProbeAddress: loopback, MetricsAddress: loopback, MetricsInsecure: true, GracefulShutdownTimeout: 2 * time.Second,
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		for _, server := range []string{"probes", "metrics"} {
			u, err := url.Parse(log.url(t, server))
			if err != nil {
				t.Fatal(err)
			}
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", u.Host)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := fmt.Fprint(conn, begin); err != nil {
				t.Fatal(err)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSlowClientsAreNamedAtTheShutdown(t *testing.T) {
	m, log := newManager(t, newAPIServer(), manager.Options{ProbeAddress: loopback, GracefulShutdownTimeout: 2 * time.Second})
	reading := make(chan struct{})
	m.AddReadyz("reads", func(r *http.Request) error {
		close(reading)
		_, err := io.Copy(io.Discard, r.Body)
		return err
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	u, err := url.Parse(log.url(t, "probes"))
	ok(t, err)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", u.Host)
	ok(t, err)
	defer conn.Close()
	_, err = fmt.Fprint(conn, "GET /readyz HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nx")
	ok(t, err)
	<-reading
	stop()
	ok(t, <-ended)
	contains(t, log.String(), "cut off clients that were too slow", "server=probes", conn.LocalAddr().String())
}

// replicas are processes of one operator, as goroutines.
type replicas struct {
	c       live
	leading atomic.Int32 // how many lead
	terms   atomic.Int32 // how often one began to lead
	twice   atomic.Bool  // two led at a time
	lost    atomic.Int32 // how often a replica ended because it had lost its lease
}

// run starts each replica again when it has lost its lease, or could not ask the API server what it needs to begin, as the
// kubelet would, until ctx ends.
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
		LeaderElection: true, LeaderElectionID: "slow", LeaderElectionNamespace: r.c.namespace,
		LeaseDuration: 4 * time.Second, RenewDeadline: 3 * time.Second, RetryPeriod: 500 * time.Millisecond,
	})
	if err != nil {
		return nil, err
	}
	opts := controller.Options{MaxConcurrentReconciles: 4, MaxDelay: time.Second}
	return m, errors.Join(controller.For[*corev1.ConfigMap](m).WithOptions(opts).Complete(sees(m.Client())),
		m.Add(worker{name: "term", runFunc: r.term}))
}

// term lasts as long as its replica leads.
func (r *replicas) term(ctx context.Context) error {
	r.terms.Add(1)
	if r.leading.Add(1) > 1 {
		r.twice.Store(true)
	}
	<-ctx.Done()
	r.leading.Add(-1)
	return nil
}

// testSlowStorage needs a server of its test alone.
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
	// The tests that follow have the same server.
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
	t.Logf("answers of a server without storage: %v; %d of %d requests failed; %d terms, %d lost; %d goroutines before, %d after; %d KiB of heap more",
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

// cut stands for an answer that the API server breaks off, which it does if the time is up when it has begun to answer.
const cut = 0

// refusals returns how the API server answers writes that its storage is too slow for.
func (c live) refusals(t *testing.T) (codes []int) {
	t.Helper()
	httpClient, err := rest.HTTPClientFor(c.config)
	ok(t, err)
	for range 2 {
		body := strings.NewReader(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"refused"}}`)
		resp, err := httpClient.Post(c.config.Host+"/api/v1/namespaces/"+c.namespace+"/configmaps?timeout=1s", "application/json", body)
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

// managerGoroutines returns the stacks of the goroutines of managers.
func managerGoroutines() []string {
	return slices.DeleteFunc(leftovers(), func(stack string) bool { return !strings.Contains(stack, "/kctrl/runtime/") })
}
