package main

import (
	"os"

	"github.com/spf13/cobra"
)

func newEnvKubeconfigCommand(s *streams) *cobra.Command {
	var name string
	var path bool
	cmd := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the kubeconfig of a control plane, or its path",
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return runEnvKubeconfig(s, name, path) },
	}
	addNameFlag(cmd.Flags(), &name)
	cmd.Flags().BoolVar(&path, "path", false, "print the path of the file instead")
	return cmd
}

func runEnvKubeconfig(s *streams, name string, path bool) error {
	env, err := openEnvironment(name)
	if err != nil {
		return err
	}
	if path {
		s.printf("%s\n", env.Kubeconfig)
		return nil
	}
	content, err := os.ReadFile(env.Kubeconfig)
	if err != nil {
		return err
	}
	s.printf("%s", content)
	return nil
}
