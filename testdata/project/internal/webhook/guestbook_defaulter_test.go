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
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/testenv"

	webappv1 "example.com/guestbook/api/v1"
	"example.com/guestbook/internal/webhook"
)

// TestGuestbookIsDefaulted creates the sample at an API server, which calls the defaulter.
func TestGuestbookIsDefaulted(t *testing.T) {
	env := testenv.Start(t, testenv.WithCRDs("../../config/crd/bases"))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()

	m, err := manager.New(env.Config, manager.Options{Webhook: manager.WebhookOptions{Manifests: []string{"../../config/webhook"}}})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(webappv1.AddToScheme(m.Scheme()), new(webhook.GuestbookDefaulter).SetupWithManager(m))
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- m.Run(ctx) }()

	guestbook := &webappv1.Guestbook{}
	sample, err := os.ReadFile("../../config/samples/webapp_v1_guestbook.yaml")
	if err == nil {
		err = yaml.UnmarshalStrict(sample, guestbook)
	}
	if err != nil {
		t.Fatal(err)
	}
	guestbook.Namespace = "default"

	// The API server calls a new webhook only after a delay. A dry run stores nothing.
	defaulted := guestbook.DeepCopy()
	for defaulted.Labels["app.kubernetes.io/part-of"] != "guestbook" {
		defaulted = guestbook.DeepCopy()
		if err := m.Live().Create(ctx, defaulted, client.DryRunAll); err != nil {
			t.Fatalf("the sample was not defaulted: %v", err)
		}
	}

	stop()
	if err := <-stopped; err != nil {
		t.Errorf("the manager ended with an error: %v", err)
	}
}
