package envtest_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

func TestRealServerIsThatOfKubebuilderAssets(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KCTRL_TEST_SERVER", "real")
	t.Setenv("KUBEBUILDER_ASSETS", dir)
	env := &envtest.Environment{}
	if _, err := env.Start(); err == nil || !strings.Contains(err.Error(), "KUBEBUILDER_ASSETS="+dir+" has no etcd") {
		t.Errorf("Start = %v", err)
	}
}
