/*
Copyright 2026.
*/

package controller_test

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/testenv"

	examplev2 "example.org/fleet/api/v2"
	"example.org/fleet/internal/controller"
)

// TestHTTPRouteBecomesReady runs the manager against a real API server, and watches what comes of an object.
func TestHTTPRouteBecomesReady(t *testing.T) {
	env := testenv.Start(t, testenv.WithCRDs("../../config/crd/bases"))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()

	m, err := manager.New(env.Config, manager.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(examplev2.AddToScheme(m.Scheme()), new(controller.HTTPRouteReconciler).SetupWithManager(m))
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- m.Run(ctx) }()

	httpRoute := &examplev2.HTTPRoute{
		ObjectMeta: metav1.ObjectMeta{Name: "sample", Namespace: "default"},
		Spec:       examplev2.HTTPRouteSpec{Message: "hello"},
	}
	if err := m.Live().Create(ctx, httpRoute); err != nil {
		t.Fatal(err)
	}
	httpRoute = awaitHTTPRoute(ctx, t, m.Live(), httpRoute)

	httpRoute.Spec.Message = "hello again"
	if err := m.Live().Update(ctx, httpRoute); err != nil {
		t.Fatal(err)
	}
	awaitHTTPRoute(ctx, t, m.Live(), httpRoute)

	stop()
	if err := <-stopped; err != nil {
		t.Errorf("the manager ended with an error: %v", err)
	}
}

// awaitHTTPRoute returns the object as it is once its status says that it is ready, for the generation that it has now.
func awaitHTTPRoute(ctx context.Context, t *testing.T, live *client.REST, httpRoute *examplev2.HTTPRoute) *examplev2.HTTPRoute {
	t.Helper()
	byName := client.Scope{Namespace: httpRoute.Namespace, Fields: fields.OneTermEqualSelector("metadata.name", httpRoute.Name)}
	watcher, err := client.NewListWatcher(live, &examplev2.HTTPRoute{}, byName)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := watcher.Watch(ctx, metav1.ListOptions{ResourceVersion: httpRoute.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for {
		event, err := stream.Next()
		if err != nil {
			t.Fatalf("HTTPRoute never became ready: %v", err)
		}
		status := event.Object.Status
		if status.ObservedGeneration == httpRoute.Generation && meta.IsStatusConditionTrue(status.Conditions, "Ready") {
			return event.Object
		}
	}
}

// TestHTTPRouteThatIsGoneIsDone needs no API server: a request may come for an object that does not exist any more.
func TestHTTPRouteThatIsGoneIsDone(t *testing.T) {
	reconciler := &controller.HTTPRouteReconciler{Client: noHTTPRoute{}}
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "gone"}}
	result, err := reconciler.Reconcile(t.Context(), request)
	if err != nil || result != (reconcile.Result{}) {
		t.Errorf("Reconcile returned %+v and %v, want neither a requeue nor an error", result, err)
	}
}

// noHTTPRoute is the client of a cluster without any HTTPRoute.
type noHTTPRoute struct{ client.Client }

func (noHTTPRoute) Get(_ context.Context, key object.Key, _ object.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: "example.org", Resource: "httproutes"}, key.Name)
}
