package manager_test

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/manager"
)

// errSeen ends a program after the test has inspected its manager.
var errSeen = errors.New("seen")

// writeKubeconfig writes a kubeconfig with the address of a server that does not exist, and returns the path.
func writeKubeconfig(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	content := `{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":"` +
		server +
		`"}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{}}]}`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// look runs a program with args until its manager exists, and returns the manager.
func look(t *testing.T, defaults manager.Options, args ...string) *manager.Manager {
	t.Helper()
	var seen *manager.Manager
	var stderr strings.Builder
	args = append([]string{"--kubeconfig", writeKubeconfig(t, "http://127.0.0.1:1")}, args...)
	code := manager.Program(t.Context(), "guestbook", args, &stderr, defaults, func(m *manager.Manager) error {
		seen = m
		return errSeen
	})
	if code != 1 || seen == nil {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	return seen
}

// inner returns the handler that is wrapped by the one that keeps objects out of the log.
func inner(logger *slog.Logger) slog.Handler {
	return reflect.ValueOf(logger.Handler()).Elem().FieldByName("Handler").Interface().(slog.Handler)
}

func TestEveryFlagSetsItsOption(t *testing.T) {
	certificates := t.TempDir()
	writeCertificate(t, certificates, "given", time.Now())
	for _, test := range []struct {
		args string
		set  func(o manager.Options) bool
	}{
		{"", func(o manager.Options) bool { return o.HealthProbeBindAddress == ":8081" }},
		{"--health-probe-bind-address=127.0.0.1:9",
			func(o manager.Options) bool { return o.HealthProbeBindAddress == "127.0.0.1:9" }},
		{"--health-probe-bind-address=0", func(o manager.Options) bool { return o.HealthProbeBindAddress == manager.Off }},
		{"", func(o manager.Options) bool { return o.Metrics.BindAddress == manager.Off && !o.Metrics.Insecure }},
		{"--metrics-bind-address=:8443", func(o manager.Options) bool { return o.Metrics.BindAddress == ":8443" }},
		{"--metrics-secure=false", func(o manager.Options) bool { return o.Metrics.Insecure }},
		{"--metrics-cert-path=" + certificates, func(o manager.Options) bool { return o.Metrics.CertDir == certificates }},
		{"--webhook-bind-address=:1", func(o manager.Options) bool { return o.Webhook.BindAddress == ":1" }},
		{"--enable-http2", func(o manager.Options) bool { return o.Webhook.HTTP2 }},
		{"--webhook-cert-path=a", func(o manager.Options) bool { return o.Webhook.CertDir == "a" }},
		{"--webhook-targets=mutating/a,crd/b", func(o manager.Options) bool {
			return slices.Equal(o.Webhook.Targets,
				[]string{"mutating/a", "crd/b"})
		}},
		{"--webhook-secret=a", func(o manager.Options) bool { return o.Webhook.Secret == "a" }},
		{"--webhook-cert-lifetime=720h", func(o manager.Options) bool { return o.Webhook.CertLifetime == 720*time.Hour }},
		{"--webhook-secret-namespace=a", func(o manager.Options) bool { return o.Webhook.SecretNamespace == "a" }},
		{"--webhook-manifests=a,b", func(o manager.Options) bool {
			return slices.Equal(o.Webhook.Manifests,
				[]string{"a", "b"})
		}},
		{"--webhook-url=https://a", func(o manager.Options) bool { return o.Webhook.URL == "https://a" }},
		{"--leader-elect", func(o manager.Options) bool { return o.LeaderElection.Enabled }},
		{"--leader-election-namespace=ns", func(o manager.Options) bool { return o.LeaderElection.Namespace == "ns" }},
		{"", func(o manager.Options) bool {
			return o.LeaderElection.LeaseDuration == 0 && o.LeaderElection.RenewDeadline == 0 &&
				o.LeaderElection.RetryPeriod == 0
		}},
		{"--leader-elect-lease-duration=3s",
			func(o manager.Options) bool { return o.LeaderElection.LeaseDuration == 3*time.Second }},
		{"--leader-elect-renew-deadline=2s",
			func(o manager.Options) bool { return o.LeaderElection.RenewDeadline == 2*time.Second }},
		{"--leader-elect-retry-period=1s",
			func(o manager.Options) bool { return o.LeaderElection.RetryPeriod == time.Second }},
		{"", func(o manager.Options) bool { return o.PprofBindAddress == manager.Off }},
		{"--pprof-bind-address=:6060", func(o manager.Options) bool { return o.PprofBindAddress == ":6060" }},
		{"", func(o manager.Options) bool { return o.Namespaces == nil }},
		{"--namespaces=a,b", func(o manager.Options) bool { return slices.Equal(o.Namespaces, []string{"a", "b"}) }},
		{"--namespaces=a --namespaces=b,c", func(o manager.Options) bool {
			return slices.Equal(o.Namespaces,
				[]string{"a", "b", "c"})
		}},
		{"", func(o manager.Options) bool { return o.Controller.MaxConcurrentReconciles == 1 }},
		{"--max-concurrent-reconciles=7", func(o manager.Options) bool { return o.Controller.MaxConcurrentReconciles == 7 }},
		{"", func(o manager.Options) bool { return o.GracefulShutdownTimeout == 30*time.Second }},
		{"--graceful-shutdown-timeout=5s",
			func(o manager.Options) bool { return o.GracefulShutdownTimeout == 5*time.Second }},
		{"--controller-shutdown-timeout=4s",
			func(o manager.Options) bool { return o.Controller.ShutdownTimeout == 4*time.Second }},
		{"--min-resync-period=1h", func(o manager.Options) bool { return o.MinResyncPeriod == time.Hour }},
		{"", func(o manager.Options) bool { return o.QPS == 0 && o.Burst == 0 }},
		{"--kube-api-qps=0.5 --kube-api-burst=3", func(o manager.Options) bool { return o.QPS == 0.5 && o.Burst == 3 }},
		{"", func(o manager.Options) bool {
			return o.Logger.Enabled(t.Context(), slog.LevelInfo) && !o.Logger.Enabled(t.Context(), slog.LevelDebug)
		}},
		{"--log-level=debug", func(o manager.Options) bool { return o.Logger.Enabled(t.Context(), slog.LevelDebug) }},
		{"--log-level=error", func(o manager.Options) bool { return !o.Logger.Enabled(t.Context(), slog.LevelWarn) }},
		{"", func(o manager.Options) bool { _, is := inner(o.Logger).(*slog.TextHandler); return is }},
		{"--log-format=json", func(o manager.Options) bool { _, is := inner(o.Logger).(*slog.JSONHandler); return is }},
	} {
		m := look(t, manager.Options{LeaderElection: manager.LeaderElectionOptions{ID: "guestbook"}},
			strings.Fields(test.args)...)
		if !test.set(manager.OptionsOf(m)) {
			t.Errorf("%q: got %+v", test.args, manager.OptionsOf(m))
		}
	}
}

func TestFlagsStandOverTheDefaultsOfTheProgram(t *testing.T) {
	defaults := manager.Options{
		HealthProbeBindAddress: ":1", Metrics: manager.MetricsOptions{BindAddress: ":2", Insecure: true},
		LeaderElection: manager.LeaderElectionOptions{Enabled: true, ID: "id", Namespace: "ns"}, Namespaces: []string{"a"},
		Controller: manager.ControllerOptions{MaxConcurrentReconciles: 3}, GracefulShutdownTimeout: time.Minute,
	}
	o := manager.OptionsOf(look(t, defaults))
	if o.HealthProbeBindAddress != ":1" || o.Metrics.BindAddress != ":2" || !o.Metrics.Insecure ||
		!o.LeaderElection.Enabled || o.LeaderElection.Namespace != "ns" ||
		!slices.Equal(o.Namespaces, []string{"a"}) || o.Controller.MaxConcurrentReconciles != 3 ||
		o.GracefulShutdownTimeout != time.Minute {
		t.Errorf("without flags: got %+v", o)
	}
	o = manager.OptionsOf(look(t, defaults, "--leader-elect=false", "--metrics-secure", "--namespaces=b, c"))
	if o.LeaderElection.Enabled || o.Metrics.Insecure || !slices.Equal(o.Namespaces, []string{"b", "c"}) {
		t.Errorf("with flags: got %+v", o)
	}
	if !slices.Equal(defaults.Namespaces, []string{"a"}) {
		t.Errorf("the defaults were changed: %v", defaults.Namespaces)
	}
}

func TestWrongFlagIsOneErrorAndAHint(t *testing.T) {
	for arg, want := range map[string]string{
		"--nonsense":                     "flag provided but not defined: -nonsense",
		"--kubeconfig":                   "flag needs an argument: -kubeconfig",
		"extra":                          `unexpected argument "extra"`,
		"--leader-elect=perhaps":         `invalid boolean value "perhaps" for -leader-elect: parse error`,
		"--metrics-secure=2":             `invalid boolean value "2" for -metrics-secure: parse error`,
		"--namespaces=a,,b":              `invalid value "a,,b" for flag -namespaces: want values separated by commas`,
		"--namespaces=a,B":               `-namespaces: "B" cannot be a namespace: a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
		"--namespaces=":                  `invalid value "" for flag -namespaces: want values separated by commas`,
		"--max-concurrent-reconciles=0":  "-max-concurrent-reconciles: want at least 1, got 0",
		"--max-concurrent-reconciles=x":  `invalid value "x" for flag -max-concurrent-reconciles: parse error`,
		"--graceful-shutdown-timeout=5":  `invalid value "5" for flag -graceful-shutdown-timeout: parse error`,
		"--graceful-shutdown-timeout=-1": `invalid value "-1" for flag -graceful-shutdown-timeout: parse error`,
		"--log-level=loud":               `invalid value "loud" for flag -log-level: slog: level string "loud": unknown name`,
		"--log-format=xml":               `-log-format: want text or json, got "xml"`,

		"--controller-shutdown-timeout=-1s": "-controller-shutdown-timeout: want 0 or more, got -1s",
		"--min-resync-period=-1s":           "-min-resync-period: want 0 or more, got -1s",
		"--kube-api-qps=-1":                 "-kube-api-qps: want 0 or more, got -1",
		"--kube-api-qps=NaN":                "-kube-api-qps: want 0 or more, got NaN",
		"--kube-api-burst=-1":               "-kube-api-burst: want 0 or more, got -1",
		"--webhook-cert-lifetime=59s":       "-webhook-cert-lifetime: want 0 or at least 1m0s, got 59s",
		"--webhook-cert-lifetime=-1h":       "-webhook-cert-lifetime: want 0 or at least 1m0s, got -1h0m0s",

		"--graceful-shutdown-timeout=-1s": "-graceful-shutdown-timeout: want 0 or more, got -1s",
	} {
		var stderr strings.Builder
		code := manager.Program(t.Context(), "guestbook", []string{arg}, &stderr, manager.Options{},
			func(*manager.Manager) error {
				t.Errorf("%s: the manager was made", arg)
				return nil
			})
		if want := "guestbook: " + want + "\nhint: guestbook --help lists the flags\n"; code != 2 || stderr.String() != want {
			t.Errorf("%s: got %d, %q\nwant 2, %q", arg, code, &stderr, want)
		}
	}
}

func TestShutdownWithoutABoundIsADefaultAlone(t *testing.T) {
	defaults := manager.Options{GracefulShutdownTimeout: -time.Second}
	for args, want := range map[string]time.Duration{"": -time.Second, "--graceful-shutdown-timeout=5s": 5 * time.Second} {
		set := flag.NewFlagSet("guestbook", flag.ContinueOnError)
		f := manager.BindFlags(set, defaults)
		if err := set.Parse(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		if o, err := f.Options(); err != nil || o.GracefulShutdownTimeout != want {
			t.Errorf("%q: got %v, %v", args, o.GracefulShutdownTimeout, err)
		}
	}
}

func TestHelpListsTheFlags(t *testing.T) {
	for _, arg := range []string{"--help", "-h"} {
		var stderr strings.Builder
		if code := manager.Program(t.Context(), "guestbook", []string{arg}, &stderr, manager.Options{}, nil); code != 0 {
			t.Errorf("got %d", code)
		}
		contains(t, stderr.String(), "Usage of guestbook:", "-kubeconfig file", "-health-probe-bind-address address",
			`(default ":8081")`,
			"-metrics-bind-address address", "-metrics-secure", "(default true)", "-metrics-cert-path directory",
			"-leader-elect\n",
			"-leader-elect-lease-duration time", "-leader-elect-renew-deadline time", "-leader-elect-retry-period time",
			"-config file",
			"-pprof-bind-address address", "GUESTBOOK_LOG_LEVEL=debug", "-leader-election-namespace namespace",
			"-namespaces namespaces", "-max-concurrent-reconciles number", "(default 1)",
			"-graceful-shutdown-timeout time", "-log-level level", "(default INFO)", "-log-format format", `(default "text")`)
	}
}

func TestLoggerOfTheProgramIsKept(t *testing.T) {
	logger := slog.New(slog.NewTextHandler(io.Discard, nil))
	if m := look(t, manager.Options{Logger: logger}); inner(m.Logger()) != logger.Handler() {
		t.Error("the program logs elsewhere")
	}
}

func TestProgramEndsWithoutAnErrorOnRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var stderr strings.Builder
	args := []string{"--kubeconfig", writeKubeconfig(t, "http://127.0.0.1:1"), "--health-probe-bind-address=0",
		"--log-format=json"}
	code := manager.Program(ctx, "guestbook", args, &stderr, manager.Options{}, func(m *manager.Manager) error {
		return m.Add(runFunc(func(context.Context) error {
			cancel()
			return nil
		}))
	})
	if code != 0 {
		t.Errorf("got %d", code)
	}
	contains(t, stderr.String(), `"level":"INFO","msg":"stopped"`)
}

func TestProgramFails(t *testing.T) {
	for name, test := range map[string]struct {
		defaults manager.Options
		setup    func(m *manager.Manager) error
		want     string
	}{
		"options": {manager.Options{LeaderElection: manager.LeaderElectionOptions{Enabled: true}}, nil,
			"LeaderElection.ID is empty"},
		"setup": {manager.Options{}, func(*manager.Manager) error { return errBroken }, "err=broken"},
		"run": {manager.Options{}, func(m *manager.Manager) error {
			return m.Add(runFunc(func(context.Context) error { return errBroken }))
		}, `err="manager_test.runFunc: broken"`},
	} {
		var stderr strings.Builder
		args := []string{"--kubeconfig", writeKubeconfig(t, "http://127.0.0.1:1"), "--health-probe-bind-address=0"}
		if code := manager.Program(t.Context(), "guestbook", args, &stderr, test.defaults, test.setup); code != 1 {
			t.Errorf("%s: got %d", name, code)
		}
		contains(t, stderr.String(), "level=ERROR", "the manager ended", test.want)
	}
}

// configFile writes a configuration file and returns its path.
func configFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "guestbook.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFlagStandsOverEnvironmentOverFileOverOptions(t *testing.T) {
	defaults := manager.Options{
		Controller: manager.ControllerOptions{MaxConcurrentReconciles: 1}, GracefulShutdownTimeout: time.Second,
		LeaderElection: manager.LeaderElectionOptions{Namespace: "option"},
		Metrics:        manager.MetricsOptions{CertDir: "option"},
	}
	t.Setenv("GUESTBOOK_CONFIG", configFile(t, `# what this deployment wants
max-concurrent-reconciles: 2
graceful-shutdown-timeout: 2s
leader-election-namespace: file
namespaces: [a, b]
metrics-secure: false
health-probe-bind-address: 0
log-level: debug
`))
	t.Setenv("GUESTBOOK_MAX_CONCURRENT_RECONCILES", "3")
	t.Setenv("GUESTBOOK_GRACEFUL_SHUTDOWN_TIMEOUT", "3s")
	t.Setenv("GUESTBOOK_NAMESPACES", "")
	m := look(t, defaults, "--max-concurrent-reconciles=4")
	o := manager.OptionsOf(m)
	if o.Controller.MaxConcurrentReconciles != 4 || o.GracefulShutdownTimeout != 3*time.Second ||
		o.LeaderElection.Namespace != "file" || o.Metrics.CertDir != "option" {
		t.Errorf("got %+v", o)
	}
	if !slices.Equal(o.Namespaces, []string{"a", "b"}) || !o.Metrics.Insecure || o.HealthProbeBindAddress != manager.Off ||
		!m.Logger().Enabled(t.Context(), -4) {
		t.Errorf("got %+v", o)
	}
	other := configFile(t, "max-concurrent-reconciles: 5\ngraceful-shutdown-timeout: 5s\n")
	o = manager.OptionsOf(look(t, manager.Options{EnvPrefix: manager.Off}, "--config", other))
	if o.Controller.MaxConcurrentReconciles != 5 || o.GracefulShutdownTimeout != 5*time.Second {
		t.Errorf("without the environment: got %+v", o)
	}
	t.Setenv("OTHER_NAME_MAX_CONCURRENT_RECONCILES", "6")
	o = manager.OptionsOf(look(t, manager.Options{EnvPrefix: "OTHER_NAME"}))
	if o.Controller.MaxConcurrentReconciles != 6 || o.GracefulShutdownTimeout != 30*time.Second {
		t.Errorf("with another prefix: got %+v", o)
	}
}

func TestPrefixOfTheEnvironmentIsTheNameOfTheProgram(t *testing.T) {
	for program, want := range map[string]string{"guestbook": "GUESTBOOK", "guest-book.v2": "GUEST_BOOK_V2",
		"gästebuch": "G_STEBUCH"} {
		if got := manager.EnvPrefix("", program); got != want {
			t.Errorf("%s: got %s, want %s", program, got, want)
		}
	}
}

// refused runs a program with invalid settings and returns its error message.
func refused(t *testing.T, args ...string) string {
	t.Helper()
	var stderr strings.Builder
	code := manager.Program(t.Context(), "guestbook", args, &stderr, manager.Options{}, func(*manager.Manager) error {
		t.Error("the manager was made")
		return nil
	})
	said, found := strings.CutPrefix(stderr.String(), "guestbook: ")
	said, hint := strings.CutSuffix(said, "\nhint: guestbook --help lists the flags\n")
	if code != 2 || !found || !hint {
		t.Errorf("got %d, %s", code, &stderr)
	}
	return said
}

func TestWrongVariableIsNamed(t *testing.T) {
	t.Setenv("GUESTBOOK_LEADER_ELECT", "perhaps")
	if got, want := refused(t), `invalid value "perhaps" for $GUESTBOOK_LEADER_ELECT: parse error`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestMistakesInTheFileHaveAPosition(t *testing.T) {
	for content, want := range map[string]string{
		"log-level: info\n\nloglevel: info\n": `3:1: unknown field "loglevel"`,
		"log-level: info\nloglevel:\n  of: x\nconfig: other\n": "2:1: unknown field \"loglevel\"\n" +
			`PATH:4:1: unknown field "config"`,
		`{"log-level": "info", "port": 1}`: `1:24: unknown field "port"`,
		"# x\nleader-elect: perhaps\n":     `2:1: invalid value "perhaps" for leader-elect: parse error`,
		"max-concurrent-reconciles: 1.5\n": `1:1: invalid value 1.5 for max-concurrent-reconciles: parse error`,
		"namespaces: [a, 1]\n":             `1:1: invalid value ["a",1] for namespaces: want a list of strings`,
		"namespaces:\n":                    `1:1: invalid value null for namespaces: want a string, a number, a boolean or a list`,
		"namespaces: {a: b}\n":             `1:1: invalid value {"a":"b"} for namespaces: want a string, a number, a boolean or a list`,
	} {
		path := configFile(t, content)
		if got, want := refused(t, "--config", path), path+":"+strings.ReplaceAll(want, "PATH", path); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestFileThatIsNotAMappingIsRefused(t *testing.T) {
	for content, want := range map[string]string{
		"log-level: info\nlog-level: debug\n": `line 2: key "log-level" already set in map`,
		"log-level: [\n":                      "did not find expected node content",
		"- a\n":                               "want fields such as log-level: debug, got",
	} {
		path := configFile(t, content)
		got := refused(t, "--config", path)
		contains(t, got, path+": ", want)
	}
	contains(t, refused(t, "--config", filepath.Join(t.TempDir(), "missing")), "no such file")
	if m := look(t, manager.Options{}, "--config", configFile(t, "# nothing\n")); m == nil {
		t.Error("an empty file is refused")
	}
}

func TestSettingsOfTheFileAreCheckedAsFlagsAre(t *testing.T) {
	if got, want := refused(t, "--config", configFile(t, "log-format: xml\n")),
		`-log-format: want text or json, got "xml"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// texts is a flag that can be set several times.
type texts []string

func (t *texts) String() string { return strings.Join(*t, ",") }

func (t *texts) Set(text string) error {
	*t = append(*t, text)
	return nil
}

// ownFlags are flags of an operator.
func ownFlags() (set *flag.FlagSet, region *string, labels *texts) {
	set, labels = flag.NewFlagSet("test", flag.PanicOnError), &texts{}
	region = set.String("region", "north", "`name` of the region")
	set.Var(labels, "label", "a `label`")
	set.Bool("dry", false, "only look")
	return set, region, labels
}

func TestFlagsOfTheOperatorAreFlagsOfMain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("region: file\nlabel: f\nlog-level: debug\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		env, args    string
		region, want string
	}{
		{"", "", "north", ""},
		{"", "--region=east --label a --label=b --dry", "east", "a,b"},
		{"west", "", "west", "e"},
		{"west", "--region=east --label=a", "east", "a"},
		{"", "--config=" + file, "file", "f"},
		{"west", "--label=a --config=" + file, "west", "a"},
	} {
		set, region, labels := ownFlags()
		t.Setenv("GUESTBOOK_REGION", test.env)
		t.Setenv("GUESTBOOK_LABEL", strings.Replace(test.env, "west", "e", 1))
		var stderr strings.Builder
		args := append([]string{"--kubeconfig", writeKubeconfig(t, "http://127.0.0.1:1")}, strings.Fields(test.args)...)
		called := false
		code := manager.ProgramWithFlags(t.Context(), args, &stderr, set, func(context.Context, *manager.Manager) error {
			called = true
			if *region != test.region || labels.String() != test.want || !set.Parsed() {
				t.Errorf("%+v: got %q and %q, parsed %v", test, *region, labels, set.Parsed())
			}
			return errSeen
		})
		if code != 1 || !called {
			t.Errorf("%+v: exit code %d, %s", test, code, &stderr)
		}
	}
	set, _, _ := ownFlags()
	var help strings.Builder
	if code := manager.ProgramWithFlags(t.Context(), []string{"--help"}, &help, set, nil); code != 0 {
		t.Errorf("exit code %d", code)
	}
	contains(t, help.String(), "-region name", `(default "north")`, "-dry", "-leader-elect")
}

func TestFlagThatBothDeclareIsAnError(t *testing.T) {
	set := flag.NewFlagSet("test", flag.PanicOnError)
	set.String("log-level", "", "")
	var stderr strings.Builder
	if code := manager.ProgramWithFlags(t.Context(), nil, &stderr, set, nil); code != 2 {
		t.Errorf("exit code %d", code)
	}
	contains(t, stderr.String(), "declared by the operator and by the manager: -log-level")
}

func TestSetupHasTheContextOfTheProgram(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var stderr strings.Builder
	args := []string{"--kubeconfig", writeKubeconfig(t, "http://127.0.0.1:1")}
	code := manager.ProgramWithFlags(ctx, args, &stderr, nil, func(given context.Context, _ *manager.Manager) error {
		cancel()
		<-given.Done()
		return given.Err()
	})
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
}

func TestProgramWithAMainOfItsOwnHasTheSameFlags(t *testing.T) {
	t.Setenv("OPERATOR_MAX_CONCURRENT_RECONCILES", "7")
	set := flag.NewFlagSet("/bin/operator", flag.ContinueOnError)
	own := set.Int("size", 1, "")
	flags := manager.BindFlags(set, manager.Options{LeaderElection: manager.LeaderElectionOptions{ID: "x"},
		Metrics: manager.MetricsOptions{BindAddress: ":1"}})
	kubeconfig := writeKubeconfig(t, "http://127.0.0.1:9")
	if err := set.Parse([]string{"--size=2", "--leader-elect", "--kubeconfig", kubeconfig,
		"--log-level=debug"}); err != nil {
		t.Fatal(err)
	}
	opts, err := flags.Options()
	if err != nil || *own != 2 || !opts.LeaderElection.Enabled || opts.LeaderElection.ID != "x" ||
		opts.Metrics.BindAddress != ":1" || opts.Controller.MaxConcurrentReconciles != 7 {
		t.Errorf("got %+v, %v", opts, err)
	}
	if opts.Logger == nil || !opts.Logger.Enabled(t.Context(), slog.LevelDebug) {
		t.Error("the logger is not that of the flags")
	}
	config, err := flags.Config()
	if err != nil || config.Host != "http://127.0.0.1:9" {
		t.Errorf("got %+v, %v", config, err)
	}
}
