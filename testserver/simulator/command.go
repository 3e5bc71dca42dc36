package simulator

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
)

// Command is an operator that runs as an operating system process, in real time. A proxy on loopback injects the faults
// of a plan into its requests and watches. To simulate a crash, the run kills the process.
type Command struct {
	// Context ends all processes. It must not be nil.
	Context context.Context
	// Args has the program and its arguments. In the arguments, [KubeconfigArgument] is replaced by the path of a
	// kubeconfig. The environment variable KUBECONFIG also has this path.
	Args []string
	// Env has environment variables for the program. Variables of this process take precedence.
	Env map[string]string
	// Dir is the working directory. Empty means the working directory of this process.
	Dir string
	// Server is the transport to an API server. Nil means a new in-memory server for each run. If it is set, each run
	// deletes the objects that it has created.
	Server http.RoundTripper
	// Controlled means that controllers of a cluster run on Server, so that a run starts no fake controllers.
	Controlled bool
	// Quiet is the time without requests after which a run is at rest. The default is 2 s.
	Quiet time.Duration
	// Longest is the time in which a run must come to rest. The default is 60 s.
	Longest time.Duration

	lone bool // see leftovers; only one run at a time uses it

	mu          sync.Mutex      // held while the certificate is created
	certificate tls.Certificate // of the proxies
	authority   []byte          // in PEM
	key         []byte          // in PEM
}

// KubeconfigArgument is the placeholder for the path of the kubeconfig in the arguments of a command.
const KubeconfigArgument = "{kubeconfig}"

// startTime is the time in which a program must send its first request.
const startTime = time.Minute

func (c *Command) pace() pace {
	p := pace{quiet: c.Quiet, longest: c.Longest, restart: 100 * time.Millisecond, step: 100 * time.Millisecond}
	if p.quiet <= 0 {
		p.quiet = 2 * time.Second
	}
	if p.longest <= 0 {
		p.longest = time.Minute
	}
	p.delay = 2 * p.quiet
	p.settle = func() {} // the program determines the order of its requests
	return p
}

// shorten limits the delays of faults, whose defaults are for virtual time.
func (c *Command) shorten(plans []Plan) {
	most := c.pace().delay
	for _, plan := range plans {
		for i := range plan.Faults {
			plan.Faults[i].For = metav1.Duration{Duration: min(plan.Faults[i].For.Duration, most)}
		}
	}
}

// connected returns an error if the operator is a command and no process has sent a request.
func (r *run) connected() error {
	if r.operator.Command == nil {
		return nil
	}
	if err := context.Cause(r.ctx); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.living {
		if p != nil && p.connected {
			return nil
		}
	}
	program := r.operator.Command.Args[0]
	if len(r.ends) > 0 {
		return fmt.Errorf("%s ends before it sends a request: %s", program, r.ends[0])
	}
	printed := ""
	if lines := r.logs.all(); len(lines) > 0 {
		printed = "; its last message: " + shorten(lines[len(lines)-1])
	}
	return fmt.Errorf(
		"%s has sent no request within %s; it must read the environment variable KUBECONFIG, or have the argument %s%s",
		program, startTime, KubeconfigArgument, printed,
	)
}

// RealServer returns the transport to the API server of a client configuration.
func RealServer(config *rest.Config) (http.RoundTripper, error) {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	return &realServer{transport, base}, nil
}

// realServer sends requests for the in-memory API server to another API server.
type realServer struct {
	transport http.RoundTripper
	base      *url.URL
}

func (s *realServer) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.URL.Scheme, request.URL.Host, request.Host = s.base.Scheme, s.base.Host, ""
	return s.transport.RoundTrip(request)
}

// run runs the program of a process until the program or the context of the process ends.
func (c *Command) run(p *process) error {
	if err := c.certify(); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: p.proxy(), ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig:    &tls.Config{Certificates: []tls.Certificate{c.certificate}},
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}, // a lost response closes its connection
	}
	served := make(chan struct{})
	go func() { // ends with server
		defer close(served)
		_ = server.ServeTLS(listener, "", "")
	}()
	defer func() {
		_ = server.Close()
		<-served
	}()
	dir, err := os.MkdirTemp("", "kctrl-chaos-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, c.kubeconfig(listener.Addr().String(), p.run.operator), 0o600); err != nil {
		return err
	}
	if err := c.writeServingCertificate(dir); err != nil {
		return err
	}
	args := make([]string, len(c.Args))
	for i, arg := range c.Args {
		args[i] = strings.ReplaceAll(arg, KubeconfigArgument, kubeconfig)
	}
	cmd := exec.CommandContext(p.ctx, args[0], args[1:]...)
	cmd.Dir = c.Dir
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "TMPDIR="+dir)
	for name, value := range c.Env {
		if _, set := os.LookupEnv(name); !set {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.WaitDelay = 5 * time.Second
	killGroup(cmd)
	output := &tail{lines: p.run.logs}
	cmd.Stdout, cmd.Stderr = output, output
	err = cmd.Run()
	if last := output.last(); last != "" && err != nil {
		err = fmt.Errorf("%w: %s", err, last)
	}
	if err == nil {
		err = errors.New("exit status 0")
	}
	return err
}

// certify creates the certificate of the proxies once. The proxies need one, because some clients reject servers
// without TLS.
func (c *Command) certify() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.authority != nil {
		return nil
	}
	authority, key, err := certutil.GenerateSelfSignedCertKeyWithFixtures("localhost", []net.IP{{127, 0, 0, 1}}, nil, "")
	if err != nil {
		return err
	}
	if c.certificate, err = tls.X509KeyPair(authority, key); err != nil {
		return err
	}
	c.authority, c.key = authority, key
	return nil
}

// writeServingCertificate writes a certificate for a webhook server below the directory of temporary files, where
// controller-runtime looks for it. The webhooks are not called, but their server does not start without a certificate.
func (c *Command) writeServingCertificate(temporary string) error {
	dir := filepath.Join(temporary, "k8s-webhook-server", "serving-certs")
	return cmp.Or(
		os.MkdirAll(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "tls.crt"), c.authority, 0o600),
		os.WriteFile(filepath.Join(dir, "tls.key"), c.key, 0o600),
	)
}

// kubeconfig returns a kubeconfig for a proxy, with the namespace of the operator.
func (c *Command) kubeconfig(address string, o *Operator) []byte {
	namespace := cmp.Or(o.Namespace, "default")
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: chaos
  cluster:
    server: https://%s
    certificate-authority-data: %s
users:
- name: chaos
  user: {}
contexts:
- name: chaos
  context:
    cluster: chaos
    user: chaos
    namespace: %s
current-context: chaos
`, address, base64.StdEncoding.EncodeToString(c.authority), namespace)
}

// proxy passes requests to the transport of the process.
func (p *process) proxy() http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", "in-memory", "in-memory"
			r.Out.Header.Del("Authorization")
		},
		Transport:     p,
		FlushInterval: -1, // sends events at once
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) {
			panic(http.ErrAbortHandler) // the connection ends without an answer
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}
}

// tail keeps the lines of a program's output that report errors. Only one goroutine writes to it.
type tail struct {
	lines *logLines
	rest  []byte
	final string
}

func (t *tail) Write(data []byte) (int, error) {
	t.rest = append(t.rest, data...)
	for {
		i := bytes.IndexByte(t.rest, '\n')
		if i < 0 {
			return len(data), nil
		}
		t.line(string(t.rest[:i]))
		t.rest = t.rest[i+1:]
	}
}

func (t *tail) line(text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	if !strings.HasPrefix(text, "\t") && !strings.HasPrefix(text, "goroutine ") {
		t.final = text
	}
	lower := strings.ToLower(text)
	if strings.Contains(lower, "error") || strings.Contains(lower, "panic") || strings.HasPrefix(text, "E") {
		t.lines.addLine(text)
	}
}

// last returns the last line.
func (t *tail) last() string {
	if text := strings.TrimSpace(string(t.rest)); text != "" {
		return text
	}
	return t.final
}

// nameInProtobuf returns the name and the generateName of an object in Kubernetes' protobuf format.
func nameInProtobuf(data []byte) (name, generateName string, ok bool) {
	data, ok = bytes.CutPrefix(data, []byte("k8s\x00"))
	if !ok {
		return "", "", false
	}
	// The envelope has the object in field 2; objects have their metadata in field 1.
	metadata := field(field(data, 2), 1)
	return string(field(metadata, 1)), string(field(metadata, 2)), true
}

// field returns the first length-delimited field of a message with this number, or nil.
func field(message []byte, number protowire.Number) []byte {
	for len(message) > 0 {
		n, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return nil
		}
		message = message[size:]
		if n == number && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message)
			return value
		}
		size = protowire.ConsumeFieldValue(n, kind, message)
		if size < 0 {
			return nil
		}
		message = message[size:]
	}
	return nil
}
