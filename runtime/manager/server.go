package manager

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
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

	// patience is how long requests may take from the stop of the server until they are cut off; zero means 5 s.
	patience time.Duration

	listener net.Listener // set by listen, which comes before Run

	mu    sync.Mutex
	conns map[net.Conn]struct{} // those with a request, or with the beginning of one
}

const (
	// readTimeout is how long a client may take for a whole request, and for the handshake before it.
	readTimeout = 10 * time.Second
	// writeTimeout is how long it may take from then on until it has read the answer.
	writeTimeout = time.Minute
	// maxHeader is how many bytes the header of a request may have.
	maxHeader = 64 << 10
	// defaultPatience is the default of patience.
	defaultPatience = 5 * time.Second
)

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

// Run serves until ctx ends, and returns after the last request was answered. Who takes too long for that is cut off, and
// named in the log.
func (s *server) Run(ctx context.Context) error {
	s.logger.Info("serving", "server", s.name, "address", s.listener.Addr().String())
	httpServer := &http.Server{
		Handler:        s.handler,
		ReadTimeout:    readTimeout,
		WriteTimeout:   writeTimeout,
		IdleTimeout:    90 * time.Second,
		MaxHeaderBytes: maxHeader,
		ConnState:      s.note,
		ErrorLog:       slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug),
	}
	if s.hasty {
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
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(s.patience, defaultPatience))
	defer cancel()
	if err := httpServer.Shutdown(patience); errors.Is(err, context.DeadlineExceeded) {
		s.logger.Warn("cut off clients that were too slow", "server", s.name, "clients", s.clients())
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
func (s *server) note(conn net.Conn, state http.ConnState) {
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
func (s *server) clients() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var addresses []string
	for conn := range s.conns {
		addresses = append(addresses, conn.RemoteAddr().String())
	}
	slices.Sort(addresses)
	return addresses
}

// checks are the checks of a probe. The zero value has none, which is healthy.
type checks struct {
	mu  sync.Mutex
	all []*check // by name, those of one name as they were added
}

type check struct {
	name string
	run  func(*http.Request) error
}

// add adds a check, which remove takes away again.
func (c *checks) add(name string, run func(*http.Request) error) (remove func()) {
	added := &check{name, run}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, added)
	slices.SortStableFunc(c.all, func(a, b *check) int { return strings.Compare(a.name, b.name) })
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all = slices.DeleteFunc(c.all, func(other *check) bool { return other == added })
	}
}

func (c *checks) snapshot() []*check {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

// ServeHTTP answers 200 when all checks pass and 500 otherwise. With ?verbose, and when one fails, it lists all of them
// with what is wrong.
func (c *checks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	healthy := true
	var report strings.Builder
	for _, check := range c.snapshot() {
		if err := check.run(r); err != nil {
			healthy = false
			fmt.Fprintf(&report, "[-] %s: %v\n", check.name, strings.ReplaceAll(err.Error(), "\n", "; "))
		} else {
			fmt.Fprintf(&report, "[+] %s\n", check.name)
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if !healthy {
		w.WriteHeader(http.StatusInternalServerError)
	}
	if !healthy || r.URL.Query().Has("verbose") {
		fmt.Fprint(w, report.String())
		return
	}
	fmt.Fprintln(w, "ok")
}

func newProbeServer(address string, healthz, readyz *checks, logger *slog.Logger) *server {
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", healthz)
	mux.Handle("GET /readyz", readyz)
	return &server{name: "probes", address: address, handler: mux, logger: logger}
}
