// Package testhost runs in-memory API servers for a test binary, in a separate kctrl process.
//
// The process is started for the first server and serves all further ones. It ends with the test binary, even after a
// crash, because its standard input is then closed.
package testhost

import (
	"bufio"
	"bytes"
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
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// CommandVariable is the environment variable that specifies the kctrl command.
const CommandVariable = "KCTRL"

// Command returns the kctrl command to run.
func Command() string { return cmp.Or(os.Getenv(CommandVariable), "kctrl") }

// Explain adds advice to the error that the command does not exist.
func Explain(err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; install kctrl, or set %s to its path", err, CommandVariable)
	}
	return err
}

// hosts are the processes with the servers of this test binary. There is one process per command line, which contains
// the kctrl command and whether fake controllers may run.
var hosts = struct {
	mu      sync.Mutex // held while a process is started
	running map[string]*host
}{running: map[string]*host{}}

// hostOf returns a process of the kctrl command. It starts one if none is running.
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
	authority, certificate, key []byte // PEM; all servers accept them

	mu       sync.Mutex // held from a request to its answer
	requests *json.Encoder
	answers  *json.Decoder
	ended    error                   // the reason why the process has ended
	end      func(cause error) error // ends the process, waits for it, and returns the cause with its output
}

// hasEnded reports whether a request found that the process had ended.
func (h *host) hasEnded() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ended != nil
}

func startHost(cmd *exec.Cmd) (*host, error) {
	p, err := Run(cmd)
	if err != nil {
		return nil, Explain(err)
	}
	h := &host{requests: json.NewEncoder(p.Stdin), answers: json.NewDecoder(p.Stdout)}
	h.end = func(cause error) error {
		if errors.Is(cause, io.EOF) {
			cause = nil // the exit code explains the end of the output
		}
		return p.WithOutput(cmp.Or(errors.Join(p.End(), cause), io.ErrUnexpectedEOF))
	}
	var credentials struct{ Authority, Certificate, Key []byte }
	if err := h.answers.Decode(&credentials); err != nil {
		return nil, h.end(err)
	}
	h.authority, h.certificate, h.key = credentials.Authority, credentials.Certificate, credentials.Key
	return h, nil
}

// Process is a running command. It ends when its standard input is closed, by End or, when this process ends, by the
// kernel.
type Process struct {
	Stdin  io.WriteCloser
	Stdout *bufio.Reader
	cmd    *exec.Cmd
	output bytes.Buffer // standard error, which may be read after the end
}

// Run starts a command.
func Run(cmd *exec.Cmd) (*Process, error) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p := &Process{Stdin: stdin, Stdout: bufio.NewReader(stdout), cmd: cmd}
	cmd.Stderr = &p.output
	return p, cmd.Start()
}

// End ends the process, and returns its error.
func (p *Process) End() error {
	p.Stdin.Close()
	return p.cmd.Wait()
}

// WithOutput returns an error of a process that has ended, with the output of the process.
func (p *Process) WithOutput(err error) error { return fmt.Errorf("%w\n%s", err, &p.output) }

// request is a request to a host. Exactly one field is set.
type request struct {
	Start *start `json:"start,omitempty"`
	Stop  int    `json:"stop,omitempty"` // ID of a server
	Put   *put   `json:"put,omitempty"`
}

type start struct {
	FakeControllers []string `json:"fakeControllers,omitempty"`
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

// Server is an isolated API server. It is safe for concurrent use.
type Server struct {
	host *host
	id   int
	url  string
}

// Start starts a server. It first starts the process if it is not running yet. fakeControllers are the fake controllers
// to run, in the form of the flag --controllers of kube-controller-manager: "*" for all controllers, "-kubelet" to
// exclude one. If it is empty, no controller runs.
func Start(fakeControllers []string) (*Server, error) {
	h, err := hostOf(len(fakeControllers) > 0)
	if err != nil {
		return nil, err
	}
	started, err := h.ask(request{Start: &start{fakeControllers}})
	if err != nil {
		return nil, err
	}
	return &Server{h, started.ID, started.URL}, nil
}

// Stop stops the server. It must be called once.
func (s *Server) Stop() error {
	_, err := s.host.ask(request{Stop: s.id})
	return err
}

// Config returns a new configuration with administrator permissions and without a limit on the request rate.
func (s *Server) Config() *rest.Config {
	return &rest.Config{
		Host: s.url, QPS: -1, // by default, client-go sends at most five requests per second
		TLSClientConfig: rest.TLSClientConfig{CAData: s.host.authority, CertData: s.host.certificate, KeyData: s.host.key},
	}
}

// OwningClient returns an HTTP client that owns the server: the server stops after the garbage collector has found that
// neither the client nor the body of one of its answers is reachable.
func (s *Server) OwningClient() (*http.Client, error) {
	// The configuration must not refer to the owner, because idle connections keep the configuration reachable.
	shared, err := rest.HTTPClientFor(s.Config())
	if err != nil {
		return nil, err
	}
	owner := &owner{s}
	runtime.AddCleanup(owner, func(s *Server) {
		_ = s.Stop() // if the process has ended, the server has ended as well
	}, s)
	return &http.Client{Transport: &ownedTransport{shared.Transport, owner}}, nil
}

// owner is reachable while its server is in use.
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

// ownedBody is the body of an answer, such as a watch. It keeps its server alive.
type ownedBody struct {
	io.ReadCloser
	owner *owner
}

// Read keeps the owner reachable while it waits.
func (b *ownedBody) Read(p []byte) (int, error) {
	defer runtime.KeepAlive(b)
	return b.ReadCloser.Read(p)
}

// Put stores an object of a served resource unchanged, including its status, UID, finalizers, managed fields and times
// such as the deletion timestamp. The name must be unused.
func (s *Server) Put(resource schema.GroupVersionResource, object *unstructured.Unstructured) error {
	_, err := s.host.ask(request{Put: &put{s.id, resource.Group, resource.Version, resource.Resource, object.Object}})
	return err
}
