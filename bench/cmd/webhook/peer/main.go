// Command peer serves the measured webhooks with controller-runtime.
package main

import (
	"context"
	"crypto/tls"
	"errors"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/kctrl-dev/kctrl/bench/cmd/webhook/logic"
	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
	v2 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v2"
)

type defaulter struct{}

func (defaulter) Default(ctx context.Context, w *v1.Widget) error { return logic.Default(ctx, w) }

type validator struct{}

func (validator) ValidateCreate(ctx context.Context, w *v1.Widget) (admission.Warnings, error) {
	return nil, logic.Check(ctx, w)
}

func (validator) ValidateUpdate(context.Context, *v1.Widget, *v1.Widget) (admission.Warnings, error) {
	return nil, nil
}

func (validator) ValidateDelete(context.Context, *v1.Widget) (admission.Warnings, error) {
	return nil, nil
}

func main() { logic.Serve(run) }

func run(ctx context.Context, port int, dir string) error {
	ctrllog.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	if err := errors.Join(v1.AddToScheme(scheme), v2.AddToScheme(scheme)); err != nil {
		return err
	}
	server := webhook.NewServer(webhook.Options{
		Host: "127.0.0.1", Port: port, CertDir: dir,
		// the setting of kubebuilder's main
		TLSOpts: []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }},
	})
	server.Register(logic.Mutate, admission.WithDefaulter(scheme, defaulter{}))
	server.Register(logic.Validate, admission.WithValidator(scheme, validator{}))
	newConverter := conversion.NewHubSpokeConverter(&v2.Widget{}, conversion.NewSpokeConverter(&v1.Widget{}, logic.FromHub,
		logic.ToHub))
	converter, err := newConverter(scheme)
	if err != nil {
		return err
	}
	registry := conversion.NewRegistry()
	if err := registry.RegisterConverter(schema.GroupKind{Group: v2.GroupVersion.Group, Kind: "Widget"},
		converter); err != nil {
		return err
	}
	server.Register(logic.Convert, conversion.NewWebhookHandler(scheme, registry))
	return server.Start(ctx)
}
