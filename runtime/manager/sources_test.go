package manager_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/manager"
)

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
		MaxConcurrentReconciles: 1, GracefulShutdownTimeout: time.Second, LeaderElectionNamespace: "option", MetricsCertDir: "option",
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
	if o.MaxConcurrentReconciles != 4 || o.GracefulShutdownTimeout != 3*time.Second || o.LeaderElectionNamespace != "file" || o.MetricsCertDir != "option" {
		t.Errorf("got %+v", o)
	}
	if !slices.Equal(o.Namespaces, []string{"a", "b"}) || !o.MetricsInsecure || o.ProbeAddress != manager.Off || !m.Logger().Enabled(t.Context(), -4) {
		t.Errorf("got %+v", o)
	}
	other := configFile(t, "max-concurrent-reconciles: 5\ngraceful-shutdown-timeout: 5s\n")
	o = manager.OptionsOf(look(t, manager.Options{EnvPrefix: manager.Off}, "--config", other))
	if o.MaxConcurrentReconciles != 5 || o.GracefulShutdownTimeout != 5*time.Second {
		t.Errorf("without the environment: got %+v", o)
	}
	t.Setenv("OTHER_NAME_MAX_CONCURRENT_RECONCILES", "6")
	o = manager.OptionsOf(look(t, manager.Options{EnvPrefix: "OTHER_NAME"}))
	if o.MaxConcurrentReconciles != 6 || o.GracefulShutdownTimeout != 30*time.Second {
		t.Errorf("with another prefix: got %+v", o)
	}
}

func TestPrefixOfTheEnvironmentIsTheNameOfTheProgram(t *testing.T) {
	for program, want := range map[string]string{"guestbook": "GUESTBOOK", "guest-book.v2": "GUEST_BOOK_V2", "gästebuch": "G_STEBUCH"} {
		if got := manager.EnvPrefix("", program); got != want {
			t.Errorf("%s: got %s, want %s", program, got, want)
		}
	}
}

// refused runs a program that cannot read its settings, and returns what it says.
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
		"log-level: info\n\nloglevel: info\n":                  `3:1: unknown field "loglevel"`,
		"log-level: info\nloglevel:\n  of: x\nconfig: other\n": "2:1: unknown field \"loglevel\"\n" + `PATH:4:1: unknown field "config"`,
		`{"log-level": "info", "port": 1}`:                     `1:24: unknown field "port"`,
		"# x\nleader-elect: perhaps\n":                         `2:1: invalid value "perhaps" for leader-elect: parse error`,
		"max-concurrent-reconciles: 1.5\n":                     `1:1: invalid value 1.5 for max-concurrent-reconciles: parse error`,
		"namespaces: [a, 1]\n":                                 `1:1: invalid value ["a",1] for namespaces: want a list of strings`,
		"namespaces:\n":                                        `1:1: invalid value null for namespaces: want a string, a number, a boolean or a list`,
		"namespaces: {a: b}\n":                                 `1:1: invalid value {"a":"b"} for namespaces: want a string, a number, a boolean or a list`,
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
	if got, want := refused(t, "--config", configFile(t, "log-format: xml\n")), `-log-format: want text or json, got "xml"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
