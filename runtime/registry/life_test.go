package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/source"
	"github.com/kctrl-dev/kctrl/runtime/webhook"
	"github.com/kctrl-dev/kctrl/runtime/webhook/admission"
	"github.com/kctrl-dev/kctrl/runtime/webhook/conversion"
)

func metaOf(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "ns", Name: name} }

func corev1Key(name string) object.Key { return object.Key{Namespace: "ns", Name: name} }

// runOnly is a controller that has no method except Run.
type runOnly func(ctx context.Context) error

func (f runOnly) Run(ctx context.Context) error { return f(ctx) }

func TestFailingControllerIsRestartedAndOthersGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, log := newManager(t, newAPIServer(), manager.Options{})
		var begun []time.Duration
		zero := time.Now()
		built := 0
		l := launched(t, m, Options{},
			Descriptor{Name: "failing", New: func(context.Context, *Context) (Controller, error) {
				built++
				return &fake{run: func(ctx context.Context) error {
					begun = append(begun, time.Since(zero))
					switch len(begun) {
					case 1:
						return errBroken
					case 2:
						panic("oh no")
					}
					<-ctx.Done()
					return nil
				}}, nil
			}},
			Descriptor{Name: "never", Restart: Never, New: building(&fake{run: func(
				context.Context) error {
				return errBroken
			}})},
			Descriptor{Name: "done", New: building(&fake{run: func(context.Context) error { return nil }})},
			Descriptor{Name: "good", New: building(&fake{})})
		r := start(t, m)
		if got := states(l); got != "done=ended failing=restarting good=running never=failed" {
			t.Errorf("got %s", got)
		}
		for name, want := range map[string]string{
			"failing": "has failed, and will be started again: broken", "never": "has failed: broken",
		} {
			if err := l.runners[name].Ready(); err == nil || err.Error() != want {
				t.Errorf("%s: got %v", name, err)
			}
		}
		pass(time.Hour)
		if got := states(l); got != "done=ended failing=running good=running never=failed" {
			t.Errorf("got %s", got)
		}
		if len(begun) != 3 || built != 3 || l.runners["failing"].Ready() != nil ||
			l.runners["failing"].status().Restarts != 2 {
			t.Errorf("began at %v, was built %d times, is %+v", begun, built, l.runners["failing"].status())
		}
		if first, second := begun[1]-begun[0], begun[2]-begun[1]; first > time.Second || second <= first ||
			second > 2*time.Second {
			t.Errorf("began at %v", begun)
		}
		if !strings.Contains(log.String(), `err="panic: oh no"`) || !strings.Contains(log.String(), "stack=") {
			t.Errorf("got %s", log)
		}
		ok(t, r.stop())
		if got := states(l); got != "done=ended failing=ended good=ended never=failed" {
			t.Errorf("got %s", got)
		}
	})
}

// TestRestartedControllerReplacesItsSetup checks that webhooks, conversions and pages are served while the controller
// is stopped, and that the restarted controller replaces them.
func TestRestartedControllerReplacesItsSetup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newManager(t, newAPIServer(), manager.Options{Webhook: manager.WebhookOptions{BindAddress: manager.Off}})
		ok(t, errors.Join(autoscalingv1.AddToScheme(m.Scheme()), autoscalingv2.AddToScheme(m.Scheme())))
		built := 0
		page := func() http.Handler {
			text := fmt.Sprint("built ", built)
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
		}
		setUp := func(m controller.Manager) error {
			defaulter := admission.DefaulterFunc[*corev1.ConfigMap](func(context.Context,
				*corev1.ConfigMap) error {
				return nil
			})
			return errors.Join(
				webhook.Handle(m, "/setup", page()), m.Handle("/page", page()),
				webhook.For[*corev1.ConfigMap](m).WithDefaulter(defaulter).Complete(),
				webhook.For[*autoscalingv2.HorizontalPodAutoscaler](m).WithSpokes(scaledTo(built)).Complete(),
				m.Add(runOnly(func(ctx context.Context) error {
					if built < 3 {
						return errBroken
					}
					<-ctx.Done()
					return nil
				})),
			)
		}
		l := launched(t, m, Options{}, Descriptor{Name: "own", New: func(_ context.Context, c *Context) (Controller, error) {
			built++
			err := errors.Join(c.Setup(setUp), webhook.Handle(c, "/context", page()))
			// A second registration in one build must fail, because it would otherwise be dropped silently.
			twice := errors.Join(c.Setup(func(m controller.Manager) error { return m.Handle("/page", page()) }),
				webhook.Handle(c, "/setup", page()),
				webhook.For[*autoscalingv2.HorizontalPodAutoscaler](c).WithSpokes(scaledTo(built)).Complete())
			if want := "handle /page: it has another handler\n" + "there is another webhook at /setup; give one of them " +
				"another path\n" +
				"conversion of HorizontalPodAutoscaler.autoscaling: it is registered already"; twice == nil ||
				twice.Error() != want {
				t.Errorf("registered twice in build %d: %v", built, twice)
			}
			return nil, err
		}})
		served, err := m.Webhooks()
		ok(t, err)
		answer := func(path string) string {
			w := httptest.NewRecorder()
			served.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, nil))
			return w.Body.String()
		}
		converted := func() string {
			const review = `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"1","desiredAPIVersion":"autoscaling/v2",
				"objects":[{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"a"}}]}}`
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, conversion.Path, strings.NewReader(review))
			r.Header.Set("Content-Type", "application/json")
			served.ServeHTTP(w, r)
			_, replicas, _ := strings.Cut(w.Body.String(), `"maxReplicas":`)
			return replicas[:min(1, len(replicas))]
		}
		if got := answer("/setup") + answer("/context"); got != "built 1built 1" || converted() != "1" {
			t.Errorf("at first the webhooks say %s, and objects are converted to %s", got, converted())
		}
		r := start(t, m)
		pass(time.Hour)
		if got := states(l); got != "own=running" || built != 3 {
			t.Fatalf("after %d builds got %s: %+v", built, got, l.statuses())
		}
		if got := answer("/setup") + answer("/context"); got != "built 3built 3" || converted() != "3" {
			t.Errorf("after restarts the webhooks say %s, and objects are converted to %s", got, converted())
		}
		if err := webhook.Handle(m, "/setup", page()); err == nil {
			t.Error("another caller may use the path of a webhook")
		}
		if err := m.Handle("/page", page()); err == nil {
			t.Error("another caller may use the path of a page")
		}
		if err := webhook.For[*autoscalingv2.HorizontalPodAutoscaler](m).WithSpokes(scaledTo(9)).Complete(); err == nil {
			t.Error("another caller may register the conversion of a kind")
		}
		ok(t, r.stop())
	})
}

// scaledTo returns a spoke whose hubs have that number of replicas.
func scaledTo(replicas int) conversion.Spoke[*autoscalingv2.HorizontalPodAutoscaler] {
	return conversion.NewSpoke(
		func(context.Context, *autoscalingv2.HorizontalPodAutoscaler, *autoscalingv1.HorizontalPodAutoscaler) error {
			return nil
		},
		func(_ context.Context, _ *autoscalingv1.HorizontalPodAutoscaler, hub *autoscalingv2.HorizontalPodAutoscaler) error {
			hub.Spec.MaxReplicas = int32(replicas)
			return nil
		})
}

// TestChecksOfARestartedControllerAreThoseOfTheNext probes the manager as a kubelet does. The checks that a controller
// has set up remain while it is stopped. The controller's own health check is called only while it runs.
func TestChecksOfARestartedControllerAreThoseOfTheNext(t *testing.T) {
	m, log := newManager(t, newAPIServer(), manager.Options{HealthProbeBindAddress: "127.0.0.1:0"})
	var built atomic.Int32
	fail, again := make(chan struct{}), make(chan struct{})
	launched(t, m, Options{}, Descriptor{Name: "own", New: func(_ context.Context, c *Context) (Controller, error) {
		build := built.Add(1)
		if build > 1 {
			<-again
		}
		failing := func(what string) func(*http.Request) error {
			return func(*http.Request) error { return fmt.Errorf("%s of build %d", what, build) }
		}
		err := c.Setup(func(m controller.Manager) error {
			m.AddHealthz("set-up", failing("health"))
			m.AddReadyz("set-up", failing("readiness"))
			m.AddHealthz("set-up", failing("second")) // two checks may have the same name
			if build == 1 {
				m.AddHealthz("once", failing("single"))
			}
			return nil
		})
		return &fake{ready: failing("own readiness")(nil), health: failing("own health")(nil),
			run: func(ctx context.Context) error {
				if build == 1 {
					<-fail
					return errBroken
				}
				<-ctx.Done()
				return nil
			}}, err
	}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()

	healthy := "[-] own: own health of build %d\n[-] set-up: health of build %[1]d\n[-] set-up: second of build %[1]d\n"
	ready := "[-] own: own readiness of build %d\n[-] set-up: readiness of build %[1]d\n"
	awaitProbe(t, log, "/healthz", "[-] once: single of build 1\n"+fmt.Sprintf(healthy, 1))
	awaitProbe(t, log, "/readyz", fmt.Sprintf(ready, 1))
	close(fail)
	awaitProbe(t, log, "/readyz", "[-] own: has failed, and will be started again: broken\n[-] set-up: readiness of "+
		"build 1\n")
	awaitProbe(t, log, "/healthz", "[-] once: single of build 1\n[+] own\n[-] set-up: health of build 1\n[-] set-up: "+
		"second of build 1\n")
	close(again)
	awaitProbe(t, log, "/readyz", fmt.Sprintf(ready, 2))
	awaitProbe(t, log, "/healthz", fmt.Sprintf(healthy, 2))
	cancel()
	ok(t, <-ended)
}

// awaitProbe waits until a probe of the manager with this log reports want for the controller and its checks.
func awaitProbe(t *testing.T, log *journal, probe, want string) {
	t.Helper()
	eventually(t, func() error {
		_, address, found := strings.Cut(log.String(), "server=probes address=")
		if !found {
			return errors.New("there are no probes")
		}
		address, _, _ = strings.Cut(address, "\n")
		response, err := http.Get("http://" + address + probe + "?verbose")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if !strings.Contains(string(text), want) {
			return errors.Join(err, fmt.Errorf("%s says\n%swant\n%s", probe, text, want))
		}
		if probe == "/healthz" && string(text) != want {
			return fmt.Errorf("/healthz says more than it should:\n%swant\n%s", text, want)
		}
		return err
	})
}

func TestPauseBetweenRestartsHasABoundAndIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newManager(t, newAPIServer(), manager.Options{})
		var begun []time.Time
		launched(t, m, Options{}, Descriptor{Name: "failing", New: func(context.Context, *Context) (Controller, error) {
			return &fake{run: func(ctx context.Context) error {
				begun = append(begun, time.Now())
				if len(begun) == 15 {
					time.Sleep(restartForget)
				}
				return errBroken
			}}, nil
		}})
		r := start(t, m)
		pass(3 * time.Hour)
		ok(t, r.stop())
		if pause := begun[14].Sub(begun[13]); pause < restartMost/2 || pause > restartMost {
			t.Errorf("a late pause is %s", pause)
		}
		if pause := begun[15].Sub(begun[14]) - restartForget; pause > restartBase {
			t.Errorf("after a long run the pause is %s", pause)
		}
	})
}

func TestFatalControllerEndsTheManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newManager(t, newAPIServer(), manager.Options{})
		launched(t, m, Options{}, Descriptor{Name: "fatal", Restart: Fatal,
			New: building(&fake{run: func(context.Context) error { return errBroken }})})
		r := start(t, m)
		<-r.ended
		if !errors.Is(r.err, errBroken) || r.err.Error() != "fatal: broken" {
			t.Errorf("got %v", r.err)
		}
		r.cancel()
	})
}

func TestStartHasJitterThatTheEndOfTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newManager(t, newAPIServer(), manager.Options{})
		var mu sync.Mutex
		begun := map[string]time.Duration{}
		zero := time.Now()
		var descriptors []Descriptor
		for _, name := range []string{"a", "b", "c"} {
			descriptors = append(descriptors, Descriptor{Name: name, SpecialHandling: name == "c",
				New: building(&fake{run: func(ctx context.Context) error {
					mu.Lock()
					begun[name] = time.Since(zero)
					mu.Unlock()
					<-ctx.Done()
					return nil
				}})})
		}
		l := launched(t, m, Options{StartInterval: time.Minute}, descriptors...)
		r := start(t, m)
		if got := states(l); got != "a=waiting b=waiting c=running" {
			t.Errorf("got %s", got)
		}
		pass(2 * time.Minute)
		for _, name := range []string{"a", "b"} {
			if begun[name] < time.Minute || begun[name] > 2*time.Minute {
				t.Errorf("%s began after %s", name, begun[name])
			}
		}
		if begun["a"] == begun["b"] || begun["c"] != 0 {
			t.Errorf("got %v", begun)
		}
		ok(t, r.stop())

		m, _ = newManager(t, newAPIServer(), manager.Options{})
		launched(t, m, Options{StartInterval: time.Hour}, descriptors...)
		r = start(t, m)
		stopping := time.Now()
		ok(t, r.stop())
		if took := time.Since(stopping); took > 0 {
			t.Errorf("the stop took %s", took)
		}
	})
}

func TestSpecialControllerIsBuiltAndStartedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newManager(t, newAPIServer(), manager.Options{})
		var order []string
		one := func(name string, special bool) Descriptor {
			return Descriptor{Name: name, SpecialHandling: special, New: func(context.Context, *Context) (Controller, error) {
				order = append(order, "build "+name)
				return &fake{}, nil
			}}
		}
		l := launched(t, m, Options{}, one("a", false), one("tokens", true), one("z", false))
		if got := strings.Join(order, ", "); got != "build tokens, build a, build z" {
			t.Errorf("got %s", got)
		}
		release := make(chan struct{})
		l.special[0].current = together{&fake{run: func(ctx context.Context) error {
			<-release
			return errBroken // must not stall other controllers
		}}}
		r := start(t, m)
		close(release)
		synctest.Wait()
		if got := states(l); got != "a=running tokens=restarting z=running" {
			t.Errorf("got %s", got)
		}
		ok(t, r.stop())
	})
}

func TestStragglerOfTheRegistryIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m,
			_ := newManager(t, newAPIServer(),
			manager.Options{Controller: manager.ControllerOptions{ShutdownTimeout: 3 * time.Second}})
		release := make(chan struct{})
		launched(t, m, Options{}, Descriptor{Name: "stuck", New: building(&fake{run: func(context.Context) error {
			<-release
			return nil
		}})}, Descriptor{Name: "good", New: building(&fake{})})
		r := start(t, m)
		begun := time.Now()
		err := r.stop()
		if err == nil || !strings.HasSuffix(err.Error(), "shutdown timeout: stuck") || time.Since(begun) != 3*time.Second {
			t.Errorf("got %v after %s", err, time.Since(begun))
		}
		close(release)
	})
}

func TestReadyAndHealthyComeFromTheController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newManager(t, newAPIServer(), manager.Options{})
		l := launched(t, m, Options{StartInterval: time.Second},
			Descriptor{Name: "sick", New: building(&fake{ready: errBroken, health: errBroken})})
		r := start(t, m)
		runner := l.runners["sick"]
		if runner.Ready() != nil || runner.healthy(nil) != nil || l.started.Value("sick") != 0 {
			t.Error("one that waits is not ready")
		}
		pass(time.Minute)
		if !errors.Is(runner.Ready(), errBroken) || !errors.Is(runner.healthy(nil), errBroken) ||
			l.started.Value("sick") != 1 {
			t.Errorf("got %v, %v, %v", runner.Ready(), runner.healthy(nil), l.started.Value("sick"))
		}
		if got := runner.status(); got.State != Running || got.Reason != "broken" {
			t.Errorf("got %+v", got)
		}
		ok(t, r.stop())
		if l.started.Value("sick") != 0 {
			t.Error("the metric says that it runs")
		}
	})
}

// part is a runnable that a controller adds to its context.
type part struct {
	fake
	name   string
	always bool
}

func (p *part) Name() string             { return p.name }
func (p *part) NeedLeaderElection() bool { return !p.always }

func TestAdditionsToTheContextBelongToTheController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newManager(t, newAPIServer(), manager.Options{})
		first, second, beside := &part{name: "first"}, &part{name: "second", fake: fake{ready: errBroken, health: errBroken}},
			&part{name: "beside", always: true}
		l := launched(t, m, Options{}, Descriptor{Name: "both", New: func(_ context.Context, c *Context) (Controller, error) {
			return first, errors.Join(c.Add(first), c.Add(second), c.Add(beside))
		}}, Descriptor{Name: "always", New: func(_ context.Context, c *Context) (Controller, error) {
			return nil, c.Add(&part{name: "x", always: true})
		}}, Descriptor{Name: "group", Election: controller.Election{Group: "other"}, New: building(&fake{})})
		r := start(t, m)
		if len(l.runners["both"].current) != 2 {
			t.Fatalf("got %v", l.runners["both"].current)
		}
		if err := l.runners["both"].Ready(); !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
		if err := l.runners["both"].healthy(&http.Request{}); !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
		if l.runners["always"].NeedLeaderElection() || !l.runners["both"].NeedLeaderElection() ||
			l.runners["group"].LeaderElectionGroup() != "other" {
			t.Error("the election is not that of what was built")
		}
		ok(t, r.stop())
	})
}

// TestFailureOfWhatRunsBesideAControllerIsOneOfIt uses a source that fails. With WarmUp, the source runs beside the
// controller and not in it.
func TestFailureOfWhatRunsBesideAControllerIsOneOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newManager(t, newAPIServer(), manager.Options{})
		sources := 0
		l := launched(t, m, Options{}, Descriptor{Name: "warm", New: func(_ context.Context, c *Context) (Controller, error) {
			return controller.ForRequests[string](c, "requests").WithOptions(controller.Options{WarmUp: true}).
				WatchesSource(source.Func("broker", func(ctx context.Context, _ handler.Queue[string], synced func()) error {
					synced()
					select {
					case <-ctx.Done():
						return nil
					case <-time.After(time.Minute):
						sources++
						return errBroken
					}
				})).Build(reconcile.Func[string](nil))
		}}, Descriptor{Name: "good", New: building(&fake{})})
		r := start(t, m)
		pass(time.Minute)
		if got := states(l); got != "good=running warm=restarting" || !errors.Is(l.runners["warm"].Ready(), errBroken) {
			t.Errorf("got %s, and %v", got, l.runners["warm"].Ready())
		}
		pass(30 * time.Second)
		if got := states(l); got != "good=running warm=running" {
			t.Errorf("after a restart: got %s", got)
		}
		pass(2 * time.Minute)
		if got := l.runners["warm"].status(); sources != 3 || got.Restarts != 3 {
			t.Errorf("the source was run and has failed %d times: %+v", sources, got)
		}
		ok(t, r.stop())
	})
}

func TestInformersAreStartedBeforeControllers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newManager(t, newAPIServer(), manager.Options{LeaderElection: manager.LeaderElectionOptions{Enabled: true,
			ID: "x", Namespace: "ns"}})
		var own *Context
		launched(t, m, Options{}, Descriptor{Name: "a", Election: controller.Election{Off: true},
			New: func(_ context.Context, c *Context) (Controller, error) {
				own = c
				return &fake{run: func(ctx context.Context) error {
					select {
					case <-c.InformersStarted():
						<-ctx.Done()
						return nil
					case <-time.After(time.Second):
						return errBroken
					}
				}}, nil
			}})
		r := start(t, m)
		pass(time.Minute)
		if own.launch.runners["a"].status().State != Running {
			t.Errorf("got %+v", own.launch.runners["a"].status())
		}
		ok(t, r.stop())
	})
}

// TestSpecialControllerOfAnotherProcessBlocksNothing uses a leader election that this process cannot win.
func TestSpecialControllerOfAnotherProcessBlocksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := manager.Options{LeaderElection: manager.LeaderElectionOptions{Enabled: true, ID: "x", Namespace: "ns"}}
		m, _ := newManager(t, newAPIServer(), opts) // the server stores no leases, so there is no leader
		l := launched(t, m, Options{},
			Descriptor{Name: "special", SpecialHandling: true, New: building(&fake{})},
			Descriptor{Name: "elected", New: building(&fake{})},
			Descriptor{Name: "everywhere", Election: controller.Election{Off: true}, New: building(&fake{})})
		r := start(t, m)
		pass(time.Minute)
		if got := states(l); got != "elected=waiting everywhere=running special=waiting" {
			t.Errorf("got %s", got)
		}
		ok(t, r.stop())
	})
}

func TestControllersDoNotShareANameInLogsAndMetrics(t *testing.T) {
	m, _ := newManager(t, newAPIServer(), manager.Options{})
	r := New(Options{})
	build := func(_ context.Context, c *Context) (Controller, error) {
		return controller.For[*corev1.ConfigMap](c).Build(idle)
	}
	r.Register(Descriptor{Name: "a", New: build}, Descriptor{Name: "b", New: build})
	if err := r.AddTo(t.Context(), m); err == nil ||
		err.Error() != `controller b: it builds "configmap", and so does controller a; give one of them another name, by Named` {
		t.Errorf("got %v", err)
	}
}

func TestTwoControllersOfOneNameInADescriptorAreAnError(t *testing.T) {
	build := func(c *Context, name string) (Controller, error) {
		return controller.For[*corev1.ConfigMap](c).Named(name).Build(idle)
	}
	for _, c := range []struct{ first, second, want string }{
		{"x", "x", `controller a: it builds two "x"; give one of them another name, by Named`},
		{"x", "y", ""},
	} {
		m, _ := newManager(t, newAPIServer(), manager.Options{})
		r := New(Options{})
		r.Register(Descriptor{Name: "a", New: func(_ context.Context, own *Context) (Controller, error) {
			if _, err := build(own, c.first); err != nil {
				return nil, err
			}
			return build(own, c.second)
		}})
		if err := r.AddTo(t.Context(), m); fmt.Sprint(err) != cmp.Or(c.want, "<nil>") {
			t.Errorf("%s and %s: got %v", c.first, c.second, err)
		}
	}
}

func TestServerThatDoesNotAnswerIsNotWaitedForWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer()
		config := s.config()
		config.Transport = hanging{}
		m, err := manager.New(config, manager.Options{})
		ok(t, err)
		begun := time.Now()
		if err := WaitForAPIServer(t.Context(), m, 7*time.Second); err == nil || time.Since(begun) != 7*time.Second ||
			!strings.Contains(err.Error(), "is not ready after 7s") {
			t.Errorf("got %v after %s", err, time.Since(begun))
		}
	})
}

// hanging is a transport to a server that accepts requests and never answers.
type hanging struct{}

func (hanging) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}
