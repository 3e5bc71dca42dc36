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
		Long: `Write the executables etcd and kube-apiserver to DIR, for tests that start a control plane with
controller-runtime's envtest. If kubectl is on PATH, DIR also gets a link to it. The tests run
unchanged:

  kctrl env assets --in-memory bin/envtest
  KUBEBUILDER_ASSETS=$PWD/bin/envtest go test ./...

With --in-memory, the executable kube-apiserver is kctrl's own API server, which keeps its objects
in memory and starts at once, and etcd does nothing except answer health checks. The in-memory API
server rejects flags that it does not support.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("kctrl env assets needs one directory, such as bin/envtest")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runEnvAssets(cmd.Context(), s, o, args[0]) },
	}
	addKubernetesFlag(cmd.Flags(), &o.Kubernetes)
	cmd.Flags().BoolVar(&o.InMemory, "in-memory", false, "write kctrl's in-memory API server instead")
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
