package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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
}

// Name returns the name.
func (s *server) Name() string { return s.name }

// Run serves until ctx ends, and returns after the last request was answered.
func (s *server) Run(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", s.address, err)
	}
	if s.tls != nil {
		listener = tls.NewListener(listener, s.tls)
	}
	s.logger.Info("serving", "server", s.name, "address", listener.Addr().String())
	httpServer := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug),
	}
	stopped := make(chan error, 1)
	go func() { stopped <- httpServer.Serve(listener) }()
	select {
	case err := <-stopped:
		return err
	case <-ctx.Done():
	}
	// The manager bounds the whole shutdown; requests to these servers are short.
	if err := httpServer.Shutdown(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	if err := <-stopped; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
