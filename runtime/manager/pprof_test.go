package manager_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/manager"
)

func TestPprofIsOnLoopbackUnlessAHostIsNamed(t *testing.T) {
	for given, want := range map[string]string{
		":6060": "127.0.0.1:6060", "6060": "127.0.0.1:6060", "0.0.0.0:6060": "0.0.0.0:6060", "[::]:6060": "[::]:6060",
		"localhost:0": "localhost:0",
	} {
		if got, err := manager.LoopbackUnlessNamed(given); err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", given, got, err, want)
		}
	}
	_, err := manager.New(newAPIServer().config(), manager.Options{PprofBindAddress: "::1:6060"})
	if err == nil {
		t.Fatal("got no error")
	}
	contains(t, err.Error(), "pprof server: address ::1:6060: too many colons")
}

func TestProfilesAreServed(t *testing.T) {
	m, log := newManager(t, newAPIServer(), manager.Options{PprofBindAddress: ":0"})
	r := start(t, m)
	url := log.url(t, "pprof")
	if host, _, err := net.SplitHostPort(strings.TrimPrefix(url, "http://")); err != nil || host != "127.0.0.1" {
		t.Errorf("served at %s", url)
	}
	code, list := get(t, url+"/debug/pprof/")
	if code != http.StatusOK {
		t.Errorf("got %d", code)
	}
	contains(t, list, "goroutine ", "heap ", "profile\n")
	_, goroutines := get(t, url+"/debug/pprof/goroutine?debug=1")
	contains(t, goroutines, "goroutine profile: total ")
	for _, name := range []string{"heap", "allocs", "profile?seconds=1"} {
		if code, profile := get(t, url+"/debug/pprof/"+name); code != http.StatusOK ||
			!strings.HasPrefix(profile, "\x1f\x8b") {
			t.Errorf("%s: got %d, %.20q", name, code, profile)
		}
	}
	if _, arguments := get(t, url+"/debug/pprof/cmdline"); !strings.Contains(arguments, "test") {
		t.Errorf("got %q", arguments)
	}
	for _, path := range []string{"/debug/pprof/nonsense", "/", "/metrics"} {
		if code, _ := get(t, url+path); code != http.StatusNotFound {
			t.Errorf("%s: got %d", path, code)
		}
	}
	stopWhileProfiling(t, r, url)
}

// stopWhileProfiling stops the manager during a profile that would take an hour.
func stopWhileProfiling(t *testing.T, r *running, url string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/debug/pprof/profile?seconds=3600", nil)
	ok(t, err)
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	ok(t, err)
	defer resp.Body.Close()
	if code, body := get(t, url+"/debug/pprof/profile?seconds=1"); code != http.StatusConflict {
		t.Errorf("a second profile: got %d, %.20q", code, body)
	}
	begun := time.Now()
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("stop took %s", took)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	ok(t, err)
}
