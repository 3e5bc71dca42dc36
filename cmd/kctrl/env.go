package main

import (
	"github.com/spf13/cobra"
)

func newEnvCommand(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Run an API server on this machine, to try and to test with",
		Long: `Run a real etcd and kube-apiserver on this machine. They are compiled from their Go modules on first use, which takes
minutes; later they start in seconds. With --in-memory it is an API server of kctrl's own: it is compiled in less than a
minute, starts at once, and answers as the real one does, but for what docs/fidelity.md lists. Either listens on loopback
only. This works on Linux and macOS; elsewhere apply, get and delete work with --kubeconfig.

  kctrl env up --in-memory
  kctrl env apply -k config/crd
  export KUBECONFIG=$(kctrl env kubeconfig --path)
  kctrl env down`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, newCommand := range controlPlaneCommands {
		cmd.AddCommand(newCommand(s))
	}
	cmd.AddCommand(newEnvApplyCommand(s), newEnvDeleteCommand(s), newEnvGetCommand(s))
	return cmd
}
