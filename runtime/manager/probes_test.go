package manager_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/manager"
)

// gauge is a runnable whose readiness is err.
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
	m, log := newManager(t, newAPIServer(), manager.Options{HealthProbeBindAddress: loopback})
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

func TestReadyzNamesTheControllerThatIsNotReady(t *testing.T) {
	guestbook := newGauge(errors.Join(errors.New("kind Guestbook has not synced"),
		errors.New("kind Deployment has not synced")))
	url := probes(t, func(m *manager.Manager) {
		add(t, m, namedGauge{guestbook, "guestbook"}, namedGauge{newGauge(nil), "cron"})
	})
	wantAnswer(t, url+"/readyz", 500, "[+] cron\n[-] guestbook: kind Guestbook has not synced; kind Deployment has not "+
		"synced\n")
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

// cut represents an answer that the API server breaks off, which happens if a timeout occurs after the answer has
// begun.
const cut = 0

func TestChecksAreAskedAlone(t *testing.T) {
	url := probes(t, func(m *manager.Manager) {
		m.AddReadyz("peers", func(*http.Request) error { return errBroken })
		m.AddReadyz("a disk/0", func(*http.Request) error { return nil })
	})
	wantAnswer(t, url+"/readyz/peers", 500, "[-] peers: broken\n")
	wantAnswer(t, url+"/readyz/a%20disk/0", 200, "ok\n")
	wantAnswer(t, url+"/readyz/", 500, "[+] a disk/0\n[-] peers: broken\n")
	wantAnswer(t, url+"/readyz?exclude=queue&exclude=peers&verbose", 200, "[+] a disk/0\n[+] peers, excluded\n")
	wantAnswer(t, url+"/readyz?exclude=a%20disk/0", 500, "[+] a disk/0, excluded\n[-] peers: broken\n")
	wantAnswer(t, url+"/readyz/queue", 404, "404 page not found\n")
	wantAnswer(t, url+"/healthz/peers", 404, "404 page not found\n")
}

func TestPathsOfProbesAreChosen(t *testing.T) {
	m, log := newManager(t, newAPIServer(), manager.Options{
		HealthProbeBindAddress: loopback, LivenessEndpointName: "/probes", ReadinessEndpointName: "/probes/ready",
	})
	m.AddHealthz("live", func(*http.Request) error { return nil })
	m.AddReadyz("peers", func(*http.Request) error { return errBroken })
	start(t, m)
	url := log.url(t, "probes")
	wantAnswer(t, url+"/probes", 200, "ok\n")
	wantAnswer(t, url+"/probes/live", 200, "ok\n")
	wantAnswer(t, url+"/probes/ready", 500, "[-] peers: broken\n")
	wantAnswer(t, url+"/probes/ready/peers", 500, "[-] peers: broken\n")
	wantAnswer(t, url+"/healthz", 404, "404 page not found\n")
	wantAnswer(t, url+"/readyz", 404, "404 page not found\n")
}

func TestPathsOfProbesAreChecked(t *testing.T) {
	for path, want := range map[string]string{
		"livez":   `LivenessEndpointName is "livez": want the path of a probe, such as /readyz`,
		"/":       `LivenessEndpointName is "/": want the path of a probe, such as /readyz`,
		"/a/../b": `LivenessEndpointName is "/a/../b": want the path of a probe, such as /readyz`,
		"/live/":  `LivenessEndpointName is "/live/": want the path of a probe, such as /readyz`,
		"/{x}":    `LivenessEndpointName is "/{x}": want the path of a probe, such as /readyz`,
		"/a b":    `LivenessEndpointName is "/a b": want the path of a probe, such as /readyz`,
		"/live?x": `LivenessEndpointName is "/live?x": want the path of a probe, such as /readyz`,
		"/readyz": `LivenessEndpointName and ReadinessEndpointName are both "/readyz": want two paths`,
	} {
		_, err := manager.New(&rest.Config{Host: "https://127.0.0.1:1"}, manager.Options{LivenessEndpointName: path})
		if err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", path, err, want)
		}
	}
}
