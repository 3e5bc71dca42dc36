// Package httpserver runs an HTTP server of an operator: with bounds for slow clients, a drain at the end, and an address that
// is taken before anything else begins.
//
// Clients need no credentials to be slow. The server therefore bounds the number of its connections, the time for a request
// and its answer, and the bytes of headers and bodies. A client that is slow loses its connection to one that is not.
package httpserver

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
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
	// MaxConnections is how many clients may be connected at once; zero means 256.
	MaxConnections int
	// MaxBody is how many bytes the body of a request may have; zero means 64 KiB, and less than that the handler's own bound.
	MaxBody int64
}

// Server is an HTTP server as a runnable. [New] makes one.
type Server struct {
	opts     Options
	listener net.Listener // set by Listen, which comes before Run
	conns    connections
}

// New returns a server, which starts nothing.
func New(opts Options) *Server {
	opts.Patience = cmp.Or(opts.Patience, DefaultPatience)
	opts.MaxBody = cmp.Or(opts.MaxBody, maxBody)
	return &Server{opts: opts, conns: connections{
		limit: cmp.Or(opts.MaxConnections, maxConnections), full: fullLog(opts),
	}}
}

// fullLog returns a function that logs, at most once a minute, that a server has closed connections to make room.
func fullLog(opts Options) func(address string) {
	var mu sync.Mutex
	var last time.Time
	closed := 0
	due := func() int {
		mu.Lock()
		defer mu.Unlock()
		closed++
		if time.Since(last) < time.Minute {
			return 0
		}
		n := closed
		last, closed = time.Now(), 0
		return n
	}
	return func(address string) {
		if n := due(); n > 0 {
			opts.Logger.Warn("closed connections of slow clients to make room for others",
				"server", opts.Name, "connections", n, "last", address)
		}
	}
}

const (
	// ReadTimeout is how long a client may take for a whole request, and for the handshake before it.
	ReadTimeout = 10 * time.Second
	// writeTimeout is how long it may take from then on until it has read the answer.
	writeTimeout = time.Minute
	// maxHeader is how many bytes the header of a request may have.
	maxHeader = 64 << 10
	// maxBody and maxConnections are the bounds of a server that has no others.
	maxBody        = 64 << 10
	maxConnections = 256
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
		Handler:        s.conns.handler(s.opts.Handler, s.opts.MaxBody),
		ReadTimeout:    ReadTimeout,
		WriteTimeout:   writeTimeout,
		IdleTimeout:    90 * time.Second,
		MaxHeaderBytes: maxHeader,
		ConnState:      s.conns.note,
		ConnContext:    s.conns.accept,
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
		s.opts.Logger.Warn("cut off clients that were too slow", "server", s.opts.Name, "clients", s.conns.busy())
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
