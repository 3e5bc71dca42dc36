package envtest_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/compat/envtest"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

// startEnvironment starts an environment and stops it when the test ends.
func startEnvironment(t *testing.T) *envtest.Environment {
	t.Helper()
	env := &envtest.Environment{}
	if _, err := env.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	return env
}

// listSecrets lists the secrets of all namespaces with the given configuration.
func listSecrets(t *testing.T, config *rest.Config) error {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c.List(t.Context(), &corev1.SecretList{})
}

func TestUsersOfAnEnvironmentHaveTheRightsOfTheirGroups(t *testing.T) {
	if _, err := (&envtest.Environment{}).AddUser(envtest.User{Name: "early"}, nil); err == nil {
		t.Error("a user of an environment that has not started")
	}
	env := startEnvironment(t)
	unnamed, err := env.AddUser(envtest.User{Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := listSecrets(t, unnamed.Config()); !apierrors.IsUnauthorized(err) {
		t.Errorf("a user without a name lists secrets: %v", err)
	}
	nobody, err := env.AddUser(envtest.User{Name: "nobody"}, &rest.Config{QPS: 1000, Burst: 2000, UserAgent: "nobody"})
	if err != nil {
		t.Fatal(err)
	}
	if config := nobody.Config(); config.QPS != 1000 || config.UserAgent != "nobody" {
		t.Errorf("the configuration lacks the settings of its base: %v", config)
	}
	if err := listSecrets(t, nobody.Config()); !apierrors.IsForbidden(err) {
		t.Errorf("a user without rights lists secrets: %v", err)
	}
	admin, err := env.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := listSecrets(t, admin.Config()); err != nil {
		t.Errorf("an administrator: %v", err)
	}
	for _, user := range []struct {
		*envtest.AuthenticatedUser
		may bool
	}{{nobody, false}, {admin, true}} {
		text, err := user.KubeConfig()
		if err != nil {
			t.Fatal(err)
		}
		config, err := clientcmd.RESTConfigFromKubeConfig(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := listSecrets(t, config); (err == nil) != user.may {
			t.Errorf("by the kubeconfig: %v", err)
		}
		other := rest.CopyConfig(config)
		other.Impersonate.UserName, other.Impersonate.Groups = "other", []string{"system:masters"}
		if err := listSecrets(t, other); !apierrors.IsForbidden(err) {
			t.Errorf("as another user: %v", err)
		}
		config.BearerToken = "guessed"
		if err := listSecrets(t, config); !apierrors.IsUnauthorized(err) {
			t.Errorf("by another token: %v", err)
		}
	}
}

// TestCRDsAreFoundAsTheCommandFindsThem passes a link to a directory, and one of the directory's files again. One of
// the CRDs is an item of a list.
func TestCRDsAreFoundAsTheCommandFindsThem(t *testing.T) {
	t.Setenv(testenv.ServerVariable, "")
	dir, link := writeCRD(t), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	const list = `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.example.com"},
"spec":{"group":"example.com","scope":"Cluster","names":{"kind":"Thing","plural":"things"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}]}`
	for name, content := range map[string]string{"list.json": list, "kustomization.yml": "resources: [list.json]\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := testenv.Start(t, testenv.WithCRDs(link, filepath.Join(dir, "list.json")))
	if crds, err := envtest.InstallCRDs(env.Config, envtest.CRDInstallOptions{Paths: []string{link}}); err != nil ||
		len(crds) != 1 {
		t.Errorf("installed %d: %v", len(crds), err)
	}
	live, err := client.New(env.Config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	thing := &unstructured.Unstructured{}
	thing.SetAPIVersion("example.com/v1")
	thing.SetKind("Thing")
	thing.SetName("a")
	if err := live.Create(t.Context(), thing); err != nil {
		t.Error(err)
	}
}

func TestCRDsAreInstalledUpdatedAndUninstalled(t *testing.T) {
	env := startEnvironment(t)
	dir := writeCRD(t)
	options := envtest.CRDInstallOptions{Paths: []string{dir, "nowhere"}}
	for range 2 {
		crds, err := envtest.InstallCRDs(env.Config, options)
		if err != nil || len(crds) != 1 {
			t.Fatalf("installed %d: %v", len(crds), err)
		}
	}
	if err := envtest.UninstallCRDs(env.Config, options); err != nil {
		t.Error(err)
	}
	if err := envtest.UninstallCRDs(env.Config, options); err != nil {
		t.Errorf("what is not there: %v", err)
	}
	options.ErrorIfPathMissing = true
	if _, err := envtest.InstallCRDs(env.Config, options); err == nil {
		t.Error("a path is missing, and it is no error")
	}
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	if err := os.WriteFile(broken, []byte("kind: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := envtest.ReadCRDFiles(&envtest.CRDInstallOptions{Paths: []string{broken}}); err == nil {
		t.Error("a file is no YAML, and it is no error")
	}
	never := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "nevers.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Never"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true}},
		},
	}
	soon := envtest.CRDInstallOptions{MaxTime: time.Millisecond, PollInterval: time.Microsecond}
	if err := envtest.WaitForCRDs(env.Config, []*apiextensionsv1.CustomResourceDefinition{never}, soon); err == nil {
		t.Error("a definition is served that was not installed")
	}
}
