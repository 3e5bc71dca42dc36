// Package testhost runs API servers in memory for a test binary, in a kctrl process beside it.
//
// A process starts with its first server and serves all further ones. It ends when the test binary ends, however that
// happens: its standard input closes then.
package testhost

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// CommandVariable names the environment variable with the kctrl command.
const CommandVariable = "KCTRL"

// Command returns the kctrl command to run.
func Command() string { return cmp.Or(os.Getenv(CommandVariable), "kctrl") }

// Explain adds what to do to the error of a command that does not exist.
func Explain(err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; install kctrl, or set %s to its path", err, CommandVariable)
	}
	return err
}

// Options configure a server.
type Options struct {
	// FakeControllers are the fake controllers that run, as the flag --controllers of kube-controller-manager names them:
	// "*" for all, "-kubelet" for all but one. Empty runs none.
	FakeControllers []string
	// Unchecked makes the server store objects as clients send them.
	Unchecked bool
}

// hosts are the processes that serve the servers of this test binary: one for each command line, which names kctrl and
// says whether fake controllers may run.
var hosts = struct {
	mu      sync.Mutex // held while a process starts
	running map[string]*host
}{running: map[string]*host{}}

// hostOf returns a process of the kctrl command. It starts one if there is none, or the last one has ended.
func hostOf(fakeControllers bool) (*host, error) {
	cmd := exec.Command(Command(), "env", "host")
	if fakeControllers {
		cmd.Args = append(cmd.Args, "--fake-controllers")
	}
	line := cmd.String()
	hosts.mu.Lock()
	defer hosts.mu.Unlock()
	if h := hosts.running[line]; h != nil && !h.hasEnded() {
		return h, nil
	}
	h, err := startHost(cmd)
	if err == nil {
		hosts.running[line] = h
	}
	return h, err
}

// host is a process that starts and stops isolated API servers. Its protocol is in testserver/internal/standalone.
type host struct {
	authority, certificate, key []byte // PEM, which all servers accept

	mu       sync.Mutex // held from a request to its answer
	requests *json.Encoder
	answers  *json.Decoder
	ended    error                   // why the process no longer runs
	end      func(cause error) error // ends the process, waits for it, and returns the cause with its output
}

// hasEnded reports whether a request found that the process had ended.
func (h *host) hasEnded() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ended != nil
}

func startHost(cmd *exec.Cmd) (*host, error) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h := &host{requests: json.NewEncoder(stdin), answers: json.NewDecoder(bufio.NewReader(stdout))}
	output := &Output{}
	cmd.Stderr = output
	h.end = func(cause error) error {
		stdin.Close()
		return fmt.Errorf("%w\n%s", cmp.Or(errors.Join(cmd.Wait(), noEOF(cause)), io.ErrUnexpectedEOF), output)
	}
	if err := cmd.Start(); err != nil {
		return nil, Explain(err)
	}
	var credentials struct{ Authority, Certificate, Key []byte }
	if err := h.answers.Decode(&credentials); err != nil {
		return nil, h.end(err)
	}
	h.authority, h.certificate, h.key = credentials.Authority, credentials.Certificate, credentials.Key
	return h, nil
}

// noEOF drops the end of an output, which the exit code explains.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// request is what a host can do. One field is set.
type request struct {
	Start *start `json:"start,omitempty"`
	Stop  int    `json:"stop,omitempty"` // id of a server
	Put   *put   `json:"put,omitempty"`
}

type start struct {
	FakeControllers []string `json:"fakeControllers,omitempty"`
	Unchecked       bool     `json:"unchecked,omitempty"`
}

type put struct {
	Server   int            `json:"server"`
	Group    string         `json:"group"`
	Version  string         `json:"version"`
	Resource string         `json:"resource"`
	Object   map[string]any `json:"object"`
}

type answer struct {
	ID    int
	URL   string
	Error string
}

func (h *host) ask(r request) (answer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended != nil {
		return answer{}, h.ended
	}
	var a answer
	err := h.requests.Encode(r)
	if err == nil {
		err = h.answers.Decode(&a)
	}
	switch {
	case err != nil:
		h.ended = fmt.Errorf("the process of the API servers ended: %w", h.end(err))
		return a, h.ended
	case a.Error != "":
		return a, errors.New(a.Error)
	}
	return a, nil
}

// Server is an API server of its own. Its methods may be called by several goroutines.
type Server struct {
	host *host
	id   int
	url  string
}

// Start starts a server, and the process that serves it unless that runs already.
func Start(opts Options) (*Server, error) {
	h, err := hostOf(len(opts.FakeControllers) > 0)
	if err != nil {
		return nil, err
	}
	started, err := h.ask(request{Start: &start{opts.FakeControllers, opts.Unchecked}})
	if err != nil {
		return nil, err
	}
	return &Server{h, started.ID, started.URL}, nil
}

// Stop stops the server. It is called once.
func (s *Server) Stop() error {
	_, err := s.host.ask(request{Stop: s.id})
	return err
}

// Config returns a new configuration with the rights of an administrator and no limit of requests.
func (s *Server) Config() *rest.Config {
	return &rest.Config{
		Host: s.url, QPS: -1, // else clients of client-go send five requests a second
		TLSClientConfig: rest.TLSClientConfig{CAData: s.host.authority, CertData: s.host.certificate, KeyData: s.host.key},
	}
}

// OwningClient returns an HTTP client that owns the server: the server stops after the garbage collector has found that
// neither the client nor the body of an answer to it is reachable.
func (s *Server) OwningClient() (*http.Client, error) {
	// The owner must not be in the configuration, which connections keep reachable while they are idle.
	shared, err := rest.HTTPClientFor(s.Config())
	if err != nil {
		return nil, err
	}
	owner := &owner{s}
	runtime.AddCleanup(owner, func(s *Server) {
		_ = s.Stop() // of a process that ended, the server has ended too
	}, s)
	return &http.Client{Transport: &ownedTransport{shared.Transport, owner}}, nil
}

// owner is reachable while a server is in use.
type owner struct{ *Server }

type ownedTransport struct {
	http.RoundTripper
	owner *owner
}

func (t *ownedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = &ownedBody{response.Body, t.owner}
	}
	return response, err
}

// ownedBody is the body of an answer, such as a watch, that keeps its server.
type ownedBody struct {
	io.ReadCloser
	owner *owner
}

// Read keeps the owner reachable while it waits.
func (b *ownedBody) Read(p []byte) (int, error) {
	defer runtime.KeepAlive(b)
	return b.ReadCloser.Read(p)
}

// Put stores an object of a resource that is served as it is given: with its status, UID, finalizers, managed fields and
// times, that of a deletion included. An unchecked server keeps its resource version too. There is none of its name.
func (s *Server) Put(resource schema.GroupVersionResource, object *unstructured.Unstructured) error {
	_, err := s.host.ask(request{Put: &put{s.id, resource.Group, resource.Version, resource.Resource, object.Object}})
	return err
}

// Output collects the output of a command while it runs.
type Output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
