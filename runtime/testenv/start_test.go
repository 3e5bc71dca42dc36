package testenv_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

func TestOptionsAreArgumentsOfTheCommand(t *testing.T) {
	dir := t.TempDir()
	said := filepath.Join(dir, "said")
	use(t, script(t, `echo "$@" >>`+said+`
if test "$2" = up; then
	echo '{"kubeconfig":"`+kubeconfig(t)+`"}'
	cat
	echo ended >>`+said+`
fi
`))
	var host string
	failures := record(func(t testing.TB) {
		env := testenv.Start(t, testenv.WithControllerManager(), testenv.WithFeatureGates("A=true"),
			testenv.WithCRDs("one", "two"))
		host = env.Config.Host
		if text, err := os.ReadFile(said); err != nil || strings.Contains(string(text), "ended") {
			t.Errorf("it ended before the test did: %s, %v", text, err)
		}
	})
	if failures != "" || host != "http://given" {
		t.Errorf("got the server %s and %s", host, failures)
	}
	text, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 4 {
		t.Fatalf("got %q", lines)
	}
	if want := "env up --foreground -o json --controller-manager --feature-gates=A=true"; lines[0] != want {
		t.Errorf("got  %s\nwant %s", lines[0], want)
	}
	for i, crds := range []string{"one", "two"} {
		if line := lines[i+1]; !strings.HasPrefix(line, "env apply --kubeconfig ") || !strings.HasSuffix(line, " -f "+crds) {
			t.Errorf("got %s", line)
		}
	}
	if lines[3] != "ended" {
		t.Error("the command was not ended with the test")
	}
}

// TestCRDsAreReadBelowADirectory checks on both kinds of servers that CRDs behind a link are found and that kustomize's
// own files are skipped.
func TestCRDsAreReadBelowADirectory(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.yaml", "bases/b.json", "kustomization.yaml", "bases/kustomization.yml", "read.me"} {
		path := filepath.Join(dir, "crds", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	link, said := filepath.Join(dir, "link"), filepath.Join(dir, "said")
	if err := os.Symlink("crds", link); err != nil {
		t.Fatal(err)
	}
	use(t, script(t, `test "$2" = apply && echo "$@" >>`+said+`
test "$2" = up && echo '{"kubeconfig":"`+kubeconfig(t)+`"}' && cat
true
`))
	t.Setenv(testenv.ServerVariable, "real")
	if failures := record(func(t testing.TB) { testenv.Start(t, testenv.WithCRDs(link)) }); failures != "" {
		t.Error(failures)
	}
	text, err := os.ReadFile(said)
	if want := " -f " + filepath.Join(link, "a.yaml") + " -f " + filepath.Join(link, "bases/b.json") + "\n"; err != nil ||
		!strings.HasSuffix(string(text), want) || strings.Count(string(text), "\n") != 1 {
		t.Errorf("got %s, want %s, %v", text, want, err)
	}
}

func TestVersionIsTheTestsOrThatOfTheEnvironment(t *testing.T) {
	said := filepath.Join(t.TempDir(), "said")
	use(t, script(t, `echo "$@" >`+said+`
echo '{"kubeconfig":"`+kubeconfig(t)+`"}'
cat
`))
	t.Setenv(testenv.ServerVariable, "real")
	for _, test := range []struct {
		variable string
		opts     []testenv.Option
		want     string
	}{
		{"", nil, "env up --foreground -o json\n"},
		{"1.35", nil, "env up --foreground -o json --kubernetes=1.35\n"},
		{"1.35", []testenv.Option{testenv.WithKubernetes("1.34")}, "env up --foreground -o json --kubernetes=1.34\n"},
		{"", []testenv.Option{testenv.WithFeatureGates("A=true"), testenv.WithKubernetes("1.34")},
			"env up --foreground -o json --feature-gates=A=true --kubernetes=1.34\n"},
	} {
		t.Setenv(testenv.KubernetesVariable, test.variable)
		if failures := record(func(t testing.TB) { testenv.Start(t, test.opts...) }); failures != "" {
			t.Error(failures)
		}
		if got, err := os.ReadFile(said); err != nil || string(got) != test.want {
			t.Errorf("with %q the command was %q, %v; want %q", test.variable, got, err, test.want)
		}
	}
}

func TestServerIsThatOfTheEnvironment(t *testing.T) {
	said := filepath.Join(t.TempDir(), "said")
	const real, memory = "env up --foreground -o json", "env host"
	for _, test := range []struct {
		server, version string
		opts            []testenv.Option
		want            string
	}{
		{"", "", nil, memory},
		{"real", "", nil, real},
		{"in-memory", "", nil, memory},
		{"in-memory", "1.34", nil, real + " --kubernetes=1.34"},
		{"in-memory", "", []testenv.Option{testenv.WithKubernetes("1.34")}, real + " --kubernetes=1.34"},
		{"in-memory", "", []testenv.Option{testenv.WithFaults()}, real + " --control"},
		{"in-memory", "", []testenv.Option{testenv.WithControllerManager()}, real + " --controller-manager"},
		{"in-memory", "", []testenv.Option{testenv.WithFeatureGates("A=true")}, real + " --feature-gates=A=true"},
		{"", "", []testenv.Option{testenv.WithGarbageCollector()}, real + " --in-memory --garbage-collector"},
		{"real", "", []testenv.Option{testenv.WithGarbageCollector()}, real + " --garbage-collector"},
	} {
		use(t, script(t, `echo "$@" >`+said+`
test "$2" = host && echo '{}' && read -r start && echo '{"id":1,"url":"http://given"}' && read -r stop && echo '{}' && exit
echo '{"kubeconfig":"`+kubeconfig(t)+`"}'
cat
`))
		t.Setenv(testenv.ServerVariable, test.server)
		t.Setenv(testenv.KubernetesVariable, test.version)
		if failures := record(func(t testing.TB) { testenv.Start(t, test.opts...) }); failures != "" {
			t.Error(failures)
		}
		if got, err := os.ReadFile(said); err != nil || strings.TrimSpace(string(got)) != test.want {
			t.Errorf("with %q the command was %q, %v; want %q", test.server, got, err, test.want)
		}
	}
}

func TestAServerThatThereIsNotIsNoChoice(t *testing.T) {
	use(t, script(t, "exit 0\n"))
	t.Setenv(testenv.ServerVariable, "memory")
	if failures := record(func(t testing.TB) { testenv.Start(t) }); !strings.Contains(failures,
		`$KCTRL_TEST_SERVER is "memory"; use real or in-memory, or unset it`) {
		t.Error(failures)
	}
}

func TestCommandIsFoundOnThePath(t *testing.T) {
	command := script(t, `echo '{"kubeconfig":"`+kubeconfig(t)+`"}'; read -r end`+"\nexit 0\n")
	use(t, "")
	t.Setenv(testenv.ServerVariable, "real")
	t.Setenv("PATH", filepath.Dir(command))
	if failures := record(func(t testing.TB) { testenv.Start(t) }); failures != "" {
		t.Error(failures)
	}
}

func TestMissingCommandIsExplained(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "kctrl")
	for name, test := range map[string]struct {
		command, kubeconfig string
		opts                []testenv.Option
		want                string
	}{
		"not where KCTRL says": {command: nowhere, want: "start an API server: "},
		"not on the PATH":      {want: "start an API server: "},
		"needed for CRDs": {kubeconfig: kubeconfig(t), opts: []testenv.Option{testenv.WithCRDs("crds")},
			want: "install CRDs: crds: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(testenv.CommandVariable, test.command)
			t.Setenv(testenv.KubeconfigVariable, test.kubeconfig)
			t.Setenv("PATH", t.TempDir())
			failures := record(func(t testing.TB) { testenv.Start(t, test.opts...) })
			contains(t, failures, test.want, "kctrl", "install kctrl, or set KCTRL to its path")
		})
	}
}

func TestCommandThatFails(t *testing.T) {
	for name, test := range map[string]struct{ body, want string }{
		"with a message": {"echo 'etcd: no space left' >&2; exit 3",
			"start an API server: exit status 3\netcd: no space left"},
		"without a word":    {"exit 0", "printed nothing: unexpected EOF"},
		"in other words":    {"echo hello; cat", "env up --foreground -o json: invalid character 'h'"},
		"with a wrong path": {`echo '{"kubeconfig":"/nowhere/at/all"}'; cat`, "/nowhere/at/all: no such file"},
		"at the end": {`echo '{"kubeconfig":"` + kubeconfig(t) + `"}'; cat; echo stuck >&2; exit 1`,
			"the API server did not end well: exit status 1\nstuck"},
	} {
		t.Run(name, func(t *testing.T) {
			use(t, script(t, test.body))
			t.Setenv(testenv.ServerVariable, "real")
			contains(t, record(func(t testing.TB) { testenv.Start(t) }), test.want)
		})
	}
}

func TestHostThatFails(t *testing.T) {
	const greeting = "echo '{}'; read -r start; "
	for name, test := range map[string]struct{ body, want string }{
		"at once, with a message": {"echo 'no space left' >&2; exit 3",
			"start an API server: exit status 3\nno space left"},
		"at once, without a message": {"exit 0", "start an API server: unexpected EOF"},
		"before it answers": {greeting + "echo 'panic: x' >&2; exit 2",
			"the process of the API servers ended: exit status 2\npanic: x"},
		"with an error": {greeting + `echo '{"error":"too many open files"}'; cat`,
			"start an API server: too many open files"},
		"before the server is stopped": {greeting + `echo '{"id":1,"url":"http://given"}'`,
			"stop the API server: the process of the API servers ended"},
	} {
		t.Run(name, func(t *testing.T) {
			use(t, script(t, test.body))
			contains(t, record(func(t testing.TB) { testenv.Start(t) }), test.want)
		})
	}
}

// TestServersOfABinaryShareNothing starts two servers in one process. An object that is created on one must not exist
// on the other.
func TestServersOfABinaryShareNothing(t *testing.T) {
	t.Setenv(testenv.ServerVariable, "in-memory")
	configMap := func() *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "default", "name": "a"},
		}}
	}
	for range 2 {
		live, err := client.New(testenv.Start(t).Config, client.Options{Scheme: runtime.NewScheme()})
		if err != nil {
			t.Fatal(err)
		}
		if err := live.Create(t.Context(), configMap()); err != nil {
			t.Errorf("an earlier server has the object: %v", err)
		}
	}
}

func TestGivenServerIsUsed(t *testing.T) {
	given := kubeconfig(t)
	t.Setenv(testenv.CommandVariable, filepath.Join(t.TempDir(), "missing"))
	t.Setenv(testenv.KubeconfigVariable, given)
	env := testenv.Start(t)
	if env.Config.Host != "http://given" || env.Kubeconfig != given {
		t.Errorf("got %s of %s", env.Config.Host, env.Kubeconfig)
	}
	if env.Config.QPS != -1 {
		t.Errorf("clients of client-go send %v requests a second", env.Config.QPS)
	}
}

func TestGivenServerIsNotThere(t *testing.T) {
	t.Setenv(testenv.KubeconfigVariable, filepath.Join(t.TempDir(), "missing"))
	contains(t, record(func(t testing.TB) { testenv.Start(t) }), "$KCTRL_TEST_KUBECONFIG: ", "missing: no such file")
}
