package controlplane

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// assets compiles the control plane once for all tests, or finds it in the user's cache.
func assets(t *testing.T) Assets {
	t.Helper()
	a, err := Build(t.Context(), Progress{Out: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// environments returns a place for environments that ends with the test, and nothing of them is left.
func environments(t *testing.T) *Environments {
	t.Helper()
	es := &Environments{folder: t.TempDir()}
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
	env, _, err := es.Up(t.Context(), name, assets(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func object(kind, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name},
	}}
}

func TestEnvironmentsRunSideBySide(t *testing.T) {
	es := environments(t)
	var starts sync.WaitGroup
	for _, name := range []string{"one", "two"} {
		starts.Go(func() {
			if _, _, err := es.Up(t.Context(), name, assets(t), Options{}); err != nil {
				t.Error(err)
			}
		})
	}
	starts.Wait()
	list, err := es.List()
	if err != nil || len(list) != 2 || list[0].Server == list[1].Server {
		t.Fatalf("List = %+v, %v", list, err)
	}
	one, err := Connect(list[0].Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if err := one.Apply(t.Context(), []Manifest{{Object: object("ConfigMap", "only-in-one")}}); err != nil {
		t.Fatal(err)
	}
	two, err := Connect(list[1].Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two.Find(t.Context(), "configmaps", "only-in-one", ""); !apierrors.IsNotFound(err) {
		t.Errorf("two says %v of an object of one", err)
	}
}

func TestServerAndClientVerifyEachOther(t *testing.T) {
	env := up(t, environments(t), "tls", Options{})
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

func TestDataFolderKeepsObjectsAndIsKept(t *testing.T) {
	es := environments(t)
	data := filepath.Join(t.TempDir(), "data")
	opts := Options{DataDir: data}
	env := up(t, es, "kept", opts)
	objects, err := Connect(env.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if err := objects.Apply(t.Context(), []Manifest{{Object: object("ConfigMap", "kept")}}); err != nil {
		t.Fatal(err)
	}
	if err := es.Down(t.Context(), "kept"); err != nil {
		t.Fatal(err)
	}
	if !exists(data) || exists(es.path("kept")) {
		t.Error("Down keeps the data folder of the user, and nothing else")
	}
	env = up(t, es, "kept", opts)
	objects, err = Connect(env.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := objects.Find(t.Context(), "configmaps", "kept", ""); err != nil {
		t.Errorf("after a restart: %v", err)
	}
}

func TestCrashIsReportedWithTheEndOfItsLogAndMended(t *testing.T) {
	es := environments(t)
	env := up(t, es, "crash", Options{})
	if _, started, err := es.Up(t.Context(), "crash", assets(t), Options{}); err != nil || started {
		t.Errorf("Up of a running environment: started %v, %v", started, err)
	}
	apiServer := env.Processes[1]
	if err := syscall.Kill(apiServer.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := poll(t.Context(), 10*time.Millisecond, func() bool { return !apiServer.alive() }); err != nil {
		t.Fatal(err)
	}
	crash := env.Crashed()
	if crash == nil || crash.Component != "kube-apiserver" || len(strings.Split(crash.Tail, "\n")) < 5 {
		t.Errorf("Crashed = %+v, want the API server with the end of its log", crash)
	}
	etcd := env.Processes[0]
	env, started, err := es.Up(t.Context(), "crash", assets(t), Options{})
	if err != nil || !started || env.Crashed() != nil {
		t.Errorf("Up after a crash: started %v, %v", started, err)
	}
	if etcd.alive() {
		t.Error("the etcd of the crashed environment still runs")
	}
}

func TestStartThatFailsShowsWhyAndLeavesNoProcess(t *testing.T) {
	es := environments(t)
	_, _, err := es.Up(t.Context(), "bad", assets(t), Options{FeatureGates: "NoSuchGate=true"})
	crash, ok := errors.AsType[*CrashError](err)
	if !ok || !strings.Contains(crash.Tail, "NoSuchGate") {
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
	env := up(t, environments(t), "first", Options{})
	port, err := strconv.Atoi(env.Server[strings.LastIndex(env.Server, ":")+1:])
	if err != nil {
		t.Fatal(err)
	}
	_, err = Start(t.Context(), assets(t), Options{Folder: t.TempDir(), Port: port, Attached: true})
	if d, ok := errors.AsType[*diagnostic.Error](err); !ok || !strings.Contains(d.Message, "taken") {
		t.Errorf("Start on a taken port = %v", err)
	}
}

func TestApplyReportsWhatBecameOfEachObject(t *testing.T) {
	env := up(t, environments(t), "apply", Options{})
	objects, err := Connect(env.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	objects.Report = func(o *unstructured.Unstructured, what string) { got = append(got, Describe(o)+" "+what) }
	manifest := func(value string) []Manifest {
		o := object("ConfigMap", "a")
		o.Object["data"] = map[string]any{"key": value}
		return []Manifest{{Object: o}}
	}
	err = errors.Join(
		objects.Apply(t.Context(), manifest("1")),
		objects.Apply(t.Context(), manifest("1")),
		objects.Apply(t.Context(), manifest("2")),
		objects.Delete(t.Context(), manifest("2")),
		objects.Delete(t.Context(), manifest("2")),
	)
	want := "configmap/a created, configmap/a unchanged, configmap/a configured, configmap/a deleted, configmap/a not found"
	if err != nil || strings.Join(got, ", ") != want {
		t.Errorf("reported %q, %v", got, err)
	}
	stranger := object("Stranger", "a")
	stranger.SetAPIVersion("example.com/v1")
	err = objects.Apply(t.Context(), []Manifest{{Object: stranger}})
	if d, ok := errors.AsType[*diagnostic.Error](err); !ok || !strings.Contains(d.Hint, "CRD") {
		t.Errorf("Apply of an unknown kind = %v", err)
	}
}

func TestNamesOfEnvironmentsStayInTheirFolder(t *testing.T) {
	for _, name := range []string{"", "..", "a/b", "A", "-a", strings.Repeat("a", 41)} {
		if err := ValidateName(name); !errors.Is(err, diagnostic.ErrUsage) {
			t.Errorf("ValidateName(%q) = %v", name, err)
		}
	}
	if err := ValidateName("demo-1"); err != nil {
		t.Error(err)
	}
}
