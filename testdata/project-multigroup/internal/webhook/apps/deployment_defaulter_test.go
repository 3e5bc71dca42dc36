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

	"example.org/fleet/internal/webhook/apps"
	appsv1 "k8s.io/api/apps/v1"
)

// TestDeploymentIsDefaulted creates an object at an API server, which calls the defaulter.
func TestDeploymentIsDefaulted(t *testing.T) {
	env := testenv.Start(t)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()

	m, err := manager.New(env.Config, manager.Options{Webhook: manager.WebhookOptions{Manifests: []string{"../../../config/webhook"}}})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(appsv1.AddToScheme(m.Scheme()), new(webhook.DeploymentDefaulter).SetupWithManager(m))
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- m.Run(ctx) }()

	deploymentObject := &appsv1.Deployment{}
	sample, err := os.ReadFile("testdata/deployment_v1.yaml")
	if err == nil {
		err = yaml.UnmarshalStrict(sample, deploymentObject)
	}
	if err != nil {
		t.Fatal(err)
	}
	deploymentObject.Namespace = "default"
	deploymentObject.Labels = map[string]string{"app.kubernetes.io/part-of": ""}

	// The API server calls a new webhook only after a delay. A dry run stores nothing.
	defaulted := deploymentObject.DeepCopy()
	for defaulted.Labels["app.kubernetes.io/part-of"] != "fleet-operator" {
		defaulted = deploymentObject.DeepCopy()
		if err := m.Live().Create(ctx, defaulted, client.DryRunAll); err != nil {
			t.Fatalf("the sample was not defaulted: %v", err)
		}
	}

	stop()
	if err := <-stopped; err != nil {
		t.Errorf("the manager ended with an error: %v", err)
	}
}
