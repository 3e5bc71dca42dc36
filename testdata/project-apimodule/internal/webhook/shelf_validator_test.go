/*
Copyright 2026.
*/

package webhook_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/testenv"

	booksv2 "example.com/library/api/v2"
	"example.com/library/internal/webhook"
)

// TestShelfIsValidated creates the sample under two names at an API server, which calls the validator.
func TestShelfIsValidated(t *testing.T) {
	env := testenv.Start(t, testenv.WithCRDs("../../config/crd/bases"))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()

	m, err := manager.New(env.Config, manager.Options{Webhook: manager.WebhookOptions{Manifests: []string{"../../config/webhook"}}})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(booksv2.AddToScheme(m.Scheme()), new(webhook.ShelfValidator).SetupWithManager(m))
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- m.Run(ctx) }()

	shelf := &booksv2.Shelf{}
	sample, err := os.ReadFile("../../config/samples/books_v2_shelf.yaml")
	if err == nil {
		err = yaml.UnmarshalStrict(sample, shelf)
	}
	if err != nil {
		t.Fatal(err)
	}
	shelf.Namespace = "default"

	// The API server calls a new webhook only after a delay. A dry run stores nothing.
	wrong := shelf.DeepCopy()
	wrong.Name = strings.Repeat("a", 64)
	for err = nil; !apierrors.IsInvalid(err); {
		if err = m.Live().Create(ctx, wrong.DeepCopy(), client.DryRunAll); ctx.Err() != nil {
			t.Fatalf("the invalid object: got %v, want a rejection", err)
		}
	}
	if err := m.Live().Create(ctx, shelf, client.DryRunAll); err != nil {
		t.Errorf("the sample: %v", err)
	}

	stop()
	if err := <-stopped; err != nil {
		t.Errorf("the manager ended with an error: %v", err)
	}
}
