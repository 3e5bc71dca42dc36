package envtest_test

import (
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// newClient returns a client for a configuration.
func newClient(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestUsersAndKubeConfigOfAnEnvironment adds users to an environment, and starts a second one on its server.
func TestUsersAndKubeConfigOfAnEnvironment(t *testing.T) {
	env := &envtest.Environment{}
	if _, err := env.AddUser(envtest.User{Name: "early"}, nil); err == nil {
		t.Error("a user of an environment that has not started")
	}
	if _, err := env.Start(); err != nil {
		t.Fatal(err)
	}
	stop := func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	for _, test := range []struct {
		user envtest.User
		base *rest.Config
	}{{envtest.User{Name: "jane"}, nil}, {envtest.User{Name: "joe"}, &rest.Config{QPS: 7, UserAgent: "joe"}}} {
		user, err := env.AddUser(test.user, test.base)
		if err != nil {
			t.Fatal(err)
		}
		if test.base == nil {
			test.base = &rest.Config{}
		}
		if c := user.Config(); c.QPS != test.base.QPS || c.UserAgent != test.base.UserAgent {
			t.Errorf("%s: QPS %v, user agent %q", test.user.Name, c.QPS, c.UserAgent)
		}
		review := &authenticationv1.SelfSubjectReview{}
		err = newClient(t, user.Config()).Create(t.Context(), review)
		if got := review.Status.UserInfo.Username; err != nil || got != test.user.Name {
			t.Errorf("the user of %s is %q, %v", test.user.Name, got, err)
		}
	}
	unnamed, err := env.AddUser(envtest.User{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := newClient(t, unnamed.Config()).List(t.Context(), &corev1.SecretList{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("a user without a name lists secrets: %v", err)
	}
	use, config := true, rest.CopyConfig(env.Config)
	config.QPS = 3
	other := &envtest.Environment{UseExistingCluster: &use, Config: config}
	if _, err := other.Start(); err != nil || config.QPS != 3 {
		t.Fatalf("QPS %v, %v", config.QPS, err)
	}
	for _, text := range [][]byte{env.KubeConfig, other.KubeConfig} {
		config, err := clientcmd.RESTConfigFromKubeConfig(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := newClient(t, config).List(t.Context(), &corev1.SecretList{}); err != nil {
			t.Errorf("by the kubeconfig: %v", err)
		}
	}
	stop()
	gone := &envtest.Environment{UseExistingCluster: &use, Config: config}
	if _, err := gone.Start(); err == nil {
		t.Error("an environment starts on a server that does not run")
	}
}
