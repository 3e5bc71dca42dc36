package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

const metadataOfA = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","namespace":"default","labels":{"x":"y"}}}`

func TestGetLeavesNothingOfWhatTheObjectWas(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{})
	s.respond(getA, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","labels":{"new":"1"}},"data":{"n":"1"}}`)

	typed := configMap("old")
	typed.Labels, typed.BinaryData = map[string]string{"old": "1"}, map[string][]byte{"old": nil}
	kept := typed.Labels
	plain := untyped("v1", "ConfigMap", "default", "old")
	plain.Object["old"] = "1"
	for _, obj := range []object.Object{typed, plain} {
		if err := c.Get(t.Context(), keyA, obj); err != nil {
			t.Fatal(err)
		}
		if encoded := toJSON(obj); strings.Contains(encoded, "old") || !strings.Contains(encoded, "new") {
			t.Errorf("%T: got %s", obj, encoded)
		}
	}
	if typed.Kind != "ConfigMap" || typed.APIVersion != "v1" || len(kept) != 1 {
		t.Errorf("a typed object has the kind %q, its old labels are %v", typed.Kind, kept)
	}
	if plain.GetKind() != "ConfigMap" {
		t.Errorf("an unstructured object has the kind %q", plain.GetKind())
	}
	if accept := s.take()[0].header.Get("Accept"); accept != "application/json" {
		t.Errorf("the client accepts %s", accept)
	}
}

func TestGetOfMetadataAsksForMetadata(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{})
	for name, body := range map[string]string{"metadata": metadataOfA,
		"whole object": `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"labels":{"x":"y"}},"data":{"a":"b"}}`} {
		t.Run(name, func(t *testing.T) {
			s.respond(getA, body)
			m := metadataOf("old")
			if err := c.Get(t.Context(), keyA, m, client.NotOlderThan("0")); err != nil {
				t.Fatal(err)
			}
			if m.Labels["x"] != "y" || m.Kind != "ConfigMap" || m.APIVersion != "v1" {
				t.Errorf("got %v", m)
			}
			got := s.last(t)
			if got.what != getA+"?resourceVersion=0" || !strings.HasPrefix(got.header.Get("Accept"),
				"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,") {
				t.Errorf("got %s %s", got.what, got.header.Get("Accept"))
			}
		})
	}
}

func TestListInEachForm(t *testing.T) {
	const items = `"metadata":{"resourceVersion":"9","continue":"more","remainingItemCount":3},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`
	for name, test := range map[string]struct {
		list   object.List
		body   string
		accept string
		kind   string // kind of the items
	}{
		"typed": {&corev1.ConfigMapList{}, `{"kind":"ConfigMapList","apiVersion":"v1",` + items, "application/json",
			"ConfigMap"},
		"unstructured": {listOf(untyped("v1", "ConfigMapList", "", "")), `{"kind":"ConfigMapList","apiVersion":"v1",` + items,
			"application/json", "ConfigMap"},
		"metadata": {
			&metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{Kind: "ConfigMapList", APIVersion: "v1"}},
			`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1",` + items,
			"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json", "ConfigMap",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			c := connect(t, s, client.Options{})
			s.respond("GET /api/v1/configmaps", test.body)
			if err := c.List(t.Context(), test.list, client.Limit(2)); err != nil {
				t.Fatal(err)
			}
			if got := s.last(t).header.Get("Accept"); got != test.accept {
				t.Errorf("the client accepts %s", got)
			}
			var names, kinds string
			switch list := test.list.(type) {
			case *corev1.ConfigMapList:
				names, kinds = list.Items[0].Name+list.Items[1].Name, list.Items[0].Kind
			case *unstructured.UnstructuredList:
				names, kinds = list.Items[0].GetName()+list.Items[1].GetName(), list.Items[1].GetKind()
			case *metav1.PartialObjectMetadataList:
				names, kinds = list.Items[0].Name+list.Items[1].Name, list.Items[1].Kind
			}
			if names != "ab" || kinds != test.kind || test.list.GetResourceVersion() != "9" ||
				test.list.GetContinue() != "more" || *test.list.GetRemainingItemCount() != 3 {
				t.Errorf("got %v", test.list)
			}
		})
	}
}

func TestListThatCannotBeReadIsADecodeErrorAndLeavesTheList(t *testing.T) {
	for name, body := range map[string]string{
		"status":       `{"kind":"Status","apiVersion":"v1","status":"Success"}`,
		"garbage":      `garbage`,
		"foreign item": `{"kind":"ConfigMapList","apiVersion":"v1","items":[{"kind":"Secret","apiVersion":"v1"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			c := connect(t, s, client.Options{})
			s.respond("GET /api/v1/configmaps", body)
			list := &corev1.ConfigMapList{Items: []corev1.ConfigMap{*configMap("before")}}
			err := c.List(t.Context(), list)
			if decode, ok := errors.AsType[*client.DecodeError](err); !ok || decode.What != "list configmaps" ||
				len(list.Items) != 1 {
				t.Errorf("got %v, %v", err, list.Items)
			}
		})
	}
}

// TestListNeedsAListKind checks an error for callers that list all kinds of a scheme: meta.IsNoMatchError must
// distinguish it from failures.
func TestListNeedsAListKind(t *testing.T) {
	c := connect(t, newServer(), client.Options{})
	err := c.List(t.Context(), listOf(untyped("v1", "List", "", "")))
	if want := `list: List is no list kind: no matches for kind "List" in version "v1"`; err == nil ||
		err.Error() != want || !meta.IsNoMatchError(err) {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestListWithoutAGoTypeMayHaveTheKindOfItsItems(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{})
	s.respond("GET /api/v1/configmaps", `{"kind":"ConfigMapList","apiVersion":"v1","items":[{"metadata":{"name":"one"}}]}`)
	untypedList := listOf(untyped("v1", "ConfigMap", "", ""))
	if err := c.List(t.Context(), untypedList); err != nil || len(untypedList.Items) != 1 ||
		untypedList.GetKind() != "ConfigMapList" || untypedList.Items[0].GetKind() != "ConfigMap" {
		t.Errorf("got %v, %v", untypedList, err)
	}
	s.respond("GET /api/v1/configmaps",
		`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[{"metadata":{"name":"one"}}]}`)
	metadata := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}}
	if err := c.List(t.Context(), metadata); err != nil || len(metadata.Items) != 1 || metadata.Kind != "ConfigMapList" ||
		metadata.Items[0].Kind != "ConfigMap" {
		t.Errorf("got %v, %v", metadata, err)
	}
}

func TestWritesSendTheKindAndSetTheAnswer(t *testing.T) {
	const path = "/apis/apps/v1/namespaces/default/deployments"
	const answer = `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web-x","resourceVersion":"8"}}`
	for what, do := range map[string]func(ctx context.Context, c *client.REST, obj object.Object) error{
		"POST " + path: func(ctx context.Context, c *client.REST, obj object.Object) error {
			return c.Create(ctx, obj)
		},
		"PUT " + path + "/web": func(ctx context.Context, c *client.REST, obj object.Object) error {
			return c.Update(ctx, obj)
		},
		"PUT " + path + "/web/status": func(ctx context.Context, c *client.REST, obj object.Object) error {
			return c.Status().Update(ctx, obj)
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := newServer()
			c := connect(t, s, client.Options{})
			s.respond(what, answer)
			misnamed := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{Kind: "Wrong"},
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
			named := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{Kind: "Deployment", APIVersion: "apps/v1"},
				ObjectMeta: misnamed.ObjectMeta}
			for _, obj := range []object.Object{misnamed, named, untyped("apps/v1", "Deployment", "default", "web")} {
				if err := do(t.Context(), c, obj); err != nil {
					t.Fatal(err)
				}
				got := s.last(t)
				if got.what != what || got.header.Get("Content-Type") != "application/json" ||
					!strings.Contains(got.body, `"apiVersion":"apps/v1"`) || !strings.Contains(got.body, `"kind":"Deployment"`) {
					t.Errorf("got %v", got)
				}
				if obj.GetName() != "web-x" || obj.GetResourceVersion() != "8" {
					t.Errorf("the object is not what the server answered: %v", obj)
				}
			}
		})
	}
}

func TestFailedWriteLeavesTheObject(t *testing.T) {
	c := connect(t, newServer(), client.Options{})
	cm := configMap("a")
	cm.Kind, cm.ResourceVersion = "Wrong", "7"
	before := toJSON(cm)
	for _, err := range []error{c.Create(t.Context(), cm), c.Update(t.Context(), cm), c.Status().Update(t.Context(), cm)} {
		if err == nil || toJSON(cm) != before {
			t.Errorf("got %v, %s", err, toJSON(cm))
		}
	}
}

func TestMetadataAloneCannotBeWritten(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{})
	for _, err := range []error{c.Create(t.Context(), metadataOf("a")), c.Update(t.Context(), metadataOf("a"))} {
		if err == nil || !strings.Contains(err.Error(), "use Patch or Apply") {
			t.Errorf("got %v", err)
		}
	}
	if requests := s.take(); len(requests) > 0 {
		t.Errorf("requests were sent: %v", requests)
	}
}

func TestValuesThatCannotBeEncodedAreErrors(t *testing.T) {
	s := newServer()
	c := connect(t, s, serveGadgets(t, s))
	g := &gadget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Any: func() {}}
	for verb, err := range map[string]error{
		"create": c.Create(t.Context(), g),
		"apply":  c.Apply(t.Context(), g),
		"patch":  c.Patch(t.Context(), g, client.MergeFrom(&gadget{})),
		"from":   c.Patch(t.Context(), &gadget{ObjectMeta: g.ObjectMeta}, client.MergeFrom(g)),
	} {
		if err == nil || !strings.Contains(err.Error(), "unsupported type: func()") {
			t.Errorf("%s: got %v", verb, err)
		}
	}
}
