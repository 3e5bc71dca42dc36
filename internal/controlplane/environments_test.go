//go:build linux || darwin

package controlplane

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/kubectl"
	"github.com/kctrl-dev/kctrl/internal/testing/guard"
)

// compiled returns a function that compiles the control plane once for all tests, or finds it in the user's cache.
func compiled(t *testing.T) func(Options) (Assets, error) {
	return func(opts Options) (Assets, error) { return Build(t.Context(), opts, Progress{Out: os.Stderr}) }
}

func assets(t *testing.T, opts Options) Assets {
	t.Helper()
	a, err := compiled(t)(opts)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// onEach runs a test with an in-memory API server and with a real one. make test runs only a few tests with a real
// server.
func onEach(t *testing.T, test func(t *testing.T, opts Options)) {
	t.Run("memory", func(t *testing.T) { test(t, Options{InMemory: true}) })
	t.Run("real", func(t *testing.T) { test(t, Options{}) })
}

// environments returns environments in a temporary directory. It stops and removes them at the end of the test.
func environments(t *testing.T) *Environments {
	t.Helper()
	es := &Environments{dir: t.TempDir()}
	stopGuard, err := guard.Start(es.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stopGuard)
	t.Cleanup(func() {
		list, err := es.List()
		for _, env := range list {
			err = errors.Join(err, es.Down(context.Background(), env.Name))
		}
		if err != nil {
			t.Error(err)
		}
	})
	return es
}

func up(t *testing.T, es *Environments, name string, opts Options) *Environment {
	t.Helper()
	env, _, err := es.Up(t.Context(), name, compiled(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func connect(t *testing.T, env *Environment) *kubectl.Client {
	t.Helper()
	client, err := kubectl.Connect(env.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// put creates an object.
func put(t *testing.T, env *Environment, name string) {
	t.Helper()
	manifests, err := kubectl.ReadManifests("-", strings.NewReader("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+
		name+"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := connect(t, env).Apply(t.Context(), manifests); err != nil {
		t.Fatal(err)
	}
}

// has reports whether an object that put created exists.
func has(t *testing.T, env *Environment, name string) bool {
	t.Helper()
	err := connect(t, env).Get(t.Context(), io.Discard, kubectl.Selection{Resources: []string{"cm"},
		Names: []string{name}}, kubectl.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
	return err == nil
}

func TestEnvironmentsRunSideBySide(t *testing.T) {
	onEach(t, func(t *testing.T, opts Options) {
		es := environments(t)
		var starts sync.WaitGroup
		for _, name := range []string{"one", "two"} {
			starts.Go(func() {
				if _, _, err := es.Up(t.Context(), name, compiled(t), opts); err != nil {
					t.Error(err)
				}
			})
		}
		starts.Wait()
		list, err := es.List()
		if err != nil || len(list) != 2 || list[0].Server == list[1].Server {
			t.Fatalf("List = %+v, %v", list, err)
		}
		put(t, list[0], "only-in-one")
		if has(t, list[1], "only-in-one") {
			t.Error("two has an object of one")
		}
	})
}

func TestServerAndClientVerifyEachOther(t *testing.T) { onEach(t, verifyEachOther) }

func verifyEachOther(t *testing.T, opts Options) {
	env := up(t, environments(t), "tls", opts)
	config, err := clientcmd.BuildConfigFromFlags("", env.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if config.Insecure || len(config.CAData) == 0 {
		t.Error("the kubeconfig does not verify the server")
	}
	if _, err := http.Get(env.Server + "/readyz"); err == nil {
		t.Error("a client without the authority trusted the server")
	}
	stranger := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	response, err := stranger.Get(env.Server + "/api/v1/secrets")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusForbidden && response.StatusCode != http.StatusUnauthorized {
		t.Errorf("a client without a certificate got %s", response.Status)
	}
}

func TestDataDirKeepsObjectsAndIsKept(t *testing.T) { onEach(t, keepObjects) }

func keepObjects(t *testing.T, opts Options) {
	es := environments(t)
	data := filepath.Join(t.TempDir(), "data")
	opts.DataDir = data
	env := up(t, es, "data", opts) // also the name of a lock
	put(t, env, "kept")
	if err := es.Down(t.Context(), "data"); err != nil {
		t.Fatal(err)
	}
	if !exists(data) || exists(es.path("data")) {
		t.Error("Down keeps the data directory of the user, and nothing else")
	}
	env = up(t, es, "data", opts)
	if !has(t, env, "kept") {
		t.Error("a restart lost an object")
	}
}

// kill ends a process of an environment with SIGKILL, and waits until it has ended.
func kill(t *testing.T, p Process) {
	t.Helper()
	if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := poll(t.Context(), 10*time.Millisecond, func() bool { return !p.alive() }); err != nil {
		t.Fatal(err)
	}
}

func TestCrashIsReportedWithTheEndOfItsLog(t *testing.T) {
	onEach(t, func(t *testing.T, opts Options) {
		env := up(t, environments(t), "crash", opts)
		server := env.Processes[len(env.Processes)-1]
		kill(t, server)
		if crash := env.Crashed(); crash == nil || crash.Component != server.Name || crash.Tail != tail(server.Log) {
			t.Errorf("Crashed = %+v, want %s with the end of its log", crash, server.Name)
		}
	})
}

// TestDeadProcessesRestartWithAllObjects kills every combination of the processes of an environment. The next start
// must restart only these processes and keep all objects.
func TestDeadProcessesRestartWithAllObjects(t *testing.T) {
	t.Run("memory", func(t *testing.T) { startsAgain(t, Options{InMemory: true}, [][]string{{inMemoryName}}) })
	t.Run("real", func(t *testing.T) {
		startsAgain(t, Options{}, [][]string{{apiServerName}, {etcdName}, {etcdName, apiServerName}})
	})
}

func startsAgain(t *testing.T, opts Options, all [][]string) {
	es := environments(t)
	env := up(t, es, "again", opts)
	put(t, env, "kept")
	if _, outcome, err := es.Up(t.Context(), "again", compiled(t), opts); err != nil || outcome != Running {
		t.Errorf("Up of a running environment: outcome %v, %v", outcome, err)
	}
	for _, dead := range all {
		server, before := env.Server, slices.Clone(env.Processes)
		for _, p := range before {
			if slices.Contains(dead, p.Name) {
				kill(t, p)
			}
		}
		var outcome Outcome
		var err error
		env, outcome, err = es.Up(t.Context(), "again", compiled(t), opts)
		if err != nil || outcome != Resumed || env.Crashed() != nil || env.Server != server {
			t.Fatalf("Up without %v: outcome %v, %v; it was at %s and is at %s", dead, outcome, err, server, env.Server)
		}
		for _, p := range before {
			if !slices.Contains(dead, p.Name) && !p.alive() {
				t.Errorf("Up without %v: %s was stopped", dead, p.Name)
			}
		}
		if !has(t, env, "kept") {
			t.Errorf("Up without %v lost an object", dead)
		}
	}
}

func TestTakenPortIsReplacedAndReported(t *testing.T) { onEach(t, replacePorts) }

func replacePorts(t *testing.T, opts Options) {
	es := environments(t)
	var notices []string
	es.Notice = func(what string) { notices = append(notices, what) }
	env := up(t, es, "moved", opts)
	put(t, env, "kept")
	for _, p := range env.Processes {
		kill(t, p)
	}
	for _, port := range []int{env.Ports.API,
		env.Ports.Etcd} { // an environment without etcd has no port for it, so any is taken
		var listener net.Listener
		err := poll(t.Context(), 10*time.Millisecond, func() bool {
			var err error
			listener, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			return err == nil
		})
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
	}
	before := env.Server
	env = up(t, es, "moved", opts)
	if env.Server == before || !has(t, env, "kept") {
		t.Errorf("it was at %s and is at %s", before, env.Server)
	}
	if all := strings.Join(notices, "\n"); !strings.Contains(all, "another process uses the port of "+before) {
		t.Errorf("said %q", all)
	}
}

func TestCertificatesThatEndedAreRenewed(t *testing.T) { onEach(t, renewCertificates) }

func renewCertificates(t *testing.T, opts Options) {
	es := environments(t)
	env := up(t, es, "old", opts)
	put(t, env, "kept")
	stranger, err := newAuthority("another")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(authorityPath(es.path("old")), stranger.pem, 0o600); err != nil {
		t.Fatal(err)
	}
	env, outcome, err := es.Up(t.Context(), "old", compiled(t), opts)
	if err != nil || outcome != Resumed || !has(t, env, "kept") {
		t.Errorf("Up with certificates of another authority: outcome %v, %v", outcome, err)
	}
}

// TestStartThatWasCutShortIsFoundAndRemoved creates, for each step of kctrl env up, the files and processes that remain
// if kctrl is killed at that step.
func TestStartThatWasCutShortIsFoundAndRemoved(t *testing.T) {
	cuts := map[string]func(es *Environments, env *Environment) error{
		"before any state": func(es *Environments, env *Environment) error { return os.Remove(es.statePath(env.Name)) },
		"before its records": func(es *Environments, env *Environment) error {
			env.Processes, env.Ready = nil, false
			return es.save(env)
		},
		"before it is ready": func(es *Environments, env *Environment) error { env.Ready = false; return es.save(env) },
	}
	onEach(t, func(t *testing.T, opts Options) {
		for name, cut := range cuts {
			t.Run(name, func(t *testing.T) { recoverFromCut(t, opts, cut) })
		}
	})
}

func recoverFromCut(t *testing.T, opts Options, cut func(es *Environments, env *Environment) error) {
	es := environments(t)
	env := up(t, es, "cut", opts)
	processes := slices.Clone(env.Processes)
	if err := cut(es, env); err != nil {
		t.Fatal(err)
	}
	var notices []string
	es.Notice = func(what string) { notices = append(notices, what) }
	if err := es.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, p := range processes {
		if p.alive() {
			t.Errorf("%s still runs", p.Name)
		}
	}
	if exists(es.path("cut")) || len(notices) != 1 ||
		!strings.Contains(notices[0], "stopping "+processes[0].Name+" (pid") {
		t.Errorf("said %q", notices)
	}
}

func TestRecoverKeepsARunningStart(t *testing.T) {
	es := environments(t)
	unlock, err := es.lock(t.Context(), "starting")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if err := os.Mkdir(es.path("starting"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := es.Recover(t.Context()); err != nil || !exists(es.path("starting")) {
		t.Errorf("Recover removed what is being started, %v", err)
	}
}

func TestOneBadStateIsNoMatterToTheOthers(t *testing.T) {
	for name, content := range map[string]string{
		"empty": "", "truncated": `{"name":"bad","proc`, "another type": "[1]",
		"of the future": `{"version":99,"processes":"?"}`, "newer": `{"version":99}`,
	} {
		es := &Environments{dir: t.TempDir()}
		if err := errors.Join(os.Mkdir(es.path("bad"), 0o700), os.Mkdir(es.path("good"), 0o700)); err != nil {
			t.Fatal(err)
		}
		err := errors.Join(os.WriteFile(es.statePath("bad"), []byte(content), 0o600),
			es.save(&Environment{Name: "good", Ready: true}))
		if err != nil {
			t.Fatal(err)
		}
		list, err := es.List()
		if len(list) != 1 || list[0].Name != "good" || err == nil || !strings.Contains(err.Error(), `"bad"`) {
			t.Errorf("%s: List = %v, %v", name, list, err)
		}
		if err := es.Recover(t.Context()); err != nil || !exists(es.path("bad")) {
			t.Errorf("%s: Recover took a bad state for an interrupted start, %v", name, err)
		}
		err = es.Down(t.Context(), "bad")
		if kept := name == "newer"; kept != exists(es.path("bad")) || kept != (err != nil) {
			t.Errorf("%s: Down = %v", name, err)
		}
	}
}

// TestPidOfAnotherIsNeverTakenForAProcess runs similar processes with the pid of an etcd that has ended, and checks
// that kctrl neither reports them as the etcd nor stops them.
func TestPidOfAnotherIsNeverTakenForAProcess(t *testing.T) {
	dir := t.TempDir()
	for name, command := range map[string][]string{
		"another program":          {"sleep", "600"},
		"a reader of its log":      {"tail", "-f", logOf(dir, etcdName)},
		"an etcd of another":       {"sh", "-c", "read x", etcdName, "--trusted-ca-file=" + authorityPath(dir+"2")},
		"another etcd of the same": {"sh", "-c", "read x", etcdName, "--trusted-ca-file=" + authorityPath(dir)},
	} {
		other := exec.Command(command[0], command[1:]...)
		stdin, err := other.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Start(); err != nil {
			t.Fatal(err)
		}
		p := Process{Name: etcdName, PID: other.Process.Pid, Start: "1", Log: logOf(dir, etcdName)}
		if p.alive() {
			t.Errorf("%s is taken for the etcd", name)
		}
		if err := stopProcess(t.Context(), p); err != nil || other.Process.Signal(syscall.Signal(0)) != nil {
			t.Errorf("%s was stopped, %v", name, err)
		}
		found, err := processesOf(dir)
		if own := strings.HasSuffix(name, "of the same"); err != nil || own != (len(found) == 1) {
			t.Errorf("%s: processesOf = %v, %v", name, found, err)
		}
		_ = other.Process.Kill()
		_ = other.Wait()
		stdin.Close()
	}
}

func TestEndOfALogHasThePanic(t *testing.T) {
	log := filepath.Join(t.TempDir(), "etcd.log")
	text := "started\npanic: wal: no space left on device\n\ngoroutine 1 [running]:\n" +
		strings.Repeat("main.main()\n\tmain.go:21\n", 50)
	if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := tail(log)
	if got != "started\npanic: wal: no space left on device" {
		t.Errorf("%q", got)
	}
	newer := `{"level":"error","msg":"Failed to validate schema","error":"version \"3.7.0\" is not supported"}`
	for tail, hint := range map[string]string{got: "free some disk space", newer: "choose its version with --kubernetes"} {
		if d, ok := errors.AsType[*diagnostic.Error](explain(&CrashError{Tail: tail})); !ok ||
			!strings.Contains(d.Hint, hint) {
			t.Errorf("explain = %+v, want the hint to say %q", d, hint)
		}
	}
	if err := explain(&CrashError{Tail: "started"}); hinted(err) {
		t.Errorf("explain = %+v", err)
	}
}

// TestStateCannotNameAnotherPlace edits a state file, and checks that kctrl touches no files outside the environment's
// directory.
func TestStateCannotNameAnotherPlace(t *testing.T) {
	es := &Environments{dir: t.TempDir()}
	victim := filepath.Join(es.dir, "victim")
	if err := errors.Join(os.Mkdir(es.path("x"), 0o700), os.Mkdir(victim, 0o700)); err != nil {
		t.Fatal(err)
	}
	state := fmt.Sprintf(`{"name":"victim","ready":true,"processes":[{"name":"etcd","pid":%d,"start":"1","log":"/x"},{"name":"etcd","pid":-1},{"name":"etcd"}]}`, os.Getpid())
	if err := os.WriteFile(es.statePath("x"), []byte(state), 0o600); err != nil {
		t.Fatal(err)
	}
	env, err := es.Get("x")
	if err != nil || env.Crashed() == nil {
		t.Errorf("Get = %+v, %v: a process that is no etcd of it was taken for one", env, err)
	}
	if err := es.Down(t.Context(), "x"); err != nil || !exists(victim) || exists(es.path("x")) {
		t.Errorf("Down = %v", err)
	}
}

func TestDataDirIsTheSameInAnySpelling(t *testing.T) { onEach(t, haveOneDataDir) }

func haveOneDataDir(t *testing.T, opts Options) {
	es := environments(t)
	root := t.TempDir()
	data, link := filepath.Join(root, "data"), filepath.Join(root, "link")
	if err := os.Symlink(data, link); err != nil {
		t.Fatal(err)
	}
	at := func(dir string) Options {
		of := opts
		of.DataDir = dir
		return of
	}
	up(t, es, "first", at(data))
	for _, spelling := range []string{data, data + "/", link, filepath.Join(root, ".") + "/../" + filepath.Base(root) +
		"/data"} {
		_, _, err := es.Up(t.Context(), "second", compiled(t), at(spelling))
		if err == nil || !strings.Contains(err.Error(), `the data directory of environment "first"`) {
			t.Errorf("Up with the data directory %s = %v", spelling, err)
		}
	}
	// If no environment uses a directory, the lock of its server protects it.
	attached := at(link)
	attached.Dir, attached.Attached = t.TempDir(), true
	_, err := Start(t.Context(), assets(t, opts), attached)
	if err == nil || !strings.Contains(err.Error(), "a running ") {
		t.Errorf("Start with the data directory of another = %v", err)
	}
	_, _, err = es.Up(t.Context(), "third", compiled(t), at(filepath.Join(es.path("first"), "etcd")))
	if err == nil || !strings.Contains(err.Error(), "kctrl keeps its environments in") {
		t.Errorf("Up with a data directory that Down would remove = %v", err)
	}
}

func TestSimultaneousStartsOfOneEnvironmentStartItOnce(t *testing.T) { onEach(t, startOnce) }

func startOnce(t *testing.T, opts Options) {
	es := environments(t)
	outcomes := make([]Outcome, 3)
	var starts sync.WaitGroup
	for i := range outcomes {
		starts.Go(func() {
			var err error
			if _, outcomes[i], err = es.Up(t.Context(), "same", compiled(t), opts); err != nil {
				t.Error(err)
			}
		})
	}
	starts.Wait()
	slices.Sort(outcomes)
	if !slices.Equal(outcomes, []Outcome{Running, Running, Started}) {
		t.Errorf("outcomes %v", outcomes)
	}
}

func TestStartThatFailsShowsWhyAndLeavesNoProcess(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		data := t.TempDir()
		if err := os.Mkdir(filepath.Join(data, "objects"), 0o700); err != nil {
			t.Fatal(err)
		}
		failToStart(t, Options{InMemory: true, DataDir: data}, "is a directory")
	})
	t.Run("real", func(t *testing.T) { failToStart(t, Options{FeatureGates: "NoSuchGate=true"}, "NoSuchGate") })
}

func failToStart(t *testing.T, opts Options, errorLines string) {
	es := environments(t)
	_, _, err := es.Up(t.Context(), "bad", compiled(t), opts)
	crash, ok := errors.AsType[*CrashError](err)
	if !ok || !strings.Contains(crash.Tail, errorLines) {
		t.Fatalf("Up = %v, want the API server's own words", err)
	}
	env, err := es.Get("bad")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range env.Processes {
		if p.alive() {
			t.Errorf("%s still runs", p.Name)
		}
	}
}

func TestTakenPortIsRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	opts := Options{InMemory: true, Dir: t.TempDir(), Port: listener.Addr().(*net.TCPAddr).Port, Attached: true}
	_, err = Start(t.Context(), assets(t, opts), opts)
	if d, ok := errors.AsType[*diagnostic.Error](err); !ok || !strings.Contains(d.Message, "taken") {
		t.Errorf("Start on a taken port = %v", err)
	}
}

func TestNamesOfEnvironmentsStayInTheirDirectory(t *testing.T) {
	for _, name := range []string{"", "..", "a/b", "A", "-a", strings.Repeat("a", 41)} {
		if err := ValidateName(name); !errors.Is(err, diagnostic.ErrUsage) {
			t.Errorf("ValidateName(%q) = %v", name, err)
		}
	}
	if err := ValidateName("demo-1"); err != nil {
		t.Error(err)
	}
}
