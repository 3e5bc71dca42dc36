/*
Copyright 2026 The Guestbook Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
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

	webappv1 "example.com/guestbook/api/v1"
	"example.com/guestbook/internal/controller"
)

// TestShelfBecomesReady runs the manager against a real API server, and watches what comes of an object.
func TestShelfBecomesReady(t *testing.T) {
	env := testenv.Start(t, testenv.WithCRDs("../../config/crd/bases"))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()

	m, err := manager.New(env.Config, manager.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(webappv1.AddToScheme(m.Scheme()), new(controller.ShelfReconciler).SetupWithManager(m))
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- m.Run(ctx) }()

	shelf := &webappv1.Shelf{
		ObjectMeta: metav1.ObjectMeta{Name: "sample"},
		Spec:       webappv1.ShelfSpec{Message: "hello"},
	}
	if err := m.Live().Create(ctx, shelf); err != nil {
		t.Fatal(err)
	}
	shelf = awaitShelf(ctx, t, m.Live(), shelf)

	shelf.Spec.Message = "hello again"
	if err := m.Live().Update(ctx, shelf); err != nil {
		t.Fatal(err)
	}
	awaitShelf(ctx, t, m.Live(), shelf)

	stop()
	if err := <-stopped; err != nil {
		t.Errorf("the manager ended with an error: %v", err)
	}
}

// awaitShelf returns the object as it is once its status says that it is ready, for the generation that it has now.
func awaitShelf(ctx context.Context, t *testing.T, live *client.REST, shelf *webappv1.Shelf) *webappv1.Shelf {
	t.Helper()
	byName := client.Scope{Namespace: shelf.Namespace, Fields: fields.OneTermEqualSelector("metadata.name", shelf.Name)}
	watcher, err := client.NewListWatcher(live, &webappv1.Shelf{}, byName)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := watcher.Watch(ctx, metav1.ListOptions{ResourceVersion: shelf.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for {
		event, err := stream.Next()
		if err != nil {
			t.Fatalf("Shelf never became ready: %v", err)
		}
		status := event.Object.Status
		if status.ObservedGeneration == shelf.Generation && meta.IsStatusConditionTrue(status.Conditions, "Ready") {
			return event.Object
		}
	}
}

// TestShelfThatIsGoneIsDone needs no API server: a request may come for an object that does not exist any more.
func TestShelfThatIsGoneIsDone(t *testing.T) {
	reconciler := &controller.ShelfReconciler{Client: noShelf{}}
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "gone"}}
	result, err := reconciler.Reconcile(t.Context(), request)
	if err != nil || result != (reconcile.Result{}) {
		t.Errorf("Reconcile returned %+v and %v, want neither a requeue nor an error", result, err)
	}
}

// noShelf is the client of a cluster without any Shelf.
type noShelf struct{ client.Client }

func (noShelf) Get(_ context.Context, key object.Key, _ object.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: "webapp.example.com", Resource: "shelves"}, key.Name)
}
