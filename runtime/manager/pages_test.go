package manager_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// say answers with a text and the path.
type say string

func (s say) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, string(s)+" "+r.URL.Path)
}

func TestPagesAreForThoseWhomTheAPIServerAllows(t *testing.T) {
	s := newAPIServer()
	s.users = map[string]string{"good": "prometheus"}
	s.allowed = []string{"prometheus get /debug/a", "prometheus get /debug/controllers/x/y", "prometheus get /debug", "prometheus post /debug/a"}
	m, log := newManager(t, s, manager.Options{MetricsAddress: loopback})
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

func TestPagesAreNotServedToEverybody(t *testing.T) {
	m, log := newManager(t, newAPIServer(), manager.Options{MetricsAddress: loopback, MetricsInsecure: true})
	ok(t, m.Handle("/debug/a", say("a")))
	start(t, m)
	for _, path := range []string{"/debug/a", "/statusz", "/configz"} {
		if code, _ := get(t, log.url(t, "metrics")+path); code != http.StatusNotFound {
			t.Errorf("%s: got %d", path, code)
		}
	}
}

func TestPathHasOneHandler(t *testing.T) {
	m, _ := newManager(t, newAPIServer(), manager.Options{MetricsAddress: loopback})
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

func TestStatuszTellsWhoLeadsAndWhatIsReady(t *testing.T) {
	s := newAPIServer()
	m, _ := newManager(t, s, manager.Options{
		MetricsAddress: loopback, LeaderElection: true, LeaderElectionID: "guestbook", LeaderElectionNamespace: "ns",
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
	if len(status.LeaderElection) != 1 || !status.LeaderElection[0].Leading || status.LeaderElection[0].Leader != s.holder("guestbook") ||
		status.Ready["late"] != "broken" || !slices.Equal(status.Own, []int{1, 2}) || status.Started == "" || status.Go == "" {
		t.Errorf("got %s", w.Body)
	}
}

// public is a text that is no secret.
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
	ok(t, set.Parse([]string{"--token=" + secret, "--key=" + secret, "--replicas=3", "--mode=fast", "--namespaces=a,b", "--config=" + file}))
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

func TestRequestsWaitForTheirTurnAndLeasesDoNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer()
		m, _ := newManager(t, s, manager.Options{QPS: 2, Burst: 3})
		begun := time.Now()
		visit := func(ctx context.Context, path string) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://apiserver"+path, nil)
			ok(t, err)
			resp, err := m.HTTPClient().Do(req)
			if err == nil {
				resp.Body.Close()
			}
			return err
		}
		for n, want := range []time.Duration{0, 0, 0, 500 * time.Millisecond, time.Second} {
			ok(t, visit(t.Context(), "/api/v1/pods"))
			if got := time.Since(begun); got != want {
				t.Errorf("request %d was sent after %s, want %s", n, got, want)
			}
		}
		ok(t, visit(t.Context(), "/apis/coordination.k8s.io/v1/namespaces/ns/leases/a"))
		if got := time.Since(begun); got != time.Second {
			t.Errorf("the lease waited until %s", got)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := visit(ended, "/api/v1/pods"); !errors.Is(err, context.Canceled) || time.Since(begun) != time.Second {
			t.Errorf("got %v after %s", err, time.Since(begun))
		}
	})
}

func TestLimitsOfAnySizeAreLimits(t *testing.T) {
	for _, limit := range []manager.Options{{QPS: 1e-300, Burst: 1 << 62}, {QPS: 1e300, Burst: 1 << 62}, {QPS: 1, Burst: 1 << 62}, {QPS: 1e300}} {
		synctest.Test(t, func(t *testing.T) {
			m, _ := newManager(t, newAPIServer(), limit)
			for range 5 {
				resp, err := m.HTTPClient().Get("http://apiserver/apis/authorization.k8s.io/v1")
				ok(t, err)
				resp.Body.Close()
			}
		})
	}
}

func TestControllersHaveATimeoutOfTheirOwnAndAreNamedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, log := newManager(t, newAPIServer(), manager.Options{ControllerShutdownTimeout: 6 * time.Second})
		release, begun := make(chan struct{}), make(chan struct{})
		defer close(release)
		add(t, m, worker{name: "stuck", runFunc: func(context.Context) error {
			close(begun)
			<-release
			return nil
		}})
		r := start(t, m)
		<-begun
		stopping := time.Now()
		err := r.stop()
		if took := time.Since(stopping); took != 6*time.Second || err == nil || !strings.Contains(err.Error(), "shutdown timeout: stuck") {
			t.Errorf("got %v after %s", err, took)
		}
		if told := strings.Count(log.String(), "waiting for what still runs"); told != 2 {
			t.Errorf("told %d times:\n%s", told, log)
		}
	})
}

func TestCollectTakesWhatASetupAddsAndLeavesOutWhatIsNotEnabled(t *testing.T) {
	m, _ := newManager(t, newAPIServer(), manager.Options{Webhook: manager.WebhookOptions{Address: manager.Off}})
	whole := m
	ok(t, corev1.AddToScheme(m.Scheme()))
	var asked []string
	enabled := func(name string) bool {
		asked = append(asked, name)
		return name != "secret"
	}
	idle := reconcile.Func[reconcile.Request](func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, nil
	})
	collected, err := m.Collect(manager.Collection{Enabled: enabled}, func(m *manager.Manager) error {
		if m.Run(t.Context()) == nil {
			t.Error("setup ran the manager")
		}
		m.EventRecorder("a")
		own, err := m.Webhooks()
		if whole, wholeErr := whole.Webhooks(); err != nil || wholeErr != nil || own != whole {
			t.Errorf("the webhooks are not those of the manager: %v, %v", err, wholeErr)
		}
		return errors.Join(
			controller.For[*corev1.ConfigMap](m).WithOptions(controller.Options{WarmUp: true}).Complete(idle),
			controller.For[*corev1.Secret](m).Complete(idle),
			m.Add(worker{name: "w"}),
		)
	})
	ok(t, err)
	var names []string
	for _, r := range collected {
		names = append(names, r.(interface{ Name() string }).Name())
	}
	if want := []string{"configmap", "configmap sources", "w"}; !slices.Equal(names, want) || !slices.Equal(asked, []string{"configmap", "secret"}) {
		t.Errorf("got %q of %q", names, asked)
	}
	ok(t, m.Add(worker{name: "configmap", runFunc: func(context.Context) error { return nil }})) // the name is free: nothing was added
}

func TestResyncPeriodHasJitter(t *testing.T) {
	m, _ := newManager(t, newAPIServer(), manager.Options{MinResyncPeriod: time.Hour})
	different := map[time.Duration]bool{}
	for range 100 {
		period := m.ResyncPeriod()
		if period < time.Hour || period >= 2*time.Hour {
			t.Fatalf("got %s", period)
		}
		different[period] = true
	}
	if len(different) < 50 {
		t.Errorf("got %d periods", len(different))
	}
	if m, _ := newManager(t, newAPIServer(), manager.Options{}); m.ResyncPeriod() != 0 {
		t.Errorf("got %s by default", m.ResyncPeriod())
	}
}

func TestUsageErrorOfASetupIsPrintedLineByLine(t *testing.T) {
	var stderr strings.Builder
	args := []string{"--kubeconfig", writeKubeconfig(t, "http://127.0.0.1:1"), "--health-probe-bind-address=0"}
	code := manager.Program(t.Context(), "guestbook", args, &stderr, manager.Options{}, func(*manager.Manager) error {
		return &manager.UsageError{Err: errors.Join(errBroken, errSeen), Hint: "mend it"}
	})
	if want := "guestbook: broken\nguestbook: " + errSeen.Error() + "\nhint: mend it\n"; code != 2 || !strings.HasSuffix(stderr.String(), want) {
		t.Errorf("got %d, %s", code, &stderr)
	}
}
