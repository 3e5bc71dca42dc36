package envtest

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/transport"
)

// User describes a user for [Environment.AddUser].
type User struct {
	Name   string
	Groups []string
}

// AuthenticatedUser is a user of an Environment.
type AuthenticatedUser struct {
	config *rest.Config
	suite  *suite
}

// AddUser returns a user, whom the configuration of the environment impersonates. The user has the permissions of its
// role bindings and its groups, such as system:masters. The server rejects the requests of a user without a name. The
// user's configuration has the settings of base, which may be nil, such as QPS. AddUser fails if it is called before
// Start.
func (e *Environment) AddUser(user User, base *rest.Config) (*AuthenticatedUser, error) {
	if e.Config == nil {
		return nil, errors.New("add a user: the environment has not started")
	}
	config := &rest.Config{}
	if base != nil {
		config = rest.CopyConfig(base)
	}
	config.Host, config.APIPath = e.Config.Host, e.Config.APIPath
	if user.Name == "" {
		config.TLSClientConfig = rest.AnonymousClientConfig(e.Config).TLSClientConfig
		config.BearerToken = rand.Text() // no user has this token
	} else {
		config.TLSClientConfig, config.BearerToken = e.Config.TLSClientConfig, e.Config.BearerToken
		config.Impersonate = rest.ImpersonationConfig{UserName: user.Name, Groups: user.Groups}
	}
	return &AuthenticatedUser{config: config, suite: e.suite}, nil
}

// Config returns a configuration for clients that act as the user.
func (u *AuthenticatedUser) Config() *rest.Config { return u.config }

// KubeConfig returns a kubeconfig for the user. Its server is a proxy on the loopback interface, which forwards
// requests with the user's token to the API server until the environment stops.
func (u *AuthenticatedUser) KubeConfig() ([]byte, error) {
	token := rand.Text()
	address, authority, err := u.serve(token)
	if err != nil {
		return nil, err
	}
	const name = "envtest"
	return clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: address, CertificateAuthorityData: authority}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: token}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	})
}

// serve starts the proxy for requests with a token. It returns the proxy's address and CA.
func (u *AuthenticatedUser) serve(token string) (address string, authority []byte, err error) {
	asUser, err := rest.TransportFor(u.config)
	if err != nil {
		return "", nil, err
	}
	target, _, err := rest.DefaultServerUrlFor(u.config)
	if err != nil {
		return "", nil, err
	}
	forward := &httputil.ReverseProxy{
		Transport: asUser, FlushInterval: -1, // flush immediately, for watches
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Authorization")
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	proxy := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+token)) != 1 {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		if r.Header.Get(transport.ImpersonateUserHeader) != "" { // because impersonation could gain any permission
			http.Error(w, "a user of an environment cannot impersonate others", http.StatusForbidden)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	u.suite.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
	})
	return proxy.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proxy.Certificate().Raw}), nil
}
