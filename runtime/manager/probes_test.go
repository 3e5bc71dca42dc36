package manager_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/manager"
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

// cut stands for an answer that the API server breaks off, which it does if the time is up when it has begun to answer.
const cut = 0
