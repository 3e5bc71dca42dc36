package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

const (
	startAttempts = 3 // a free port may be taken by somebody else before it is used
	startTimeout  = 2 * time.Minute
)

// Options say what to start. The zero value is etcd and an API server on a free port, with throw-away data.
type Options struct {
	// Folder is where the instance keeps certificates, logs and its kubeconfig. It must exist.
	Folder string
	// DataDir is where etcd keeps its data; it is made when it does not exist, and it is the caller's to remove. Empty
	// is a folder below Folder, written without waiting for the disk.
	DataDir string
	// Port is that of the API server. Zero is a free one.
	Port int
	// ControllerManager starts kube-controller-manager too.
	ControllerManager bool
	// FeatureGates is passed on to the API server, such as "CBORServingAndStorage=true".
	FeatureGates string
	// Attached ends the instance when this process dies.
	Attached bool
	// Faults makes [Instance.Slow] possible: the API server reaches etcd through this process.
	Faults bool

	started func(Process) error // is told of each process before anything depends on it
}

// Instance is a running control plane.
type Instance struct {
	// Kubeconfig is the path of a kubeconfig with the rights of an administrator.
	Kubeconfig string
	// Server is the URL of the API server.
	Server string

	opts Options
	ids  *identities
	etcd string // the URL for clients of etcd
	line *proxy // from the API server to etcd; nil without Options.Faults

	mu         sync.Mutex
	components []*component // in start order
	stopped    bool         // no component is started any more
}

// Start starts a control plane from assets and returns when its API server is ready. When a part of it crashes, the
// error is a [*CrashError].
func Start(ctx context.Context, assets Assets, opts Options) (*Instance, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("the API server was not ready after %s", startTimeout))
	defer cancel()
	ids, err := writeIdentities(opts.Folder)
	if err != nil {
		return nil, fmt.Errorf("write certificates: %w", err)
	}
	if opts.DataDir != "" {
		if err := os.MkdirAll(opts.DataDir, 0o700); err != nil {
			return nil, &diagnostic.Error{Message: "data folder: " + err.Error(), Hint: "name a folder that you can write with --data-dir", Cause: err}
		}
	}
	if opts.Port != 0 && !portFree(opts.Port) {
		return nil, portTaken(opts.Port)
	}
	for attempt := 1; ; attempt++ {
		instance, err := start(ctx, assets, opts, ids)
		crash, crashed := errors.AsType[*CrashError](err)
		if !crashed || attempt == startAttempts || !strings.Contains(crash.Tail, "address already in use") {
			return instance, err
		}
	}
}

func portTaken(port int) error {
	return &diagnostic.Error{
		Message: fmt.Sprintf("port %d of 127.0.0.1 is taken", port),
		Hint:    "choose another --port, or leave it out for a free one",
	}
}

func portFree(port int) bool {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

// start makes one attempt. What it started is stopped when it fails.
func start(ctx context.Context, assets Assets, opts Options, ids *identities) (instance *Instance, err error) {
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	if opts.Port != 0 {
		ports[2] = opts.Port
	}
	instance = &Instance{
		Kubeconfig: filepath.Join(opts.Folder, "kubeconfig"),
		Server:     fmt.Sprintf("https://127.0.0.1:%d", ports[2]),
		opts:       opts,
		ids:        ids,
		etcd:       fmt.Sprintf("https://127.0.0.1:%d", ports[0]),
	}
	defer func() {
		if err != nil {
			instance.Stop()
		}
	}()
	if err := writeKubeconfig(instance.Kubeconfig, instance.Server, ids); err != nil {
		return instance, err
	}
	peer := fmt.Sprintf("https://127.0.0.1:%d", ports[1])
	if err := instance.add("etcd", opts, assets.etcd(etcdFlags(opts, instance.etcd, peer)...)); err != nil {
		return instance, err
	}
	store, err := instance.store()
	if err != nil {
		return instance, err
	}
	if err := instance.add("kube-apiserver", opts, assets.apiServer(apiServerFlags(opts, store, ports[2])...)); err != nil {
		return instance, err
	}
	if err := instance.waitReady(ctx); err != nil {
		return instance, err
	}
	if opts.ControllerManager {
		command, err := assets.controllerManager(controllerManagerFlags(opts, instance.Kubeconfig)...)
		if err != nil {
			return instance, err
		}
		return instance, instance.add("kube-controller-manager", opts, command)
	}
	return instance, nil
}

func (i *Instance) add(name string, opts Options, command []string) error {
	c, err := startComponent(name, opts.Folder, command, opts.Attached)
	if err != nil {
		return err
	}
	i.mu.Lock()
	i.components = append(i.components, c)
	i.mu.Unlock()
	if opts.started == nil {
		return nil
	}
	start, _ := startTime(c.cmd.Process.Pid)
	return opts.started(Process{Name: name, PID: c.cmd.Process.Pid, Start: start, Log: c.log})
}

// waitReady returns when /readyz says ok, over a connection on which both sides are verified.
func (i *Instance) waitReady(ctx context.Context) error {
	probe, err := i.ids.probe()
	if err != nil {
		return err
	}
	defer probe.CloseIdleConnections()
	var crash error
	err = poll(ctx, 50*time.Millisecond, func() bool {
		crash = i.crashed()
		return crash != nil || ready(ctx, probe, i.Server)
	})
	if crash != nil {
		return crash
	}
	if err != nil {
		all := i.all()
		last := all[len(all)-1]
		return fmt.Errorf("%w; the end of %s:\n%s", err, last.log, tail(last.log))
	}
	return nil
}

// probe returns a client with the rights of the kubeconfig, which etcd knows too.
func (ids *identities) probe() (*http.Client, error) {
	certificate, err := tls.X509KeyPair(ids.admin.certificate, ids.admin.key)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ids.authority)
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: roots, MinVersion: tls.VersionTLS12}
	return &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: config}}, nil
}

func ready(ctx context.Context, probe *http.Client, server string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/readyz", nil)
	if err != nil {
		return false
	}
	response, err := probe.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 3))
	return err == nil && string(body) == "ok"
}

// crashed returns the crash of the first component that has ended though it was not killed, or nil.
func (i *Instance) crashed() error {
	for _, c := range i.all() {
		if c.ended() && !c.killed.Load() {
			return c.crash()
		}
	}
	return nil
}

// all returns the components, in start order.
func (i *Instance) all() []*component {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.components)
}

// Wait blocks until ctx ends, which is no error, or a part of the control plane crashes. A part that [Instance.Kill]
// ended has not crashed, and is not watched when it runs again.
func (i *Instance) Wait(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var waiting sync.WaitGroup
	for _, c := range i.all() {
		waiting.Go(func() {
			select {
			case <-c.done:
			case <-ctx.Done():
				return
			}
			if !c.killed.Load() {
				cancel(c.crash())
			}
			<-ctx.Done()
		})
	}
	waiting.Wait()
	if crash, ok := errors.AsType[*CrashError](context.Cause(ctx)); ok {
		return crash
	}
	return nil
}

// Stop ends all processes, last started first, and waits for them.
func (i *Instance) Stop() {
	i.mu.Lock()
	i.stopped = true
	i.mu.Unlock()
	for _, c := range slices.Backward(i.all()) {
		c.stop()
	}
	if i.line != nil {
		i.line.close()
	}
}

// freePorts returns ports of loopback that were free a moment ago.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		ports[i] = listener.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}
