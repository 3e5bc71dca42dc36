package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/controlplane"
)

func newEnvCommand(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Run a real API server on this machine, to try and to test with",
		Long: `Run a real etcd and kube-apiserver on this machine. They are compiled from their Go modules on first use, which takes
minutes; later they start in seconds. They listen on loopback only.

  kctrl env up
  kctrl env apply -k config/crd
  export KUBECONFIG=$(kctrl env kubeconfig --path)
  kctrl env down`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, newCommand := range []func(*streams) *cobra.Command{
		newEnvBuildCommand, newEnvUpCommand, newEnvDownCommand, newEnvStatusCommand, newEnvKubeconfigCommand,
		newEnvApplyCommand, newEnvDeleteCommand, newEnvGetCommand,
	} {
		cmd.AddCommand(newCommand(s))
	}
	return cmd
}

// addNameFlag lets the user choose an environment.
func addNameFlag(flags *pflag.FlagSet, name *string) {
	flags.StringVar(name, "name", controlplane.DefaultName, "`name` of the environment; several run side by side")
}

// openEnvironment returns the environment that the user named, which can be talked to.
func openEnvironment(name string) (*controlplane.Environment, error) {
	if err := controlplane.ValidateName(name); err != nil {
		return nil, err
	}
	environments, err := controlplane.OpenEnvironments()
	if err != nil {
		return nil, err
	}
	env, err := environments.Get(name)
	if err != nil {
		return nil, err
	}
	return env, env.Usable()
}

func progress(s *streams) controlplane.Progress {
	return controlplane.Progress{Out: s.err, Live: terminal(s.err)}
}
