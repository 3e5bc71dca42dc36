package testenv

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// hosts are the processes that serve the in-memory servers of this test binary: one for each command line, which names
// kctrl and says whether fake controllers run. A process starts with its first server. It ends when the test binary does,
// however that ends: its standard input closes then.
var hosts = struct {
	mu      sync.Mutex // held while a process starts
	running map[string]*host
}{running: map[string]*host{}}

// hostOf returns a process of a kctrl command. It starts one if there is none, or the last one has ended.
func hostOf(command string, fakeControllers bool) (*host, error) {
	cmd := exec.Command(command, "env", "host")
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

// host is a process that starts and stops isolated API servers. Its protocol is in testserver/program.
type host struct {
	authority, certificate, key []byte // PEM, which all servers accept

	mu       sync.Mutex // held from a request to its answer
	requests *json.Encoder
	answers  *json.Decoder
	ended    error                   // why the process does not run any more
	end      func(cause error) error // ends the process, waits for it, and returns the cause with what it said
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
	said := &lockedBuilder{}
	cmd.Stderr = said
	h.end = func(cause error) error {
		stdin.Close()
		return fmt.Errorf("%w\n%s", cmp.Or(errors.Join(cmd.Wait(), noEOF(cause)), io.ErrUnexpectedEOF), said)
	}
	if err := cmd.Start(); err != nil {
		return nil, explain(err)
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

// start starts an API server for the test and stops it when the test ends.
func (h *host) start(t testing.TB) (*Env, error) {
	started, err := h.ask(map[string]any{"start": true})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if _, err := h.ask(map[string]any{"stop": started.ID}); err != nil {
			t.Errorf("stop the API server: %v", err)
		}
	})
	config := &rest.Config{
		Host: started.URL, QPS: -1, // else clients of client-go send five requests a second
		TLSClientConfig: rest.TLSClientConfig{CAData: h.authority, CertData: h.certificate, KeyData: h.key},
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	return &Env{Config: config, Kubeconfig: kubeconfig, hosted: true}, writeKubeconfig(kubeconfig, config)
}

type hosted struct {
	ID    int
	URL   string
	Error string
}

func (h *host) ask(request map[string]any) (hosted, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended != nil {
		return hosted{}, h.ended
	}
	var answer hosted
	err := h.requests.Encode(request)
	if err == nil {
		err = h.answers.Decode(&answer)
	}
	switch {
	case err != nil:
		h.ended = fmt.Errorf("the process of the API servers ended: %w", h.end(err))
		return answer, h.ended
	case answer.Error != "":
		return answer, errors.New(answer.Error)
	}
	return answer, nil
}

func writeKubeconfig(file string, config *rest.Config) error {
	const name = "testenv"
	content, err := clientcmd.Write(clientcmdapi.Config{
		CurrentContext: name,
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name, Namespace: "default"}},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o600)
}
