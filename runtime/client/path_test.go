package client_test

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

func TestNamesThatWouldAddressAnotherThingAreRefused(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{FieldOwner: "me"})
	patch := client.RawPatch(types.MergePatchType, nil)
	for _, hostile := range []string{"..", ".", "a/b", "../../secrets/x", "a%2fb", "/"} {
		ctx, named, placed := t.Context(), configMap(hostile), configMap("a")
		placed.Namespace = hostile
		for what, err := range map[string]error{
			"get":              c.Get(ctx, object.KeyOf(named), configMap("")),
			"get in":           c.Get(ctx, object.KeyOf(placed), configMap("")),
			"create in":        c.Create(ctx, placed),
			"update":           c.Update(ctx, named),
			"patch":            c.Patch(ctx, named, patch),
			"apply":            c.Apply(ctx, placed),
			"delete":           c.Delete(ctx, named),
			"delete all in":    c.DeleteAllOf(ctx, named, client.InNamespace(hostile)),
			"list in":          c.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(hostile)),
			"subresource":      c.SubResource(hostile).Update(ctx, configMap("a")),
			"subresource get":  c.SubResource(hostile).Get(ctx, configMap("a"), configMap("")),
			"subresource of":   c.Status().Update(ctx, named),
			"patched resource": c.SubResource(hostile).Patch(ctx, configMap("a"), patch),
			"applied resource": c.SubResource(hostile).Apply(ctx, configMap("a")),
			"posted resource":  c.SubResource(hostile).Create(ctx, configMap("a"), configMap("")),
		} {
			if err == nil || !strings.Contains(err.Error(), "invalid name") {
				t.Errorf("%s %q: got %v", what, hostile, err)
			}
		}
		lw, err := client.NewListWatcher(c, configMap(""), client.Scope{Namespace: hostile})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lw.List(t.Context(), metav1.ListOptions{}); err == nil || !strings.Contains(err.Error(), "invalid name") {
			t.Errorf("list in %q: got %v", hostile, err)
		}
	}
	if took := s.took(); len(took) > 0 {
		t.Errorf("requests were sent: %v", took)
	}
}

func TestUnusualNamesAreEscaped(t *testing.T) {
	for name, want := range map[string]string{
		"system:node:a": "/system:node:a",
		"what?x=y":      "/what%3Fx=y",
		"a#b":           "/a%23b",
		"a b":           "/a%20b",
		"ä":             "/%C3%A4",
		"...":           "/...",
	} {
		s := newServer()
		c := connect(t, s, client.Options{})
		if err := c.Get(t.Context(), object.Key{Namespace: "default", Name: name}, configMap("")); !apierrors.IsNotFound(err) {
			t.Errorf("%q: got %v", name, err)
		}
		if got := s.last(t).what; got != "GET /api/v1/namespaces/default/configmaps"+want {
			t.Errorf("%q: got %s", name, got)
		}
	}
}

func TestKeyMustFitTheScopeOfTheKind(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{FieldOwner: "me"})
	ctx := t.Context()
	nowhere, placed := configMap("a"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", Namespace: "x"}}
	nowhere.Namespace = ""
	for want, err := range map[string]error{
		"get ConfigMap a: ConfigMap is namespaced: the namespace is missing":                       c.Get(ctx, object.Key{Name: "a"}, nowhere),
		"create ConfigMap a: ConfigMap is namespaced: the namespace is missing":                    c.Create(ctx, nowhere),
		"apply ConfigMap a: ConfigMap is namespaced: the namespace is missing":                     c.Apply(ctx, nowhere),
		"delete all ConfigMap: ConfigMap is namespaced: the namespace is missing":                  c.DeleteAllOf(ctx, nowhere),
		"get ConfigMap default: the name of the ConfigMap is missing":                              c.Get(ctx, object.Key{Namespace: "default"}, nowhere),
		"delete all namespaces in x: Namespace is cluster-scoped: it cannot be in namespace \"x\"": c.DeleteAllOf(ctx, placed, client.InNamespace("x")),
		"the name of the subresource is missing":                                                   c.SubResource("").Update(ctx, configMap("a")),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if took := s.took(); len(took) > 0 {
		t.Errorf("requests were sent: %v", took)
	}
}

func TestServerMayBeBelowAPath(t *testing.T) {
	s := newServer()
	s.says("GET /clusters/one/api/v1", resources("v1", "ConfigMap/configmaps/configmap"))
	s.says("GET /clusters/one/api/v1/namespaces/default/configmaps/a", foundA)
	c, err := client.New(&rest.Config{Host: "https://server/clusters/one/", UserAgent: "tester"}, client.Options{Scheme: newScheme(t), HTTPClient: &http.Client{Transport: s}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), keyA, configMap("")); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.took() {
		if r.header.Get("User-Agent") != "tester" || r.header.Get("Accept") != "application/json" {
			t.Errorf("%s has the header %v", r.what, r.header)
		}
	}
}

func TestDefaultUserAgentNamesTheProgram(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{})
	s.says(getA, foundA)
	if err := c.Get(t.Context(), keyA, configMap("")); err != nil {
		t.Fatal(err)
	}
	if got := s.last(t).header.Get("User-Agent"); got != rest.DefaultKubernetesUserAgent() {
		t.Errorf("got %q", got)
	}
}
