package manager_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/manager"
)

// roleVariable makes the test binary run as an operator instead.
const roleVariable = "MANAGER_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVariable); role {
	case "":
		os.Exit(m.Run())
	case writerRole, unfencedRole:
		opts := manager.Options{HealthProbeBindAddress: manager.Off,
			LeaderElection: manager.LeaderElectionOptions{Enabled: true, ID: "writers"}}
		os.Exit(manager.Main(opts, writer(role == writerRole)))
	default:
		os.Exit(manager.Main(manager.Options{HealthProbeBindAddress: manager.Off}, operator(role)))
	}
}

// operator returns the setup of an operator that prints its progress.
func operator(role string) func(controller.Manager) error {
	return func(m controller.Manager) error {
		fmt.Println("host", m.Config().Host)
		return m.Add(runFunc(func(ctx context.Context) error {
			if role == "broken" {
				return errBroken
			}
			fmt.Println("running")
			<-ctx.Done()
			fmt.Println("stopping")
			if role == "stuck" {
				select {}
			}
			return nil
		}))
	}
}

// program is an operator in its own process.
type program struct {
	*exec.Cmd
	out    *bufio.Scanner
	stderr bytes.Buffer
}

// startProgram starts an operator whose environment contains only env and an empty home directory.
func startProgram(t *testing.T, role string, env []string, args ...string) *program {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{Cmd: exec.CommandContext(t.Context(), executable, args...)}
	p.Env = append([]string{roleVariable + "=" + role, "HOME=" + t.TempDir()}, env...)
	p.Stderr = &p.stderr
	stdout, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewScanner(stdout)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// expectLine waits for a line of output.
func (p *program) expectLine(t *testing.T, want string) {
	t.Helper()
	if !p.out.Scan() || p.out.Text() != want {
		t.Fatalf("got %q, want %q; it logged:\n%s", p.out.Text(), want, p.wait())
	}
}

// wait waits until the operator ends and returns its log.
func (p *program) wait() string {
	for p.out.Scan() {
	}
	_ = p.Wait()
	return p.stderr.String()
}

func TestMainStopsInGoodOrderOnASignal(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		p := startProgram(t, "good", []string{"KUBECONFIG=" + writeKubeconfig(t, "http://127.0.0.1:1")})
		p.expectLine(t, "host http://127.0.0.1:1")
		p.expectLine(t, "running")
		if err := p.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		p.expectLine(t, "stopping")
		log := p.wait()
		if code := p.ProcessState.ExitCode(); code != 0 {
			t.Errorf("%s: got exit code %d", signal, code)
		}
		contains(t, log, "msg=stopped")
	}
}

func TestSecondSignalEndsMainAtOnce(t *testing.T) {
	p := startProgram(t, "stuck", []string{"KUBECONFIG=" + writeKubeconfig(t, "http://127.0.0.1:1")})
	p.expectLine(t, "host http://127.0.0.1:1")
	p.expectLine(t, "running")
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.expectLine(t, "stopping")
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.wait()
	if status := p.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("got %v", p.ProcessState)
	}
}

func TestExitCodesOfMain(t *testing.T) {
	kubeconfig := "KUBECONFIG=" + writeKubeconfig(t, "http://127.0.0.1:1")
	for _, test := range []struct {
		role string
		args []string
		code int
		want string
	}{
		{"broken", nil, 1, "broken"},
		{"good", []string{"--nonsense"}, 2, "flag provided but not defined"},
		{"good", []string{"--help"}, 0, "Usage of "},
	} {
		p := startProgram(t, test.role, []string{kubeconfig}, test.args...)
		contains(t, p.wait(), test.want)
		if code := p.ProcessState.ExitCode(); code != test.code {
			t.Errorf("%s %v: got exit code %d, want %d", test.role, test.args, code, test.code)
		}
	}
}

// home returns the environment of a user whose kubeconfig is in the default place.
func home(t *testing.T, server string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".kube"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(writeKubeconfig(t, server), filepath.Join(dir, ".kube", "config")); err != nil {
		t.Fatal(err)
	}
	return "HOME=" + dir
}

func TestAPIServerIsFoundByFlagThenEnvironmentThenPodThenHome(t *testing.T) {
	const byFlag, byEnv, byHome = "http://127.0.0.1:1", "http://127.0.0.1:2", "http://127.0.0.1:3"
	flag := []string{"--kubeconfig", writeKubeconfig(t, byFlag)}
	env, user := "KUBECONFIG="+writeKubeconfig(t, byEnv), home(t, byHome)
	pod := []string{"KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=4"}
	for _, test := range []struct {
		args []string
		env  []string
		want string
	}{
		{flag, append([]string{env, user}, pod...), byFlag},
		{nil, append([]string{env, user}, pod...), byEnv},
		{nil, []string{user}, byHome},
	} {
		p := startProgram(t, "broken", test.env, test.args...)
		p.expectLine(t, "host "+test.want)
		p.wait()
	}
	p := startProgram(t, "good", append(pod, user)) // this machine does not have the pod's token
	contains(t, p.wait(), "cannot find the API server: ", "serviceaccount/token")
}

func TestWithoutAnAPIServerThereIsAHint(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		env  []string
		want string
	}{
		{nil, nil, "no API server is named in ~/.kube/config, and this is not a pod"},
		{nil, []string{"KUBECONFIG=" + missing}, "no API server is named in " + missing + ", which $KUBECONFIG names"},
		{[]string{"--kubeconfig", empty}, nil, "no API server is named in " + empty},
	} {
		p := startProgram(t, "good", test.env, test.args...)
		log := p.wait()
		_, log, _ = strings.Cut(log, ": ")
		if want := "cannot find the API server: " + test.want +
			"\nhint: give --kubeconfig or set KUBECONFIG"; !strings.HasPrefix(log, want) {
			t.Errorf("got  %s\nwant %s", log, want)
		}
		if code := p.ProcessState.ExitCode(); code != 1 {
			t.Errorf("got exit code %d", code)
		}
	}
	p := startProgram(t, "good", nil, "--kubeconfig", missing)
	if log := p.wait(); strings.Contains(log, "hint") || !strings.Contains(log, missing+": no such file") {
		t.Errorf("got %s", log)
	}
}

func TestUsageErrorOfASetupIsPrintedLineByLine(t *testing.T) {
	var stderr strings.Builder
	args := []string{"--kubeconfig", writeKubeconfig(t, "http://127.0.0.1:1"), "--health-probe-bind-address=0"}
	code := manager.Program(t.Context(), "guestbook", args, &stderr, manager.Options{}, func(*manager.Manager) error {
		return &manager.UsageError{Err: errors.Join(errBroken, errSeen), Hint: "repair it"}
	})
	if want := "guestbook: broken\nguestbook: " + errSeen.Error() + "\nhint: repair it\n"; code != 2 ||
		!strings.HasSuffix(stderr.String(), want) {
		t.Errorf("got %d, %s", code, &stderr)
	}
}
