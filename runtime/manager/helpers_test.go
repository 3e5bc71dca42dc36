package manager_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/manager"
)

const loopback = "127.0.0.1:0"

var errBroken = errors.New("broken")

// runFunc is a runnable whose type is not comparable.
type runFunc func(ctx context.Context) error

func (f runFunc) Run(ctx context.Context) error { return f(ctx) }

// worker is a runnable with a name.
type worker struct {
	runFunc
	name string
}

func (w worker) Name() string { return w.name }

// always is a worker that also runs without leadership.
type always struct{ worker }

func (always) NeedLeaderElection() bool { return false }

// until returns a runnable that closes running when it begins, and then waits until it is stopped.
func until(running chan<- struct{}) runFunc {
	return func(ctx context.Context) error {
		close(running)
		<-ctx.Done()
		return nil
	}
}

// journal keeps the lines of a log.
type journal struct {
	mu      sync.Mutex
	lines   []string
	changed chan struct{} // closed at the next line
}

func newJournal() *journal { return &journal{changed: make(chan struct{})} }

// logger returns a logger that writes to j.
func (j *journal) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Write adds lines.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, strings.TrimSuffix(string(p), "\n"))
	close(j.changed)
	j.changed = make(chan struct{})
	return len(p), nil
}

// find returns the first line that contains all the words, and a channel that is closed when more lines arrive.
func (j *journal) find(words []string) (string, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, line := range j.lines {
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
			return line, j.changed
		}
	}
	return "", j.changed
}

// wait waits for a line that contains all the words, and returns it.
func (j *journal) wait(t *testing.T, words ...string) string {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		line, changed := j.find(words)
		if line != "" {
			return line
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("no line with %q in the log:\n%s", words, j)
		}
	}
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, "\n")
}

// url returns the URL of a manager's server.
func (j *journal) url(t *testing.T, server string) string {
	t.Helper()
	_, address, _ := strings.Cut(j.wait(t, "msg=serving", "server="+server), "address=")
	return "http://" + address
}

// newManager returns a manager of s that writes its log to the journal.
func newManager(t *testing.T, s *apiServer, opts manager.Options) (*manager.Manager, *journal) {
	t.Helper()
	log := newJournal()
	if opts.Logger == nil {
		opts.Logger = log.logger()
	}
	m, err := manager.New(s.config(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return m, log
}

// running is a running manager.
type running struct {
	cancel context.CancelFunc
	ended  chan struct{}
	err    error // result of Run; set before ended is closed
}

// start runs m until the test ends or until stop is called.
func start(t *testing.T, m *manager.Manager) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		r.err = m.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-r.ended
	})
	return r
}

// stop ends the manager as a signal does, and returns the error of Run.
func (r *running) stop() error {
	r.cancel()
	<-r.ended
	return r.err
}

func add(t *testing.T, m *manager.Manager, runnables ...manager.Runnable) {
	t.Helper()
	for _, r := range runnables {
		if err := m.Add(r); err != nil {
			t.Fatal(err)
		}
	}
}

// get returns the status code and body of an answer. The connection is not reused.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return send(t, &http.Transport{DisableKeepAlives: true}, req)
}

func send(t *testing.T, transport http.RoundTripper, req *http.Request) (int, string) {
	t.Helper()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// taken returns an address that is in use until the test ends.
func taken(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", loopback)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

// contains fails the test unless text contains all parts.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("got %q, want %q in it", text, part)
		}
	}
}

// managerGoroutines returns the stacks of the goroutines of managers.
func managerGoroutines() []string {
	return slices.DeleteFunc(leftovers(), func(stack string) bool {
		served := strings.Contains(stack, "apiserver.(*Server).ServeHTTP") ||
			strings.Contains(stack, "apiserver.startObjectWatch")
		return served || !strings.Contains(stack, "/kctrl/runtime/") // the in-memory server may still serve
	})
}
