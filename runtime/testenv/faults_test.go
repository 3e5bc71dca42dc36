package testenv_test

import (
	"net"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

func TestPartsAreKilledAndRestarted(t *testing.T) {
	t.Setenv(testenv.KubeconfigVariable, "")
	env := testenv.Start(t, testenv.WithFaults())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(env.Compact())
	const delay = 50 * time.Millisecond
	must(env.Slow(delay))
	c, err := client.New(env.Config, client.Options{Scheme: runtime.NewScheme()})
	must(err)
	begin := time.Now()
	must(c.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "default", "name": "slow"},
	}}))
	if took := time.Since(begin); took < 2*delay {
		t.Errorf("a write to slow storage took %s", took)
	}
	must(env.Slow(0))
	must(env.Kill(testenv.APIServer))
	if conn, err := net.Dial("tcp", address(t, env.Config.Host)); err == nil {
		conn.Close()
		t.Error("the API server listens after it was killed")
	}
	if err := env.Kill(testenv.APIServer); err == nil {
		t.Error("it was killed twice")
	} else {
		contains(t, err.Error(), "kill kube-apiserver: kube-apiserver does not run")
	}
	must(env.Restart(testenv.APIServer))
	testReady(t, env.Config)
	if err := env.Restart(testenv.APIServer); err == nil {
		t.Error("it was started twice")
	} else {
		contains(t, err.Error(), "kube-apiserver is already running")
	}
	must(env.Kill(testenv.Etcd))
	must(env.Kill(testenv.APIServer))
	must(env.Restart(testenv.APIServer))
	must(env.Restart(testenv.Etcd))
	testReady(t, env.Config)
	if err := env.Restart("kube-scheduler"); err == nil {
		t.Error("a part that is not there was started")
	} else {
		contains(t, err.Error(), "the control plane has no kube-scheduler")
	}
}

func TestFaultsTakeAServerThatIsMeantForThem(t *testing.T) {
	t.Setenv(testenv.KubeconfigVariable, kubeconfig(t))
	env := testenv.Start(t)
	if err := env.Kill(testenv.Etcd); err == nil {
		t.Error("a server that another process started could be killed")
	} else {
		contains(t, err.Error(), "not started by testenv.WithFaults")
	}
}
