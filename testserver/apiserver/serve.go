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

// Serve serves requests over TLS until ctx ends or the server is closed, and closes the listener. It returns after the
// current requests have ended; it ends watches immediately.
//
// If a request has a client certificate that a CA in clients has signed, its user is the common name of the
// certificate, and its groups are the organizations. If it has a token, its user is the token's service account. The
// user of any other request is system:anonymous, who may read only health and version.
func (s *Server) Serve(ctx context.Context, listener net.Listener, certificate tls.Certificate,
	clients *x509.CertPool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	idle := &idleConnections{conns: map[net.Conn]bool{}}
	server := &http.Server{
		ConnState: idle.changed,
		Handler:   authenticated{s},
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.VerifyClientCertIfGiven,
			ClientCAs: clients, MinVersion: tls.VersionTLS12},
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

// shutdown ends a server whose requests are being canceled.
func shutdown(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownGrace)
	defer cancel()
	if server.Shutdown(ctx) == nil {
		return nil
	}
	return server.Close() // for clients that do not read their responses
}

// idleConnections are connections without a request. Serve closes them itself, because Shutdown keeps idle HTTP/2
// connections open for a second.
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
		conn.Close() // the client reconnects for its next request
	}
}

// shutdownGrace is the time that current requests may take after Serve begins to end.
const shutdownGrace = 5 * time.Second

// authenticated sets the user of a request from its certificate or token, or system:anonymous.
type authenticated struct{ server *Server }

// public are the paths that anonymous users may read, as on a real server.
var public = []string{"/healthz", "/livez", "/readyz", "/version"}

func (a authenticated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		certificate := r.TLS.VerifiedChains[0][0]
		subject := certificate.Subject
		named := &user.DefaultInfo{
			Name: subject.CommonName, Groups: append(slices.Clone(subject.Organization), user.AllAuthenticated),
			Extra: map[string][]string{user.CredentialIDKey: {fmt.Sprintf("X509SHA256=%x", sha256.Sum256(certificate.Raw))}},
		}
		r.Header.Del("Authorization") // if the request has a certificate, the token is not checked
		a.server.ServeHTTP(w, r.WithContext(request.WithUser(r.Context(), named)))
		return
	}
	if _, token := bearerToken(r); token || !slices.Contains(public, strings.TrimSuffix(r.URL.Path, "/")) {
		r = r.WithContext(request.WithUser(r.Context(), &user.DefaultInfo{Name: user.Anonymous,
			Groups: []string{user.AllUnauthenticated}}))
	}
	a.server.ServeHTTP(w, r) // the server authenticates tokens
}
