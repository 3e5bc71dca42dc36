package inmemory_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
	"github.com/kctrl-dev/kctrl/runtime/webhook"
	"github.com/kctrl-dev/kctrl/runtime/webhook/admission"
	"github.com/kctrl-dev/kctrl/testserver/fakecontrollers"
	"github.com/kctrl-dev/kctrl/testserver/inmemory"
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

func writeCRD(t *testing.T) string {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "widgets.yaml"), []byte(widgets), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestReconcilesInABubble runs a manager with a controller on the in-memory server for hours of virtual time.
func TestReconcilesInABubble(t *testing.T) {
	t.Setenv(testenv.ServerVariable, "") // a real server does not run in the bubble
	crds := writeCRD(t)
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		env := inmemory.Start(t, testenv.WithCRDs(crds))
		m, err := manager.New(env.Config, manager.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := corev1.AddToScheme(m.Scheme()); err != nil {
			t.Fatal(err)
		}
		reconciled := 0
		err = controller.For[*corev1.ConfigMap](m).Complete(reconcile.Func[reconcile.Request](func(ctx context.Context,
			r reconcile.Request) (reconcile.Result, error) {
			reconciled++
			return reconcile.Result{RequeueAfter: time.Hour}, nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
		if err := m.Live().Create(ctx, configMap); err != nil {
			t.Fatal(err)
		}
		widget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "testenv.kctrl.dev/v1", "kind": "Widget",
			"metadata": map[string]any{"namespace": "default", "name": "w"}, "spec": map[string]any{}}}
		if err := m.Live().Create(ctx, widget); err != nil {
			t.Fatal(err)
		}
		if size, _, _ := unstructured.NestedInt64(widget.Object, "spec", "size"); size != 3 {
			t.Errorf("got size %d, want the default", size)
		}
		time.Sleep(3*time.Hour + time.Minute) // virtual time
		synctest.Wait()
		if reconciled != 4 {
			t.Errorf("reconciled %d times in %v", reconciled, time.Since(start))
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestInitialObjects starts each kind of server with a CRD and initial objects.
func TestInitialObjects(t *testing.T) {
	var definition, widget unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(widgets), &definition.Object); err != nil {
		t.Fatal(err)
	}
	widget.Object = map[string]any{"apiVersion": "testenv.kctrl.dev/v1", "kind": "Widget",
		"metadata": map[string]any{"namespace": "one", "name": "w"}, "spec": map[string]any{},
		"status": map[string]any{"seen": int64(1)}}
	version := definition.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	version["subresources"] = map[string]any{"status": map[string]any{}}
	if err := unstructured.SetNestedMap(version, map[string]any{"type": "object",
		"properties": map[string]any{"seen": map[string]any{"type": "integer"}}}, "schema", "openAPIV3Schema", "properties",
		"status"); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "one"}}
	before := namespace.DeepCopy()
	env := inmemory.Start(t, testenv.WithObjects(scheme, namespace, &widget, &definition))
	if !reflect.DeepEqual(namespace, before) || widget.GetUID() != "" {
		t.Errorf("the objects were changed: %v, %v", namespace, widget)
	}
	live, err := client.New(env.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	got := widget.DeepCopy()
	if err := live.Get(t.Context(), object.KeyOf(got), got); err != nil {
		t.Fatal(err)
	}
	seen, _, _ := unstructured.NestedInt64(got.Object, "status", "seen")
	if size, _, _ := unstructured.NestedInt64(got.Object, "spec", "size"); size != 3 || seen != 1 || got.GetUID() == "" {
		t.Errorf("got %v", got)
	}
}

func TestCollectsGarbage(t *testing.T) {
	env := inmemory.Start(t)
	fakecontrollers.Start(t, env.Config, fakecontrollers.GarbageCollector)
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	live, err := client.New(env.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "owner"}}
	if err := live.Create(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	owned := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "owned",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.UID}}}}
	if err := live.Create(t.Context(), owned); err != nil {
		t.Fatal(err)
	}
	if err := live.Delete(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	testenv.AwaitGone(t.Context(), t, live, owned)
}

func TestRealServerOnRequest(t *testing.T) {
	given := filepath.Join(t.TempDir(), "kubeconfig")
	content := `{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":"http://given"}}],"contexts":[{"name":"c","context":{"cluster":"c"}}]}`
	if err := os.WriteFile(given, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(testenv.KubeconfigVariable, given)
	t.Setenv(testenv.ServerVariable, "real")
	if env := inmemory.Start(t); env.Config.Host != "http://given" {
		t.Errorf("got %s", env.Config.Host)
	}
}

const configMapHooks = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: validating-webhook-configuration}
webhooks:
- name: vconfigmap.kctrl.dev
  admissionReviewVersions: [v1]
  clientConfig: {service: {name: webhook-service, namespace: system, path: /validate--v1-configmap}}
  failurePolicy: Fail
  sideEffects: None
  timeoutSeconds: 5
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
`

// TestWebhooksInABubble checks that the server calls a manager's webhooks without a socket, and that hanging webhooks
// time out in virtual time.
func TestWebhooksInABubble(t *testing.T) {
	t.Setenv(testenv.ServerVariable, "")
	manifest := filepath.Join(t.TempDir(), "webhooks.yaml")
	if err := os.WriteFile(manifest, []byte(configMapHooks), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		env := inmemory.Start(t)
		logged := make(chan struct{}) // the server has logged the hanging webhook, so only its timeout ends the call
		m, err := manager.New(env.Config, manager.Options{Webhook: manager.WebhookOptions{Manifests: []string{manifest}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := corev1.AddToScheme(m.Scheme()); err != nil {
			t.Fatal(err)
		}
		err = webhook.For[*corev1.ConfigMap](m).WithValidator(admission.ValidatorFuncs[*corev1.ConfigMap]{
			Create: func(ctx context.Context, c *corev1.ConfigMap) (admission.Warnings, error) {
				if c.Name == "hangs" {
					<-logged
				}
				if c.Name == "bad" {
					return nil, errors.New("bad it is")
				}
				return nil, nil
			},
		}).Complete()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		synctest.Wait()
		create := func(name string) error {
			return m.Live().Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}})
		}
		if err := create("good"); err != nil {
			t.Error(err)
		}
		if err := create("bad"); err == nil || !strings.Contains(err.Error(),
			`admission webhook "vconfigmap.kctrl.dev" denied the request: `) {
			t.Errorf("got %v", err)
		}
		start := time.Now()
		if err := create("hangs"); err == nil || !strings.Contains(err.Error(), "context deadline exceeded") ||
			time.Since(start) != 5*time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		close(logged)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

const roles = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: manager-role}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: editor-role}
rules:
- {apiGroups: [""], resources: [secrets], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: election-role}
rules:
- {apiGroups: [""], resources: [secrets], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: manager-rolebinding}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: manager-role}
subjects: [{kind: ServiceAccount, name: controller-manager, namespace: system}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: election-rolebinding}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: election-role}
subjects: [{kind: ServiceAccount, name: controller-manager, namespace: system}]
`

// TestRestricted checks that the client has exactly the permissions of the bound roles.
func TestRestricted(t *testing.T) {
	manifest := filepath.Join(t.TempDir(), "role.yaml")
	if err := os.WriteFile(manifest, []byte(roles), 0o600); err != nil {
		t.Fatal(err)
	}
	env := inmemory.Start(t)
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	live, err := client.New(env.Restricted(t, manifest), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := live.List(t.Context(), &corev1.ConfigMapList{}); err != nil {
		t.Error(err)
	}
	err = live.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"}})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(),
		`cannot create resource "configmaps" in API group "" in the namespace "default"`) {
		t.Errorf("got %v", err)
	}
	if err := live.List(t.Context(), &corev1.SecretList{}); !apierrors.IsForbidden(err) {
		t.Errorf("got %v", err)
	}
	for namespace, forbidden := range map[string]bool{"default": false, "kube-system": true} {
		err := live.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "x"}})
		if apierrors.IsForbidden(err) != forbidden || err != nil && !forbidden {
			t.Errorf("%s: %v", namespace, err)
		}
	}
}
