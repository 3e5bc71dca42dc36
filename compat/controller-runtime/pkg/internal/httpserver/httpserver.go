// Package httpserver serves HTTP until a context ends.
package httpserver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

const (
	idleTimeout   = 90 * time.Second
	headerTimeout = 32 * time.Second
	maxHeader     = 1 << 20
)

// New returns a server with limits.
func New(ctx context.Context, handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, IdleTimeout: idleTimeout, ReadHeaderTimeout: headerTimeout, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
}

// Serve serves on listener until ctx ends. Then it waits up to patience for active requests.
func Serve(ctx context.Context, server *http.Server, listener net.Listener, patience time.Duration) error {
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		stopped <- server.Shutdown(limited)
	})
	err := server.Serve(listener)
	if stop() {
		return err // the server ended before ctx
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, <-stopped)
}
