// Package config finds the API server for a program.
package config

import (
	"flag"
	"fmt"
	"os"
	"os/user"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctrl-dev/kctrl/runtime/compat/simulated"

	logf "sigs.k8s.io/controller-runtime/pkg/internal/log"
)

// KubeconfigFlagName is the name of the flag with the path of the kubeconfig.
const KubeconfigFlagName = "kubeconfig"

var (
	kubeconfig string
	log        = logf.RuntimeLog.WithName("client").WithName("config")
)

func init() { RegisterFlags(flag.CommandLine) }

// RegisterFlags adds the flag --kubeconfig to fs, or uses it if fs already has it. Nil means flag.CommandLine.
func RegisterFlags(fs *flag.FlagSet) {
	if fs == nil {
		fs = flag.CommandLine
	}
	if existing := fs.Lookup(KubeconfigFlagName); existing != nil {
		kubeconfig = existing.Value.String()
		return
	}
	fs.StringVar(&kubeconfig, KubeconfigFlagName, "", "Paths to a kubeconfig. Only required if out-of-cluster.")
}

// GetConfig returns the client configuration from the first of --kubeconfig, $KUBECONFIG, the service account of the
// pod, and $HOME/.kube/config. Unless the configuration sets QPS, it has no client-side rate limit.
func GetConfig() (*rest.Config, error) { return GetConfigWithContext("") }

// GetConfigWithContext is like [GetConfig], with a named context of the kubeconfig.
func GetConfigWithContext(context string) (*rest.Config, error) {
	config, err := load(context)
	if err != nil {
		return nil, err
	}
	if config.QPS == 0 {
		config.QPS = -1
	}
	return config, nil
}

func load(context string) (*rest.Config, error) {
	if p := simulated.Current(); p != nil {
		return rest.CopyConfig(p.Config), nil
	}
	if kubeconfig != "" {
		return fromKubeconfig(&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}, context)
	}
	var inClusterErr error
	if os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		var config *rest.Config
		if config, inClusterErr = rest.InClusterConfig(); inClusterErr == nil {
			return config, nil
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if _, ok := os.LookupEnv("HOME"); !ok {
		current, err := user.Current()
		if err != nil {
			return nil, fmt.Errorf("could not get current user: %w", err)
		}
		rules.Precedence = append(rules.Precedence,
			filepath.Join(current.HomeDir, clientcmd.RecommendedHomeDir, clientcmd.RecommendedFileName))
	}
	config, err := fromKubeconfig(rules, context)
	if err != nil && inClusterErr != nil {
		log.Error(inClusterErr, "unable to load in-cluster config")
	}
	return config, err
}

func fromKubeconfig(rules clientcmd.ClientConfigLoader, context string) (*rest.Config, error) {
	overrides := &clientcmd.ConfigOverrides{CurrentContext: context}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
}

// GetConfigOrDie is like [GetConfig], but logs an error and exits.
func GetConfigOrDie() *rest.Config {
	config, err := GetConfig()
	if err != nil {
		log.Error(err, "unable to get kubeconfig")
		os.Exit(1)
	}
	return config
}
