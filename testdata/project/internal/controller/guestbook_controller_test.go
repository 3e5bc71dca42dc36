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

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/testenv"

	webappv1 "example.com/guestbook/api/v1"
	"example.com/guestbook/internal/controller"
)

// TestGuestbookBecomesReady runs the manager against an API server in memory, or a real one with KCTRL_TEST_SERVER=real, and
// waits until an object is ready.
func TestGuestbookBecomesReady(t *testing.T) {
	env := testenv.Start(t, testenv.WithCRDs("../../config/crd/bases"))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()

	m, err := manager.New(env.Config, manager.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(webappv1.AddToScheme(m.Scheme()), new(controller.GuestbookReconciler).SetupWithManager(m))
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- m.Run(ctx) }()

	guestbook := &webappv1.Guestbook{
		ObjectMeta: metav1.ObjectMeta{Name: "sample", Namespace: "default"},
		Spec:       webappv1.GuestbookSpec{Message: "hello"},
	}
	if err := m.Live().Create(ctx, guestbook); err != nil {
		t.Fatal(err)
	}
	guestbook = testenv.Await(ctx, t, m.Live(), guestbook, isGuestbookReady)

	guestbook.Spec.Message = "hello again"
	if err := m.Live().Update(ctx, guestbook); err != nil {
		t.Fatal(err)
	}
	testenv.Await(ctx, t, m.Live(), guestbook, isGuestbookReady)

	// A request may come for an object that no longer exists.
	if err := m.Live().Delete(ctx, guestbook); err != nil {
		t.Fatal(err)
	}
	testenv.AwaitGone(ctx, t, m.Live(), guestbook)
	reconciler := &controller.GuestbookReconciler{Client: m.Live()}
	result, err := reconciler.Reconcile(ctx, reconcile.Request{NamespacedName: object.KeyOf(guestbook)})
	if err != nil || result != (reconcile.Result{}) {
		t.Errorf("Reconcile returned %+v and %v, want neither a requeue nor an error", result, err)
	}

	stop()
	if err := <-stopped; err != nil {
		t.Errorf("the manager ended with an error: %v", err)
	}
}

// isGuestbookReady reports whether the object's current generation is ready.
func isGuestbookReady(guestbook *webappv1.Guestbook) bool {
	status := guestbook.Status
	return status.ObservedGeneration == guestbook.Generation && meta.IsStatusConditionTrue(status.Conditions, "Ready")
}
