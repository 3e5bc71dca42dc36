package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

const gizmosOfDefault, gizmosOfCluster = "/apis/example.com/v1/namespaces/default/gizmos", "/apis/example.com/v1/gizmos"

// defineGizmos replaces the server's definition of Gizmo. If the kind is namespaced, the path without a namespace
// serves only lists of all namespaces.
func defineGizmos(s *server, namespaced bool) {
	kind, at, namespace := "Gizmo/gizmos/gizmo/cluster", gizmosOfCluster, ""
	if namespaced {
		kind, at, namespace = "Gizmo/gizmos/gizmo", gizmosOfDefault, `,"namespace":"default"`
	}
	for _, path := range []string{gizmosOfDefault, gizmosOfCluster} {
		for _, route := range []string{"GET ", "POST ", "DELETE "} {
			s.on(route+path, nil)
		}
		for _, route := range []string{"GET ", "PUT ", "PATCH ", "DELETE "} {
			s.on(route+path+"/a", nil)
			s.on(route+path+"/a/status", nil)
		}
	}
	gizmo := `{"apiVersion":"example.com/v1","kind":"Gizmo",
		"metadata":{"name":"a"` + namespace + `,"uid":"u","resourceVersion":"1"}}`
	list := `{"apiVersion":"example.com/v1","kind":"GizmoList",
		"metadata":{"resourceVersion":"1"},"items":[` + gizmo + `]}`
	s.respond("GET /apis/example.com/v1", resources("example.com/v1", kind))
	s.respond("GET "+at, list)
	s.respond("GET "+gizmosOfCluster, list)
	s.respond("POST "+at, gizmo)
	s.respond("DELETE "+at, list)
	for _, route := range []string{"GET ", "PUT ", "PATCH ", "DELETE "} {
		s.respond(route+at+"/a", gizmo)
		s.respond(route+at+"/a/status", gizmo)
	}
}

// requestsOfGizmos has one request of each verb for the Gizmo a in a namespace.
var requestsOfGizmos = map[string]func(ctx context.Context, c client.WithWatch, namespace string) error{
	"get": func(ctx context.Context, c client.WithWatch, namespace string) error {
		return c.Get(ctx, object.Key{Namespace: namespace, Name: "a"}, gizmoIn(namespace))
	},
	"list": func(ctx context.Context, c client.WithWatch, namespace string) error {
		return c.List(ctx, listOf(untyped("example.com/v1", "GizmoList", "", "")), client.InNamespace(namespace))
	},
	"watch": func(ctx context.Context, c client.WithWatch, namespace string) error {
		list := listOf(untyped("example.com/v1", "GizmoList", "", ""))
		stream, err := c.Watch(ctx, list, client.InNamespace(namespace))
		if err == nil {
			err = stream.Close()
		}
		return err
	},
	"create": func(ctx context.Context, c client.WithWatch, namespace string) error {
		return c.Create(ctx, gizmoIn(namespace))
	},
	"update": func(ctx context.Context, c client.WithWatch, namespace string) error {
		return c.Update(ctx, gizmoIn(namespace))
	},
	"update status": func(ctx context.Context, c client.WithWatch, namespace string) error {
		return c.Status().Update(ctx, gizmoIn(namespace))
	},
	"patch": func(ctx context.Context, c client.WithWatch, namespace string) error {
		return c.Patch(ctx, gizmoIn(namespace), client.RawPatch(types.MergePatchType, []byte(`{}`)))
	},
	"apply": func(ctx context.Context, c client.WithWatch, namespace string) error {
		return c.Apply(ctx, gizmoIn(namespace), client.FieldOwner("me"))
	},
	"delete": func(ctx context.Context, c client.WithWatch, namespace string) error {
		return c.Delete(ctx, gizmoIn(namespace))
	},
	"delete all": func(ctx context.Context, c client.WithWatch, namespace string) error {
		return c.DeleteAllOf(ctx, gizmoIn(""), client.InNamespace(namespace))
	},
}

func gizmoIn(namespace string) *unstructured.Unstructured {
	return untyped("example.com/v1", "Gizmo", namespace, "a")
}

// TestClientNoticesThatADefinitionWasReplaced replaces a kind's definition by one with another scope, long after the
// client has read the first one.
func TestClientNoticesThatADefinitionWasReplaced(t *testing.T) {
	for name, call := range requestsOfGizmos {
		for _, r := range []struct {
			name       string
			namespaced bool // scope after the replacement
			namespace  string
			path       string
		}{
			{"namespaced by now", true, "default", gizmosOfDefault},
			{"cluster-scoped by now", false, "", gizmosOfCluster},
			{"cluster-scoped by now, with a namespace", false, "default", gizmosOfCluster},
		} {
			t.Run(name+" "+r.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newServer()
					c := connect(t, s, client.Options{})
					defineGizmos(s, !r.namespaced)
					if err := c.Get(t.Context(), keyA, gizmoIn("default")); err != nil {
						t.Fatal(err)
					}
					defineGizmos(s, r.namespaced)
					time.Sleep(3 * time.Second)
					s.take()
					if err := call(t.Context(), c, r.namespace); err != nil {
						t.Fatal(err)
					}
					requests := s.take()
					path, _, _ := strings.Cut(requests[len(requests)-1].what, "?")
					if _, path, _ = strings.Cut(path, " "); !strings.HasPrefix(path, r.path) {
						t.Errorf("got %s", path)
					}
				})
			})
		}
	}
}

// TestMissingNamespaceIsNoMissingObject checks that a get without a namespace does not return NotFound. The get was
// correct until the definition was replaced.
func TestMissingNamespaceIsNoMissingObject(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{})
	defineGizmos(s, false)
	if err := c.Get(t.Context(), object.Key{Name: "a"}, gizmoIn("")); err != nil {
		t.Fatal(err)
	}
	defineGizmos(s, true)
	for range 2 {
		err := c.Get(t.Context(), object.Key{Name: "a"}, gizmoIn(""))
		if err == nil || !strings.Contains(err.Error(), "Gizmo is namespaced: the namespace is missing") {
			t.Errorf("got %v", err)
		}
	}
}

// TestMissingNamespaceCostsTheServerLittle counts the discovery requests of a program that gets an object without its
// namespace ten times a second for a minute.
func TestMissingNamespaceCostsTheServerLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		c := connect(t, s, client.Options{})
		for range 600 {
			if err := c.Get(t.Context(), object.Key{Name: "a"}, &metav1.PartialObjectMetadata{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			}); err == nil || errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if asked := len(s.discovered()); asked < 2 || asked > 31 {
			t.Errorf("the client asked %d times", asked)
		}
	})
}
