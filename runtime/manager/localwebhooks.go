package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/internal/authority"
	"github.com/kctrl-dev/kctrl/runtime/internal/life"
	"github.com/kctrl-dev/kctrl/runtime/webhook/local"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// localWebhooks is a webhook server that installs its configurations at the API server, with its URL, while it runs.
type localWebhooks struct {
	*server.Server
	authority *authority.Authority
	manager   *Manager
	url       *url.URL // without a port, the server's port is added
	installed chan struct{}
	manifests []*unstructured.Unstructured
}

func (m *Manager) newLocalWebhooks(opts server.Options) (*server.Server, webhookServer, error) {
	base := cmp.Or(m.opts.Webhook.URL, "https://127.0.0.1")
	parsed, err := url.Parse(base)
	if err != nil || parsed.Scheme != "https" || parsed.Hostname() == "" || parsed.Path != "" {
		return nil, nil, fmt.Errorf("Webhook.URL (--webhook-url) %q: want one such as https://127.0.0.1:9443", base)
	}
	l := &localWebhooks{manager: m, url: parsed, installed: make(chan struct{})}
	if len(m.opts.Webhook.Manifests) > 0 {
		if l.manifests, err = local.Load(m.opts.Webhook.Manifests...); err != nil {
			return nil, nil, err
		}
	}
	if here, ok := m.config.Transport.(inProcess); ok && m.opts.Webhook.URL == "" && opts.Address == "" {
		l.Server = server.New(opts)
		return l.Server, &hostedWebhooks{l, here}, nil
	}
	opts.Address = cmp.Or(opts.Address, "127.0.0.1:0")
	l.authority, err = authority.New(authority.Options{Names: []string{parsed.Hostname()}, Logger: m.logger})
	if err != nil {
		return nil, nil, fmt.Errorf("Webhook.URL (--webhook-url) %q: %w", base, err)
	}
	opts.Certificates = l.authority
	l.Server = server.New(opts)
	return l.Server, l, nil
}

// Run serves until ctx ends, with its webhook configurations installed at the API server.
func (l *localWebhooks) Run(ctx context.Context) error {
	// The server stops after its configurations have been removed from the API server.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	ctx, cancel := context.WithCancel(ctx)
	var served error
	var all sync.WaitGroup
	all.Go(func() {
		served = l.Server.Run(serving)
		cancel()
	})
	err := l.install(ctx)
	cancel()
	stop()
	all.Wait()
	return errors.Join(served, err)
}

func (l *localWebhooks) install(ctx context.Context) error {
	bundle, err := l.authority.Bundle(ctx)
	if err != nil {
		return err
	}
	at := *l.url
	if at.Port() == "" {
		_, port, err := net.SplitHostPort(l.Server.Addr().String())
		if err != nil {
			return err
		}
		at.Host = net.JoinHostPort(at.Hostname(), port)
	}
	return l.installAt(ctx, at.String(), bundle)
}

// installAt installs the webhooks with a URL at the API server until ctx ends.
func (l *localWebhooks) installAt(ctx context.Context, url string, bundle []byte) error {
	var kinds []schema.GroupKind
	if converter, ok := l.Server.At("/convert").(interface{ Kinds() []schema.GroupKind }); ok {
		kinds = converter.Kinds()
	}
	manifests, err := l.served()
	if err != nil {
		return err
	}
	i := &local.Installation{
		Client: l.manager.system, URL: url, Bundle: bundle, Configurations: manifests, Kinds: kinds, Logger: l.manager.logger,
	}
	return i.Run(ctx, func() { close(l.installed) })
}

// inProcess is implemented by the transport of an API server in this process, which calls webhooks without a network.
type inProcess interface {
	HandleWebhooks(handler http.Handler) (url string, release func())
}

// hostedWebhooks is a webhook server that an API server in this process calls, without a listener and a certificate.
type hostedWebhooks struct {
	*localWebhooks
	here inProcess
}

func (*hostedWebhooks) Listen(context.Context) error { return nil }
func (*hostedWebhooks) Close()                       {}

// Run installs the webhooks at the API server until ctx ends.
func (h *hostedWebhooks) Run(ctx context.Context) error {
	url, release := h.here.HandleWebhooks(h.Server)
	defer release()
	return h.installAt(ctx, url, nil)
}

// served returns the manifests without the webhooks whose path has no handler in this process. A test may set up only
// some of the webhooks, and the API server would reject all requests that the other webhooks should review.
func (l *localWebhooks) served() ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, manifest := range l.manifests {
		webhooks, _, err := unstructured.NestedSlice(manifest.Object, "webhooks")
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", manifest.GetKind(), manifest.GetName(), err)
		}
		served := slices.DeleteFunc(slices.Clone(webhooks), func(webhook any) bool {
			fields, _ := webhook.(map[string]any)
			path, found, err := unstructured.NestedString(fields, "clientConfig", "service", "path")
			if err != nil || !found || l.Server.At(path) != nil {
				return false // a webhook with a URL of its own is not served here
			}
			l.manager.logger.Warn("a webhook is not installed, since nothing serves its path here", "webhook", fields["name"],
				"path", path)
			return true
		})
		if len(served) == len(webhooks) {
			all = append(all, manifest)
		} else if len(served) > 0 {
			manifest = manifest.DeepCopy()
			manifest.Object["webhooks"] = served
			all = append(all, manifest)
		}
	}
	return all, nil
}

// Ready returns an error until the webhooks are installed.
func (l *localWebhooks) Ready() error {
	if !life.IsClosed(l.installed) {
		return errors.New("the webhooks are not installed at the API server yet")
	}
	return l.Server.Ready()
}
