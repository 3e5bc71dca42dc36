package envtest

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/authority"
	"github.com/kctrl-dev/kctrl/runtime/internal/testclient"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
	"github.com/kctrl-dev/kctrl/runtime/webhook/local"
)

// Environment runs the server of [testenv.Start] for a suite that starts and stops it explicitly, such as a Ginkgo
// suite. The zero value is a server without CRDs. An Environment is not safe for concurrent use.
type Environment struct {
	// CRDDirectoryPaths are files and directories with CustomResourceDefinitions.
	CRDDirectoryPaths []string
	// CRDs are additional CustomResourceDefinitions.
	CRDs []*apiextensionsv1.CustomResourceDefinition
	// ErrorIfCRDPathMissing makes Start fail if a path in CRDDirectoryPaths does not exist.
	ErrorIfCRDPathMissing bool
	// WebhookInstallOptions configures the webhooks that the server calls.
	WebhookInstallOptions WebhookInstallOptions
	// Config is the configuration for clients. Start sets it.
	Config *rest.Config

	suite *suite
}

// WebhookInstallOptions configures webhooks that a manager in the test serves.
type WebhookInstallOptions struct {
	// Paths are files and directories with webhook configurations.
	Paths []string
	// MutatingWebhooks and ValidatingWebhooks are additional webhook configurations. Start does not modify them.
	MutatingWebhooks   []*admissionregistrationv1.MutatingWebhookConfiguration
	ValidatingWebhooks []*admissionregistrationv1.ValidatingWebhookConfiguration
	// LocalServingHost, LocalServingPort and LocalServingCertDir are options for the manager's webhook server. Start sets
	// the fields that are empty.
	LocalServingHost    string
	LocalServingPort    int
	LocalServingCertDir string
}

// Address returns the address at which the manager in the test serves webhooks.
func (o WebhookInstallOptions) Address() string {
	return net.JoinHostPort(o.LocalServingHost, strconv.Itoa(o.LocalServingPort))
}

// Start starts the server, installs the definitions and webhooks, and returns the configuration for clients. If it
// fails, it stops what it has started.
func (e *Environment) Start() (config *rest.Config, err error) {
	e.suite = &suite{}
	e.suite.ctx, e.suite.cancel = context.WithCancel(context.Background())
	defer func() {
		if r := recover(); r != nil {
			failed, ok := r.(failure)
			if !ok {
				panic(r)
			}
			err = failed.error
		}
		if err != nil {
			err = errors.Join(err, e.Stop())
		}
	}()
	var paths []string
	for _, path := range e.CRDDirectoryPaths {
		_, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) && !e.ErrorIfCRDPathMissing {
			continue
		}
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	opts := []testenv.Option{testenv.WithCRDs(paths...)}
	for _, crd := range e.CRDs {
		opts = append(opts, testenv.WithObjects(scheme, crd))
	}
	env := testenv.Start(e.suite, opts...)
	e.Config = env.Config
	if o := e.WebhookInstallOptions; len(o.Paths)+len(o.MutatingWebhooks)+len(o.ValidatingWebhooks) > 0 {
		if err := e.installWebhooks(e.suite.Context()); err != nil {
			return nil, fmt.Errorf("install webhooks: %w", err)
		}
	}
	return e.Config, nil
}

// Stop stops the server. Further calls do nothing.
func (e *Environment) Stop() error {
	if e.suite == nil {
		return nil
	}
	s := e.suite
	s.cancel()
	for _, cleanup := range slices.Backward(s.cleanups) {
		cleanup()
	}
	s.cleanups = nil
	return errors.Join(s.errs...)
}

func (e *Environment) installWebhooks(ctx context.Context) error {
	configurations, err := e.WebhookInstallOptions.configurations()
	if err != nil {
		return err
	}
	o := &e.WebhookInstallOptions
	o.LocalServingHost = cmp.Or(o.LocalServingHost, "localhost")
	if o.LocalServingPort == 0 {
		if o.LocalServingPort, err = freePort(o.LocalServingHost); err != nil {
			return err
		}
	}
	if o.LocalServingCertDir == "" {
		o.LocalServingCertDir = e.suite.TempDir()
	}
	bundle, err := writeCertificate(o.LocalServingCertDir, o.LocalServingHost)
	if err != nil {
		return err
	}
	live, err := client.New(e.Config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		return err
	}
	installation := &local.Installation{Client: live, Bundle: bundle, Configurations: configurations,
		URL: fmt.Sprintf("https://%s:%d", o.LocalServingHost, o.LocalServingPort)}
	return installation.Install(ctx)
}

func (o WebhookInstallOptions) configurations() (all []*unstructured.Unstructured, err error) {
	if len(o.Paths) > 0 {
		if all, err = local.Load(o.Paths...); err != nil {
			return nil, err
		}
	}
	var others []runtime.Object
	for _, configuration := range o.MutatingWebhooks {
		others = append(others, configuration)
	}
	for _, configuration := range o.ValidatingWebhooks {
		others = append(others, configuration)
	}
	scheme := runtime.NewScheme()
	if err := admissionregistrationv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	for _, configuration := range others {
		u, err := testclient.Unstructured(configuration, scheme)
		if err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	return all, nil
}

func freePort(host string) (int, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// writeCertificate writes tls.crt and tls.key for a host, and returns the CA bundle.
func writeCertificate(folder, host string) (bundle []byte, err error) {
	self, err := authority.SelfSigned(host, host)
	if err != nil {
		return nil, err
	}
	key, err := x509.MarshalECPrivateKey(self.PrivateKey.(*ecdsa.PrivateKey))
	if err != nil {
		return nil, err
	}
	bundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: self.Certificate[0]})
	return bundle, errors.Join(
		os.WriteFile(filepath.Join(folder, "tls.crt"), bundle, 0o600),
		os.WriteFile(filepath.Join(folder, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: key}),
			0o600),
	)
}

// suite implements the parts of testing.TB that [testenv.Start] uses.
type suite struct {
	testing.TB // nil, because only the methods below are called
	ctx        context.Context
	cancel     context.CancelFunc
	cleanups   []func() // run in reverse order
	errs       []error
}

// failure is the panic value of a suite whose Start fails.
type failure struct{ error }

func (s *suite) Helper()                           {}
func (s *suite) Context() context.Context          { return s.ctx }
func (s *suite) Cleanup(f func())                  { s.cleanups = append(s.cleanups, f) }
func (s *suite) Output() io.Writer                 { return os.Stderr }
func (s *suite) Fatalf(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

func (s *suite) Errorf(format string, args ...any) {
	s.errs = append(s.errs, fmt.Errorf(format, args...))
}

func (s *suite) TempDir() string {
	folder, err := os.MkdirTemp("", "kctrl-suite-")
	if err != nil {
		s.Fatalf("%w", err)
	}
	s.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			s.Errorf("%w", err)
		}
	})
	return folder
}
