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

	seacreaturesv1alpha1 "example.org/fleet/api/sea-creatures/v1alpha1"
	"example.org/fleet/internal/controller/sea-creatures"
)

// TestClientBecomesReady runs the manager against a real API server, and watches what comes of an object.
func TestClientBecomesReady(t *testing.T) {
	env := testenv.Start(t, testenv.WithCRDs("../../../config/crd/bases"))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()

	m, err := manager.New(env.Config, manager.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(seacreaturesv1alpha1.AddToScheme(m.Scheme()), new(controller.ClientReconciler).SetupWithManager(m))
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- m.Run(ctx) }()

	clientObject := &seacreaturesv1alpha1.Client{
		ObjectMeta: metav1.ObjectMeta{Name: "sample", Namespace: "default"},
		Spec:       seacreaturesv1alpha1.ClientSpec{Message: "hello"},
	}
	if err := m.Live().Create(ctx, clientObject); err != nil {
		t.Fatal(err)
	}
	clientObject = awaitClient(ctx, t, m.Live(), clientObject)

	clientObject.Spec.Message = "hello again"
	if err := m.Live().Update(ctx, clientObject); err != nil {
		t.Fatal(err)
	}
	awaitClient(ctx, t, m.Live(), clientObject)

	stop()
	if err := <-stopped; err != nil {
		t.Errorf("the manager ended with an error: %v", err)
	}
}

// awaitClient returns the object as it is once its status says that it is ready, for the generation that it has now.
func awaitClient(ctx context.Context, t *testing.T, live *client.REST, clientObject *seacreaturesv1alpha1.Client) *seacreaturesv1alpha1.Client {
	t.Helper()
	byName := client.Scope{Namespace: clientObject.Namespace, Fields: fields.OneTermEqualSelector("metadata.name", clientObject.Name)}
	watcher, err := client.NewListWatcher(live, &seacreaturesv1alpha1.Client{}, byName)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := watcher.Watch(ctx, metav1.ListOptions{ResourceVersion: clientObject.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for {
		event, err := stream.Next()
		if err != nil {
			t.Fatalf("Client never became ready: %v", err)
		}
		status := event.Object.Status
		if status.ObservedGeneration == clientObject.Generation && meta.IsStatusConditionTrue(status.Conditions, "Ready") {
			return event.Object
		}
	}
}

// TestClientThatIsGoneIsDone needs no API server: a request may come for an object that does not exist any more.
func TestClientThatIsGoneIsDone(t *testing.T) {
	reconciler := &controller.ClientReconciler{Client: noClient{}}
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "gone"}}
	result, err := reconciler.Reconcile(t.Context(), request)
	if err != nil || result != (reconcile.Result{}) {
		t.Errorf("Reconcile returned %+v and %v, want neither a requeue nor an error", result, err)
	}
}

// noClient is the client of a cluster without any Client.
type noClient struct{ client.Client }

func (noClient) Get(_ context.Context, key object.Key, _ object.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: "sea-creatures.example.org", Resource: "clients"}, key.Name)
}
