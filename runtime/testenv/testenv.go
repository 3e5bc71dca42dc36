package testenv

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kctrl-dev/kctrl/runtime/internal/testhost"
)

// Environment variables that Start reads.
const (
	// CommandVariable specifies the kctrl command.
	CommandVariable = testhost.CommandVariable
	// KubeconfigVariable specifies the kubeconfig of a running server to use. Tests that share it see each other's
	// objects.
	KubeconfigVariable = "KCTRL_TEST_KUBECONFIG"
	// ServerVariable selects the API server to start. The value is "in-memory", the default, or "real" for etcd and
	// kube-apiserver; any other value fails the test. KubernetesVariable, and options that only the real server supports,
	// also select the real server.
	ServerVariable = "KCTRL_TEST_SERVER"
	// KubernetesVariable selects the Kubernetes version for tests that do not use [WithKubernetes].
	KubernetesVariable = "KCTRL_TEST_KUBERNETES"
)

// Env is a running API server.
type Env struct {
	// Config has administrator permissions and no limit on the request rate. The caller owns it.
	Config *rest.Config
	// Kubeconfig is the path of a kubeconfig with the same permissions.
	Kubeconfig string

	control  *control // nil unless WithFaults is used
	requests bool     // CRDs are installed with requests instead of the kctrl command
}

// Option configures [Start].
type Option func(*options)

type options struct {
	crds            []string
	objects         []initial
	args            []string
	kubernetes      string
	faults          bool
	collect         bool
	fakeControllers []string // in the form of the flag --controllers; nil runs none
}

// WithCRDs installs the CustomResourceDefinitions in files and directories, recursively, and waits until they are
// served.
func WithCRDs(paths ...string) Option {
	return func(o *options) { o.crds = append(o.crds, paths...) }
}

// WithControllerManager also runs kube-controller-manager with these controllers, such as garbage-collector-controller.
// Without arguments it runs all controllers, for example those for garbage collection, namespaces and service accounts.
func WithControllerManager(controllers ...string) Option {
	return func(o *options) {
		o.args = append(o.args, "--controller-manager")
		if len(controllers) > 0 {
			o.args = append(o.args, "--controllers="+strings.Join(controllers, ","))
		}
	}
}

// WithGarbageCollector runs a garbage collector without kube-controller-manager. It deletes objects whose owner was
// deleted, and completes foreground and orphaning deletions. The collector is a process of its own. The option has no
// effect on a server of [KubeconfigVariable], which has its own garbage collector.
func WithGarbageCollector() Option {
	return func(o *options) { o.collect = true }
}

// WithFakeControllers runs fakes of kube-controller-manager, the scheduler and the kubelets for an in-memory server:
// Deployments get pods that become ready, Jobs complete, claims are bound, and garbage is collected. The fakes in
// except, such as "kubelet", do not run, so that the test can act in their place. docs/guide/06-testing.md lists the
// names. For a real server, use [WithControllerManager] instead.
func WithFakeControllers(except ...string) Option {
	return func(o *options) {
		o.fakeControllers = []string{"*"}
		for _, name := range except {
			o.fakeControllers = append(o.fakeControllers, "-"+name)
		}
	}
}

// WithKubernetes selects a minor version of Kubernetes other than the newest, such as "1.34". `kctrl env up --help`
// lists the versions. Each version is compiled when it is first used.
func WithKubernetes(version string) Option {
	return func(o *options) { o.kubernetes = version }
}

// WithFeatureGates sets feature gates of the API server, such as "CBORServingAndStorage=true".
func WithFeatureGates(gates string) Option {
	return func(o *options) { o.args = append(o.args, "--feature-gates="+gates) }
}

// Start starts an API server for the test, and stops it when the test and its subtests have ended. If the server cannot
// be started, the test fails with a message that explains the remedy. Concurrent tests can each start a server.
func Start(t testing.TB, opts ...Option) *Env {
	t.Helper()
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	objects, err := o.prepare(t)
	if err != nil {
		t.Fatalf("create objects: %v", err)
	}
	env, err := o.start(t)
	if err != nil {
		t.Fatalf("start an API server: %v", err)
	}
	env.fill(t, o.crds, objects)
	return env
}

func (e *Env) fill(t testing.TB, crds []string, objects []*unstructured.Unstructured) {
	t.Helper()
	var err error
	if e.requests {
		err = createAll(t.Context(), e.Config, crds)
	} else {
		err = installCRDs(t.Context(), e.Kubeconfig, crds)
	}
	if err != nil {
		t.Fatalf("install CRDs: %v", err)
	}
	if err := createObjects(t.Context(), e, objects); err != nil {
		t.Fatalf("create objects: %v", err)
	}
}

func (o options) start(t testing.TB) (*Env, error) {
	if kubeconfig := os.Getenv(KubeconfigVariable); kubeconfig != "" {
		env, err := load(kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("$%s: %w", KubeconfigVariable, err)
		}
		return env, nil
	}
	version := cmp.Or(o.kubernetes, os.Getenv(KubernetesVariable))
	onlyReal := version != "" || len(o.args) > 0
	inMemory := false
	switch chosen := os.Getenv(ServerVariable); chosen {
	case "real":
	case "", "in-memory":
		inMemory = !onlyReal
	default:
		return nil, fmt.Errorf("$%s is %q; use real or in-memory, or unset it", ServerVariable, chosen)
	}
	if o.fakeControllers != nil && !inMemory {
		return nil, errors.New("WithFakeControllers needs the server in memory; a real one has WithControllerManager")
	}
	if o.fakeControllers != nil || inMemory && !o.collect { // fake controllers also collect garbage
		return o.startHosted(t)
	}
	args := append([]string{"env", "up", "--foreground", "-o", "json"}, o.args...)
	if version != "" {
		args = append(args, "--kubernetes="+version)
	}
	if inMemory {
		args = append(args, "--in-memory")
	}
	if o.collect {
		args = append(args, "--garbage-collector")
	}
	kubeconfig, process, err := runCommand(exec.Command(testhost.Command(), args...))
	if err != nil {
		return nil, testhost.Explain(err)
	}
	t.Cleanup(func() {
		if err := stop(process); err != nil {
			t.Errorf("the API server did not end well: %v", err)
		}
	})
	env, err := load(kubeconfig)
	if o.faults {
		env.control = &control{commands: process.Stdin, answers: process.Stdout}
	}
	return env, err
}

// startHosted starts an in-memory API server in the kctrl process of this test binary.
func (o options) startHosted(t testing.TB) (*Env, error) {
	server, err := testhost.Start(o.fakeControllers)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Errorf("stop the API server: %v", err)
		}
	})
	config := server.Config()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	return &Env{Config: config, Kubeconfig: kubeconfig, requests: true}, writeKubeconfig(kubeconfig, config)
}

func writeKubeconfig(file string, config *rest.Config) error {
	const name = "testenv"
	content, err := clientcmd.Write(clientcmdapi.Config{
		CurrentContext: name,
		Clusters: map[string]*clientcmdapi.Cluster{name: {Server: config.Host,
			CertificateAuthorityData: config.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {ClientCertificateData: config.CertData,
			ClientKeyData: config.KeyData}},
		Contexts: map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name, Namespace: "default"}},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o600)
}

func load(kubeconfig string) (*Env, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return &Env{}, err
	}
	config.QPS = -1 // by default, client-go sends at most five requests per second
	return &Env{Config: config, Kubeconfig: kubeconfig}, nil
}

// runCommand starts cmd and waits until it reports that the server is ready.
func runCommand(cmd *exec.Cmd) (kubeconfig string, process *testhost.Process, err error) {
	process, err = testhost.Run(cmd)
	if err != nil {
		return "", nil, err
	}
	var ready struct{ Kubeconfig string }
	line, err := process.Stdout.ReadBytes('\n')
	if err != nil {
		err = fmt.Errorf("%s printed nothing: %w", cmd, io.ErrUnexpectedEOF)
	} else if err = json.Unmarshal(line, &ready); err != nil {
		err = fmt.Errorf("%s: %w", cmd, err)
	}
	if err != nil {
		return "", nil, cmp.Or(stop(process), err) // a failed command reports the reason
	}
	return ready.Kubeconfig, process, nil
}

func stop(process *testhost.Process) error {
	if err := process.End(); err != nil {
		return process.WithOutput(err)
	}
	return nil
}

// installCRDs applies CRDs with the kctrl command, which waits until the server serves them.
func installCRDs(ctx context.Context, kubeconfig string, paths []string) error {
	for _, path := range paths {
		args := []string{"env", "apply", "--kubeconfig", kubeconfig}
		files, err := manifestsIn(path)
		if err != nil || len(files) == 0 {
			files = []string{path}
		}
		for _, file := range files {
			args = append(args, "-f", file)
		}
		if out, err := exec.CommandContext(ctx, testhost.Command(), args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", path, testhost.Explain(err), out)
		}
	}
	return nil
}
