package apiserver

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Serve serves requests that come over TLS, until ctx or the server ends, and closes the listener. It returns when the requests
// that were served then have ended, which watches do at once.
//
// A request is in the name of the common name of its certificate, which one of clients has signed, with its organizations as groups, or
// of the service account whose token it has, else in that of system:anonymous, who may read health and version.
func (s *Server) Serve(ctx context.Context, listener net.Listener, certificate tls.Certificate, clients *x509.CertPool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	idle := &idleConnections{conns: map[net.Conn]bool{}}
	server := &http.Server{
		ConnState:         idle.changed,
		Handler:           authenticated{s},
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: clients, MinVersion: tls.VersionTLS12},
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout:       90 * time.Second,
	}
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		idle.close()
		stopped <- shutdown(server)
	}()
	err := server.ServeTLS(listener, "", "")
	cancel()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, <-stopped)
}

// shutdown ends a server whose requests are told to end.
func shutdown(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownGrace)
	defer cancel()
	if server.Shutdown(ctx) == nil {
		return nil
	}
	return server.Close() // of clients that do not read their answers
}

// idleConnections are those without a request. A server closes them itself, as Shutdown leaves those of HTTP/2 open for a
// second.
type idleConnections struct {
	mu    sync.Mutex
	conns map[net.Conn]bool
}

func (i *idleConnections) changed(conn net.Conn, state http.ConnState) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if state == http.StateIdle {
		i.conns[conn] = true
	} else {
		delete(i.conns, conn)
	}
}

func (i *idleConnections) close() {
	i.mu.Lock()
	conns := slices.Collect(maps.Keys(i.conns))
	i.mu.Unlock()
	for _, conn := range conns {
		conn.Close() // whose client connects again if it has another request
	}
}

// shutdownGrace is how long requests may take that are served when the server is to end.
const shutdownGrace = 5 * time.Second

// authenticated serves requests in the name that a certificate or a token gives, else as system:anonymous.
type authenticated struct{ server *Server }

// public are the paths that who is unknown may read, as on a real server.
var public = []string{"/healthz", "/livez", "/readyz", "/version"}

func (a authenticated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		certificate := r.TLS.VerifiedChains[0][0]
		subject := certificate.Subject
		named := &user.DefaultInfo{
			Name: subject.CommonName, Groups: append(slices.Clone(subject.Organization), user.AllAuthenticated),
			Extra: map[string][]string{user.CredentialIDKey: {fmt.Sprintf("X509SHA256=%x", sha256.Sum256(certificate.Raw))}},
		}
		r.Header.Del("Authorization") // who has a certificate needs no token, and nobody asks whether it is a good one
		a.server.ServeHTTP(w, r.WithContext(request.WithUser(r.Context(), named)))
		return
	}
	if _, token := bearerToken(r); token || !slices.Contains(public, strings.TrimSuffix(r.URL.Path, "/")) {
		r = r.WithContext(request.WithUser(r.Context(), &user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}))
	}
	a.server.ServeHTTP(w, r) // which reads tokens itself
}
