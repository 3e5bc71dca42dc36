//go:build !linux && !darwin

package main

import (
	"context"
	"runtime"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// controlPlaneCommands are the commands that build and run the in-memory API server, and replacements for commands that
// need Linux or macOS. A replacement ignores its flags and returns [errUnsupported].
var controlPlaneCommands = []func(*streams) *cobra.Command{
	newEnvBuildCommand, newEnvHostCommand, unsupported("up"), unsupported("down"), unsupported("status"),
	unsupported("kubeconfig"), unsupported("assets"),
}

// controlPlaneCompiled is nil, because kctrl env up does not run on this system.
var controlPlaneCompiled func(context.Context) bool

func unsupported(name string) func(*streams) *cobra.Command {
	return func(*streams) *cobra.Command {
		return &cobra.Command{
			Use:                name,
			Short:              "Needs Linux or macOS",
			DisableFlagParsing: true,
			RunE:               func(*cobra.Command, []string) error { return errUnsupported },
		}
	}
}

// errNoControlPlane is the reason why etcd and kube-apiserver do not run on this system.
var errNoControlPlane error = errUnsupported

var errUnsupported = diagnostic.New("etcd and kube-apiserver run on Linux and macOS only; this is "+runtime.GOOS,
	"use WSL, a container or a virtual machine; tests run here on the API server in memory, and kctrl env "+
		"apply, get and delete with --kubeconfig")

// addNameFlag adds the flag for the name of an environment, so that command lines are portable.
func addNameFlag(flags *pflag.FlagSet, name *string) {
	flags.StringVar(name, "name", "default", "`name` of the environment, which requires Linux or macOS")
}

func kubeconfigOf(context.Context, *streams, string) (string, error) { return "", errUnsupported }

// chaosServer returns an error: this system has no environments.
func chaosServer(context.Context, *streams, string) (kubeconfig string, controlled bool, err error) {
	return "", false, errUnsupported
}

func kubeconfigOfCurrent(context.Context, *streams) (string, error) { return "", errUnsupported }

// environmentNames returns nil: this system has no environments.
func environmentNames(*streams) []string { return nil }

// kubernetesVersions returns nil: no version runs on this system.
func kubernetesVersions(*streams) []string { return nil }

// startServer returns an error: this system has no server.
func startServer(context.Context, *streams, bool) (kubeconfig string, stop func(), err error) {
	return "", nil, errUnsupported
}
