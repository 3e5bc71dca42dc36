package main

import (
	"github.com/spf13/cobra"
)

func newEnvCommand(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Run an API server on this machine",
		Long: `Run etcd and kube-apiserver on this machine. The first start compiles them from their Go modules,
which takes minutes; later starts take seconds. --in-memory runs kctrl's own API server instead,
which compiles in about a minute and starts at once; docs/fidelity.md lists the differences.
Servers listen on loopback only, and run on Linux and macOS. On other systems, apply, get and delete
require --kubeconfig.

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
