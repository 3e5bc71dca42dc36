// Package restconfig finds the API server by the flag --kubeconfig of flag.CommandLine, for main functions that were
// migrated from controller-runtime. New code should call manager.Main or manager.LoadConfig.
package restconfig

import (
	"context"
	"flag"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctrl-dev/kctrl/runtime/manager"
)

// Flag of [GetConfig].
const (
	kubeconfigFlag  = "kubeconfig"
	kubeconfigUsage = "`file` with the address of the API server; without it $KUBECONFIG, the pod's service account, " +
		"or ~/.kube/config"
)

// GetConfig is [manager.LoadConfig] with the value of the flag --kubeconfig of flag.CommandLine, if that is defined.
func GetConfig() (*rest.Config, error) {
	kubeconfig := ""
	if one := flag.Lookup(kubeconfigFlag); one != nil {
		kubeconfig = one.Value.String()
	}
	return manager.LoadConfig(kubeconfig)
}

// RegisterFlags adds the flag --kubeconfig, which [GetConfig] reads, to set and to flag.CommandLine unless they have
// it. With a nil set, it adds the flag to flag.CommandLine only.
func RegisterFlags(set *flag.FlagSet) {
	if flag.Lookup(kubeconfigFlag) == nil {
		flag.String(kubeconfigFlag, "", kubeconfigUsage)
	}
	if set != nil && set.Lookup(kubeconfigFlag) == nil {
		set.Var(flag.Lookup(kubeconfigFlag).Value, kubeconfigFlag, kubeconfigUsage)
	}
}

// GetConfigOrDie is [GetConfig] for a main function: on an error it prints the reason to standard error and panics.
func GetConfigOrDie() *rest.Config {
	config, err := GetConfig()
	if err != nil {
		panic(fmt.Errorf("find the API server: %w", err))
	}
	return config
}

// GetConfigWithContext is [GetConfig] with the named context of the kubeconfig. An empty name means the current
// context.
func GetConfigWithContext(name string) (*rest.Config, error) {
	if name == "" {
		return GetConfig()
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.WarnIfAllMissing = false // the error has this information
	if one := flag.Lookup(kubeconfigFlag); one != nil {
		rules.ExplicitPath = one.Value.String()
	}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: name}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
}

// SetupSignalHandler is [manager.SignalContext] without a cancel function, for a main function. Its resources are held
// until the process ends.
func SetupSignalHandler() context.Context {
	ctx, cancel := manager.SignalContext(context.Background())
	context.AfterFunc(ctx, cancel)
	return ctx
}
