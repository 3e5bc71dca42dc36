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

	crewv1 "example.org/fleet/api/crew/v1"
	"example.org/fleet/internal/webhook/crew"
)

// TestCaptainIsValidated creates the sample under two names at an API server, which calls the validator.
func TestCaptainIsValidated(t *testing.T) {
	env := testenv.Start(t, testenv.WithCRDs("../../../config/crd/bases"))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()

	m, err := manager.New(env.Config, manager.Options{Webhook: manager.WebhookOptions{Manifests: []string{"../../../config/webhook"}}})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(crewv1.AddToScheme(m.Scheme()), new(webhook.CaptainValidator).SetupWithManager(m))
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- m.Run(ctx) }()

	captain := &crewv1.Captain{}
	sample, err := os.ReadFile("../../../config/samples/crew_v1_captain.yaml")
	if err == nil {
		err = yaml.UnmarshalStrict(sample, captain)
	}
	if err != nil {
		t.Fatal(err)
	}
	captain.Namespace = "default"

	// The API server calls a new webhook only after a delay. A dry run stores nothing.
	wrong := captain.DeepCopy()
	wrong.Name = strings.Repeat("a", 64)
	for err = nil; !apierrors.IsInvalid(err); {
		if err = m.Live().Create(ctx, wrong.DeepCopy(), client.DryRunAll); ctx.Err() != nil {
			t.Fatalf("the invalid object: got %v, want a rejection", err)
		}
	}
	if err := m.Live().Create(ctx, captain, client.DryRunAll); err != nil {
		t.Errorf("the sample: %v", err)
	}

	stop()
	if err := <-stopped; err != nil {
		t.Errorf("the manager ended with an error: %v", err)
	}
}
