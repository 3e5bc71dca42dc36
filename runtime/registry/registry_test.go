package registry

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

var idle = reconcile.Func[reconcile.Request](func(context.Context, reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, nil
})

// launched launches a registry with the descriptors in a manager.
func launched(t *testing.T, m *manager.Manager, opts Options, descriptors ...Descriptor) *launch {
	t.Helper()
	r := New(opts)
	r.Register(descriptors...)
	l, err := r.launch(t.Context(), m)
	ok(t, err)
	return l
}

func TestAllMistakesInDescriptorsAreReportedTogether(t *testing.T) {
	r := New(Options{FeatureGates: []FeatureGate{{"Fast", []GateSpec{{Since: "1.0", Stage: Beta}}}}, StartInterval: -1,
		Preflight: "maybe"})
	fine := building(&fake{})
	r.Register(
		Descriptor{Name: "a", New: fine},
		Descriptor{Name: "a", New: fine},
		Descriptor{New: fine},
		Descriptor{Name: "b", Aliases: []string{"a", "c"}, FeatureGates: []string{"Fsat"}},
		Descriptor{Name: "d", Aliases: []string{"c", "", "d"}, New: fine, Concurrency: -1, Restart: 7},
		Descriptor{Name: "Bad_Name", New: fine, Election: controller.Election{Off: true, Group: "x"}},
		Descriptor{Name: "*", New: fine},
		Descriptor{Name: strings.Repeat("x", 64), New: fine},
		Descriptor{Name: "e", New: fine, Needs: []Need{{}, {Kind: schema.GroupVersionKind{Kind: "Pod"}}}},
	)
	err := r.Validate()
	if err == nil {
		t.Fatal("got no error")
	}
	for _, want := range []string{
		"controller a is registered twice, as descriptor 0 and 1", "descriptor 2 has no name",
		"controller b: it has no constructor",
		`controller b: unknown feature gate "Fsat"; did you mean "Fast"?`,
		`controller b: the alias "a" is the name of a controller`,
		`controller d: the alias "c" is one of controller b already`, `controller d: "" cannot be a name`,
		"controller d: its concurrency is -1",
		`controller d: the alias "d" is the name of a controller`,
		"controller d: unknown restart policy RestartPolicy(7)", `controller Bad_Name: "Bad_Name" cannot be a name`,
		"controller Bad_Name: it has a leader election group, and runs without election",
		`controller *: "*" cannot be a name`,
		"its name is longer than 63 letters", "controller e: it needs a kind without a name",
		"controller e: it needs Pod without verbs",
		"controller-start-interval: want 0 or more, got -1ns", `unknown preflight "maybe"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
	m, _ := newManager(t, newAPIServer(), manager.Options{})
	if added := r.AddTo(t.Context(), m); added == nil || !strings.HasPrefix(err.Error(), added.Error()) {
		t.Errorf("AddTo: got %v", added)
	}
	if err := New(Options{}).Validate(); err != nil {
		t.Errorf("an empty registry: %v", err)
	}
}

// TestOnlyInformersOfEnabledControllersRun registers controllers of two kinds and enables one of them.
func TestOnlyInformersOfEnabledControllersRun(t *testing.T) {
	forConfigMaps := Descriptor{Name: "configmaps", Aliases: []string{"cm"},
		New: func(_ context.Context, c *Context) (Controller, error) {
			return controller.For[*corev1.ConfigMap](c).Build(idle)
		}}
	forSecrets := Descriptor{Name: "secrets", New: func(_ context.Context, c *Context) (Controller, error) {
		return nil, c.Setup(func(m controller.Manager) error { return controller.For[*corev1.Secret](m).Complete(idle) })
	}}
	for list, want := range map[string]string{"*": "configmaps secrets", "cm": "configmaps", "*,-cm": "secrets",
		"secrets,-secrets": "secrets"} {
		synctest.Test(t, func(t *testing.T) {
			s := newAPIServer()
			m, log := newManager(t, s, manager.Options{})
			l := launched(t, m, Options{Controllers: strings.Split(list, ",")}, forConfigMaps, forSecrets)
			r := start(t, m)
			pass(time.Minute)
			var listed []string
			for resource := range s.listed {
				listed = append(listed, resource)
			}
			slices.Sort(listed)
			if got := strings.Join(listed, " "); got != want {
				t.Errorf("%s: listed %s; %s", list, got, states(l))
			}
			if warned := strings.Contains(log.String(), "alias=cm"); warned != strings.Contains(list, "cm") {
				t.Errorf("%s: warned of the alias: %v", list, warned)
			}
			ok(t, r.stop())
		})
	}
}

func TestScaffoldedSetupIsSelectedByNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		register := func(_ context.Context, m controller.Manager) error {
			return errors.Join(controller.For[*corev1.ConfigMap](m).Complete(idle),
				controller.For[*corev1.Secret](m).Complete(idle))
		}
		s := newAPIServer()
		m, _ := newManager(t, s, manager.Options{})
		r := New(Options{Controllers: []string{"*", "-secret", "-x"}})
		r.RegisterSetup(register)
		r.Register(Descriptor{Name: "own", Aliases: []string{"x"}, New: building(&fake{})},
			Descriptor{Name: "other", New: building(&fake{})})
		l, err := r.launch(t.Context(), m)
		ok(t, err)
		running := start(t, m)
		if got := states(l); got != "configmap=running other=running own=disabled secret=disabled" {
			t.Errorf("got %s", got)
		}
		pass(time.Minute)
		if s.listed["secrets"] || !s.listed["configmaps"] {
			t.Errorf("listed %v", s.listed)
		}
		ok(t, running.stop())

		m, _ = newManager(t, s, manager.Options{})
		r = New(Options{Controllers: []string{"*", "-secert"}})
		r.RegisterSetup(register)
		err = r.AddTo(t.Context(), m)
		if usage, is := errors.AsType[*manager.UsageError](err); !is ||
			usage.Error() != `controllers: unknown controller "secert"; did you mean "secret"?` {
			t.Errorf("got %v", err)
		}
	})
}

// TestDescriptorsDescribeWhatSetupsAdd registers descriptors without constructors. Each describes the controller of the
// same name that the setup function adds.
func TestDescriptorsDescribeWhatSetupsAdd(t *testing.T) {
	register := func(_ context.Context, m controller.Manager) error {
		return errors.Join(
			controller.For[*corev1.ConfigMap](m).Complete(idle), controller.For[*corev1.Secret](m).Complete(idle),
			controller.For[*corev1.ConfigMap](m).Named("gated").Complete(idle),
			controller.For[*corev1.ConfigMap](m).Named("off").Complete(idle),
			m.Add(&namedFake{fake{run: func(context.Context) error { return errBroken }}, "breaks"}),
		)
	}
	newRegistry := func(opts Options, descriptors ...Descriptor) *Registry {
		opts.FeatureGates = []FeatureGate{{"Fast", []GateSpec{{Since: "1.0", Stage: Alpha}}}}
		r := New(opts)
		r.RegisterSetup(register)
		r.Register(descriptors...)
		return r
	}
	described := []Descriptor{
		{Name: "secret", Aliases: []string{"secrets"}}, {Name: "gated", FeatureGates: []string{"Fast"}},
		{Name: "off", DisabledByDefault: true},
		{Name: "breaks", Restart: Never, Needs: []Need{{Kind: schema.GroupVersionKind{Group: "x", Version: "v1",
			Kind: "Gone"}, Verbs: []string{"get"}}}},
	}
	for controllers, want := range map[string]string{
		"*":                  "breaks=failed configmap=running gated=disabled off=disabled secret=running",
		"*,-secrets,off":     "breaks=failed configmap=running gated=disabled off=running secret=disabled",
		"-breaks,secrets":    "breaks=disabled configmap=disabled gated=disabled off=disabled secret=running",
		"gated,configmap,-*": "",
	} {
		synctest.Test(t, func(t *testing.T) {
			m, log := newManager(t, newAPIServer(), manager.Options{})
			l, err := newRegistry(Options{Controllers: strings.Split(controllers, ",")}, described...).launch(t.Context(), m)
			if want == "" {
				if err == nil {
					t.Errorf("%s: got no error", controllers)
				}
				return
			}
			ok(t, err)
			r := start(t, m)
			pass(time.Minute)
			if got := states(l); got != want {
				t.Errorf("%s: got %s, want %s", controllers, got, want)
			}
			if reported := strings.Contains(log.String(), "controller=breaks missing="); reported != strings.HasPrefix(
				controllers, "*") {
				t.Errorf("%s: a missing kind is reported: %t", controllers, reported)
			}
			ok(t, r.stop())
		})
	}
	for want, descriptor := range map[string]Descriptor{
		`controller secrt: it has no constructor, and no setup adds it; did you mean "secret"?`: {Name: "secrt"},
		`controller secret: the alias "configmap" is the name of a controller`: {Name: "secret",
			Aliases: []string{"configmap"}},
		"controller secret: its concurrency is that of the setup that adds it": {Name: "secret", Concurrency: 2},
		`there is another controller "secret"; give one of them another name`:  {Name: "secret", New: building(&fake{})},
	} {
		m, _ := newManager(t, newAPIServer(), manager.Options{})
		if err := newRegistry(Options{}, descriptor).AddTo(t.Context(), m); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// namedFake is a controller that a setup function adds without a builder.
type namedFake struct {
	fake
	name string
}

func (f *namedFake) Name() string { return f.name }

func TestGateAndNilControllersAreLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newManager(t, newAPIServer(), manager.Options{})
		never := func(context.Context, *Context) (Controller, error) { panic("it was built") }
		asked := map[string]bool{}
		l := launched(t, m, Options{FeatureGates: []FeatureGate{
			{"On", []GateSpec{{Since: "1.0", Stage: Beta, Default: true}}}, {"Off", []GateSpec{{Since: "1.0", Stage: Alpha}}},
		}},
			Descriptor{Name: "gated", FeatureGates: []string{"On", "Off"}, New: never},
			Descriptor{Name: "optional", DisabledByDefault: true, New: never},
			Descriptor{Name: "idle", New: building(nil)},
			Descriptor{Name: "runs", FeatureGates: []string{"On"}, New: func(_ context.Context, c *Context) (Controller, error) {
				for _, name := range []string{"gated", "optional", "runs", "nothing"} {
					asked[name] = c.ControllerEnabled(name)
				}
				asked["On"], asked["Off"] = c.FeatureEnabled("On"), c.FeatureEnabled("Off")
				return &fake{}, nil
			}})
		r := start(t, m)
		if got := states(l); got != "gated=disabled idle=skipped optional=disabled runs=running" {
			t.Errorf("got %s", got)
		}
		if asked["gated"] || asked["optional"] || !asked["runs"] || asked["nothing"] || !asked["On"] || asked["Off"] {
			t.Errorf("got %v", asked)
		}
		ok(t, r.stop())
	})
}

func TestErrorsOfConstructorsAreJoined(t *testing.T) {
	m, log := newManager(t, newAPIServer(), manager.Options{})
	r := New(Options{})
	r.Register(
		Descriptor{Name: "one", New: func(context.Context, *Context) (Controller, error) { return nil, errBroken }},
		Descriptor{Name: "two", New: func(context.Context, *Context) (Controller, error) { panic("oh") }},
		Descriptor{Name: "three", New: building(&fake{})},
	)
	err := r.AddTo(t.Context(), m)
	if want := "controller one: broken\ncontroller two: panic: oh"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(log.String(), "stack=") {
		t.Errorf("got %s", log)
	}
}

func TestAPIServerIsWaitedFor(t *testing.T) {
	for failures, want := range map[int]string{0: "", 3: "",
		20: "the API server at http://apiserver is not ready after 10s: 500 Internal Server Error: [-]etcd failed"} {
		synctest.Test(t, func(t *testing.T) {
			s := newAPIServer()
			s.unready = failures
			m, _ := newManager(t, s, manager.Options{})
			r := New(Options{})
			begun := time.Now()
			err := r.AddTo(t.Context(), m)
			if want == "" && (err != nil || time.Since(begun) != time.Duration(failures)*time.Second) {
				t.Errorf("%d: got %v after %s", failures, err, time.Since(begun))
			}
			if want != "" && (err == nil || err.Error() != want || time.Since(begun) != 10*time.Second) {
				t.Errorf("%d: got %v after %s", failures, err, time.Since(begun))
			}
			s.unready = 20
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second/2, cancel)
			if err := WaitForAPIServer(ctx, m, time.Minute); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestPreflightNamesMissingKindsAndRights(t *testing.T) {
	needing := func(name string, needs ...Need) Descriptor {
		return Descriptor{Name: name, Needs: needs, New: building(&fake{})}
	}
	core := func(kind string) schema.GroupVersionKind { return schema.GroupVersionKind{Version: "v1", Kind: kind} }
	widget := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	s := newAPIServer()
	s.refused = []string{"list secrets", "watch secrets", "update configmaps/status", "get configmaps b"}
	descriptors := []Descriptor{
		needing("good", Need{Kind: core("ConfigMap"), Verbs: []string{"list", "watch"}}),
		needing("bad", Need{Kind: widget, Verbs: []string{"get"}},
			Need{Kind: core("Secret"), Verbs: []string{"list", "get", "watch"}}),
		needing("sub", Need{Kind: schema.GroupVersionKind{Kind: "ConfigMap"}, Verbs: []string{"update"},
			Subresource: "status", Namespace: "a"}),
		needing("two", Need{Kind: core("ConfigMap"), Verbs: []string{"get"}},
			Need{Kind: core("Namespace"), Verbs: []string{"get"}}),
		needing("soft", Need{Kind: widget, Verbs: []string{"get"}, Optional: true}),
	}
	want := []string{
		"controller bad: the API server does not serve kind Widget of example.com/v1; its CRD is not installed",
		`controller bad: may not list, watch secrets in namespace a; the marker // +kubebuilder:rbac:groups="",namespace=a,resources=secrets,verbs=list;watch would allow it`,
		`controller bad: may not list, watch secrets in namespace b; the marker // +kubebuilder:rbac:groups="",namespace=b,resources=secrets,verbs=list;watch would allow it`,
		`controller sub: may not update configmaps/status in namespace a; the marker // +kubebuilder:rbac:groups="",namespace=a,resources=configmaps/status,verbs=update would allow it`,
		`controller two: may not get configmaps in namespace b; the marker // +kubebuilder:rbac:groups="",namespace=b,resources=configmaps,verbs=get would allow it`,
	}
	m, _ := newManager(t, s, manager.Options{Namespaces: []string{"a", "b"}})
	r := New(Options{Preflight: PreflightFail})
	r.Register(descriptors...)
	if err := r.AddTo(t.Context(), m); err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("got\n%v\nwant\n%s", err, strings.Join(want, "\n"))
	}
	m, log := newManager(t, s, manager.Options{})
	launched(t, m, Options{}, descriptors...)
	for _, line := range []string{
		"level=ERROR msg=\"something is missing\" controller=bad",
		`groups=\"\",resources=secrets,verbs=list;watch would allow it`,
		"level=INFO msg=\"something optional is missing\" controller=soft",
	} {
		if !strings.Contains(log.String(), line) {
			t.Errorf("%s is not in\n%s", line, log)
		}
	}
	if strings.Contains(log.String(), "controller=good") {
		t.Errorf("got %s", log)
	}
	m, log = newManager(t, s, manager.Options{})
	launched(t, m, Options{Preflight: PreflightOff}, descriptors...)
	if strings.Contains(log.String(), "missing") {
		t.Errorf("got %s", log)
	}
}

func TestClientsHaveTheNameAndShareTheJournal(t *testing.T) {
	s := newAPIServer()
	m, _ := newManager(t, s, manager.Options{})
	launched(t, m, Options{}, Descriptor{Name: "configmaps", Concurrency: 0,
		New: func(ctx context.Context, c *Context) (Controller, error) {
			_ = c.Live().Get(ctx, corev1Key("a"), &corev1.ConfigMap{})
			part, err := c.ClientFor("configmaps-sweeper")
			if err != nil {
				return nil, err
			}
			_ = part.Get(ctx, corev1Key("a"), &corev1.ConfigMap{})
			if c.Live().Journal() != m.Cache().Journal() || c.MaxConcurrentReconciles() != 1 || c.Name() != "configmaps" ||
				c.Manager() != m {
				t.Error("the context is not that of the manager")
			}
			return &fake{}, nil
		}})
	for _, agent := range []string{"program/configmaps", "program/configmaps-sweeper"} {
		if !s.agents[agent] {
			t.Errorf("%s is not in %v", agent, s.agents)
		}
	}
}

func TestMetadataInformerIsThatOfTheKindIfItIsWatchedWhole(t *testing.T) {
	m, _ := newManager(t, newAPIServer(), manager.Options{MinResyncPeriod: time.Hour})
	launched(t, m, Options{}, Descriptor{Name: "x", New: func(_ context.Context, c *Context) (Controller, error) {
		for _, kind := range []string{"ConfigMap", "Secret"} {
			if kind == "ConfigMap" {
				if _, err := c.Informer(&corev1.ConfigMap{}); err != nil {
					return nil, err
				}
			}
			if _, err := c.MetadataInformer(corev1.SchemeGroupVersion.WithKind(kind)); err != nil {
				return nil, err
			}
		}
		if period := c.ResyncPeriod(); period < time.Hour || period >= 2*time.Hour {
			t.Errorf("got %s", period)
		}
		select {
		case <-c.InformersStarted():
			t.Error("the informers have been started")
		default:
		}
		return &fake{}, nil
	}})
}

func TestWorkersOfAControllerAreAFlag(t *testing.T) {
	for args, want := range map[string]int{"": 3, "--concurrent-a-syncs=5": 5, "--concurrent-a-syncs=0": 2} {
		m,
			_ := newManager(t, newAPIServer(),
			manager.Options{Controller: manager.ControllerOptions{MaxConcurrentReconciles: 2}})
		r := New(Options{})
		var got, set int
		r.Register(Descriptor{Name: "a", Concurrency: 3, New: func(_ context.Context, c *Context) (Controller, error) {
			got = c.MaxConcurrentReconciles()
			return nil, c.Setup(func(m controller.Manager) error {
				set = m.MaxConcurrentReconciles()
				return nil
			})
		}})
		flags := flag.NewFlagSet("test", flag.ContinueOnError)
		r.BindFlags(flags)
		ok(t, flags.Parse(strings.Fields(args)))
		ok(t, r.AddTo(t.Context(), m))
		if got != want || set != want {
			t.Errorf("%s: got %d and %d", args, got, set)
		}
	}
}

func TestFlagsThatAreGivenAgainAddToThoseBefore(t *testing.T) {
	m, _ := newManager(t, newAPIServer(), manager.Options{})
	gate := func(name string) FeatureGate { return FeatureGate{name, []GateSpec{{Since: "1.0", Stage: Alpha}}} }
	r := New(Options{Version: "1.2", FeatureGates: []FeatureGate{gate("A"), gate("B")}, Controllers: []string{"third"}})
	r.Register(Descriptor{Name: "first", New: building(&fake{})}, Descriptor{Name: "second", New: building(&fake{})},
		Descriptor{Name: "third", New: building(&fake{})})
	set := flag.NewFlagSet("test", flag.ContinueOnError)
	r.BindFlags(set)
	ok(t, set.Parse([]string{"--feature-gates=A=true", "--feature-gates=B=true", "--controllers=first",
		"--controllers=second"}))
	l, err := r.launch(t.Context(), m)
	ok(t, err)
	if gates := r.FeatureGates(); !gates.Enabled("A") || !gates.Enabled("B") {
		t.Errorf("got %v", gates.all())
	}
	if got := states(l); got != "first=waiting second=waiting third=disabled" {
		t.Errorf("got %s", got)
	}
	if got := set.Lookup("feature-gates").Value.String(); got != "A=true,B=true" {
		t.Errorf("it is shown as %s", got)
	}
}

func TestWrongFlagsAreOneErrorEach(t *testing.T) {
	for arg, want := range map[string]string{
		"--controllers=*,-foo":            `invalid value "*,-foo" for flag -controllers: controllers: unknown controller "foo"; did you mean "fooo"?`,
		"--controllers=":                  `invalid value "" for flag -controllers: want names separated by commas, and * for all that are on by default`,
		"--controllers=-*":                `invalid value "-*" for flag -controllers: controllers: -* is not a name; omit * to run only the named controllers`,
		"--feature-gates=Fasst=true":      `invalid value "Fasst=true" for flag -feature-gates: unknown feature gate "Fasst"; did you mean "Fast"?`,
		"--preflight=perhaps":             `invalid value "perhaps" for flag -preflight: want warn, fail, off, got "perhaps"`,
		"--concurrent-fooo-syncs=-1":      "concurrent-fooo-syncs: want 0 or more, got -1",
		"--controller-start-interval=-1s": "controller-start-interval: want 0 or more, got -1s",
		"--api-server-timeout=-1s":        "api-server-timeout: want 0 or more, got -1s",
		"--emulated-version=9":            `emulated version: illegal version string "9"`,
		"--feature-gates=Fast=false":      "feature gate Fast cannot be false: it is GA, and locked to true",
		"--leader-migration-config=none":  `invalid value "none" for flag -leader-migration-config: open none: no such file or directory`,
		"--concurrent-missing-syncs=1":    "flag provided but not defined: -concurrent-missing-syncs",
	} {
		m, _ := newManager(t, newAPIServer(), manager.Options{})
		r := New(Options{Version: "1.2", FeatureGates: []FeatureGate{{"Fast",
			[]GateSpec{{Since: "1.0", Stage: GA, Default: true, Locked: true}}}}})
		r.Register(Descriptor{Name: "fooo", New: building(&fake{})})
		set := flag.NewFlagSet("test", flag.ContinueOnError)
		set.SetOutput(discard{})
		r.BindFlags(set)
		err := set.Parse([]string{arg})
		if err == nil {
			err = r.AddTo(t.Context(), m)
			if _, usage := errors.AsType[*manager.UsageError](err); !usage {
				t.Errorf("%s: %v is no usage error", arg, err)
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", arg, err)
		}
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func TestDebugHandlerIsServedBelowTheName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newManager(t, newAPIServer(), manager.Options{})
		l := launched(t, m, Options{},
			Descriptor{Name: "with", New: building(&fake{})},
			Descriptor{Name: "without", New: building(runOnly(func(ctx context.Context) error { <-ctx.Done(); return nil }))},
			Descriptor{Name: "parts", New: func(_ context.Context, c *Context) (Controller, error) {
				return &fake{}, c.Add(runOnly(func(ctx context.Context) error { <-ctx.Done(); return nil }))
			}})
		r := start(t, m)
		get := func(path string) (int, string) {
			w := httptest.NewRecorder()
			l.debug(w, httptest.NewRequest(http.MethodGet, path, nil))
			return w.Code, w.Body.String()
		}
		if code, body := get("/debug/controllers/with/graph"); code != 200 || body != "debug of /graph" {
			t.Errorf("got %d %s", code, body)
		}
		if code, body := get("/debug/controllers/parts/graph"); code != 200 || body != "debug of /graph" {
			t.Errorf("of a controller with parts: got %d %s", code, body)
		}
		if code, _ := get("/debug/controllers/nobody"); code != 404 {
			t.Errorf("got %d", code)
		}
		var status Status
		_, body := get("/debug/controllers/without")
		ok(t, json.Unmarshal([]byte(body), &status))
		if status.Name != "without" || status.State != Running {
			t.Errorf("got %s", body)
		}
		var all []Status
		_, body = get("/debug/controllers/")
		ok(t, json.Unmarshal([]byte(body), &all))
		if len(all) != 3 {
			t.Errorf("got %s", body)
		}
		ok(t, r.stop())
	})
}
