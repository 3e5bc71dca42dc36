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

	webappv1 "example.com/guestbook/api/v1"
	"example.com/guestbook/internal/webhook"
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
	err = errors.Join(webappv1.AddToScheme(m.Scheme()), new(webhook.ShelfValidator).SetupWithManager(m))
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- m.Run(ctx) }()

	shelf := &webappv1.Shelf{}
	sample, err := os.ReadFile("../../config/samples/webapp_v1_shelf.yaml")
	if err == nil {
		err = yaml.UnmarshalStrict(sample, shelf)
	}
	if err != nil {
		t.Fatal(err)
	}

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
