package main

import (
	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/controlplane"
)

func newEnvHostCommand(s *streams) *cobra.Command {
	start := controlplane.Options{InMemory: true}
	cmd := &cobra.Command{
		Use:   "host",
		Short: "Serve isolated API servers to a test binary",
		Long: `Serve isolated in-memory API servers to a test binary, which requests them on standard input. The
command ends when standard input is closed. The runtime's package testenv runs this command once for
each test binary.`,
		Args:   noArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			assets, err := controlplane.Build(cmd.Context(), start, progress(s))
			if err != nil {
				return err
			}
			return assets.Host(start)
		},
	}
	cmd.Flags().BoolVar(&start.FakeControllers, "fake-controllers", false, "run fake controllers on each server")
	return cmd
}
