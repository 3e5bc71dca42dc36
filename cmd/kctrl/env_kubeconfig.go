//go:build linux || darwin

package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"
)

func newEnvKubeconfigCommand(s *streams) *cobra.Command {
	var name string
	var path bool
	cmd := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the kubeconfig of an API server",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runEnvKubeconfig(cmd.Context(), s, name, path) },
	}
	addNameFlag(cmd.Flags(), &name)
	cmd.Flags().BoolVar(&path, "path", false, "print the path of the file instead")
	return cmd
}

func runEnvKubeconfig(ctx context.Context, s *streams, name string, path bool) error {
	kubeconfig, err := kubeconfigOf(ctx, s, name)
	if err != nil {
		return err
	}
	if path {
		s.printf("%s\n", kubeconfig)
		return nil
	}
	content, err := os.ReadFile(kubeconfig)
	if err != nil {
		return err
	}
	s.printf("%s", content)
	return nil
}
