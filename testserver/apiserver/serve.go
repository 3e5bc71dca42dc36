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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Serve serves requests that come over TLS, until ctx or the server ends, and closes the listener. It returns when the requests
// that were served then have ended, which watches do at once.
//
// Only who has a certificate that one of clients has signed, or a token of a service account, may ask for more than health and
// version: requests are in the name of the certificate's common name, with its organizations as groups, or of the account.
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

// authenticated lets through whom a certificate or a token names, and whom the server tells no more than that it is there.
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
	if strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") { // the server knows its tokens, and refuses others
		a.server.ServeHTTP(w, r.WithContext(request.WithUser(r.Context(), &user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}})))
		return
	}
	if slices.Contains(public, strings.TrimSuffix(r.URL.Path, "/")) {
		a.server.ServeHTTP(w, r)
		return
	}
	responsewriters.ErrorNegotiated(apierrors.NewUnauthorized("Unauthorized"), metaCodecs, schema.GroupVersion{Version: "v1"}, w, r)
}
