//go:build linux || darwin

package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/controlplane"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// controlPlaneCommands are the commands that run a process on this machine.
var controlPlaneCommands = []func(*streams) *cobra.Command{
	newEnvBuildCommand, newEnvUpCommand, newEnvDownCommand, newEnvStatusCommand, newEnvKubeconfigCommand,
	newEnvAssetsCommand, newEnvGarbageCollectorCommand, newEnvHostCommand,
}

// errNoControlPlane is the reason why etcd and kube-apiserver do not run on this system; nil if they do.
var errNoControlPlane error

// controlPlaneCompiled reports whether kctrl env up has nothing to compile.
var controlPlaneCompiled = func(ctx context.Context) bool { return controlplane.Compiled(ctx, controlplane.Options{}) }

// addNameFlag adds the flag for the name of an environment.
func addNameFlag(flags *pflag.FlagSet, name *string) {
	flags.StringVar(name, "name", controlplane.DefaultName, "`name` of the environment; several can run at the same time")
}

// openEnvironments returns the environments of this user, and removes the remains of interrupted
// starts.
func openEnvironments(ctx context.Context, s *streams) (*controlplane.Environments, error) {
	environments, err := controlplane.OpenEnvironments()
	if err != nil {
		return nil, err
	}
	environments.Notice = s.notice
	return environments, environments.Recover(ctx)
}

// kubeconfigOf returns the path of the kubeconfig of a named environment, which must be usable.
func kubeconfigOf(ctx context.Context, s *streams, name string) (string, error) {
	if err := controlplane.ValidateName(name); err != nil {
		return "", err
	}
	environments, err := openEnvironments(ctx, s)
	if err != nil {
		return "", err
	}
	return usableKubeconfig(environments, name)
}

// chaosServer returns the kubeconfig of the environment with this name, and whether controllers of a cluster run in it.
func chaosServer(ctx context.Context, s *streams, name string) (kubeconfig string, controlled bool, err error) {
	if kubeconfig, err = kubeconfigOf(ctx, s, name); err != nil {
		return "", false, err
	}
	environments, err := openEnvironments(ctx, s)
	if err != nil {
		return "", false, err
	}
	env, err := environments.Get(name)
	if err != nil {
		return "", false, err
	}
	return kubeconfig, env.ControllerManager || env.FakeControllers, nil
}

func usableKubeconfig(environments *controlplane.Environments, name string) (string, error) {
	env, err := environments.Get(name)
	if err != nil {
		return "", err
	}
	return env.Kubeconfig, env.Usable()
}

// kubeconfigOfCurrent is like kubeconfigOf for the environment of KUBECONFIG, or the default one. It never uses another
// server in KUBECONFIG.
func kubeconfigOfCurrent(ctx context.Context, s *streams) (string, error) {
	environments, err := openEnvironments(ctx, s)
	if err != nil {
		return "", err
	}
	exported := ""
	if files := filepath.SplitList(os.Getenv("KUBECONFIG")); len(files) > 0 {
		exported = files[0] // has the current context
	}
	if name := environments.NameOf(exported); name != "" {
		return usableKubeconfig(environments, name)
	}
	kubeconfig, err := usableKubeconfig(environments, controlplane.DefaultName)
	if e, ok := errors.AsType[*diagnostic.Error](err); ok && exported != "" && errors.Is(err, fs.ErrNotExist) {
		e.Hint += `; --kubeconfig "$KUBECONFIG" takes the server of that file`
	}
	return kubeconfig, err
}

// kubernetesVersions completes the supported versions.
func kubernetesVersions(*streams) []string { return controlplane.Versions() }

// environmentNames completes the names of existing environments.
func environmentNames(*streams) []string {
	environments, err := controlplane.OpenEnvironments()
	if err != nil {
		return nil
	}
	all, _ := environments.List()
	names := []string{controlplane.DefaultName}
	for _, env := range all {
		names = append(names, env.Name)
	}
	return names
}
