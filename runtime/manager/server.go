package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// server is an HTTP server as a runnable. It speaks HTTP/1.1 only, which is all that probes and scrapers need.
type server struct {
	name    string
	address string
	handler http.Handler
	tls     *tls.Config // nil is plain HTTP
	logger  *slog.Logger
	// hasty ends requests when the server is stopped, instead of waiting for their answers.
	hasty bool

	listener net.Listener // set by listen, which comes before Run
}

// Name returns the name.
func (s *server) Name() string { return s.name }

// listen opens the address: from then on connections wait for Run.
func (s *server) listen(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.address)
	if err != nil {
		return err
	}
	if s.tls != nil {
		listener = tls.NewListener(listener, s.tls)
	}
	s.listener = listener
	return nil
}

// close gives the address back when Run is not called.
func (s *server) close() { s.listener.Close() }

// Run serves until ctx ends, and returns after the last request was answered.
func (s *server) Run(ctx context.Context) error {
	s.logger.Info("serving", "server", s.name, "address", s.listener.Addr().String())
	httpServer := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       90 * time.Second,
		ErrorLog:          slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug),
	}
	if s.hasty {
		httpServer.BaseContext = func(net.Listener) context.Context { return ctx }
	}
	stopped := make(chan error, 1)
	go func() { stopped <- httpServer.Serve(s.listener) }()
	select {
	case err := <-stopped:
		return err
	case <-ctx.Done():
	}
	// The manager bounds the whole shutdown; the requests it waits for are short.
	if err := httpServer.Shutdown(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	if err := <-stopped; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
