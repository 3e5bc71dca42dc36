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

	shipv1beta1 "example.org/fleet/api/ship/v1beta1"
	"example.org/fleet/internal/controller/ship"
)

// TestFrigateBecomesReady runs the manager against a real API server, and watches what comes of an object.
func TestFrigateBecomesReady(t *testing.T) {
	env := testenv.Start(t, testenv.WithCRDs("../../../config/crd/bases"))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()

	m, err := manager.New(env.Config, manager.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(shipv1beta1.AddToScheme(m.Scheme()), new(controller.FrigateReconciler).SetupWithManager(m))
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- m.Run(ctx) }()

	frigate := &shipv1beta1.Frigate{
		ObjectMeta: metav1.ObjectMeta{Name: "sample", Namespace: "default"},
		Spec:       shipv1beta1.FrigateSpec{Message: "hello"},
	}
	if err := m.Live().Create(ctx, frigate); err != nil {
		t.Fatal(err)
	}
	frigate = awaitFrigate(ctx, t, m.Live(), frigate)

	frigate.Spec.Message = "hello again"
	if err := m.Live().Update(ctx, frigate); err != nil {
		t.Fatal(err)
	}
	awaitFrigate(ctx, t, m.Live(), frigate)

	stop()
	if err := <-stopped; err != nil {
		t.Errorf("the manager ended with an error: %v", err)
	}
}

// awaitFrigate returns the object as it is once its status says that it is ready, for the generation that it has now.
func awaitFrigate(ctx context.Context, t *testing.T, live *client.REST, frigate *shipv1beta1.Frigate) *shipv1beta1.Frigate {
	t.Helper()
	byName := client.Scope{Namespace: frigate.Namespace, Fields: fields.OneTermEqualSelector("metadata.name", frigate.Name)}
	watcher, err := client.NewListWatcher(live, &shipv1beta1.Frigate{}, byName)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := watcher.Watch(ctx, metav1.ListOptions{ResourceVersion: frigate.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for {
		event, err := stream.Next()
		if err != nil {
			t.Fatalf("Frigate never became ready: %v", err)
		}
		status := event.Object.Status
		if status.ObservedGeneration == frigate.Generation && meta.IsStatusConditionTrue(status.Conditions, "Ready") {
			return event.Object
		}
	}
}

// TestFrigateThatIsGoneIsDone needs no API server: a request may come for an object that does not exist any more.
func TestFrigateThatIsGoneIsDone(t *testing.T) {
	reconciler := &controller.FrigateReconciler{Client: noFrigate{}}
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "gone"}}
	result, err := reconciler.Reconcile(t.Context(), request)
	if err != nil || result != (reconcile.Result{}) {
		t.Errorf("Reconcile returned %+v and %v, want neither a requeue nor an error", result, err)
	}
}

// noFrigate is the client of a cluster without any Frigate.
type noFrigate struct{ client.Client }

func (noFrigate) Get(_ context.Context, key object.Key, _ object.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: "ship.example.org", Resource: "frigates"}, key.Name)
}
