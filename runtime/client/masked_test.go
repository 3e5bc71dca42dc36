package client_test

import (
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/partial"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

func TestMaskedObjectIsPatchedAndNotReplaced(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{FieldOwner: "me"})
	masked := configMap("a")
	masked.ResourceVersion = "1"
	partial.New([]string{"metadata", "data"}).Put(masked)
	plain := untyped("v1", "ConfigMap", "default", "a")
	partial.New([]string{"metadata", "data"}).Put(plain)
	for _, obj := range []object.Object{masked.DeepCopy(), plain.DeepCopy()} {
		whole := obj.DeepCopyObject().(object.Object)
		partial.Mark{}.Put(whole)
		for _, err := range []error{c.Update(t.Context(), obj), c.Create(t.Context(), obj), c.Apply(t.Context(), obj),
			c.Patch(t.Context(), obj, client.MergeFrom(whole))} {
			if _, ok := errors.AsType[*client.MaskedError](err); !ok ||
				!strings.Contains(err.Error(), "only metadata, data of it") {
				t.Errorf("%T: got %v", obj, err)
			}
		}
	}
	if requests := s.take(); len(requests) > 0 {
		t.Errorf("requests were sent: %v", requests)
	}
	s.respond("PATCH /api/v1/namespaces/default/configmaps/a", foundA)
	changed := masked.DeepCopy()
	changed.Data = map[string]string{"k": "v"}
	whole := changed.DeepCopy()
	partial.Mark{}.Put(whole)
	for _, to := range []*corev1.ConfigMap{changed, whole} {
		if err := c.Patch(t.Context(), to, client.MergeFrom(masked)); err != nil {
			t.Fatal(err)
		}
		sameJSON(t, s.last(t).body, `{"data":{"k":"v"}}`)
	}
	if object.Mask(changed) != nil {
		t.Error("the answer is marked")
	}
}

func TestStatusOfAMaskedObjectIsUpdatedIfComplete(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{})
	const what = "PUT /apis/apps/v1/namespaces/default/deployments/web/status"
	s.respond(what, `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web"}}`)
	for _, mask := range [][]string{{"status"}, {"metadata"}, {"metadata", "status.conditions"},
		{"metadata.labels", "status"}} {
		d := deployment()
		partial.New(mask).Put(d)
		if _, ok := errors.AsType[*client.MaskedError](c.Status().Update(t.Context(), d)); !ok {
			t.Errorf("%v: the status is updated", mask)
		}
	}
	s.respond("PATCH"+strings.TrimPrefix(what, "PUT"),
		`{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web"}}`)
	for _, mask := range [][]string{{"metadata"}, {"status.conditions"}} {
		d := deployment()
		partial.New(mask).Put(d)
		if _, ok := errors.AsType[*client.MaskedError](c.Status().Apply(t.Context(), d, client.FieldOwner("me"))); !ok {
			t.Errorf("%v: the status is applied", mask)
		}
	}
	for _, write := range []func(*appsv1.Deployment) error{
		func(d *appsv1.Deployment) error { return c.Status().Update(t.Context(), d) },
		func(d *appsv1.Deployment) error { return c.Status().Apply(t.Context(), d, client.FieldOwner("me")) },
	} {
		d := deployment()
		partial.New([]string{"metadata", "status"}).Put(d)
		if err := write(d); err != nil {
			t.Fatal(err)
		}
		if body := string(s.last(t).body); strings.Contains(body, "kctrl.dev") {
			t.Errorf("the mark was sent: %s", body)
		}
	}
}

func TestNamespaceOfAClusterScopedObjectIsDropped(t *testing.T) {
	s := newServer()
	logger, out := logs()
	c := connect(t, s, client.Options{FieldOwner: "me", Logger: logger})
	const one = `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"n","resourceVersion":"2"}}`
	for _, method := range []string{"GET", "PUT", "PATCH", "DELETE"} {
		s.respond(method+" /api/v1/namespaces/n", one)
	}
	s.respond("POST /api/v1/namespaces", one)
	s.respond("PUT /api/v1/namespaces/n/status", one)
	s.respond("DELETE /api/v1/namespaces", `{"kind":"NamespaceList","apiVersion":"v1","items":[]}`)
	s.respond("GET /api/v1/namespaces", `{"kind":"NamespaceList","apiVersion":"v1","items":[]}`)
	placed := func() *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", Namespace: "x"}}
	}
	ctx := t.Context()
	for what, err := range map[string]error{
		"get":        c.Get(ctx, object.Key{Namespace: "../x", Name: "n"}, placed()),
		"create":     c.Create(ctx, placed()),
		"update":     c.Update(ctx, placed()),
		"patch":      c.Patch(ctx, placed(), client.MergeFrom(placed())),
		"apply":      c.Apply(ctx, placed()),
		"status":     c.Status().Update(ctx, placed()),
		"delete":     c.Delete(ctx, placed()),
		"delete all": c.DeleteAllOf(ctx, placed(), client.InNamespace("x")),
		"list":       c.List(ctx, &corev1.NamespaceList{}, client.InNamespace("x")),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	// Without its namespace, the call deletes more than the caller may expect, so the client logs it.
	if !strings.Contains(out.String(),
		"delete all namespaces of the cluster: the kind is in no namespace, and so not in x") {
		t.Errorf("logged: %s", out)
	}
}

func TestBodyOfASubresourceHasTheNameOfTheObject(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{FieldOwner: "me"})
	const path = " /apis/apps/v1/namespaces/default/deployments/web/scale"
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 2}}
	s.respond("PUT"+path,
		`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","message":"no","code":409}`)
	if err := c.SubResource("scale").Update(t.Context(), deployment(),
		client.WithSubResourceBody(scale)); !apierrors.IsConflict(err) {
		t.Errorf("got %v", err)
	}
	if scale.Name != "" || scale.Namespace != "" {
		t.Errorf("a failure has changed the body: %v", scale)
	}
	s.take()
	s.respond("PUT"+path,
		`{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"web","namespace":"default"},"spec":{"replicas":2}}`)
	if err := c.SubResource("scale").Update(t.Context(), deployment(), client.WithSubResourceBody(scale)); err != nil {
		t.Fatal(err)
	}
	if body := string(s.last(t).body); !strings.Contains(body, `"name":"web","namespace":"default"`) {
		t.Errorf("got %s", body)
	}
}

func TestStatusInsteadOfAnObjectIsItsError(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{})
	s.respond(getA, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","message":"it is gone"}`)
	cm := configMap("before")
	if err := c.Get(t.Context(), keyA, cm); !apierrors.IsNotFound(err) || err.Error() != "it is gone" ||
		cm.Name != "before" {
		t.Errorf("got %v, %v", cm, err)
	}
}

func TestClientNeedsAScheme(t *testing.T) {
	if _, err := client.New(&rest.Config{Host: "http://server"}, client.Options{}); err == nil ||
		!strings.Contains(err.Error(), "AddToScheme") {
		t.Errorf("got %v", err)
	}
	if _, err := client.New(&rest.Config{Host: "http://server"}, client.Options{Scheme: runtime.NewScheme()}); err != nil {
		t.Error(err)
	}
}
