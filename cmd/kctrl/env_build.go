package main

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/kctrl-dev/kctrl/internal/controlplane"
)

func newEnvBuildCommand(s *streams) *cobra.Command {
	var o controlplane.Options
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Compile the API server into the user's cache",
		Long: `Compile etcd and kube-apiserver into the user's cache, unless the cache already contains them. This
takes minutes; if you interrupt the command, the next run continues the build. kctrl env up runs the
build automatically. kctrl contains the hashes of the Go modules that it compiles.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runEnvBuild(cmd.Context(), s, o) },
	}
	addKubernetesFlag(cmd.Flags(), &o.Kubernetes)
	cmd.Flags().BoolVar(&o.InMemory, "in-memory", false, "compile the in-memory API server instead")
	cmd.Flags().BoolVar(&o.ControllerManager, "controller-manager", false, "also compile kube-controller-manager")
	return cmd
}

func runEnvBuild(ctx context.Context, s *streams, o controlplane.Options) error {
	if o.InMemory && (o.Kubernetes != "" || o.ControllerManager) {
		return usageError("--in-memory and other flags cannot be combined")
	}
	if !o.InMemory && errNoControlPlane != nil {
		return errNoControlPlane
	}
	_, err := controlplane.Build(ctx, o, progress(s))
	return err
}

func progress(s *streams) controlplane.Progress {
	p := controlplane.Progress{Out: s.err}
	if terminal(s.err) && os.Getenv("TERM") != "dumb" {
		p.Columns = func() int {
			columns, _, _ := term.GetSize(int(s.err.(*os.File).Fd())) // 0 if the terminal does not report its size
			return columns
		}
	}
	return p
}

// addKubernetesFlag adds the flag for the version of Kubernetes.
func addKubernetesFlag(flags *pflag.FlagSet, version *string) {
	flags.StringVar(version, "kubernetes", "",
		"`version` of Kubernetes: "+strings.Join(controlplane.Versions(), ", ")+" (default: the first one)")
}
