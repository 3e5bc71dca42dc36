package envtest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/compat/envtest"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
	"github.com/kctrl-dev/kctrl/runtime/webhook"
	"github.com/kctrl-dev/kctrl/runtime/webhook/admission"
)

const widgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.testenv.kctrl.dev}
spec:
  group: testenv.kctrl.dev
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer, default: 3}}}}
`

// writeCRD writes the CRD of widgets into a temporary directory and returns the directory.
func writeCRD(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "widgets.yaml"), []byte(widgets), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

const podWebhook = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: mutating}
webhooks:
- name: configmaps.testenv.kctrl.dev
  admissionReviewVersions: [v1]
  clientConfig: {service: {name: webhook-service, namespace: system, path: /mutate--v1-configmap}}
  failurePolicy: Fail
  sideEffects: None
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
`

// TestEnvironmentCallsWebhooks runs a suite as kubebuilder scaffolds it: the environment installs the webhooks, and the
// manager serves them.
func TestEnvironmentCallsWebhooks(t *testing.T) {
	t.Setenv(testenv.ServerVariable, "")
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "manifests.yaml"), []byte(podWebhook), 0o600); err != nil {
		t.Fatal(err)
	}
	env := &envtest.Environment{CRDDirectoryPaths: []string{writeCRD(t), "nowhere"},
		WebhookInstallOptions: envtest.WebhookInstallOptions{Paths: []string{folder}}}
	config, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	o := env.WebhookInstallOptions
	m, err := manager.New(config, manager.Options{Scheme: scheme, Webhook: manager.WebhookOptions{
		BindAddress: o.Address(), CertDir: o.LocalServingCertDir, CertName: "tls.crt", KeyName: "tls.key",
	}})
	if err != nil {
		t.Fatal(err)
	}
	err = webhook.For[*corev1.ConfigMap](m).WithDefaulter(admission.DefaulterFunc[*corev1.ConfigMap](
		func(_ context.Context, o *corev1.ConfigMap) error {
			o.Data = map[string]string{"defaulted": "yes"}
			return nil
		})).Complete()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	<-m.Elected() // webhooks are served before the manager is elected
	one := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "one"}}
	if err := m.Live().Create(ctx, one); err != nil || one.Data["defaulted"] != "yes" {
		t.Errorf("got %v, %v", one.Data, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(o.LocalServingCertDir); err == nil {
		t.Error("the certificate is left behind")
	}
}

func TestEnvironmentReportsMissingParts(t *testing.T) {
	t.Setenv(testenv.ServerVariable, "")
	for want, env := range map[string]*envtest.Environment{
		"nowhere: no such file":             {CRDDirectoryPaths: []string{"nowhere"}, ErrorIfCRDPathMissing: true},
		"there is no webhook configuration": {WebhookInstallOptions: envtest.WebhookInstallOptions{Paths: []string{t.TempDir()}}},
	} {
		if _, err := env.Start(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	broken := filepath.Join(t.TempDir(), "crd.yaml")
	if err := os.WriteFile(broken, []byte("kind: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (&envtest.Environment{CRDDirectoryPaths: []string{broken}}).Start(); err == nil ||
		!strings.Contains(err.Error(), "install CRDs: ") {
		t.Errorf("got %v", err)
	}
}

func TestEnvironmentInstallsObjects(t *testing.T) {
	t.Setenv(testenv.ServerVariable, "")
	crd, hook, validating := &apiextensionsv1.CustomResourceDefinition{},
		&admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := errors.Join(yaml.Unmarshal([]byte(widgets), crd), yaml.Unmarshal([]byte(podWebhook), hook),
		yaml.Unmarshal([]byte(podWebhook), validating)); err != nil {
		t.Fatal(err)
	}
	validating.Kind, validating.Name = "", "validating" // the Go type determines the kind
	env := &envtest.Environment{
		CRDs: []*apiextensionsv1.CustomResourceDefinition{crd},
		WebhookInstallOptions: envtest.WebhookInstallOptions{
			MutatingWebhooks:   []*admissionregistrationv1.MutatingWebhookConfiguration{hook},
			ValidatingWebhooks: []*admissionregistrationv1.ValidatingWebhookConfiguration{validating},
		},
	}
	config, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	}()
	scheme := runtime.NewScheme()
	if err := errors.Join(apiextensionsv1.AddToScheme(scheme), admissionregistrationv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	live, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	got := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := live.Get(t.Context(), object.Key{Name: hook.Name}, got); err != nil ||
		got.Webhooks[0].ClientConfig.URL == nil {
		t.Errorf("got %v, %v", got, err)
	}
	if err := live.Get(t.Context(), object.Key{Name: "validating"},
		&admissionregistrationv1.ValidatingWebhookConfiguration{}); err != nil {
		t.Error(err)
	}
	if err := live.Get(t.Context(), object.KeyOf(crd), &apiextensionsv1.CustomResourceDefinition{}); err != nil {
		t.Error(err)
	}
}
