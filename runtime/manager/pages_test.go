package manager_test

import (
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/manager"
)

// say is a handler that answers with a text and the path.
type say string

func (s say) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, string(s)+" "+r.URL.Path)
}

func TestPagesRequirePermissionOfTheAPIServer(t *testing.T) {
	s := newAPIServer()
	s.users = map[string]string{"good": "prometheus"}
	s.allowed = []string{"prometheus get /debug/a", "prometheus get /debug/controllers/x/y", "prometheus get /debug",
		"prometheus post /debug/a"}
	m, log := newManager(t, s, manager.Options{Metrics: manager.MetricsOptions{BindAddress: loopback}})
	for path, text := range map[string]string{"/debug/a": "a", "/debug/controllers/": "below", "/secret": "secret"} {
		ok(t, m.Handle(path, say(text)))
	}
	start(t, m)
	url := strings.Replace(log.url(t, "metrics"), "http:", "https:", 1)
	for _, test := range []struct {
		method, token, path string
		code                int
		body                string
	}{
		{"GET", "good", "/debug/a", 200, "a /debug/a"},
		{"GET", "good", "/debug/controllers/x/y", 200, "below /debug/controllers/x/y"},
		{"GET", "good", "/debug", 404, ""},
		{"GET", "good", "/secret", 403, ""},
		{"GET", "", "/debug/a", 401, ""},
		{"POST", "good", "/debug/a", 405, ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), test.method, url+test.path, nil)
		ok(t, err)
		req.Header.Set("Authorization", "Bearer "+test.token)
		code, body := send(t, trusting(), req)
		if code != test.code || test.body != "" && body != test.body {
			t.Errorf("%+v: got %d %q", test, code, body)
		}
	}
}

func TestPagesRequirePermission(t *testing.T) {
	m, log := newManager(t, newAPIServer(), manager.Options{Metrics: manager.MetricsOptions{BindAddress: loopback,
		Insecure: true}})
	ok(t, m.Handle("/debug/a", say("a")))
	start(t, m)
	for _, path := range []string{"/debug/a", "/statusz", "/configz"} {
		if code, _ := get(t, log.url(t, "metrics")+path); code != http.StatusNotFound {
			t.Errorf("%s: got %d", path, code)
		}
	}
}

func TestPathHasOneHandler(t *testing.T) {
	m, _ := newManager(t, newAPIServer(), manager.Options{Metrics: manager.MetricsOptions{BindAddress: loopback}})
	ok(t, m.Handle("/a", say("a")))
	for path, want := range map[string]string{
		"/a": "handle /a: it has another handler", "/metrics": "handle /metrics: it has another handler",
		"a": `handle "a": want a path that begins with a slash`, "": `handle "": want a path that begins with a slash`,
	} {
		if err := m.Handle(path, say("b")); err == nil || err.Error() != want {
			t.Errorf("%q: got %v", path, err)
		}
	}
}

func TestStatuszHasLeaderAndReadiness(t *testing.T) {
	s := newAPIServer()
	m, _ := newManager(t, s, manager.Options{
		Metrics: manager.MetricsOptions{BindAddress: loopback}, LeaderElection: manager.LeaderElectionOptions{Enabled: true,
			ID: "guestbook", Namespace: "ns"},
	})
	m.AddReadyz("late", func(*http.Request) error { return errBroken })
	m.AddStatus("own", func() any { return []int{1, 2} })
	running := make(chan struct{})
	add(t, m, worker{name: "w", runFunc: until(running)})
	start(t, m)
	<-running
	var status struct {
		Go, Started, Up string
		LeaderElection  []struct {
			Group, Leader string
			Leading       bool
		}
		Ready map[string]string
		Own   []int
	}
	w := httptest.NewRecorder()
	manager.StatuszOf(m).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/statusz", nil))
	ok(t, json.Unmarshal(w.Body.Bytes(), &status))
	if len(status.LeaderElection) != 1 || !status.LeaderElection[0].Leading ||
		status.LeaderElection[0].Leader != s.holder("guestbook") ||
		status.Ready["late"] != "broken" || !slices.Equal(status.Own, []int{1, 2}) || status.Started == "" ||
		status.Go == "" {
		t.Errorf("got %s", w.Body)
	}
}

// public is a flag value that is not secret.
type public struct{ text string }

func (p *public) String() string        { return p.text }
func (p *public) Set(text string) error { p.text = text; return nil }
func (p *public) Shown()                {}

func TestConfigzNeverShowsASecret(t *testing.T) {
	set := flag.NewFlagSet("guestbook", flag.ContinueOnError)
	const secret = "hunter2-hunter2"
	set.String("token", "", "")
	set.String("dsn", "postgres://localhost", "")
	set.Func("key", "", func(string) error { return nil })
	set.Int("replicas", 1, "")
	set.Var(&public{}, "mode", "")
	flags := manager.BindFlags(set, manager.Options{EnvPrefix: manager.Off})
	file := configFile(t, "dsn: postgres://user:"+secret+"@host\nlog-level: debug\n")
	ok(t, set.Parse([]string{"--token=" + secret, "--key=" + secret, "--replicas=3", "--mode=fast", "--namespaces=a,b",
		"--config=" + file}))
	_, err := flags.Options()
	ok(t, err)
	w := httptest.NewRecorder()
	flags.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/configz", nil))
	if strings.Contains(w.Body.String(), "hunter2") {
		t.Fatalf("got %s", w.Body)
	}
	var shown map[string]string
	ok(t, json.Unmarshal(w.Body.Bytes(), &shown))
	for name, want := range map[string]string{
		"token": "(set)", "dsn": "(set)", "replicas": "3", "mode": "fast", "namespaces": "a,b", "log-level": "DEBUG",
		"config": file, "health-probe-bind-address": ":8081",
	} {
		if shown[name] != want {
			t.Errorf("%s: got %q, want %q", name, shown[name], want)
		}
	}
	if filepath.Base(shown["config"]) == "" {
		t.Error("no file")
	}
}

// TestPagesOfTheOptionsAreServedPlainly checks that Metrics.Insecure also applies to ExtraHandlers, and to no other
// page.
func TestPagesOfTheOptionsAreServedPlainly(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	m, log := newManager(t, newAPIServer(), manager.Options{
		Metrics: manager.MetricsOptions{BindAddress: loopback, Insecure: true,
			ExtraHandlers: map[string]http.Handler{"/debug/pprof": page, "/folder/": page}},
	})
	if err := m.Handle("/other", page); err != nil {
		t.Fatal(err)
	}
	start(t, m)
	url := log.url(t, "metrics")
	for path, want := range map[string]int{
		"/debug/pprof": http.StatusTeapot, "/folder/below": http.StatusTeapot, "/metrics": http.StatusOK,
		"/other": http.StatusNotFound, "/statusz": http.StatusNotFound,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if code, _ := send(t, &http.Transport{DisableKeepAlives: true}, req); code != want {
			t.Errorf("%s answered %d, want %d", path, code, want)
		}
	}
}
