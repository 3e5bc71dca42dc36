// Package httpserver runs an HTTP server of an operator: with bounds for slow clients, a drain at the end, and an address that
// is taken before anything else begins.
package httpserver

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Options say what a [Server] serves.
type Options struct {
	// Name is what the server is called in logs and errors.
	Name    string
	Address string
	Handler http.Handler
	// TLS is nil for plain HTTP. HTTP/2 is spoken only if its NextProtos have h2.
	TLS    *tls.Config
	Logger *slog.Logger
	// Hasty ends requests when the server is stopped, instead of waiting for their answers.
	Hasty bool
	// Patience is how long requests may take from the stop of the server until they are cut off; zero means 5 s.
	Patience time.Duration
}

// Server is an HTTP server as a runnable. [New] makes one.
type Server struct {
	opts     Options
	listener net.Listener // set by Listen, which comes before Run

	mu    sync.Mutex
	conns map[net.Conn]struct{} // those with a request, or with the beginning of one
}

// New returns a server, which starts nothing.
func New(opts Options) *Server {
	opts.Patience = cmp.Or(opts.Patience, DefaultPatience)
	return &Server{opts: opts}
}

const (
	// ReadTimeout is how long a client may take for a whole request, and for the handshake before it.
	ReadTimeout = 10 * time.Second
	// writeTimeout is how long it may take from then on until it has read the answer.
	writeTimeout = time.Minute
	// maxHeader is how many bytes the header of a request may have.
	maxHeader = 64 << 10
	// DefaultPatience is how long requests may take at the end if nothing else is said.
	DefaultPatience = 5 * time.Second
)

// Name returns the name.
func (s *Server) Name() string { return s.opts.Name }

// Listen opens the address: from then on connections wait for Run.
func (s *Server) Listen(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.opts.Address)
	if err != nil {
		return err
	}
	if s.opts.TLS != nil {
		listener = tls.NewListener(listener, s.opts.TLS)
	}
	s.listener = listener
	return nil
}

// Addr is where the server listens, after Listen.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close gives the address back when Run is not called.
func (s *Server) Close() { s.listener.Close() }

// Run serves until ctx ends, and returns after the last request was answered. Who takes too long for that is cut off, and
// named in the log.
func (s *Server) Run(ctx context.Context) error {
	s.opts.Logger.Info("serving", "server", s.opts.Name, "address", s.listener.Addr().String())
	httpServer := &http.Server{
		Handler:        s.opts.Handler,
		ReadTimeout:    ReadTimeout,
		WriteTimeout:   writeTimeout,
		IdleTimeout:    90 * time.Second,
		MaxHeaderBytes: maxHeader,
		ConnState:      s.note,
		ErrorLog:       slog.NewLogLogger(s.opts.Logger.Handler(), slog.LevelDebug),
	}
	if s.opts.Hasty {
		httpServer.WriteTimeout = 0 // a profile takes as long as it was asked to
		httpServer.BaseContext = func(net.Listener) context.Context { return ctx }
	}
	stopped := make(chan error, 1)
	go func() { stopped <- httpServer.Serve(s.listener) }()
	select {
	case err := <-stopped:
		return err
	case <-ctx.Done():
	}
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Patience)
	defer cancel()
	if err := httpServer.Shutdown(patience); errors.Is(err, context.DeadlineExceeded) {
		s.opts.Logger.Warn("cut off clients that were too slow", "server", s.opts.Name, "clients", s.clients())
		err = httpServer.Close()
		if err != nil && !errors.Is(err, net.ErrClosed) {
			return err
		}
	} else if err != nil {
		return err
	}
	if err := <-stopped; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// note keeps track of the connections that are not idle.
func (s *Server) note(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew, http.StateActive:
		if s.conns == nil {
			s.conns = map[net.Conn]struct{}{}
		}
		s.conns[conn] = struct{}{}
	default:
		delete(s.conns, conn)
	}
}

// clients returns the addresses of those whose requests go on.
func (s *Server) clients() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var addresses []string
	for conn := range s.conns {
		addresses = append(addresses, conn.RemoteAddr().String())
	}
	slices.Sort(addresses)
	return addresses
}
