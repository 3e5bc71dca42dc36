// Package servers has HTTP servers and health check handlers in the form of controller-runtime, for migrated operators.
// New code should run an http.Server in a manager.RunnableFunc, and add checks to the manager.
package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Server is an additional HTTP server that a manager runs. Only the field Server is required.
type Server struct {
	// Name identifies the server in errors.
	Name string
	// Server is the HTTP server. It must not be used elsewhere, since a server cannot be reused.
	Server *http.Server
	// Listener is the listener. Nil means a listener on the address of Server.
	Listener net.Listener
	// OnlyServeWhenLeader makes the server run only while the manager leads.
	OnlyServeWhenLeader bool
	// ShutdownTimeout limits the time for open requests after the end of the context. Zero means no limit.
	ShutdownTimeout time.Duration
}

// Run serves until ctx ends, and then waits for open requests.
func (s *Server) Run(ctx context.Context) error {
	ended := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { ended <- s.shutDown(context.WithoutCancel(ctx)) })
	err := s.serve()
	if !errors.Is(err, http.ErrServerClosed) {
		err = fmt.Errorf("serve %s: %w", s.Name, err)
		if !stop() {
			err = errors.Join(err, <-ended)
		}
		return err
	}
	if stop() {
		return nil // other code has shut the server down
	}
	return <-ended
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (s *Server) NeedLeaderElection() bool { return s.OnlyServeWhenLeader }

func (s *Server) serve() error {
	if s.Listener != nil {
		return s.Server.Serve(s.Listener)
	}
	return s.Server.ListenAndServe()
}

func (s *Server) shutDown(ctx context.Context) error {
	if s.ShutdownTimeout > 0 {
		limited, cancel := context.WithTimeout(ctx, s.ShutdownTimeout)
		defer cancel()
		ctx = limited
	}
	if err := s.Server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("shut down %s: %w", s.Name, err), s.Server.Close())
	}
	return nil
}
