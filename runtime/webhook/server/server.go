// Package server serves webhooks to an API server: over TLS, within bounds, and measured.
//
// A [Server] has handlers under paths, such as admission.Reviewer and conversion.Converter. manager.Manager.Webhooks returns that
// of an operator; [New] makes one for a program without a manager.
//
// # Guarantees
//
//   - A body that is longer than its handler takes is refused with 413, and none is held that long.
//   - No more than [Options].MaxInFlight requests are worked on at once. More wait, as long as the API server waits for them;
//     beyond ten times as many they are refused with 503 at once. A request waits, or is worked on, from when its body was
//     read until its answer is written: a client that is slow with either holds no other.
//   - Connections are bounded in number, and the bodies in memory in bytes: together they are at most 512 MiB, or a quarter of
//     the memory limit of the process if that is less. Beyond a bound a slow client is cut off.
//   - The context of a request ends with the time that the API server gives it, and when the API server hangs up. Conversions,
//     for which it names no time, may take 50 s.
//   - A handler that panics answers 500, and the stack is logged. The failure policy of the webhook decides what comes of it.
//   - A client that is slow with its request is cut off after ten seconds.
//   - When Run ends, every request that had arrived was answered, unless it took longer than [Options].Patience.
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

// Certificates are what a [Server] shows to its clients. *certificate.Files and *certificate.Authority are some.
type Certificates interface {
	// Run keeps the certificate until ctx ends.
	Run(ctx context.Context) error
	// GetCertificate is that of a tls.Config.
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Ready returns an error unless clients accept the certificate.
	Ready() error
}

// Options say how a [Server] serves.
type Options struct {
	// Address is where it listens; empty is ":9443".
	Address string
	// Certificates are required.
	Certificates Certificates
	// HTTP2 lets clients speak HTTP/2 too. HTTP/1.1 is all that the API server needs, and has fewer ways to be attacked.
	HTTP2 bool
	// TLSOpts change how the server speaks TLS, in their order: cipher suites, curves, client certificates. By default that is
	// TLS 1.2 at least, with Certificates, and HTTP/1.1 unless HTTP2 is set.
	TLSOpts []func(*tls.Config)
	// MaxInFlight is how many requests are worked on at once. Zero means 256.
	MaxInFlight int
	// Patience is how long requests may take after the end of Run's context. Zero means 5 s.
	Patience time.Duration
	// Logger is where the server logs. Nil is slog.Default().
	Logger *slog.Logger
	// Metrics get what is measured. Nil measures for nobody.
	Metrics *metrics.Registry
}

// DefaultAddress is where webhooks are served if nothing else is said.
const DefaultAddress = ":9443"

const (
	// MaxReview is how long an AdmissionReview may be: it has two objects, each of which the API server bounds to 3 MiB.
	MaxReview = 8 << 20
	// MaxConversion is how long a ConversionReview may be. The API server sends all objects of a list in one.
	MaxConversion = 512 << 20
	// maxTimeout is the longest time that an API server says it waits for a webhook.
	maxTimeout = 30 * time.Second
	// unsaidTimeout is how long a request may take that does not say: those of conversions do not, and API servers wait for
	// these as long as it takes. It leaves the time to write a long answer before the server cuts the connection off.
	unsaidTimeout = 50 * time.Second
	// waitFactor is how many requests may wait for each that is worked on.
	waitFactor = 10
	// maxSlow is how many connections there may be besides those of requests that wait or are worked on.
	maxSlow = 256
)

// Server serves webhooks. Its methods are safe for concurrent use.
type Server struct {
	opts    Options
	http    *httpserver.Server
	intake  *intake
	slots   chan struct{} // has an element for each request that is worked on
	waiting chan struct{} // and for each whose body was read and that is not answered
	instruments

	mu    sync.RWMutex
	paths map[string]*endpoint
}

// Owner is who registers webhooks, conversions and the like, if that is somebody who may do so again: a controller of a registry, which
// is built again when it is restarted. The zero value is nobody.
type Owner struct {
	Name string
	// Build is higher each time it is built.
	Build int
}

// Replaces reports whether what o registers takes the place of what other has registered: that is so for an earlier build of itself.
// What it has registered in this build it has by mistake twice.
func (o Owner) Replaces(other Owner) bool {
	return o.Name != "" && o.Name == other.Name && o.Build > other.Build
}

// endpoint is a handler with its bound, and who has registered it.
type endpoint struct {
	http.Handler
	owner    Owner
	maxBytes int64
}

// New returns a server without webhooks. It starts nothing.
func New(opts Options) *Server {
	opts.Address = cmp.Or(opts.Address, DefaultAddress)
	opts.MaxInFlight = cmp.Or(max(0, opts.MaxInFlight), 256)
	opts.Logger = cmp.Or(opts.Logger, slog.Default())
	s := &Server{
		opts: opts, paths: map[string]*endpoint{}, instruments: newInstruments(opts.Metrics), intake: newIntake(memoryLimit()),
		slots: make(chan struct{}, opts.MaxInFlight), waiting: make(chan struct{}, opts.MaxInFlight*(1+waitFactor)),
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
		MaxConnections: cap(s.waiting) + maxSlow, MaxBody: -1, // the intake bounds bodies
	})
	return s
}

// Name returns "webhooks".
func (s *Server) Name() string { return s.http.Name() }

// Handle serves h at path, with bodies of at most maxBytes. A path that is taken, or that is none, is an error. It may be called
// at any time.
func (s *Server) Handle(path string, h http.Handler, maxBytes int64) error {
	return s.HandleFor(Owner{}, path, h, maxBytes)
}

// HandleFor is Handle for an owner: what it registers takes the place of what an earlier build of it has registered at the path, which
// answers what it has been asked by then.
func (s *Server) HandleFor(owner Owner, path string, h http.Handler, maxBytes int64) error {
	_, err := s.HandleAll(owner, Endpoint{path, h, maxBytes})
	return err
}

// Endpoint is a handler at a path, with bodies of at most MaxBytes.
type Endpoint struct {
	Path     string
	Handler  http.Handler
	MaxBytes int64
}

// HandleAll is HandleFor for several endpoints: it serves all of them, or none and returns an error. undo makes the server
// serve again what it has served before.
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
		if before[path] == nil { // from the start, so that rate() sees the first increment
			s.inFlight.Set(0, path)
			s.panics.Add(0, path)
			s.total.Add(0, path, strconv.Itoa(http.StatusOK))
			s.total.Add(0, path, strconv.Itoa(http.StatusInternalServerError))
		}
	}
	return func() { s.restore(added, before) }, nil
}

// restore serves what was served before others were added, where it still serves these.
func (s *Server) restore(added, before map[string]*endpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, e := range added {
		switch {
		case s.paths[path] != e:
		case before[path] == nil:
			delete(s.paths, path)
		default:
			s.paths[path] = before[path]
		}
	}
}

// At returns what is served at path, or nil.
func (s *Server) At(path string) http.Handler {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if e := s.paths[path]; e != nil {
		return e.Handler
	}
	return nil
}

// Listen opens the address: from then on clients are kept waiting for Run.
func (s *Server) Listen(ctx context.Context) error { return s.http.Listen(ctx) }

// Addr is where the server listens, after Listen.
func (s *Server) Addr() net.Addr { return s.http.Addr() }

// Close gives the address back when Run is not called after Listen.
func (s *Server) Close() { s.http.Close() }

// Run serves until ctx ends, after Listen, and keeps the certificates meanwhile. It returns once the last request was answered: with
// nil, or with why it could not go on.
func (s *Server) Run(ctx context.Context) error {
	// What ends early ends the other too.
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

// Ready returns an error unless clients accept the certificate.
func (s *Server) Ready() error {
	if s.opts.Certificates == nil {
		return nil
	}
	return s.opts.Certificates.Ready()
}

// ServeHTTP answers a request by the handler at its path, within the bounds.
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
		refuse(w, err)
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

// refuse answers a request whose body was not read, and closes its connection.
func refuse(w http.ResponseWriter, err error) {
	code := httpserver.CodeOf(err)
	if errors.Is(err, errNoRoom) || errors.Is(err, errCutOff) {
		code = http.StatusServiceUnavailable
	}
	w.Header().Set("Connection", "close")
	http.Error(w, err.Error(), code)
}

// enter waits for one of the slots, until leave is called, which may be called twice. Otherwise it answers the request: there
// are too many, or its time has ended first.
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

// timeoutOf returns how long the API server waits for the answer, which it says in the query.
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
	code   int    // zero until something was written
	begun  func() // called before each write, once the request is worked on
}

// WriteHeader notes the code.
func (a *answer) WriteHeader(code int) {
	if a.code == 0 {
		a.code = code
	}
	a.ResponseWriter.WriteHeader(code)
}

// Write gives up the place of the request among those that are worked on: the client may be slow to read.
func (a *answer) Write(p []byte) (int, error) {
	if a.begun != nil {
		a.begun()
	}
	return a.ResponseWriter.Write(p)
}

// WriteString implements io.StringWriter.
func (a *answer) WriteString(text string) (int, error) {
	if a.begun != nil {
		a.begun()
	}
	return io.WriteString(a.ResponseWriter, text)
}

// Panicked counts a panic of the handler.
func (a *answer) Panicked() { a.server.panics.Inc(a.path) }

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// instruments are the metrics, under the names that dashboards for operators know.
type instruments struct {
	total, panics *metrics.Counter
	inFlight      *metrics.Gauge
	seconds       *metrics.Histogram
}

func newInstruments(r *metrics.Registry) instruments {
	return instruments{
		total:    r.Counter("controller_runtime_webhook_requests_total", "Requests to webhooks by path and HTTP code.", "webhook", "code"),
		panics:   r.Counter("controller_runtime_webhook_panics_total", "Requests whose handler panicked.", "webhook"),
		inFlight: r.Gauge("controller_runtime_webhook_requests_in_flight", "Requests that are not answered yet.", "webhook"),
		seconds:  r.Histogram("controller_runtime_webhook_latency_seconds", "How long requests took.", slices.Concat([]float64{.001, .0025}, metrics.DefaultBuckets()), "webhook"),
	}
}
