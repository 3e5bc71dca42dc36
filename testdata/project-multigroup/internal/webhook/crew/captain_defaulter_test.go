/*
Copyright 2026.
*/

package webhook_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/testenv"

	crewv1 "example.org/fleet/api/crew/v1"
	"example.org/fleet/internal/webhook/crew"
)

// TestCaptainIsDefaulted creates the sample at an API server, which calls the defaulter.
func TestCaptainIsDefaulted(t *testing.T) {
	env := testenv.Start(t, testenv.WithCRDs("../../../config/crd/bases"))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()

	m, err := manager.New(env.Config, manager.Options{Webhook: manager.WebhookOptions{Manifests: []string{"../../../config/webhook"}}})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(crewv1.AddToScheme(m.Scheme()), new(webhook.CaptainDefaulter).SetupWithManager(m))
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
	defaulted := captain.DeepCopy()
	for defaulted.Labels["app.kubernetes.io/part-of"] != "fleet-operator" {
		defaulted = captain.DeepCopy()
		if err := m.Live().Create(ctx, defaulted, client.DryRunAll); err != nil {
			t.Fatalf("the sample was not defaulted: %v", err)
		}
	}

	stop()
	if err := <-stopped; err != nil {
		t.Errorf("the manager ended with an error: %v", err)
	}
}
