//go:build linux || darwin

package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/controlplane"
)

func newEnvBuildCommand(s *streams) *cobra.Command {
	return &cobra.Command{
		Use:   "build",
		Short: "Compile the control plane into the user's cache, if it is not there",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runEnvBuild(cmd.Context(), s) },
	}
}

func runEnvBuild(ctx context.Context, s *streams) error {
	_, err := controlplane.Build(ctx, progress(s))
	return err
}
