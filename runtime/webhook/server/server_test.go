package server_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/internal/authority"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// always is a source of one certificate that never changes.
type always struct {
	tls.Certificate
	ended error // if set, Run returns it at once
}

func newAlways(t *testing.T) *always {
	t.Helper()
	c, err := authority.SelfSigned("webhooks", "localhost")
	if err != nil {
		t.Fatal(err)
	}
	return &always{Certificate: *c}
}

func (a *always) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return &a.Certificate, nil
}
func (a *always) Ready() error { return nil }
func (a *always) Run(ctx context.Context) error {
	if a.ended == nil {
		<-ctx.Done()
	}
	return a.ended
}

// start runs a server until the test ends or until stop is called.
func start(t *testing.T, opts server.Options, paths map[string]http.HandlerFunc) (url string, stop func() error) {
	t.Helper()
	opts.Address = "127.0.0.1:0"
	if opts.Certificates == nil {
		opts.Certificates = newAlways(t)
	}
	opts.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	s := server.New(opts)
	for path, h := range paths {
		if err := s.Handle(path, h, 1000); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { stop() })
	return "https://" + s.Addr().String(), stop
}

// client returns a client that shares no connections with other tests.
func client(t *testing.T, config *tls.Config) *http.Client {
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	config.InsecureSkipVerify = true
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func post(t *testing.T, c *http.Client, url, body string) (int, string, *http.Response) {
	t.Helper()
	resp, err := c.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(text)), resp
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	w.Write(body)
}

func TestHTTP2OnlyIfAskedFor(t *testing.T) {
	for _, asked := range []bool{false, true} {
		url, _ := start(t, server.Options{HTTP2: asked}, map[string]http.HandlerFunc{"/a": echo})
		_, text, resp := post(t, client(t, &tls.Config{}), url+"/a", "hello")
		if got := resp.ProtoMajor == 2; got != asked || text != "hello" {
			t.Errorf("HTTP2 %t: %s %q", asked, resp.Proto, text)
		}
	}
}

func TestTLS12AtLeast(t *testing.T) {
	url, _ := start(t, server.Options{}, map[string]http.HandlerFunc{"/a": echo})
	old := client(t, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	if resp, err := old.Post(url+"/a", "application/json", nil); err == nil {
		resp.Body.Close()
		t.Error("TLS 1.1 was accepted")
	}
	code, _, resp := post(t, client(t, &tls.Config{MaxVersion: tls.VersionTLS12}), url+"/a", "")
	if code != http.StatusOK || resp.TLS.Version != tls.VersionTLS12 {
		t.Errorf("TLS 1.2: %d", code)
	}
}

func TestRequestsAreMeasuredByPathAndCode(t *testing.T) {
	registry := metrics.NewRegistry()
	url, _ := start(t, server.Options{Metrics: registry}, map[string]http.HandlerFunc{
		"/echo":   echo,
		"/panics": func(http.ResponseWriter, *http.Request) { panic("oh no") },
	})
	c := client(t, &tls.Config{})
	for _, want := range []struct {
		path, body string
		code       int
		answer     string
	}{
		{"/echo", "hello", 200, "hello"},
		{"/echo", strings.Repeat("a", 1001), 413, "http: request body too large"},
		{"/panics", "", 500, "the webhook panicked, see its log"},
		{"/none", "", 404, "there is no webhook at /none"},
	} {
		if code, answer, _ := post(t, c, url+want.path, want.body); code != want.code || answer != want.answer {
			t.Errorf("%s: %d %q", want.path, code, answer)
		}
	}
	var text bytes.Buffer
	if _, err := registry.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`controller_runtime_webhook_requests_total{webhook="/echo",code="200"} 1`,
		`controller_runtime_webhook_requests_total{webhook="/echo",code="413"} 1`,
		`controller_runtime_webhook_requests_total{webhook="/panics",code="500"} 1`,
		`controller_runtime_webhook_panics_total{webhook="/panics"} 1`,
		`controller_runtime_webhook_requests_in_flight{webhook="/echo"} 0`,
		`controller_runtime_webhook_latency_seconds_count{webhook="/echo"} 2`,
		`controller_runtime_webhook_requests_total{webhook="/echo",code="500"} 0`,
		`controller_runtime_webhook_panics_total{webhook="/echo"} 0`,
	} {
		if !strings.Contains(text.String(), want+"\n") {
			t.Errorf("no %s in\n%s", want, &text)
		}
	}
	if strings.Contains(text.String(), "/none") {
		t.Error("a path that is not served is measured")
	}
}

// TestAtMostMaxInFlightRequestsRun fills a server that handles two requests at a time. Ten times as many requests wait,
// and the server rejects further requests.
func TestAtMostMaxInFlightRequestsRun(t *testing.T) {
	const inFlight = 2
	begun, end := make(chan struct{}, 100), make(chan struct{})
	url, _ := start(t, server.Options{MaxInFlight: inFlight}, map[string]http.HandlerFunc{
		"/a": func(http.ResponseWriter, *http.Request) { begun <- struct{}{}; <-end },
	})
	c := client(t, &tls.Config{})
	var all sync.WaitGroup
	codes := make(chan int, 100)
	send := func(query string) {
		all.Go(func() {
			code, _, _ := post(t, c, url+"/a"+query, "")
			codes <- code
		})
	}
	for range inFlight {
		send("")
	}
	for range inFlight {
		<-begun
	}
	if code, text, _ := post(t, c, url+"/a?timeout=10ms", ""); code != http.StatusServiceUnavailable ||
		text != "the webhook had no time for the request" {
		t.Errorf("beside a full server: %d %q", code, text)
	}
	for range inFlight * 11 {
		send("")
	}
	for refused := 0; refused < inFlight; refused++ { // two requests of these are rejected and the others wait
		if code := <-codes; code != http.StatusServiceUnavailable {
			t.Errorf("beyond those that may wait: %d", code)
		}
	}
	select {
	case <-begun:
		t.Error("more are worked on")
	default:
	}
	close(end)
	all.Wait()
	close(codes)
	for code := range codes {
		if code != http.StatusOK {
			t.Errorf("after a wait: %d", code)
		}
	}
}

// reading is an answer that records the deadline for reading the request's body.
type reading struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (r *reading) SetReadDeadline(t time.Time) error {
	r.deadline = t
	return nil
}

func TestBodyIsReadAlsoAfterALongWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := server.New(server.Options{MaxInFlight: 1, Logger: slog.New(slog.DiscardHandler)})
		if err := s.Handle("/a", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(15 * time.Second)
			echo(w, r)
		}), 10); err != nil {
			t.Fatal(err)
		}
		ask := func(body string) (w *reading) {
			w = &reading{ResponseRecorder: httptest.NewRecorder()}
			s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/a", strings.NewReader(body)))
			return w
		}
		var first, second, empty *reading
		var all sync.WaitGroup
		all.Go(func() { first = ask("{}") })
		synctest.Wait()
		all.Go(func() { second = ask("{}") })
		synctest.Wait()
		all.Go(func() { empty = ask("") })
		all.Wait()
		for w, want := range map[*reading]string{first: "{}", second: "{}", empty: ""} {
			if text := w.Body.String(); text != want || !w.deadline.IsZero() {
				t.Errorf("answered %q, want %q; the body was read until %s", text, want, w.deadline)
			}
		}
	})
}

func TestContextEndsWithTheTimeOfTheAPIServer(t *testing.T) {
	s := server.New(server.Options{Logger: slog.New(slog.DiscardHandler)})
	var left time.Duration
	if err := s.Handle("/a", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		deadline, _ := r.Context().Deadline()
		left = time.Until(deadline)
	}), 10); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]time.Duration{
		"?timeout=3s": 3 * time.Second, "?timeout=1h": 30 * time.Second,
		// requests of conversions, which set no timeout
		"": 50 * time.Second, "?timeout=-1s": 50 * time.Second, "?timeout=x": 50 * time.Second,
	} {
		s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/a"+query, nil))
		if left > want || left < want-2*time.Second {
			t.Errorf("%s: %s are left, want %s", query, left, want)
		}
	}
}

func TestRunReturnsNilWhateverEndsItsContext(t *testing.T) {
	s := server.New(server.Options{Address: "127.0.0.1:0", Certificates: newAlways(t),
		Logger: slog.New(slog.DiscardHandler)})
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the test ends it"))
	if err := s.Run(ctx); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestRunEndsAfterTheLastAnswer(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	url, stop := start(t, server.Options{Patience: time.Minute}, map[string]http.HandlerFunc{
		"/a": func(w http.ResponseWriter, _ *http.Request) { close(begun); <-end; fmt.Fprint(w, "late") },
	})
	answered := make(chan string, 1)
	go func() {
		_, text, _ := post(t, client(t, &tls.Config{}), url+"/a", "")
		answered <- text
	}()
	<-begun
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	for { // until the server accepts no further connections
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "https://"))
		if err != nil {
			break
		}
		conn.Close()
	}
	select {
	case err := <-stopped:
		t.Fatalf("it ended with %v before the answer", err)
	default:
	}
	close(end)
	if text := <-answered; text != "late" {
		t.Errorf("answered %q", text)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// TestSlowClientHoldsNoOther sends only the beginning of a request and keeps the connection open.
func TestSlowClientHoldsNoOther(t *testing.T) {
	url, _ := start(t, server.Options{}, map[string]http.HandlerFunc{"/a": echo})
	slow, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	fmt.Fprint(slow, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf")
	if code, _, _ := post(t, client(t, &tls.Config{}), url+"/a", "x"); code != http.StatusOK {
		t.Errorf("beside a slow client: %d", code)
	}
	answer, err := bufio.NewReader(slow).ReadString('\n') // the server answers after ten seconds
	if err == nil && !strings.Contains(answer, "408") {
		t.Errorf("answered %q", answer)
	}
}

func TestCertificatesThatEndAreAnError(t *testing.T) {
	c := newAlways(t)
	c.ended = errors.New("broken")
	s := server.New(server.Options{Address: "127.0.0.1:0", Certificates: c})
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); err == nil || err.Error() != "certificates: broken" {
		t.Error(err)
	}
}

func TestPathIsServedOnce(t *testing.T) {
	s := server.New(server.Options{})
	h := http.HandlerFunc(echo)
	for _, c := range []struct{ path, want string }{
		{"/a", ""}, {"/b", ""},
		{"/a", "there is another webhook at /a; give one of them another path"},
		{"a", `webhook path "a": want one such as /mutate-webapp-example-com-v1-guestbook`},
		{"", `webhook path "": want one such as /mutate-webapp-example-com-v1-guestbook`},
		{"/a?b", `webhook path "/a?b": want one such as /mutate-webapp-example-com-v1-guestbook`},
	} {
		if err := s.Handle(c.path, h, 10); fmt.Sprint(err) != c.want && (err != nil || c.want != "") {
			t.Errorf("%q: %v, want %q", c.path, err, c.want)
		}
	}
	if s.At("/b") == nil || s.At("/c") != nil {
		t.Error("At finds the wrong ones")
	}
}

func TestTLSOptionsAreAppliedInTheirOrder(t *testing.T) {
	url, _ := start(t, server.Options{TLSOpts: []func(*tls.Config){
		func(c *tls.Config) { c.NextProtos = nil },
		func(c *tls.Config) { c.NextProtos, c.MinVersion = append(c.NextProtos, "h2"), tls.VersionTLS13 },
	}}, nil)
	address := strings.TrimPrefix(url, "https://")
	if conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true,
		MaxVersion: tls.VersionTLS12}); err == nil {
		conn.Close()
		t.Error("TLS 1.2 is spoken")
	}
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got := conn.ConnectionState().NegotiatedProtocol; got != "h2" {
		t.Errorf("got %q", got)
	}
}
