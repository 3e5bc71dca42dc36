package client_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

func testPreconditions(t *testing.T, c live) {
	cm := c.create(t, "a")[0]
	other, old := types.UID("another"), "1"
	for _, wrong := range []client.Preconditions{{UID: &other}, {ResourceVersion: &old}} {
		if err := c.Delete(t.Context(), cm, wrong); !apierrors.IsConflict(err) {
			t.Errorf("got %v", err)
		}
	}
	ok(t, c.Delete(t.Context(), cm, client.Preconditions{UID: &cm.UID, ResourceVersion: &cm.ResourceVersion}, client.PropagationPolicy(metav1.DeletePropagationBackground)))
}

func testDeleteAllOf(t *testing.T, c live) {
	c.create(t, "a", "b", "c")
	in := client.InNamespace(c.namespace)
	list := &corev1.ConfigMapList{}
	for _, step := range []struct {
		opts []client.DeleteAllOfOption
		left int
	}{
		{[]client.DeleteAllOfOption{in, client.DryRunAll}, 3},
		{[]client.DeleteAllOfOption{in, client.MatchingLabels{"name": "b"}}, 2},
		{[]client.DeleteAllOfOption{in, client.GracePeriodSeconds(0)}, 0},
	} {
		ok(t, c.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, step.opts...))
		ok(t, c.List(t.Context(), list, in))
		if len(list.Items) != step.left {
			t.Errorf("%v leaves %d", step.opts, len(list.Items))
		}
	}
}

func testValidationAndDryRun(t *testing.T, c live) {
	u := untyped("v1", "ConfigMap", c.namespace, "a")
	u.Object["unknown"] = "x"
	if err := c.Create(t.Context(), u, client.FieldValidation("Strict")); !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "unknown") {
		t.Errorf("got %v", err)
	}
	ok(t, c.Create(t.Context(), u, client.DryRunAll, client.FieldValidation("Ignore")))
	if err := c.Get(t.Context(), c.key("a"), u); !apierrors.IsNotFound(err) {
		t.Errorf("a dry run was stored: %v", err)
	}
}

func testForbidden(t *testing.T, c live) {
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
	nobody, err := client.New(config, client.Options{Scheme: newScheme(t)})
	ok(t, err)
	lw, err := client.NewListWatcher(nobody, &corev1.ConfigMap{}, client.Scope{Namespace: c.namespace})
	ok(t, err)
	_, watched := lw.Watch(t.Context(), metav1.ListOptions{})
	for verb, err := range map[string]error{
		"get":    nobody.Get(t.Context(), c.key("a"), c.configMap("")),
		"create": nobody.Create(t.Context(), c.configMap("a")),
		"watch":  watched,
	} {
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `User "nobody" cannot `+verb+` resource "configmaps"`) {
			t.Errorf("got %v", err)
		}
	}
}

// next returns the next event that is no bookmark, as "ADDED a".
func next[T object.Object](t *testing.T, events client.Stream[T]) string {
	t.Helper()
	for {
		event, err := events.Next()
		ok(t, err)
		if event.Type != watch.Bookmark {
			return string(event.Type) + " " + event.Object.GetName()
		}
	}
}

func testWatch(t *testing.T, c live) {
	c.create(t, "a")
	lw, err := client.NewListWatcher(c.REST, &corev1.ConfigMap{}, client.Scope{Namespace: c.namespace, Labels: labels.Set{"name": "b"}.AsSelector()})
	ok(t, err)
	page, err := lw.List(t.Context(), metav1.ListOptions{})
	ok(t, err)
	if len(page.Items) != 0 {
		t.Errorf("got %v", page.Items)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	events, err := lw.Watch(ctx, metav1.ListOptions{ResourceVersion: page.ResourceVersion, AllowWatchBookmarks: true})
	ok(t, err)
	b := c.create(t, "b", "c")[0]
	b.Data = map[string]string{"x": "y"}
	ok(t, c.Update(ctx, b))
	ok(t, c.Delete(ctx, b))
	for _, want := range []string{"ADDED b", "MODIFIED b", "DELETED b"} {
		if got := next(t, events); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	cancel()
	if _, err := events.Next(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	short, err := lw.Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: new(int64(1))})
	ok(t, err)
	for err == nil {
		_, err = short.Next()
	}
	if err != io.EOF {
		t.Errorf("a watch that has timed out ends with %v", err)
	}
}

func testStreamingList(t *testing.T, c live) {
	c.create(t, "a", "b")
	lw, err := client.NewListWatcher[object.Object](c.REST, metadataOf(""), client.Scope{Namespace: c.namespace})
	ok(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	events, err := lw.Watch(ctx, metav1.ListOptions{SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	ok(t, err)
	defer events.Close()
	seen := map[string]bool{}
	for {
		event, err := events.Next()
		ok(t, err)
		if event.InitialEventsEnd {
			if event.ResourceVersion == "" {
				t.Error("the bookmark has no version")
			}
			break
		}
		if event.Type != watch.Added || event.Object.GetObjectKind().GroupVersionKind().Kind != "ConfigMap" {
			t.Errorf("got %v", event)
			continue
		}
		seen[event.Object.GetName()] = true
	}
	if !seen["a"] || !seen["b"] || len(seen) != 2 {
		t.Errorf("got %v", seen)
	}
}

func testPages(t *testing.T, c live) {
	c.create(t, "a", "b", "c")
	typed, err := client.NewListWatcher(c.REST, &corev1.ConfigMap{}, client.Scope{Namespace: c.namespace})
	ok(t, err)
	plain, err := client.NewListWatcher(c.REST, untyped("v1", "ConfigMap", "", ""), client.Scope{Namespace: c.namespace})
	ok(t, err)
	partial, err := client.NewListWatcher(c.REST, metadataOf(""), client.Scope{Namespace: c.namespace})
	ok(t, err)
	pagesOf(t, typed)
	pagesOf(t, plain)
	pagesOf(t, partial)
}

// pagesOf lists a, b and c in two pages.
func pagesOf[T object.Object](t *testing.T, lw *client.ListWatcher[T]) {
	t.Helper()
	first, err := lw.List(t.Context(), metav1.ListOptions{Limit: 2})
	ok(t, err)
	second, err := lw.List(t.Context(), metav1.ListOptions{Limit: 2, Continue: first.Continue})
	ok(t, err)
	got := strings.Join(append(names(first), names(second)...), "")
	if got != "abc" || len(second.Items) != 1 || second.Continue != "" || first.ResourceVersion == "" || first.ResourceVersion != second.ResourceVersion {
		t.Errorf("got %s in %v and %v", got, first, second)
	}
}

// gadgetCRD is the CustomResourceDefinition of Gadget, with a status.
func gadgetCRD() *unstructured.Unstructured {
	crd := untyped("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "gadgets.example.com")
	crd.Object["spec"] = map[string]any{
		"group": "example.com",
		"scope": "Namespaced",
		"names": map[string]any{"kind": "Gadget", "listKind": "GadgetList", "plural": "gadgets", "singular": "gadget"},
		"versions": []any{map[string]any{
			"name": "v1", "served": true, "storage": true,
			"subresources": map[string]any{"status": map[string]any{}},
			"schema":       map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
		}},
	}
	return crd
}

// eventually tries until what is no error, or a minute is over.
func eventually(t *testing.T, try func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pause := time.NewTicker(50 * time.Millisecond)
	defer pause.Stop()
	for {
		err := try(ctx)
		if err == nil {
			return
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}

func testCustomResource(t *testing.T, c live) {
	u := untyped("example.com/v1", "Gadget", c.namespace, "g")
	if err := c.Create(t.Context(), u); !meta.IsNoMatchError(err) {
		t.Fatalf("got %v", err)
	}
	crd := gadgetCRD()
	ok(t, c.Create(t.Context(), crd))
	eventually(t, func(ctx context.Context) error { return c.Create(ctx, u) })
	mapping, err := c.RESTMapper().RESTMapping(gadgetKind)
	if err != nil || mapping.Resource != gadgets.WithResource("gadgets") {
		t.Errorf("got %v, %v", mapping, err)
	}
	u.Object["status"], u.Object["spec"] = map[string]any{"ready": true}, map[string]any{"lost": true}
	ok(t, c.Status().Update(t.Context(), u))
	if ready, _, _ := unstructured.NestedBool(u.Object, "status", "ready"); !ready || u.Object["spec"] != nil {
		t.Errorf("got %v", u)
	}
	list := listOf(untyped("example.com/v1", "GadgetList", "", ""))
	ok(t, c.List(t.Context(), list, client.InNamespace(c.namespace)))
	if len(list.Items) != 1 || list.Items[0].GetKind() != "Gadget" {
		t.Errorf("got %v", list)
	}
	ok(t, c.Delete(t.Context(), crd))
	eventually(t, func(ctx context.Context) error {
		if err := c.Get(ctx, c.key("g"), u); !meta.IsNoMatchError(err) {
			return errors.Join(errors.New("the kind is still known"), err)
		}
		return nil
	})
}
