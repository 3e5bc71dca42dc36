package manager_test

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/manager"
)

// texts is a flag that can be given several times.
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
	flags := manager.BindFlags(set, manager.Options{LeaderElectionID: "x", MetricsAddress: ":1"})
	kubeconfig := writeKubeconfig(t, "http://127.0.0.1:9")
	if err := set.Parse([]string{"--size=2", "--leader-elect", "--kubeconfig", kubeconfig, "--log-level=debug"}); err != nil {
		t.Fatal(err)
	}
	opts, err := flags.Options()
	if err != nil || *own != 2 || !opts.LeaderElection || opts.LeaderElectionID != "x" || opts.MetricsAddress != ":1" || opts.MaxConcurrentReconciles != 7 {
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
