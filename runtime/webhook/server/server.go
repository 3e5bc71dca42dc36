// Package server serves webhooks to an API server: with TLS, limits and metrics.
//
// A [Server] serves handlers by path, such as admission.Reviewer and conversion.Converter. manager.Manager.Webhooks
// returns the server of an operator; [New] returns a server for a program without a manager.
//
// # Guarantees
//
//   - A body that is longer than its handler permits is rejected with 413, and is not kept in memory.
//   - At most [Options].MaxInFlight handlers run at once. Further requests wait as long as the API server waits for
//     them. When ten times that number of requests wait, the server rejects new requests with 503 at once. A request
//     counts from the time its body was read until its answer is written, so a client that sends or reads slowly delays
//     no other client.
//   - The number of connections is limited. The total size of all bodies in memory is limited to 512 MiB, or to a
//     quarter of the process's memory limit if that is less. When a limit is reached, a slow client is disconnected.
//   - The context of a request ends with the timeout of the API server, and when the API server disconnects.
//     Conversions, which have no such timeout, may take 50 s.
//   - If a handler panics, the answer has code 500, and the stack is logged. The failure policy of the webhook then
//     decides about the request.
//   - A client that takes more than ten seconds to send its request is disconnected.
//   - When Run returns, every request that had arrived is answered, unless it took longer than [Options].Patience.
package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/internal/httpserver"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

// Certificates provides the certificate of a [Server]. *certificate.Files and *authority.Authority implement it.
type Certificates interface {
	// Run keeps the certificate up to date until ctx ends.
	Run(ctx context.Context) error
	// GetCertificate implements tls.Config.GetCertificate.
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Ready returns an error if clients do not accept the certificate.
	Ready() error
}

// Options configures a [Server].
type Options struct {
	// Address is the listen address; empty means ":9443".
	Address string
	// Certificates provides the certificate. It is required.
	Certificates Certificates
	// HTTP2 also enables HTTP/2. The API server needs only HTTP/1.1, which exposes a smaller attack surface.
	HTTP2 bool
	// TLSOpts modify the TLS configuration, in order. Use them for cipher suites, curves or client certificates. The
	// default requires at least TLS 1.2, uses Certificates, and allows only HTTP/1.1 unless HTTP2 is set.
	TLSOpts []func(*tls.Config)
	// MaxInFlight is the maximum number of handlers that run at once. Zero means 256.
	MaxInFlight int
	// Patience is how long requests may take after Run's context has ended. Zero means 5 s.
	Patience time.Duration
	// Logger receives the server's messages. Nil means slog.Default().
	Logger *slog.Logger
	// Metrics receives the server's metrics. Nil disables them.
	Metrics *metrics.Registry
}

// DefaultAddress is the default of Options.Address.
const DefaultAddress = ":9443"

const (
	// MaxReview is the maximum size of an AdmissionReview in bytes. It has two objects of at most 3 MiB each.
	MaxReview = 8 << 20
	// MaxConversion is the maximum size in bytes of a ConversionReview, which has all objects of a list.
	MaxConversion = 512 << 20
	// maxTimeout is the longest timeout that an API server uses for a webhook.
	maxTimeout = 30 * time.Second
	// unsaidTimeout is the timeout of requests that specify none. Conversion requests specify none, and API servers wait
	// for them indefinitely. The value leaves time to write a long answer before the server closes the connection.
	unsaidTimeout = 50 * time.Second
	// waitFactor is the number of requests that may wait for each running handler.
	waitFactor = 10
	// maxSlow is the number of connections in addition to those of waiting and running requests.
	maxSlow = 256
)

// Server serves webhooks. It is safe for concurrent use.
type Server struct {
	opts    Options
	http    *httpserver.Server
	intake  *intake
	slots   chan struct{} // one element per running handler
	waiting chan struct{} // one element per request that was read and is not yet answered
	instruments

	mu    sync.RWMutex
	paths map[string]*endpoint
}

// Owner identifies the code that registers webhooks, conversions and similar handlers, if it may register them again.
// An example is a controller that a registry builds again to restart it. The zero value means no owner.
type Owner struct {
	Name string
	// Build is the number of the build. It increases with each build.
	Build int
}

// Replaces reports whether other is an earlier build of o, so that registrations of o replace its registrations.
func (o Owner) Replaces(other Owner) bool {
	return o.Name != "" && o.Name == other.Name && o.Build > other.Build
}

// endpoint is a handler with its limit and its owner.
type endpoint struct {
	http.Handler
	owner    Owner
	maxBytes int64
}

// New returns a server without webhooks. It starts no goroutine.
func New(opts Options) *Server {
	opts.Address = cmp.Or(opts.Address, DefaultAddress)
	opts.MaxInFlight = cmp.Or(max(0, opts.MaxInFlight), 256)
	opts.Logger = cmp.Or(opts.Logger, slog.Default())
	s := &Server{
		opts: opts, paths: map[string]*endpoint{}, instruments: newInstruments(opts.Metrics),
		intake: newIntake(debug.SetMemoryLimit(-1)),
		slots:  make(chan struct{}, opts.MaxInFlight), waiting: make(chan struct{}, opts.MaxInFlight*(1+waitFactor)),
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if opts.Certificates != nil {
		config.GetCertificate = opts.Certificates.GetCertificate
	}
	if opts.HTTP2 {
		config.NextProtos = []string{"h2", "http/1.1"}
	}
	for _, change := range opts.TLSOpts {
		change(config)
	}
	s.http = httpserver.New(httpserver.Options{
		Name: "webhooks", Address: opts.Address, Handler: s, TLS: config, Logger: opts.Logger, Patience: opts.Patience,
		MaxConnections: cap(s.waiting) + maxSlow, MaxBody: -1, // the intake limits bodies
	})
	return s
}

// Name returns "webhooks".
func (s *Server) Name() string { return s.http.Name() }

// Handle serves h at path, with bodies of at most maxBytes. It fails if the path is invalid or in use.
func (s *Server) Handle(path string, h http.Handler, maxBytes int64) error {
	return s.HandleFor(Owner{}, path, h, maxBytes)
}

// HandleFor is [Server.Handle] for an owner. h replaces the handler that an earlier build of the owner registered at
// the path. The earlier handler completes its current requests.
func (s *Server) HandleFor(owner Owner, path string, h http.Handler, maxBytes int64) error {
	_, err := s.HandleAll(owner, Endpoint{path, h, maxBytes})
	return err
}

// Endpoint is a handler at a path that accepts bodies of at most MaxBytes.
type Endpoint struct {
	Path     string
	Handler  http.Handler
	MaxBytes int64
}

// HandleAll is [Server.HandleFor] for several endpoints. It either adds all of them, or adds none and returns an error.
// undo restores the previous endpoints.
func (s *Server) HandleAll(owner Owner, endpoints ...Endpoint) (undo func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	added, before := map[string]*endpoint{}, map[string]*endpoint{}
	for _, e := range endpoints {
		if !strings.HasPrefix(e.Path, "/") || strings.ContainsAny(e.Path, "?# ") {
			return nil, fmt.Errorf("webhook path %q: want one such as /mutate-webapp-example-com-v1-guestbook", e.Path)
		}
		other := s.paths[e.Path]
		if added[e.Path] != nil || other != nil && !owner.Replaces(other.owner) {
			return nil, fmt.Errorf("there is another webhook at %s; give one of them another path", e.Path)
		}
		added[e.Path], before[e.Path] = &endpoint{e.Handler, owner, e.MaxBytes}, other
	}
	for path, e := range added {
		s.paths[path] = e
		if before[path] == nil { // all series start at 0, so that rate() sees the first increment
			s.inFlight.Set(0, path)
			s.panics.Add(0, path)
			s.total.Add(0, path, strconv.Itoa(http.StatusOK))
			s.total.Add(0, path, strconv.Itoa(http.StatusInternalServerError))
		}
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for path, e := range added {
			switch {
			case s.paths[path] != e: // it has been replaced since
			case before[path] == nil:
				delete(s.paths, path)
			default:
				s.paths[path] = before[path]
			}
		}
	}, nil
}

// At returns the handler at path, or nil.
func (s *Server) At(path string) http.Handler {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if e := s.paths[path]; e != nil {
		return e.Handler
	}
	return nil
}

// Listen binds the address. From then on, clients can connect, and wait until Run serves them.
func (s *Server) Listen(ctx context.Context) error { return s.http.Listen(ctx) }

// Addr returns the address of the server. Call it after Listen.
func (s *Server) Addr() net.Addr { return s.http.Addr() }

// Close releases the address. Call it if Run is not called after Listen.
func (s *Server) Close() { s.http.Close() }

// Run serves until ctx ends, and keeps the certificates up to date. Call Listen first. Run returns after the last
// request was answered, with nil or the error that stopped it.
func (s *Server) Run(ctx context.Context) error {
	// If either the server or the certificates end early, the other ends as well.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var keeping sync.WaitGroup
	var failure error // of the certificates
	if s.opts.Certificates != nil {
		keeping.Go(func() {
			if err := s.opts.Certificates.Run(ctx); err != nil && ctx.Err() == nil {
				failure = fmt.Errorf("certificates: %w", err)
				cancel()
			}
		})
	}
	err := s.http.Run(ctx)
	cancel()
	keeping.Wait()
	return cmp.Or(err, failure)
}

// Ready returns an error if clients do not accept the certificate.
func (s *Server) Ready() error {
	if s.opts.Certificates == nil {
		return nil
	}
	return s.opts.Certificates.Ready()
}

// ServeHTTP answers a request with the handler at its path, within the limits.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.RLock()
	e := s.paths[r.URL.Path]
	s.mu.RUnlock()
	if e == nil {
		s.opts.Logger.Error("there is no webhook at the path", "path", r.URL.Path, "client", r.RemoteAddr)
		http.Error(w, fmt.Sprintf("there is no webhook at %s", r.URL.Path), http.StatusNotFound)
		return
	}
	start := time.Now()
	answer := &answer{ResponseWriter: w, server: s, path: r.URL.Path}
	s.inFlight.Add(1, r.URL.Path)
	defer func() {
		s.inFlight.Add(-1, r.URL.Path)
		s.seconds.ObserveSince(start, r.URL.Path)
		s.total.Inc(r.URL.Path, strconv.Itoa(cmp.Or(answer.code, http.StatusOK)))
	}()
	ctx, cancel := context.WithTimeout(r.Context(), timeoutOf(r))
	defer cancel()
	s.answer(answer, r.WithContext(ctx), e)
}

// answer reads the body, and calls the handler once there is room for the request.
func (s *Server) answer(w *answer, r *http.Request, e *endpoint) {
	arrived := s.intake.arrive(w)
	defer arrived.end()
	if err := arrived.read(r, e.maxBytes); err != nil {
		s.opts.Logger.Warn("cannot read the body of a request", "path", r.URL.Path, "client", r.RemoteAddr, "err", err)
		code := httpserver.CodeOf(err)
		if errors.Is(err, errNoRoom) || errors.Is(err, errCutOff) {
			code = http.StatusServiceUnavailable
		}
		w.Header().Set("Connection", "close")
		http.Error(w, err.Error(), code)
		return
	}
	leave, ok := s.enter(w, r)
	if !ok {
		return
	}
	defer leave()
	w.begun = sync.OnceFunc(func() {
		leave()
		arrived.answering()
	})
	defer func() {
		if p := recover(); p != nil {
			s.opts.Logger.Error("panic", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			w.Panicked()
			http.Error(w, "the webhook panicked, see its log", http.StatusInternalServerError)
		}
	}()
	body := &whole{rest: arrived.data}
	defer body.Close()
	r.Body = body
	e.ServeHTTP(w, r)
}

// enter waits for a slot, which leave releases; leave may be called twice. If too many requests wait, or the context of
// this request ends first, enter answers the request and reports false.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) (leave func(), ok bool) {
	select {
	case s.waiting <- struct{}{}:
	default:
		http.Error(w, "too many requests wait for the webhook", http.StatusServiceUnavailable)
		return nil, false
	}
	select {
	case s.slots <- struct{}{}:
	default:
		select {
		case s.slots <- struct{}{}:
		case <-r.Context().Done():
			<-s.waiting
			http.Error(w, "the webhook had no time for the request", http.StatusServiceUnavailable)
			return nil, false
		}
	}
	return sync.OnceFunc(func() { <-s.slots; <-s.waiting }), true
}

// timeoutOf returns the API server's timeout, which is a parameter of the URL.
func timeoutOf(r *http.Request) time.Duration {
	if r.URL.RawQuery == "" {
		return unsaidTimeout
	}
	timeout, err := time.ParseDuration(r.URL.Query().Get("timeout"))
	if err != nil || timeout <= 0 {
		return unsaidTimeout
	}
	return min(timeout, maxTimeout)
}

// answer is a response whose code is counted.
type answer struct {
	http.ResponseWriter
	server *Server
	path   string
	code   int    // zero before the first write
	begun  func() // called before each write once a slot is taken
}

func (a *answer) WriteHeader(code int) {
	if a.code == 0 {
		a.code = code
	}
	a.ResponseWriter.WriteHeader(code)
}

// Write first releases the slot of the request, because the client may read slowly.
func (a *answer) Write(p []byte) (int, error) {
	if a.begun != nil {
		a.begun()
	}
	return a.ResponseWriter.Write(p)
}

func (a *answer) WriteString(text string) (int, error) {
	if a.begun != nil {
		a.begun()
	}
	return io.WriteString(a.ResponseWriter, text)
}

// Panicked counts a panic of the handler.
func (a *answer) Panicked() { a.server.panics.Inc(a.path) }

// Unwrap returns the underlying writer, for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// instruments are the metrics of a server. Their names are those that common dashboards use.
type instruments struct {
	total, panics *metrics.Counter
	inFlight      *metrics.Gauge
	seconds       *metrics.Histogram
}

func newInstruments(r *metrics.Registry) instruments {
	return instruments{
		total: r.Counter("controller_runtime_webhook_requests_total", "Requests to webhooks by path and HTTP code.",
			"webhook", "code"),
		panics:   r.Counter("controller_runtime_webhook_panics_total", "Requests whose handler panicked.", "webhook"),
		inFlight: r.Gauge("controller_runtime_webhook_requests_in_flight", "Requests that are being processed.", "webhook"),
		seconds: r.Histogram("controller_runtime_webhook_latency_seconds", "Duration of requests to webhooks, in seconds.",
			slices.Concat([]float64{.001, .0025}, metrics.DefaultBuckets()), "webhook"),
	}
}
