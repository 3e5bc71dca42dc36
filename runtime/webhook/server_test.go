package webhook_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
	"github.com/kctrl-dev/kctrl/runtime/webhook"
	"github.com/kctrl-dev/kctrl/runtime/webhook/admission"
	"github.com/kctrl-dev/kctrl/runtime/webhook/conversion"
	"github.com/kctrl-dev/kctrl/testserver/inmemory"
)

// TestOnAServer tests webhooks as an API server calls them. All subtests share one API server. The in-memory server
// calls the webhooks without a network.
func TestOnAServer(t *testing.T) {
	env := inmemory.Start(t, testenv.WithCRDs(writeFile(t, "crd.yaml", crdStoring("v1"))))
	t.Run("Admission", func(t *testing.T) { testAdmission(t, env) })
	t.Run("Selection", func(t *testing.T) { testSelection(t, env) })
	t.Run("Conversion", func(t *testing.T) { testConversion(t, env) })
	t.Run("Lifetime", func(t *testing.T) { testLifetime(t, env) })
	t.Run("NothingIsLeftBehind", func(t *testing.T) { testRemoved(t, env) })
}

// testLifetime checks the certificate of an operator whose options set the lifetime.
func testLifetime(t *testing.T, env *testenv.Env) {
	live, err := client.New(env.Config, client.Options{Scheme: newScheme()})
	if err != nil {
		t.Fatal(err)
	}
	target := &unstructured.Unstructured{Object: map[string]any{"webhooks": []any{map[string]any{
		"name": "v.example.com", "admissionReviewVersions": []any{"v1"}, "sideEffects": "None",
		"clientConfig": map[string]any{"url": "https://127.0.0.1:1/none"},
	}}}}
	target.SetGroupVersionKind(schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1",
		Kind: "ValidatingWebhookConfiguration"})
	target.SetName("lifetime")
	if err := live.Create(t.Context(), target); err != nil {
		t.Fatal(err)
	}
	const lifetime = 36 * time.Hour
	m, err := manager.New(env.Config, manager.Options{
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Webhook: manager.WebhookOptions{
			BindAddress: "127.0.0.1:0", Targets: []string{"validating/lifetime"}, Secret: "lifetime", SecretNamespace: "default",
			CertLifetime: lifetime,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	webhooks, err := m.Webhooks()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})
	await(t, webhooks.Ready)
	conn, err := tls.Dial("tcp", webhooks.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	served := conn.ConnectionState().PeerCertificates[0]
	if left := time.Until(served.NotAfter); left > lifetime || left < lifetime-time.Hour {
		t.Errorf("the certificate is valid for %s", left)
	}
}

// testRemoved checks that the configurations that managers of the other tests installed no longer exist.
func testRemoved(t *testing.T, env *testenv.Env) {
	live, err := client.New(env.Config, client.Options{Scheme: newScheme()})
	if err != nil {
		t.Fatal(err)
	}
	for name, kind := range map[string]string{
		"mutating-webhook-configuration":   "MutatingWebhookConfiguration",
		"validating-webhook-configuration": "ValidatingWebhookConfiguration",
		"selecting":                        "ValidatingWebhookConfiguration",
	} {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: kind})
		if err := live.Get(t.Context(), object.Key{Name: name}, u); !apierrors.IsNotFound(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1",
		Kind: "CustomResourceDefinition"})
	if err := live.Get(t.Context(), object.Key{Name: "guestbooks.webapp.example.com"}, definition); err != nil {
		t.Fatal(err)
	}
	if strategy, _, _ := unstructured.NestedString(definition.Object, "spec", "conversion",
		"strategy"); strategy != "None" {
		t.Errorf("the CRD converts by %s", strategy)
	}
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// crdStoring returns the CRD with the given version as the stored version.
func crdStoring(version string) string {
	stored := map[bool]string{true: "true", false: "false"}
	return strings.NewReplacer("STORED_V1", stored[version == "v1"], "STORED_V2", stored[version == "v2"]).Replace(crd)
}

// run runs a manager with webhooks until the test ends. It returns once each of calls returns nil, that is, once the
// API server calls the webhooks.
func run(t *testing.T, config *rest.Config, opts manager.Options, setup func(*manager.Manager) error,
	calls ...func(context.Context, *manager.Manager) error) {
	t.Helper()
	opts.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
	m, err := manager.New(config, opts)
	if err != nil {
		t.Fatal(err)
	}
	addTo(m.Scheme())
	if err := setup(m); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})
	await(t, func() error {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the manager ended: %v", err)
		default:
		}
		for _, called := range calls {
			if err := called(t.Context(), m); err != nil {
				return err
			}
		}
		return nil
	})
}

// defaulted returns nil if the API server calls the defaulter, which it checks with a dry run.
func defaulted(ctx context.Context, m *manager.Manager) error {
	probe := &guestbookV1{ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: "default"}}
	if err := m.Live().Create(ctx, probe, client.DryRunAll); err != nil {
		return err
	}
	if probe.Spec.Replicas == nil {
		return errors.New("the API server does not call the defaulter")
	}
	return nil
}

// validated returns nil if the API server calls the validator. The validator's configuration is installed after the
// defaulter's.
func validated(ctx context.Context, m *manager.Manager) error {
	err := m.Live().Create(ctx, &guestbookV1{ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: "default"},
		Spec: specV1{Message: "bad"}}, client.DryRunAll)
	if !apierrors.IsInvalid(err) {
		return fmt.Errorf("the API server does not call the validator: %v", err)
	}
	return nil
}

// warnings collects the warnings that the API server sends.
type warnings struct {
	mu  sync.Mutex
	all []string
}

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, text)
}

func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.all
	w.all = nil
	return all
}

func defaultReplicas(_ context.Context, g *guestbookV1) error {
	if g.Spec.Replicas == nil {
		g.Spec.Replicas = new(int32(3))
	}
	return nil
}

// validator rejects one message, and rejects some updates and deletions because of the old object.
var validator = admission.ValidatorFuncs[*guestbookV1]{
	Create: func(_ context.Context, g *guestbookV1) (admission.Warnings, error) {
		if g.Spec.Message == "bad" {
			return nil, field.Invalid(field.NewPath("spec", "message"), g.Spec.Message, "it is bad")
		}
		if g.Spec.Message == "" {
			return admission.Warnings{"a guestbook without a message is dull"}, nil
		}
		return nil, nil
	},
	Update: func(_ context.Context, oldObj, newObj *guestbookV1) (admission.Warnings, error) {
		if oldObj.Spec.Message == "fixed" && newObj.Spec.Message != "fixed" {
			return nil, errors.New("the message is fixed")
		}
		return admission.Warnings{"updated"}, nil
	},
	Delete: func(ctx context.Context, g *guestbookV1) (admission.Warnings, error) {
		req, err := admission.RequestFromContext(ctx)
		if err != nil {
			return nil, err
		}
		if g.Labels["keep"] != "" {
			return admission.Warnings{"asked by " + req.UserInfo.Username}, errors.New("it is to be kept")
		}
		return nil, nil
	},
}

func testAdmission(t *testing.T, env *testenv.Env) {
	run(t, env.Config, manager.Options{
		Webhook: manager.WebhookOptions{Manifests: []string{writeFile(t, "manifests.yaml", configurations)}},
	}, func(m *manager.Manager) error {
		return webhook.For[*guestbookV1](m).WithDefaulter(admission.DefaulterFunc[*guestbookV1](
			defaultReplicas)).WithValidator(validator).Complete()
	}, defaulted, validated)
	var shown warnings
	config := rest.CopyConfig(env.Config)
	config.WarningHandler = &shown
	live, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()

	// A field that the Go type does not have, and a zero value that the user wrote, must survive the defaulter.
	u := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"message": "", "newer": "unknown to Go", "tags": map[string]any{}},
	}}
	u.SetGroupVersionKind(v1GVK)
	u.SetName("first")
	u.SetNamespace("default")
	if err := live.Create(ctx, u); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"message": "", "newer": "unknown to Go", "tags": map[string]any{}, "replicas": int64(3)}
	if got := u.Object["spec"]; !reflect.DeepEqual(got, want) {
		t.Errorf("created %v, want %v", got, want)
	}
	if got := shown.take(); !reflect.DeepEqual(got, []string{"a guestbook without a message is dull"}) {
		t.Errorf("create shows the warnings %q", got)
	}

	err = live.Create(ctx, &guestbookV1{ObjectMeta: metav1.ObjectMeta{Name: "bad", Namespace: "default"},
		Spec: specV1{Message: "bad"}})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), `spec.message: Invalid value: "bad": it is bad`) {
		t.Errorf("create of what is bad: %v", err)
	}

	g := &guestbookV1{ObjectMeta: metav1.ObjectMeta{Name: "second", Namespace: "default",
		Labels: map[string]string{"keep": "yes"}}, Spec: specV1{Message: "fixed"}}
	if err := live.Create(ctx, g); err != nil {
		t.Fatal(err)
	}
	g.Spec.Message = "other"
	if err := live.Update(ctx, g); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "the message is fixed") {
		t.Errorf("update of what is fixed: %v", err)
	}
	shown.take()
	if err := live.Delete(ctx, g); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "it is to be kept") {
		t.Errorf("delete of what is kept: %v", err)
	}
	if got := shown.take(); len(got) != 1 || !strings.HasPrefix(got[0], "asked by ") {
		t.Errorf("delete shows the warnings %q", got)
	}
	g.Spec.Message = "fixed"
	g.Labels = nil
	if err := live.Update(ctx, g); err != nil {
		t.Fatal(err)
	}
	if err := live.Delete(ctx, g); err != nil {
		t.Error(err)
	}
}

// selecting contains three webhooks for one kind, each of which selects some of the requests.
const selecting = `---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: selecting}
webhooks:
- name: labelled.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: webhook-service, namespace: system, path: /labelled}}
  objectSelector: {matchLabels: {ask: "yes"}}
  rules:
  - {apiGroups: [webapp.example.com], apiVersions: [v1], operations: [CREATE], resources: [guestbooks]}
- name: matching.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: webhook-service, namespace: system, path: /matching}}
  matchConditions:
  - {name: message, expression: 'has(object.spec.message) && object.spec.message == "ask"'}
  rules:
  - {apiGroups: [webapp.example.com], apiVersions: [v1], operations: [CREATE], resources: [guestbooks]}
- name: status.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: webhook-service, namespace: system, path: /status}}
  rules:
  - {apiGroups: [webapp.example.com], apiVersions: [v1], operations: [UPDATE], resources: [guestbooks/status]}
`

// testSelection registers several webhooks for one kind. The API server may call only the matching ones.
func testSelection(t *testing.T, env *testenv.Env) {
	mutating, _, _ := strings.Cut(strings.TrimPrefix(configurations, "---\n"), "---\n")
	run(t, env.Config, manager.Options{
		Webhook: manager.WebhookOptions{Manifests: []string{writeFile(t, "manifests.yaml", mutating+selecting)}},
	}, func(m *manager.Manager) error {
		err := webhook.For[*guestbookV1](m).WithDefaulter(admission.DefaulterFunc[*guestbookV1](defaultReplicas)).Complete()
		for _, path := range []string{"/labelled", "/matching", "/status"} {
			handler := admission.HandlerFunc(func(_ context.Context, r *admission.Request) admission.Response {
				return admission.Allowed("").WithWarnings(strings.TrimSpace(fmt.Sprintf("%s %s dry=%t %s", path, r.Operation,
					r.IsDryRun(), r.SubResource)))
			})
			err = errors.Join(err, webhook.For[*guestbookV1](m).WithValidatePath(path).WithValidatingHandler(handler).Complete())
		}
		return err
	}, defaulted)
	var shown warnings
	config := rest.CopyConfig(env.Config)
	config.WarningHandler = &shown
	live, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		t.Fatal(err)
	}
	newGuestbook := func(name, message string, labels map[string]string) *guestbookV1 {
		return &guestbookV1{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: labels},
			Spec: specV1{Message: message}}
	}
	stored := newGuestbook("stored", "text", nil)
	yes := map[string]string{"ask": "yes"}
	await(t, func() error { // the API server applies the webhooks a moment after it has stored them
		if err := live.Create(t.Context(), newGuestbook("probe", "ask", yes), client.DryRunAll); err != nil {
			return err
		}
		if got := shown.take(); len(got) != 2 {
			return fmt.Errorf("the API server asks %q", got)
		}
		return nil
	})
	for _, c := range []struct {
		what string
		do   func(ctx context.Context) error
		want []string
	}{
		{"nothing that is asked about", func(ctx context.Context) error { return live.Create(ctx, stored) }, nil},
		{"a label", func(ctx context.Context) error { return live.Create(ctx, newGuestbook("labelled", "text", yes)) },
			[]string{"/labelled CREATE dry=false"}},
		{"a condition", func(ctx context.Context) error { return live.Create(ctx, newGuestbook("matching", "ask", nil)) },
			[]string{"/matching CREATE dry=false"}},
		{"both, dry", func(ctx context.Context) error {
			return live.Create(ctx, newGuestbook("both", "ask", yes), client.DryRunAll)
		}, []string{"/labelled CREATE dry=true", "/matching CREATE dry=true"}},
		{"the object of a subresource", func(ctx context.Context) error { return live.Update(ctx, stored) }, nil},
		{"a subresource", func(ctx context.Context) error { return live.Status().Update(ctx, stored) },
			[]string{"/status UPDATE dry=false status"}},
	} {
		if err := c.do(t.Context()); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		got := shown.take()
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: asked %q, want %q", c.what, got, c.want)
		}
	}
	for _, name := range []string{"stored", "labelled", "matching"} {
		if err := live.Delete(t.Context(), newGuestbook(name, "", nil)); err != nil {
			t.Error(err)
		}
	}
}

func fromV2(_ context.Context, hub *guestbookV2, spoke *guestbookV1) error {
	spoke.Spec = specV1{Message: hub.Spec.Text.Body, Replicas: hub.Spec.Replicas, Tags: hub.Spec.Tags}
	return conversion.Keep(spoke, hub.Spec.Text.Style)
}

func toV2(_ context.Context, spoke *guestbookV1, hub *guestbookV2) error {
	if spoke.Spec.Message == "cannot be converted" {
		return errors.New("there is no such text in v2")
	}
	hub.Spec = specV2{Text: text{Body: spoke.Spec.Message}, Replicas: spoke.Spec.Replicas, Tags: spoke.Spec.Tags}
	return conversion.Restore(spoke, &hub.Spec.Text.Style)
}

// testConversion converts between two served versions, and migrates stored objects from the old version to the new one.
func testConversion(t *testing.T, env *testenv.Env) {
	run(t, env.Config, manager.Options{
		Webhook: manager.WebhookOptions{Manifests: []string{writeFile(t, "manifests.yaml", configurations)}},
	}, func(m *manager.Manager) error {
		return errors.Join(
			webhook.For[*guestbookV1](m).WithDefaulter(admission.DefaulterFunc[*guestbookV1](defaultReplicas)).WithValidator(
				validator).Complete(),
			webhook.For[*guestbookV2](m).WithSpokes(conversion.NewSpoke(fromV2, toV2)).Complete(),
		)
	}, defaulted, validated)
	live, err := client.New(env.Config, client.Options{Scheme: newScheme()})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	old := &guestbookV1{ObjectMeta: metav1.ObjectMeta{Name: "old", Namespace: "default"}, Spec: specV1{Message: "hello"}}
	if err := live.Create(ctx, old); err != nil {
		t.Fatal(err)
	}
	// The API server learns about the converter by a watch. Until then it changes only the version.
	key := object.Key{Namespace: "default", Name: "old"}
	current := &guestbookV2{}
	await(t, func() error {
		*current = guestbookV2{}
		err := live.Get(ctx, key, current)
		if err == nil && (current.Spec.Text.Body != "hello" || *current.Spec.Replicas != 3) {
			err = fmt.Errorf("as v2 it is %+v", current.Spec)
		}
		return err
	})
	// Fields that v1 does not have survive an update by a client that uses v1.
	current.Spec.Text.Style = "bold"
	if err := live.Update(ctx, current); err != nil {
		t.Fatal(err)
	}
	if err := live.Get(ctx, key, old); err != nil {
		t.Fatal(err)
	}
	old.Spec.Message = "good bye"
	if err := live.Update(ctx, old); err != nil {
		t.Fatal(err)
	}
	if err := live.Get(ctx, key, current); err != nil {
		t.Fatal(err)
	}
	if current.Spec.Text != (text{"good bye", "bold"}) || len(current.Annotations) > 0 {
		t.Errorf("as v2 it is %+v with annotations %v", current.Spec.Text, current.Annotations)
	}

	// The error of a list names the object that cannot be converted.
	stuck := &guestbookV1{ObjectMeta: metav1.ObjectMeta{Name: "stuck", Namespace: "default"},
		Spec: specV1{Message: "cannot be converted"}}
	if err := live.Create(ctx, stuck); err != nil {
		t.Fatal(err)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: v2GVK.Group, Version: "v2", Kind: "GuestbookList"})
	err = live.List(ctx, list)
	if err == nil || !strings.Contains(err.Error(), "webapp.example.com/v1 Guestbook default/stuck: there is no such "+
		"text in v2") {
		t.Errorf("list with one that cannot be converted: %v", err)
	}
	if err := live.Delete(ctx, stuck); err != nil {
		t.Fatal(err)
	}

	// Migrate the storage: from now on v2 is stored, and each object is written once.
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1",
		Kind: "CustomResourceDefinition"})
	if err := live.Get(ctx, object.Key{Name: "guestbooks.webapp.example.com"}, definition); err != nil {
		t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, v := range versions {
		version := v.(map[string]any)
		version["storage"] = version["name"] == "v2"
	}
	if err := unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	if err := live.Update(ctx, definition); err != nil {
		t.Fatal(err)
	}
	if err := live.List(ctx, list); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if err := live.Update(ctx, &list.Items[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := live.Get(ctx, object.Key{Name: definition.GetName()}, definition); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedStringSlice(definition.Object, []string{"v2"}, "status",
		"storedVersions"); err != nil {
		t.Fatal(err)
	}
	if err := live.Status().Update(ctx, definition); err != nil {
		t.Fatal(err)
	}
	if err := live.Get(ctx, key, old); err != nil {
		t.Fatal(err)
	}
	if old.Spec.Message != "good bye" {
		t.Errorf("after the migration v1 reads %+v", old.Spec)
	}
}

// await repeats do until it returns no error.
func await(t *testing.T, do func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var last error
	if err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) {
		last = do()
		return last == nil, nil
	}); err != nil {
		t.Fatal(last)
	}
}
