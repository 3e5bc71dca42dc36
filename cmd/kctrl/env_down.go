//go:build linux || darwin

package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/controlplane"
)

func newEnvDownCommand(s *streams) *cobra.Command {
	var name string
	var all bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop an API server and remove its data",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all && cmd.Flags().Changed("name") {
				return usageError("--all and --name cannot be combined")
			}
			return runEnvDown(cmd.Context(), s, name, all)
		},
	}
	addNameFlag(cmd.Flags(), &name)
	cmd.Flags().BoolVar(&all, "all", false, "stop all environments")
	return cmd
}

func runEnvDown(ctx context.Context, s *streams, name string, all bool) error {
	if err := controlplane.ValidateName(name); err != nil {
		return err
	}
	environments, err := openEnvironments(ctx, s)
	if err != nil {
		return err
	}
	names := []string{name}
	var errs []error
	if all {
		list, err := environments.List()
		names, errs = nil, append(errs, err) // stop the other environments even if one is unreadable
		for _, env := range list {
			names = append(names, env.Name)
		}
	}
	for _, name := range names {
		if err := environments.Down(ctx, name); err != nil {
			errs = append(errs, err)
			continue
		}
		s.printf("environment %q stopped\n", name)
	}
	return errors.Join(errs...)
}
