package registry

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/manager"
)

// roleVariable makes the test binary run as an operator instead.
const roleVariable = "REGISTRY_TEST_ROLE"

// register is similar to the scaffolded function. It also adds a runnable whose error ends the program.
func register(m controller.Manager) error {
	return errors.Join(
		corev1.AddToScheme(m.Scheme()),
		controller.For[*corev1.ConfigMap](m).Complete(idle),
		controller.For[*corev1.Secret](m).Complete(idle),
		m.Add(runOnly(func(context.Context) error { return errBroken })),
	)
}

func TestMain(m *testing.M) {
	options := manager.Options{HealthProbeBindAddress: manager.Off}
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case "manager":
		os.Exit(manager.Main(options, register))
	case "scaffolded":
		os.Exit(Main(options, register)) // instead of manager.Main
	case "descriptors":
		flag.String("region", "north", "a flag of the operator")
		os.Exit(Main(options, register, Descriptor{Name: "own", Aliases: []string{"mine"}, DisabledByDefault: true,
			New: building(&fake{run: func(context.Context) error {
				fmt.Println("own runs")
				return nil
			}})}))
	case "twice":
		flag.String("controllers", "", "a flag of the operator")
		os.Exit(Main(options, register))
	case "invalid":
		os.Exit(Main(options, register, Descriptor{Name: "a"}, Descriptor{Name: "a", New: building(nil)}))
	case "eager":
		os.Exit(Main(options, func(controller.Manager) error { panic("the setup has run") }))
	}
}

// program runs an operator until it ends, and returns its exit code and output.
func program(t *testing.T, role string, args ...string) (code int, out string) {
	t.Helper()
	s := newAPIServer()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resp, err := s.RoundTrip(r)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		for name, values := range resp.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
	t.Cleanup(server.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	config := clientcmdapi.NewConfig()
	config.Clusters["a"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["a"] = &clientcmdapi.Context{Cluster: "a"}
	config.CurrentContext = "a"
	ok(t, clientcmd.WriteToFile(*config, kubeconfig))
	executable, err := os.Executable()
	ok(t, err)
	cmd := exec.CommandContext(t.Context(), executable, args...)
	cmd.Env = []string{roleVariable + "=" + role, "KUBECONFIG=" + kubeconfig, "HOME=" + t.TempDir()}
	text, err := cmd.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

func TestScaffoldedMainMovesByOneLine(t *testing.T) {
	for _, role := range []string{"manager", "scaffolded"} {
		code, out := program(t, role)
		if code != 1 || !strings.Contains(out, "runOnly: broken") {
			t.Errorf("%s: got %d, %s", role, code, out)
		}
	}
	code, out := program(t, "scaffolded", "--controllers=*,-configmap,-secret")
	if code != 1 || strings.Contains(out, "waiting for sources") || !strings.Contains(out, "runOnly: broken") {
		t.Errorf("got %d, %s", code, out)
	}
	name := filepath.Base(os.Args[0])
	code, out = program(t, "scaffolded", "--controllers=*,-confgmap")
	want := fmt.Sprintf("%s: controllers: unknown controller \"confgmap\"; did you mean \"configmap\"?\nhint: %[1]s "+
		"--help lists the flags\n", name)
	if code != 2 || !strings.HasSuffix(out, want) {
		t.Errorf("got %d, %s\nwant %s", code, out, want)
	}
}

func TestHelpOfMainRunsNoSetup(t *testing.T) {
	for _, help := range []string{"--help", "-h"} {
		if code, out := program(t, "eager", help); code != 0 || strings.Contains(out, "has run") ||
			!strings.Contains(out, "-controllers") {
			t.Errorf("%s: got %d, %s", help, code, out)
		}
	}
}

func TestHelpOfMainListsTheControllersOfDescriptors(t *testing.T) {
	code, out := program(t, "descriptors", "--help")
	for _, want := range []string{
		"All controllers: own, and those that the program sets up", "Disabled by default: own",
		"-concurrent-own-syncs number", "-region", "-leader-elect", "-kube-api-qps",
		"AllAlpha=true|false", "-controller-start-interval", "-use-service-account-credentials", "-min-resync-period",
	} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%q is not in %d, %s", want, code, out)
		}
	}
}

func TestDescriptorRunsBesideAScaffoldedSetup(t *testing.T) {
	if code, out := program(t, "descriptors"); code != 1 || strings.Contains(out, "own runs") {
		t.Errorf("got %d, %s", code, out)
	}
	code, out := program(t, "descriptors", "--controllers=mine", "--log-format=json")
	if code != 1 || !strings.Contains(out, "is an alias") {
		t.Errorf("got %d, %s", code, out)
	}
}

func TestMistakesOfTheProgramAreReported(t *testing.T) {
	for role, want := range map[string]string{
		"twice":   "declared by the operator and by the registry: -controllers; give those of the operator other names\n",
		"invalid": "controller a is registered twice, as descriptor 0 and 1\n",
	} {
		if code, out := program(t, role); code != 2 || !strings.Contains(out, want) {
			t.Errorf("%s: got %d, %s", role, code, out)
		}
	}
}

func TestConfigFileErrorsHavePositions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	ok(t, os.WriteFile(file, []byte("log-level: debug\nfeature-gates: [Nope=true]\nconcurrent-own-syncs: many\n"), 0o600))
	code, out := program(t, "descriptors", "--config="+file)
	for _, want := range []string{
		file + `:2:1: invalid value ["Nope=true"] for feature-gates: unknown feature gate "Nope"`,
		file + `:3:1: invalid value "many" for concurrent-own-syncs`,
	} {
		if code != 2 || !strings.Contains(out, want) {
			t.Errorf("%q is not in %d, %s", want, code, out)
		}
	}
}
