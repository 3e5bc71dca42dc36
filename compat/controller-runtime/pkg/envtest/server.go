// Package envtest runs kctrl's test servers. They are in-memory API servers, or etcd and kube-apiserver if
// KCTRL_TEST_SERVER is "real". KUBEBUILDER_ASSETS is the directory with the binaries of these two; if it is unset,
// kctrl compiles them.
package envtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	kenvtest "github.com/kctrl-dev/kctrl/runtime/compat/envtest"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	logf "sigs.k8s.io/controller-runtime/pkg/internal/log"
)

var log = logf.RuntimeLog.WithName("test-env")

// existingClusterVariable is the environment variable that sets UseExistingCluster.
const existingClusterVariable = "USE_EXISTING_CLUSTER"

// serverVariable selects the real API server.
const serverVariable = "KCTRL_TEST_SERVER"

// StartTimeout and StopTimeout are timeouts of Ginkgo suites, in seconds.
const (
	StartTimeout = 60
	StopTimeout  = 60
)

// Environment is an API server with the CRDs and webhooks of a test.
type Environment struct {
	// ControlPlane is the server.
	ControlPlane ControlPlane
	// Scheme determines the kinds with conversion webhooks. Nil means the scheme of client-go.
	Scheme *runtime.Scheme
	// Config is the configuration of clients. [Environment.Start] sets it, unless UseExistingCluster is set.
	Config *rest.Config
	// KubeConfig is a kubeconfig for the server. [Environment.Start] sets it to the content of Config, unless it is set.
	KubeConfig []byte
	// CRDInstallOptions select the CRDs to install.
	CRDInstallOptions CRDInstallOptions
	// WebhookInstallOptions are the webhooks to install.
	WebhookInstallOptions WebhookInstallOptions
	// ErrorIfCRDPathMissing makes missing CRD paths an error.
	ErrorIfCRDPathMissing bool
	// CRDs are additional CRDs.
	CRDs []*apiextensionsv1.CustomResourceDefinition
	// CRDDirectoryPaths are additional files and directories with CRDs.
	CRDDirectoryPaths []string
	// DownloadBinaryAssets has no effect, because kctrl compiles all binaries.
	DownloadBinaryAssets bool
	// DownloadBinaryAssetsVersion has no effect.
	DownloadBinaryAssetsVersion string
	// DownloadBinaryAssetsIndexURL has no effect.
	DownloadBinaryAssetsIndexURL string
	// BinaryAssetsDirectory has no effect. Set KUBEBUILDER_ASSETS to the directory with etcd and kube-apiserver instead.
	BinaryAssetsDirectory string
	// UseExistingCluster uses the server of Config, or of the kubeconfig, instead of starting one.
	UseExistingCluster *bool
	// ControlPlaneStartTimeout has no effect.
	ControlPlaneStartTimeout time.Duration
	// ControlPlaneStopTimeout has no effect.
	ControlPlaneStopTimeout time.Duration
	// AttachControlPlaneOutput has no effect.
	AttachControlPlaneOutput bool

	server *kenvtest.Environment // nil with an existing cluster
}

// Start starts the server, installs CRDs and webhooks, and returns the client configuration. After an error, nothing
// runs.
func (te *Environment) Start() (_ *rest.Config, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, te.Stop())
		}
	}()
	if te.Scheme == nil {
		te.Scheme = scheme.Scheme
	}
	if te.useExisting() {
		if te.Config == nil {
			if te.Config, err = config.GetConfig(); err != nil {
				return nil, fmt.Errorf("unable to get configuration for existing cluster: %w", err)
			}
		}
	} else if err := te.startServer(); err != nil {
		return nil, err
	}
	if len(te.KubeConfig) == 0 {
		if te.KubeConfig, err = kubeConfigOf(te.Config); err != nil {
			return nil, fmt.Errorf("unable to set KubeConfig field: %w", err)
		}
	}
	if err := awaitDefaultNamespace(te.Config); err != nil {
		return nil, fmt.Errorf("default namespace didn't register within deadline: %w", err)
	}
	if err := te.install(); err != nil {
		return te.Config, err
	}
	return te.Config, nil
}

func (te *Environment) startServer() (err error) {
	if err := te.ControlPlane.check(); err != nil {
		return err
	}
	te.server = &kenvtest.Environment{}
	if te.Config, err = te.server.Start(); err != nil {
		return fmt.Errorf("unable to start control plane itself: %w", err)
	}
	te.ControlPlane.env = te
	te.Config.QPS, te.Config.Burst = 1000, 2000
	return nil
}

// awaitDefaultNamespace waits until the server has the namespace default, at most five seconds.
func awaitDefaultNamespace(config *rest.Config) error {
	c, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, 5*time.Second, true,
		func(ctx context.Context) (bool, error) {
			last = c.Get(ctx, client.ObjectKey{Name: metav1.NamespaceDefault}, &corev1.Namespace{})
			return last == nil, nil
		})
	if err != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	return nil
}

// kubeConfigOf returns a kubeconfig with the server and the credentials of config.
func kubeConfigOf(config *rest.Config) ([]byte, error) {
	config = rest.CopyConfig(config)
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, err
	}
	const name = "envtest"
	return clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server: config.Host, CertificateAuthorityData: config.CAData, TLSServerName: config.ServerName,
			InsecureSkipTLSVerify: config.Insecure,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken,
			Username: config.Username, Password: config.Password, Exec: config.ExecProvider,
		}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	})
}

// install installs webhooks and CRDs.
func (te *Environment) install() error {
	if te.CRDInstallOptions.Scheme == nil {
		te.CRDInstallOptions.Scheme = te.Scheme
	}
	if err := te.WebhookInstallOptions.PrepWithoutInstalling(); err != nil {
		return err
	}
	o := &te.CRDInstallOptions
	o.CRDs = append(slices.Clip(te.CRDs), o.CRDs...)
	for _, path := range te.CRDDirectoryPaths {
		if !slices.Contains(o.Paths, path) {
			o.Paths = append(o.Paths, path)
		}
	}
	o.ErrorIfPathMissing = o.ErrorIfPathMissing || te.ErrorIfCRDPathMissing
	o.WebhookOptions = te.WebhookInstallOptions
	crds, err := InstallCRDs(te.Config, *o)
	if err != nil {
		return fmt.Errorf("unable to install CRDs onto control plane: %w", err)
	}
	te.CRDs = crds
	if err := te.WebhookInstallOptions.Install(te.Config); err != nil {
		return fmt.Errorf("unable to install webhooks onto control plane: %w", err)
	}
	return nil
}

// useExisting reports whether to use a running server.
func (te *Environment) useExisting() bool {
	if te.UseExistingCluster != nil {
		return *te.UseExistingCluster
	}
	use, err := strconv.ParseBool(os.Getenv(existingClusterVariable))
	return err == nil && use
}

// Stop stops the server. It may be called twice.
func (te *Environment) Stop() error {
	var errs []error
	if te.CRDInstallOptions.CleanUpAfterUse && te.Config != nil {
		errs = append(errs, UninstallCRDs(te.Config, te.CRDInstallOptions))
	}
	errs = append(errs, te.WebhookInstallOptions.Cleanup())
	if te.server != nil {
		errs = append(errs, te.server.Stop())
		te.server = nil
	}
	return errors.Join(errs...)
}

// AddUser returns a user of the server. The configuration of its clients has the settings of baseConfig, which may be
// nil, such as QPS.
func (te *Environment) AddUser(user User, baseConfig *rest.Config) (*AuthenticatedUser, error) {
	if te.server == nil {
		return nil, errors.New("no API server authentication is configured yet: call Start first")
	}
	added, err := te.server.AddUser(kenvtest.User(user), baseConfig)
	if err != nil {
		return nil, err
	}
	return &AuthenticatedUser{added}, nil
}
