package manager_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// grant allows a user to read a resource in the namespace.
func (c live) grant(t *testing.T, user, resource string) {
	t.Helper()
	role := &rbacv1.Role{ObjectMeta: c.meta(resource), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"get", "list", "watch"}},
	}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: c.meta(resource),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: resource},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}
	ok(t, c.Create(t.Context(), role))
	ok(t, c.Create(t.Context(), binding))
}

func testForbidden(t *testing.T, c live) {
	ok(t, c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: c.meta("a")}))
	ok(t, c.Create(t.Context(), &corev1.Secret{ObjectMeta: c.meta("s")}))
	c.grant(t, "limited", "configmaps")
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "limited"}
	m, log := c.newManager(t, config, manager.Options{HealthProbeBindAddress: loopback})
	configMaps, secrets := reconciles[*corev1.ConfigMap](t, m), reconciles[*corev1.Secret](t, m)
	start(t, m)
	await(t, configMaps, "a")
	log.wait(t, "forbidden", "secrets") // logged by the informer, which runs before the controllers
	log.wait(t, "waiting for sources", "controller=secret", "resources=secrets,verbs=get;list;watch")
	code, body := get(t, log.url(t, "probes")+"/readyz")
	if code != http.StatusInternalServerError {
		t.Errorf("got %d", code)
	}
	lines := strings.Split(body, "\n")
	if len(lines) != 3 || lines[0] != "[+] configmap" {
		t.Fatalf("got %q", body)
	}
	contains(t, lines[1], "[-] secret: kind Secret has not synced: ", `User "limited" cannot `,
		`+kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch`)
	ok(t, c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: c.meta("b")}))
	await(t, configMaps, "b")
	c.grant(t, "limited", "secrets")
	await(t, secrets, "s")
	wantAnswer(t, log.url(t, "probes")+"/readyz", 200, "ok\n")
}

// gadget is an object of a kind whose CRD is installed while the manager runs.
type gadget struct {
	metav1.TypeMeta
	metav1.ObjectMeta `json:"metadata"`
}

func (g *gadget) DeepCopyObject() kruntime.Object {
	return &gadget{g.TypeMeta, *g.ObjectMeta.DeepCopy()}
}

// gadgetList is a list of gadgets.
type gadgetList struct {
	metav1.TypeMeta
	metav1.ListMeta `json:"metadata"`
	Items           []gadget `json:"items"`
}

func (l *gadgetList) DeepCopyObject() kruntime.Object {
	list := &gadgetList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for _, g := range l.Items {
		list.Items = append(list.Items, *g.DeepCopyObject().(*gadget))
	}
	return list
}

// addGadgets adds the kind Gadget to the scheme of m.
func addGadgets(m *manager.Manager) {
	version := schema.GroupVersion{Group: "manager.test.kctrl.dev", Version: "v1"}
	m.Scheme().AddKnownTypeWithName(version.WithKind("Gadget"), &gadget{})
	m.Scheme().AddKnownTypeWithName(version.WithKind("GadgetList"), &gadgetList{})
}

// gadgetCRD is the CRD of gadgets.
func gadgetCRD() *unstructured.Unstructured {
	names := map[string]any{"kind": "Gadget", "listKind": "GadgetList", "plural": "gadgets", "singular": "gadget"}
	version := map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{
		"openAPIV3Schema": map[string]any{"type": "object"},
	}}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "gadgets.manager.test.kctrl.dev"},
		"spec": map[string]any{
			"group": "manager.test.kctrl.dev", "scope": "Namespaced", "names": names, "versions": []any{version},
		},
	}}
}

func testMissingCRD(t *testing.T, c live) {
	ok(t, c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: c.meta("a")}))
	m, log := c.newManager(t, c.config, manager.Options{HealthProbeBindAddress: loopback})
	addGadgets(m)
	configMaps, gadgets := reconciles[*corev1.ConfigMap](t, m), reconciles[*gadget](t, m)
	start(t, m)
	await(t, configMaps, "a")
	log.wait(t, "waiting for sources", "controller=gadget", "its CRD is not installed")
	code, body := get(t, log.url(t, "probes")+"/readyz")
	if code != http.StatusInternalServerError {
		t.Errorf("got %d", code)
	}
	contains(t, body, "[+] configmap\n[-] gadget: kind Gadget.manager.test.kctrl.dev has not synced: ",
		"its CRD is not installed")

	ok(t, c.Create(t.Context(), gadgetCRD()))
	ok(t, eventually(t, func() error {
		return m.Live().Create(t.Context(), &gadget{ObjectMeta: c.meta("g")})
	}))
	await(t, gadgets, "g")
	wantAnswer(t, log.url(t, "probes")+"/readyz", 200, "ok\n")

	key := object.Key{Namespace: c.namespace, Name: "g"}
	ok(t, c.Delete(t.Context(), gadgetCRD()))
	ok(t, eventually(t, func() error {
		if err := m.Client().Get(t.Context(), key, &gadget{}); !meta.IsNoMatchError(err) {
			return fmt.Errorf("a read of a kind without a CRD: %w", err)
		}
		return nil
	}))
	for len(gadgets) > 0 {
		<-gadgets
	}
	ok(t, eventually(t, func() error { return c.Create(t.Context(), gadgetCRD()) }))
	ok(t, eventually(t, func() error {
		return c.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "manager.test.kctrl.dev/v1", "kind": "Gadget", "metadata": map[string]any{"namespace": c.namespace,
				"name": "h"},
		}})
	}))
	await(t, gadgets, "h")
	ok(t, m.Client().Get(t.Context(), object.Key{Namespace: c.namespace, Name: "h"}, &gadget{}))
	if got := strings.Count(log.String(), `level=WARN msg="out of step`); got > 10 {
		t.Errorf("%d warnings:\n%s", got, log)
	}
}

// eventually repeats try until it succeeds or a minute has passed.
func eventually(t *testing.T, try func() error) error {
	t.Helper()
	tick, timeout := time.NewTicker(100*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-timeout:
			return err
		}
	}
}

// token returns a bearer token of a new service account.
func (c live) token(t *testing.T, name string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: c.meta(name)}
	ok(t, c.Create(t.Context(), account))
	request := &authenticationv1.TokenRequest{}
	ok(t, c.SubResource("token").Create(t.Context(), account, request))
	return request.Status.Token
}

func testSecureMetrics(t *testing.T, c live) {
	name := "metrics-reader-" + c.namespace
	ok(t, c.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}},
	}}))
	ok(t, c.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: c.namespace, Name: "prometheus"}},
	}))
	m, log := c.newManager(t, c.config, manager.Options{Metrics: manager.MetricsOptions{BindAddress: loopback}})
	start(t, m)
	for token, want := range map[string]int{
		c.token(t, "prometheus"): http.StatusOK,
		c.token(t, "somebody"):   http.StatusForbidden,
		"made-up":                http.StatusUnauthorized,
	} {
		if code, body, _ := scrape(t, log.url(t, "metrics"), "Bearer "+token); code != want {
			t.Errorf("got %d %.80s, want %d", code, body, want)
		}
	}
}
