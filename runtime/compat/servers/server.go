// Package servers has the HTTP servers and the handlers of health checks of operators that were migrated from
// controller-runtime. New code runs an http.Server in a manager.RunnableFunc, and adds checks to the manager.
package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Server is an HTTP server that a manager runs beside those of its own. Server is required; all else may be zero.
type Server struct {
	// Name says in errors which server it is.
	Name string
	// Server is the HTTP server. It is not used by anybody else, as it cannot be used again.
	Server *http.Server
	// Listener is where it listens. Nil is the address of Server.
	Listener net.Listener
	// OnlyServeWhenLeader runs it only while the manager leads.
	OnlyServeWhenLeader bool
	// ShutdownTimeout is how long open requests may go on once it is to end. Zero waits for all of them.
	ShutdownTimeout time.Duration
}

// Run serves until ctx ends, and then until the open requests have ended.
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
		return nil // somebody else has shut it down
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
