// Command kctrl serves the measured webhooks with kctrl's runtime.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/bench/cmd/webhook/logic"
	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
	v2 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v2"
	"github.com/kctrl-dev/kctrl/runtime/certificate"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/webhook"
	"github.com/kctrl-dev/kctrl/runtime/webhook/admission"
	"github.com/kctrl-dev/kctrl/runtime/webhook/conversion"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// host has the parts of a manager that webhooks use.
type host struct {
	server *server.Server
	scheme *runtime.Scheme
	logger *slog.Logger
}

func (h host) Webhooks() (*server.Server, error) { return h.server, nil }
func (h host) Scheme() *runtime.Scheme           { return h.scheme }
func (h host) Logger() *slog.Logger              { return h.logger }

func main() { logic.Serve(run) }

func run(ctx context.Context, port int, dir string) error {
	logger := slog.New(slog.DiscardHandler)
	files, err := certificate.NewFiles(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), logger)
	if err != nil {
		return err
	}
	h := host{scheme: runtime.NewScheme(), logger: logger, server: server.New(server.Options{
		Address: fmt.Sprintf("127.0.0.1:%d", port), Certificates: files, Logger: logger, Metrics: metrics.NewRegistry(),
	})}
	validate := func(ctx context.Context, w *v1.Widget) (admission.Warnings, error) { return nil, logic.Check(ctx, w) }
	err = errors.Join(
		v1.AddToScheme(h.scheme), v2.AddToScheme(h.scheme),
		webhook.For[*v1.Widget](h).
			WithDefaulter(admission.DefaulterFunc[*v1.Widget](logic.Default)).
			WithValidator(admission.ValidatorFuncs[*v1.Widget]{Create: validate}).Complete(),
	)
	if err != nil {
		return err
	}
	if err := webhook.For[*v2.Widget](h).WithSpokes(conversion.NewSpoke(logic.FromHub,
		logic.ToHub)).Complete(); err != nil {
		return err
	}
	if err := h.server.Listen(ctx); err != nil {
		return err
	}
	return h.server.Run(ctx)
}
