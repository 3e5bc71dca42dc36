// Package httpserver runs an HTTP server of an operator. The server has limits for slow clients, completes requests
// when it stops, and binds its address before anything else starts.
//
// A slow client needs no credentials to do harm. The server therefore limits the number of its connections, the time
// for a request and its answer, and the size of headers and bodies. A slow client loses its connection to a client that
// is not slow.
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

// Options configures a [Server].
type Options struct {
	// Name is the name of the server in logs and errors.
	Name    string
	Address string
	Handler http.Handler
	// TLS is nil for plain HTTP. HTTP/2 is enabled only if its NextProtos contain h2.
	TLS    *tls.Config
	Logger *slog.Logger
	// Hasty cancels requests when the server stops, instead of waiting for their answers.
	Hasty bool
	// Patience is how long requests may take after the server was stopped. Zero means 5 s.
	Patience time.Duration
	// MaxConnections is the maximum number of connections. Zero means 256.
	MaxConnections int
	// MaxBody is the maximum size of a body in bytes. Zero means 64 KiB. Negative leaves the limit to the handler.
	MaxBody int64
}

// Server is an HTTP server that can be run. Use [New] to create one.
type Server struct {
	opts     Options
	listener net.Listener // set by Listen, which precedes Run
	conns    connections
}

// New returns a server and starts no goroutine.
func New(opts Options) *Server {
	opts.Patience = cmp.Or(opts.Patience, DefaultPatience)
	opts.MaxBody = cmp.Or(opts.MaxBody, maxBody)
	return &Server{opts: opts, conns: connections{
		limit: cmp.Or(opts.MaxConnections, maxConnections), full: fullLog(opts),
	}}
}

// fullLog returns a function that logs, at most once a minute, that a server closed connections to make room.
func fullLog(opts Options) func(address string) {
	var mu sync.Mutex
	var last time.Time
	closed := 0
	return func(address string) {
		mu.Lock()
		closed++
		n := 0
		if time.Since(last) >= time.Minute {
			n, closed, last = closed, 0, time.Now()
		}
		mu.Unlock()
		if n > 0 {
			opts.Logger.Warn("closed connections of slow clients to make room for others",
				"server", opts.Name, "connections", n, "last", address)
		}
	}
}

const (
	// ReadTimeout is the timeout for a whole request, and for the handshake before it.
	ReadTimeout = 10 * time.Second
	// writeTimeout is the timeout from the end of the request until the client has read the answer.
	writeTimeout = time.Minute
	// maxHeader is the maximum size of a request header.
	maxHeader = 64 << 10
	// maxBody and maxConnections are the default limits.
	maxBody        = 64 << 10
	maxConnections = 256
	// DefaultPatience is the default of Options.Patience.
	DefaultPatience = 5 * time.Second
)

func (s *Server) Name() string { return s.opts.Name }

// Listen binds the address. From then on, clients can connect, and wait until Run serves them.
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

// Addr returns the address of the server. Call it after Listen.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close releases the address. Call it if Run is not called.
func (s *Server) Close() { s.listener.Close() }

// Run serves until ctx ends and the last request was answered. It cancels and logs requests that take too long.
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
		httpServer.WriteTimeout = 0 // the client determines the duration of a profile
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
		if err := httpServer.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
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
