package testenv_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

// ownerVariable makes the test binary start a server and wait until it is killed.
const ownerVariable = "TESTENV_TEST_OWNER"

func TestMain(m *testing.M) {
	if os.Getenv(ownerVariable) == "" {
		os.Exit(m.Run())
	}
	failures := record(func(t testing.TB) {
		fmt.Println(testenv.Start(t).Config.Host)
		_, _ = io.Copy(io.Discard, os.Stdin)
	})
	fmt.Println(failures)
}

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: guestbooks.webapp.example.com
spec:
  group: webapp.example.com
  names: {kind: Guestbook, plural: guestbooks, singular: guestbook, listKind: GuestbookList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
`

// address returns the address on which the server of a config listens.
func address(t *testing.T, host string) string {
	t.Helper()
	u, err := url.Parse(host)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

func TestServerLastsAsLongAsItsTest(t *testing.T) {
	t.Setenv(testenv.KubeconfigVariable, "")
	crds := t.TempDir()
	if err := os.WriteFile(filepath.Join(crds, "guestbooks.yaml"), []byte(crd), 0o600); err != nil {
		t.Fatal(err)
	}
	var env *testenv.Env
	t.Run("while it runs", func(t *testing.T) {
		env = testenv.Start(t, testenv.WithCRDs(crds))
		t.Run("it is ready", func(t *testing.T) { testReady(t, env.Config) })
		t.Run("its kubeconfig is as good", func(t *testing.T) { testKubeconfig(t, env) })
		t.Run("CRDs are served", func(t *testing.T) { testCustomResource(t, env.Config) })
		t.Run("a wrong CRD is told", func(t *testing.T) { testWrongCRD(t, env) })
	})
	if conn, err := net.Dial("tcp", address(t, env.Config.Host)); err == nil {
		conn.Close()
		t.Error("the server listens after its test")
	}
	if _, err := os.Stat(env.Kubeconfig); !os.IsNotExist(err) {
		t.Errorf("its files are there after its test: %v", err)
	}
}

func testReady(t *testing.T, config *rest.Config) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := httpClient.Get(config.Host + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK || string(body) != "ok" {
		t.Errorf("got %s: %s, %v", resp.Status, body, err)
	}
}

// testKubeconfig passes a running server to Start through KCTRL_TEST_KUBECONFIG.
func testKubeconfig(t *testing.T, env *testenv.Env) {
	t.Setenv(testenv.KubeconfigVariable, env.Kubeconfig)
	same := testenv.Start(t)
	if same.Config.Host != env.Config.Host {
		t.Errorf("got %s, want %s", same.Config.Host, env.Config.Host)
	}
	testReady(t, same.Config)
}

func testCustomResource(t *testing.T, config *rest.Config) {
	c, err := client.New(config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	guestbook := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "webapp.example.com/v1", "kind": "Guestbook",
		"metadata": map[string]any{"namespace": metav1.NamespaceDefault, "name": "welcome"},
		"spec":     map[string]any{"size": int64(3)},
	}}
	if err := c.Create(t.Context(), guestbook); err != nil || guestbook.GetUID() == "" {
		t.Errorf("got %v", err)
	}
}

func testWrongCRD(t *testing.T, env *testenv.Env) {
	t.Setenv(testenv.KubeconfigVariable, env.Kubeconfig)
	failures := record(func(t testing.TB) { testenv.Start(t, testenv.WithCRDs("no/such/folder")) })
	contains(t, failures, "install CRDs: no/such/folder: ", "no such file")
}

func TestServerThatDoesNotStartShowsTheEndOfItsLog(t *testing.T) {
	t.Setenv(testenv.KubeconfigVariable, "")
	failures := record(func(t testing.TB) { testenv.Start(t, testenv.WithFeatureGates("NoSuchGate=true")) })
	contains(t, failures, "start an API server: exit status 1", "the end of ", "unrecognized feature gate: NoSuchGate")
}

// TestServerEndsWithAKilledProcess kills the owner of a server, and waits for a connection to the server to break.
func TestServerEndsWithAKilledProcess(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	owner := exec.CommandContext(t.Context(), executable)
	owner.Env = append(os.Environ(), ownerVariable+"=yes", testenv.KubeconfigVariable+"=")
	stdin, err := owner.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(stdout)
	said.Scan()
	conn := connect(t, address(t, said.Text()))
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the server sent something")
	}
	// When a process ends, the system may close its connections before its listener, so retry until the listener is
	// closed.
	deadline := time.Now().Add(10 * time.Second)
	for {
		again, err := net.Dial("tcp", conn.RemoteAddr().String())
		if err != nil {
			return
		}
		_ = again.SetReadDeadline(deadline)
		_, err = again.Read(make([]byte, 1))
		again.Close()
		if errors.Is(err, os.ErrDeadlineExceeded) || time.Now().After(deadline) {
			t.Fatal("the server outlives the process")
		}
	}
}

// connect returns a connection on which one request was answered. The server keeps it open until the server ends.
func connect(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := req.Write(conn); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestWithGarbageCollectorWhatIsOwnedGoesWithItsOwner(t *testing.T) {
	env := testenv.Start(t, testenv.WithGarbageCollector())
	live, err := client.New(env.Config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	configMap := func(name string, owners ...metav1.OwnerReference) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		o.SetAPIVersion("v1")
		o.SetKind("ConfigMap")
		o.SetNamespace("default")
		o.SetName(name)
		o.SetOwnerReferences(owners)
		if err := live.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		return o
	}
	owner := configMap("owner")
	owned := configMap("owned", metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "owner",
		UID: owner.GetUID()})
	if err := live.Delete(t.Context(), owner.DeepCopy(),
		client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		t.Fatal(err)
	}
	testenv.AwaitGone(t.Context(), t, live, owned)
	testenv.AwaitGone(t.Context(), t, live, owner)
}
