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

	crewv1 "example.org/fleet/api/crew/v1"
	"example.org/fleet/internal/controller/crew"
)

// TestCaptainBecomesReady runs the manager against a real API server, and watches what comes of an object.
func TestCaptainBecomesReady(t *testing.T) {
	env := testenv.Start(t, testenv.WithCRDs("../../../config/crd/bases"))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()

	m, err := manager.New(env.Config, manager.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(crewv1.AddToScheme(m.Scheme()), new(controller.CaptainReconciler).SetupWithManager(m))
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- m.Run(ctx) }()

	captain := &crewv1.Captain{
		ObjectMeta: metav1.ObjectMeta{Name: "sample", Namespace: "default"},
		Spec:       crewv1.CaptainSpec{Message: "hello"},
	}
	if err := m.Live().Create(ctx, captain); err != nil {
		t.Fatal(err)
	}
	captain = awaitCaptain(ctx, t, m.Live(), captain)

	captain.Spec.Message = "hello again"
	if err := m.Live().Update(ctx, captain); err != nil {
		t.Fatal(err)
	}
	awaitCaptain(ctx, t, m.Live(), captain)

	stop()
	if err := <-stopped; err != nil {
		t.Errorf("the manager ended with an error: %v", err)
	}
}

// awaitCaptain returns the object as it is once its status says that it is ready, for the generation that it has now.
func awaitCaptain(ctx context.Context, t *testing.T, live *client.REST, captain *crewv1.Captain) *crewv1.Captain {
	t.Helper()
	byName := client.Scope{Namespace: captain.Namespace, Fields: fields.OneTermEqualSelector("metadata.name", captain.Name)}
	watcher, err := client.NewListWatcher(live, &crewv1.Captain{}, byName)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := watcher.Watch(ctx, metav1.ListOptions{ResourceVersion: captain.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for {
		event, err := stream.Next()
		if err != nil {
			t.Fatalf("Captain never became ready: %v", err)
		}
		status := event.Object.Status
		if status.ObservedGeneration == captain.Generation && meta.IsStatusConditionTrue(status.Conditions, "Ready") {
			return event.Object
		}
	}
}

// TestCaptainThatIsGoneIsDone needs no API server: a request may come for an object that does not exist any more.
func TestCaptainThatIsGoneIsDone(t *testing.T) {
	reconciler := &controller.CaptainReconciler{Client: noCaptain{}}
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "gone"}}
	result, err := reconciler.Reconcile(t.Context(), request)
	if err != nil || result != (reconcile.Result{}) {
		t.Errorf("Reconcile returned %+v and %v, want neither a requeue nor an error", result, err)
	}
}

// noCaptain is the client of a cluster without any Captain.
type noCaptain struct{ client.Client }

func (noCaptain) Get(_ context.Context, key object.Key, _ object.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: "crew.example.org", Resource: "captains"}, key.Name)
}
