package apiserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"

	admissionreviewv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

// hosts are the webhooks in this process, by the host in their URL. They are safe for concurrent use.
type hosts struct {
	mu       sync.Mutex
	handlers map[string]*host
	count    int // number of generated names
}

type host struct {
	transport
	ended context.CancelFunc
}

// HandleWebhooks registers a handler for a host that webhook configurations and conversions may use. A host is a name
// such as webhooks.in-memory, or NAME.NAMESPACE.svc for a Service, and may have a port. The server calls the handler in
// this process, without a socket, regardless of the caBundle. The handler replaces an earlier handler of the host.
// release ends the current calls. After release, the server sends requests for the host to the network.
func (s *Server) HandleWebhooks(name string, handler http.Handler) (release func()) {
	h := &host{}
	h.begin, h.requests = waits(recovering{handler}), &s.requests
	h.ctx, h.ended = context.WithCancel(s.ctx)
	s.hosts.mu.Lock()
	defer s.hosts.mu.Unlock()
	if s.hosts.handlers == nil {
		s.hosts.handlers = map[string]*host{}
	}
	s.hosts.handlers[name] = h
	return func() {
		h.ended()
		s.hosts.mu.Lock()
		defer s.hosts.mu.Unlock()
		if s.hosts.handlers[name] == h {
			delete(s.hosts.handlers, name)
		}
	}
}

// handleWebhooks is like HandleWebhooks, with a unique host.
func (s *Server) handleWebhooks(handler http.Handler) (url string, release func()) {
	s.hosts.mu.Lock()
	s.hosts.count++
	name := fmt.Sprintf("webhooks-%d.in-memory", s.hosts.count)
	s.hosts.mu.Unlock()
	return "https://" + name, s.HandleWebhooks(name, handler)
}

// recovering breaks the connection when a handler panics, as net/http does.
type recovering struct{ http.Handler }

func (r recovering) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	defer func() {
		if recover() != nil {
			w.(*response).fail(io.EOF)
		}
	}()
	r.Handler.ServeHTTP(w, request)
}

// at returns the handler of a host, or nil.
func (h *hosts) at(name string) http.RoundTripper {
	h.mu.Lock()
	defer h.mu.Unlock()
	found := h.handlers[name]
	if found == nil {
		bare, _, _ := strings.Cut(name, ":")
		found = h.handlers[bare]
	}
	if found == nil {
		return nil
	}
	return found
}

// newClients returns the clients of webhooks.
func (s *Server) newClients() *webhook.ClientManager {
	clients, err := webhook.NewClientManager([]schema.GroupVersion{admissionreviewv1.SchemeGroupVersion, oldReviewVersion},
		admissionreviewv1.AddToScheme, addOldReview)
	must.Do(err)
	s.connect(&clients)
	return &clients
}

// connect makes clients call the webhooks in this process.
func (s *Server) connect(clients *webhook.ClientManager) {
	authentication, err := webhook.NewDefaultAuthenticationInfoResolver("")
	must.Do(err)
	clients.SetAuthenticationInfoResolver(&webhook.AuthenticationInfoResolverDelegator{
		ClientConfigForFunc: func(host string) (*rest.Config, error) {
			return s.connected(authentication.ClientConfigFor(host))
		},
		ClientConfigForServiceFunc: func(name, namespace string, port int) (*rest.Config, error) {
			return s.connected(authentication.ClientConfigForService(name, namespace, port))
		},
	})
	clients.SetServiceResolver(webhook.NewDefaultServiceResolver())
}

func (s *Server) connected(config *rest.Config, err error) (*rest.Config, error) {
	if err == nil {
		config.Wrap(func(network http.RoundTripper) http.RoundTripper {
			return &router{&s.hosts, network, s.options.Isolated}
		})
	}
	return config, err
}

// router sends requests to webhooks in this process, or to the network unless the server is isolated.
type router struct {
	hosts    *hosts
	network  http.RoundTripper
	isolated bool
}

func (r *router) RoundTrip(request *http.Request) (*http.Response, error) {
	if here := r.hosts.at(request.URL.Host); here != nil {
		return here.RoundTrip(request)
	}
	if r.isolated {
		return nil, fmt.Errorf("connect to %s: %w", request.URL.Host, syscall.ECONNREFUSED)
	}
	return r.network.RoundTrip(request)
}
