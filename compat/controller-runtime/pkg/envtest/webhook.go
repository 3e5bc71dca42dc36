package envtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// WebhookInstallOptions select the webhooks in the test's manager that the API server calls.
type WebhookInstallOptions struct {
	// Paths are files and directories with webhook configurations.
	Paths []string
	// MutatingWebhooks are additional configurations.
	MutatingWebhooks []*admissionv1.MutatingWebhookConfiguration
	// ValidatingWebhooks are additional configurations.
	ValidatingWebhooks []*admissionv1.ValidatingWebhookConfiguration
	// IgnoreSchemeConvertible adds a conversion webhook to all CRDs.
	IgnoreSchemeConvertible bool
	// IgnoreErrorIfPathMissing skips missing paths.
	IgnoreErrorIfPathMissing bool
	// LocalServingHost is the host of the manager's webhook server.
	LocalServingHost string
	// LocalServingPort is the port of the manager's webhook server.
	LocalServingPort int
	// LocalServingCertDir is the directory of the manager's certificate.
	LocalServingCertDir string
	// LocalServingCAData is the certificate authority of the manager, as PEM.
	LocalServingCAData []byte
	// LocalServingHostExternalName is the host name that the server calls. Empty means LocalServingHost.
	LocalServingHostExternalName string
	// MaxTime limits the wait until the server has the configurations. 0 means 10 s.
	MaxTime time.Duration
	// PollInterval is the interval between checks. 0 means 100 ms.
	PollInterval time.Duration
}

func (o *WebhookInstallOptions) complete() {
	if o.MaxTime == 0 {
		o.MaxTime = defaultMaxTime
	}
	if o.PollInterval == 0 {
		o.PollInterval = defaultPollInterval
	}
}

// hostPort returns the address of the webhooks. It chooses a free port if none is set.
func (o *WebhookInstallOptions) hostPort() (string, error) {
	if o.LocalServingPort == 0 {
		if o.LocalServingHost == "" {
			o.LocalServingHost = "127.0.0.1"
		}
		listener, err := net.Listen("tcp", net.JoinHostPort(o.LocalServingHost, "0"))
		if err != nil {
			return "", fmt.Errorf("unable to grab random port for serving webhooks on: %w", err)
		}
		o.LocalServingPort = listener.Addr().(*net.TCPAddr).Port
		if err := listener.Close(); err != nil {
			return "", err
		}
	}
	host := o.LocalServingHostExternalName
	if host == "" {
		host = o.LocalServingHost
	}
	return net.JoinHostPort(host, strconv.Itoa(o.LocalServingPort)), nil
}

// ModifyWebhookDefinitions sets the address of the local server in the configurations.
func (o *WebhookInstallOptions) ModifyWebhookDefinitions() error {
	address, err := o.hostPort()
	if err != nil {
		return err
	}
	local := func(c *admissionv1.WebhookClientConfig) {
		c.CABundle = o.LocalServingCAData
		if c.Service != nil && c.Service.Path != nil {
			c.URL = new("https://" + address + "/" + strings.TrimPrefix(*c.Service.Path, "/"))
			c.Service = nil
		}
	}
	for _, configuration := range o.MutatingWebhooks {
		for i := range configuration.Webhooks {
			local(&configuration.Webhooks[i].ClientConfig)
		}
	}
	for _, configuration := range o.ValidatingWebhooks {
		for i := range configuration.Webhooks {
			local(&configuration.Webhooks[i].ClientConfig)
		}
	}
	return nil
}

// PrepWithoutInstalling creates the certificate and reads the configurations.
func (o *WebhookInstallOptions) PrepWithoutInstalling() error {
	if err := o.makeCertificate(); err != nil {
		return err
	}
	if err := o.read(); err != nil {
		return err
	}
	return o.ModifyWebhookDefinitions()
}

// Install creates or updates the configurations on the server.
func (o *WebhookInstallOptions) Install(config *rest.Config) error {
	o.complete()
	if len(o.LocalServingCAData) == 0 {
		if err := o.PrepWithoutInstalling(); err != nil {
			return err
		}
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	for _, configuration := range o.all() {
		log.V(1).Info("installing webhook", "webhook", configuration.GetName())
		if err := createOrUpdate(context.Background(), c, configuration); err != nil {
			return err
		}
	}
	return WaitForWebhooks(config, o.MutatingWebhooks, o.ValidatingWebhooks, *o)
}

func (o *WebhookInstallOptions) all() (all []client.Object) {
	for _, configuration := range o.MutatingWebhooks {
		all = append(all, configuration)
	}
	for _, configuration := range o.ValidatingWebhooks {
		all = append(all, configuration)
	}
	return all
}

// Cleanup removes the directory of the certificate.
func (o *WebhookInstallOptions) Cleanup() error {
	if o.LocalServingCertDir == "" {
		return nil
	}
	return os.RemoveAll(o.LocalServingCertDir)
}

// WaitForWebhooks waits until the server has the configurations.
func WaitForWebhooks(
	config *rest.Config, mutatingWebhooks []*admissionv1.MutatingWebhookConfiguration,
	validatingWebhooks []*admissionv1.ValidatingWebhookConfiguration, options WebhookInstallOptions,
) error {
	options.complete()
	options.MutatingWebhooks, options.ValidatingWebhooks = mutatingWebhooks, validatingWebhooks
	c, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), options.MaxTime)
	defer cancel()
	for _, configuration := range options.all() {
		stored := configuration.DeepCopyObject().(client.Object)
		for {
			err := c.Get(ctx, client.ObjectKeyFromObject(configuration), stored)
			if err == nil {
				break
			}
			if !apierrors.IsNotFound(err) {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(options.PollInterval):
			}
		}
	}
	return nil
}

// makeCertificate writes a certificate for the local server into a new directory.
func (o *WebhookInstallOptions) makeCertificate() error {
	if _, err := o.hostPort(); err != nil {
		return err
	}
	names := []string{"localhost"}
	ips := []net.IP{net.IPv4(127, 0, 0, 1)}
	for _, host := range []string{o.LocalServingHost, o.LocalServingHostExternalName} {
		if ip := net.ParseIP(host); ip != nil {
			ips = append(ips, ip)
		} else if host != "" {
			names = append(names, host)
		}
	}
	certificate, key, err := certutil.GenerateSelfSignedCertKeyWithFixtures("localhost", ips, names, "")
	if err != nil {
		return fmt.Errorf("unable to set up webhook serving certs: %w", err)
	}
	dir, err := os.MkdirTemp("", "envtest-serving-certs-")
	if err != nil {
		return fmt.Errorf("unable to create directory for webhook serving certs: %w", err)
	}
	o.LocalServingCertDir, o.LocalServingCAData = dir, certificate
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "tls.crt"), certificate, 0o640),
		os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o640),
	)
}

// read adds the configurations in the files of Paths.
func (o *WebhookInstallOptions) read() error {
	for _, path := range o.Paths {
		files, err := filesAt(path)
		if errors.Is(err, fs.ErrNotExist) && o.IgnoreErrorIfPathMissing {
			continue
		}
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := eachDocument(file, o.readDocument); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *WebhookInstallOptions) readDocument(decode func(into any) error) error {
	var kind metav1.TypeMeta
	if err := decode(&kind); err != nil {
		return err
	}
	switch kind.Kind {
	case "MutatingWebhookConfiguration":
		configuration := &admissionv1.MutatingWebhookConfiguration{}
		o.MutatingWebhooks = append(o.MutatingWebhooks, configuration)
		return decode(configuration)
	case "ValidatingWebhookConfiguration":
		configuration := &admissionv1.ValidatingWebhookConfiguration{}
		o.ValidatingWebhooks = append(o.ValidatingWebhooks, configuration)
		return decode(configuration)
	}
	return nil
}
