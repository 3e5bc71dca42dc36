package manager

import (
	"errors"
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// errNoServer is the error of LoadConfig if it finds no configuration.
var errNoServer = errors.New("no API server is named")

// LoadConfig returns the configuration for the API server from the first of these sources that is set or exists: the
// kubeconfig with the given path, $KUBECONFIG, the pod's service account, and ~/.kube/config. The caller owns the
// configuration.
func LoadConfig(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	rules.WarnIfAllMissing = false // the error below reports this
	fromEnv := os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	if kubeconfig == "" && fromEnv == "" {
		config, err := rest.InClusterConfig()
		if !errors.Is(err, rest.ErrNotInCluster) {
			return config, err
		}
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	switch {
	case !clientcmd.IsEmptyConfig(err):
		return config, err
	case kubeconfig != "":
		return nil, fmt.Errorf("%w in %s", errNoServer, kubeconfig)
	case fromEnv != "":
		return nil, fmt.Errorf("%w in %s, which $KUBECONFIG names", errNoServer, fromEnv)
	}
	return nil, fmt.Errorf("%w in ~/.kube/config, and this is not a pod", errNoServer)
}
