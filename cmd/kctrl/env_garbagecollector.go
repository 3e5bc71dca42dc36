//go:build linux || darwin

package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/internal/kubectl"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/events"
	"github.com/kctrl-dev/kctrl/runtime/garbagecollector"
)

// newEnvGarbageCollectorCommand returns the hidden command that kctrl env up --garbage-collector runs as a process.
func newEnvGarbageCollectorCommand(s *streams) *cobra.Command {
	var kubeconfig, authority string
	cmd := &cobra.Command{
		Use:    "garbage-collector",
		Short:  "Run the garbage collector until interrupted",
		Hidden: true,
		Args:   noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := kubectl.LoadConfig(kubeconfig)
			if err != nil {
				return err
			}
			config.CAData, config.CAFile = nil, authority
			return collectGarbage(cmd.Context(), s, config)
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig `file` of the server")
	cmd.Flags().StringVar(&authority, "certificate-authority", "", "certificate `file` of the server's authority")
	return cmd
}

// collectGarbage runs the collector until ctx ends or a signal terminates the process. It logs to standard error.
func collectGarbage(ctx context.Context, s *streams, config *rest.Config) error {
	ctx, stop := untilTerminated(ctx)
	defer stop()
	log := slog.New(slog.NewTextHandler(s.err, nil))
	scheme := runtime.NewScheme()
	live, err := client.New(config, client.Options{Scheme: scheme, Logger: log})
	if err != nil {
		return err
	}
	broadcaster := events.New(events.Options{Scheme: scheme, Sink: events.NewSink(live), Logger: log})
	collector, err := garbagecollector.New(config, garbagecollector.Options{
		GraphOptions: garbagecollector.GraphOptions{Logger: log},
		Recorder:     broadcaster.Recorder(garbagecollector.Name),
	})
	if err != nil {
		return err
	}
	written := make(chan error, 1)
	go func() { written <- broadcaster.Run(ctx) }()
	return errors.Join(collector.Run(ctx), <-written)
}
