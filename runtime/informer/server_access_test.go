package informer_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

var gadgetKind = schema.GroupVersionKind{Group: "informer.example.com", Version: "v1", Kind: "Gadget"}

func newGadget(name string) *unstructured.Unstructured {
	gadget := &unstructured.Unstructured{}
	gadget.SetGroupVersionKind(gadgetKind)
	gadget.SetNamespace(metav1.NamespaceDefault)
	gadget.SetName(name)
	return gadget
}

func newGadgetCRD() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "gadgets.informer.example.com"},
		"spec": map[string]any{
			"group": gadgetKind.Group, "scope": "Namespaced",
			"names": map[string]any{"kind": "Gadget", "listKind": "GadgetList", "plural": "gadgets", "singular": "gadget"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
			}},
		},
	}}
}

// testCRDIsDeletedAndCreatedAgain starts the informer before the CRD exists.
func testCRDIsDeletedAndCreatedAgain(t *testing.T, s *server) {
	ctx := deadline(t, 2*time.Minute)
	c, tap := s.tapped(t, unchanged)
	source, err := client.NewListWatcher(c, newGadget(""), client.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	f := followServer(ctx, t, source, informer.Options[*unstructured.Unstructured]{Name: "gadgets.informer.example.com"})
	for life := range 2 {
		if err := s.admin.Create(ctx, newGadgetCRD()); err != nil {
			t.Fatal(err)
		}
		tap.await(ctx, t, answer{watch: true, status: http.StatusOK})
		for _, name := range []string{"a", "b", fmt.Sprint("end-", life)} {
			if err := s.admin.Create(ctx, newGadget(name)); err != nil {
				t.Fatal(err)
			}
		}
		if life == 0 {
			f.journal.await(ctx, func(states map[object.Key]*unstructured.Unstructured) bool { return len(states) == 3 })
			if err := s.admin.Delete(ctx, newGadgetCRD()); err != nil {
				t.Fatal(err)
			}
			f.journal.await(ctx, func(states map[object.Key]*unstructured.Unstructured) bool { return len(states) == 0 })
			tap.await(ctx, t, answer{watch: true, status: http.StatusNotFound})
		}
	}
	f.end(ctx, object.Key{Namespace: metav1.NamespaceDefault, Name: "end-1"},
		func(ctx context.Context) (map[object.Key]string, error) {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(gadgetKind.GroupVersion().WithKind("GadgetList"))
			versions := make(map[object.Key]string)
			err := s.admin.List(ctx, list)
			for _, o := range list.Items {
				versions[object.KeyOf(&o)] = o.GetResourceVersion()
			}
			return versions, err
		})
}

const reader = "reader"

// grant returns a role and a binding that allow reader to list and watch config maps.
func grant(namespace string) (*rbacv1.Role, *rbacv1.RoleBinding) {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: reader}
	return &rbacv1.Role{
			ObjectMeta: meta,
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"},
				Verbs: []string{"list", "watch"}}},
		}, &rbacv1.RoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: reader},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: reader}},
		}
}

func testRightsAreTakenAwayAndGivenBack(t *testing.T, s *server) {
	ctx := deadline(t, 2*time.Minute)
	f := newFaulty(ctx, t, s, "rights", func(config *rest.Config) {
		config.Impersonate = rest.ImpersonationConfig{UserName: reader, Groups: []string{"system:authenticated"}}
	})
	f.tap.await(ctx, t, answer{watch: true, status: http.StatusForbidden}) // reader has no permission yet
	role, binding := grant(f.namespace)
	for _, o := range []object.Object{role, binding} {
		if err := s.admin.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
	f.synced(ctx)
	f.churn(ctx, false)
	_, binding = grant(f.namespace)
	if err := s.admin.Delete(ctx, binding); err != nil {
		t.Fatal(err)
	}
	f.awaitForbidden(ctx)
	f.churn(ctx, false)
	_, binding = grant(f.namespace)
	if err := s.admin.Create(ctx, binding); err != nil {
		t.Fatal(err)
	}
	f.finish(ctx)
	if err := f.informer.Err(); err != nil {
		t.Error("in step again, and yet", err)
	}
}

// awaitForbidden cuts the watch until the server rejects the next one, because the server does not end an open watch.
// Then it waits until the informer reports the rejection.
func (f *faulty) awaitForbidden(ctx context.Context) {
	f.t.Helper()
	for forbidden := false; !forbidden; {
		f.tap.cut()
		select {
		case a := <-f.tap.answers:
			forbidden = a.status == http.StatusForbidden
		case <-ctx.Done():
			f.t.Fatal(context.Cause(ctx))
		}
	}
	f.tap.await(ctx, f.t,
		// The informer has reported the first rejection before it sends this watch.
		answer{watch: true, status: http.StatusForbidden})
	if err := f.informer.Err(); !apierrors.IsForbidden(err) {
		f.t.Errorf("without the right it says %v", err)
	}
}
