//go:build linux || darwin

package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/controlplane"
)

func newEnvAssetsCommand(s *streams) *cobra.Command {
	var o controlplane.Options
	cmd := &cobra.Command{
		Use:   "assets DIR",
		Short: "Write the executables that envtest starts",
		Long: `Write etcd and kube-apiserver into DIR, for tests that start a control plane with envtest of
controller-runtime, and a link to kubectl if there is one on PATH. The tests run unchanged:

  kctrl env assets --in-memory bin/envtest
  KUBEBUILDER_ASSETS=$PWD/bin/envtest go test ./...

With --in-memory, kube-apiserver is the API server of kctrl, which keeps its objects in memory and
starts at once. etcd only answers health checks then. A flag that the API server in memory does not
support is an error.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("kctrl env assets needs one directory, such as bin/envtest")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runEnvAssets(cmd.Context(), s, o, args[0]) },
	}
	addKubernetesFlag(cmd.Flags(), &o.Kubernetes)
	cmd.Flags().BoolVar(&o.InMemory, "in-memory", false, "write the API server that keeps its objects in memory")
	return cmd
}

func runEnvAssets(ctx context.Context, s *streams, o controlplane.Options, dir string) error {
	if o.InMemory && o.Kubernetes != "" {
		return usageError("--in-memory and --kubernetes cannot be combined: the API server in memory has one version")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	assets, err := controlplane.Build(ctx, o, progress(s))
	if err != nil {
		return err
	}
	if err := assets.Export(dir); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "wrote etcd and kube-apiserver\n\nNext:\n  export KUBEBUILDER_ASSETS=%s\n", dir)
	return nil
}
