//go:build linux || darwin

package main

import (
	"cmp"
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

// controlPlaneCommands are the commands that build, run and inspect API servers on this machine.
var controlPlaneCommands = []func(*streams) *cobra.Command{
	newEnvBuildCommand, newEnvUpCommand, newEnvDownCommand, newEnvStatusCommand, newEnvKubeconfigCommand,
	newEnvAssetsCommand, newEnvGarbageCollectorCommand, newEnvHostCommand,
}

// errNoControlPlane is the reason why etcd and kube-apiserver do not run on this system; nil if they do.
var errNoControlPlane error

// controlPlaneCompiled reports whether kctrl env up can start without compiling.
var controlPlaneCompiled = func(ctx context.Context) bool { return controlplane.Compiled(ctx, controlplane.Options{}) }

// addNameFlag adds the flag for the name of an environment.
func addNameFlag(flags *pflag.FlagSet, name *string) {
	flags.StringVar(name, "name", controlplane.DefaultName, "`name` of the environment; several can run at the same time")
}

// openEnvironments returns the environments of this user, after it has removed the remains of interrupted starts.
func openEnvironments(ctx context.Context, s *streams) (*controlplane.Environments, error) {
	environments, err := controlplane.OpenEnvironments()
	if err != nil {
		return nil, err
	}
	environments.Notice = s.notice
	return environments, environments.Recover(ctx)
}

// kubeconfigOf returns the path of the kubeconfig of a named environment. It fails if the environment is not usable.
func kubeconfigOf(ctx context.Context, s *streams, name string) (string, error) {
	kubeconfig, _, err := chaosServer(ctx, s, name)
	return kubeconfig, err
}

// chaosServer is like kubeconfigOf. controlled reports whether the environment runs kube-controller-manager or the fake
// controllers.
func chaosServer(ctx context.Context, s *streams, name string) (kubeconfig string, controlled bool, err error) {
	if err := controlplane.ValidateName(name); err != nil {
		return "", false, err
	}
	environments, err := openEnvironments(ctx, s)
	if err != nil {
		return "", false, err
	}
	env, err := usable(environments, name)
	if err != nil {
		return "", false, err
	}
	return env.Kubeconfig, env.ControllerManager || env.FakeControllers, nil
}

func usable(environments *controlplane.Environments, name string) (*controlplane.Environment, error) {
	env, err := environments.Get(name)
	if err != nil {
		return nil, err
	}
	return env, env.Usable()
}

// kubeconfigOfCurrent returns the path of the kubeconfig of the environment that KUBECONFIG selects, or else of the
// default environment. It ignores servers in KUBECONFIG that are not environments of kctrl.
func kubeconfigOfCurrent(ctx context.Context, s *streams) (string, error) {
	environments, err := openEnvironments(ctx, s)
	if err != nil {
		return "", err
	}
	exported := ""
	if files := filepath.SplitList(os.Getenv("KUBECONFIG")); len(files) > 0 {
		exported = files[0] // defines the current context
	}
	name := environments.NameOf(exported)
	env, err := usable(environments, cmp.Or(name, controlplane.DefaultName))
	if err == nil {
		return env.Kubeconfig, nil
	}
	e, ok := errors.AsType[*diagnostic.Error](err)
	if ok && name == "" && exported != "" && errors.Is(err, fs.ErrNotExist) {
		e.Hint += `; --kubeconfig "$KUBECONFIG" takes the server of that file`
	}
	return "", err
}

// kubernetesVersions returns the supported versions, for completion.
func kubernetesVersions(*streams) []string { return controlplane.Versions() }

// environmentNames returns the names of existing environments and the default name, for completion.
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
