//go:build linux || darwin

package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

const (
	startAttempts = 3 // another process may take a free port before it is used
	startTimeout  = 2 * time.Minute
)

// running returns the process of a part that was started before, if it still runs.
func (o Options) running(name string) (Process, bool) {
	i := slices.IndexFunc(o.previous, func(p Process) bool { return p.Name == name && p.alive() })
	if i < 0 {
		return Process{}, false
	}
	return o.previous[i], true
}

// servers returns the parts that serve the API, in start order. The first part stores the data, and the last one
// listens on the port.
func (o Options) servers() []string {
	if o.InMemory {
		return []string{inMemoryName}
	}
	return []string{etcdName, apiServerName}
}

// portGrace is the time for which the ports of an ended process may stay in use, because its last thread closes them.
const portGrace = 5 * time.Second

// choosePorts returns the previous ports of an instance, but replaces ports that another process has taken with free
// ones.
func (o Options) choosePorts(ctx context.Context) (Ports, error) {
	free, err := freePorts(3)
	if err != nil {
		return Ports{}, err
	}
	_, etcd := o.running(etcdName)
	_, apiServer := o.running(o.servers()[len(o.servers())-1])
	bounded, cancel := context.WithTimeout(ctx, portGrace)
	defer cancel()
	keep := func(had int, own bool, free int) int {
		if had == 0 || !own && poll(bounded, 20*time.Millisecond, func() bool { return portFree(had) }) != nil {
			return free
		}
		return had
	}
	chosen := Ports{Etcd: keep(o.ports.Etcd, etcd, free[0]), Peer: keep(o.ports.Peer, etcd, free[1]),
		API: keep(o.ports.API, apiServer, free[2])}
	if o.Port != 0 {
		chosen.API = o.Port
		if !apiServer && !portFree(o.Port) {
			return Ports{}, portTaken(o.Port)
		}
	}
	return chosen, nil
}

// Instance is a running control plane.
type Instance struct {
	// Kubeconfig is the path of a kubeconfig with the rights of an administrator.
	Kubeconfig string
	// Server is the URL of the API server.
	Server string

	opts  Options
	ids   *identities
	ports Ports
	etcd  string // address for clients of etcd
	line  *proxy // proxy from the API server to etcd; nil without Options.Faults

	kept []Process // parts that were already running; set before Start returns

	mu         sync.Mutex
	components []*component // in start order
	stopped    bool         // if true, no further component is started
}

// Start starts a control plane from assets and returns when its API server is ready. If a part crashes, the error is a
// [*CrashError].
func Start(ctx context.Context, assets Assets, opts Options) (instance *Instance, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("the API server was not ready after %s",
		startTimeout))
	defer cancel()
	if opts.DataDir != "" {
		if opts.DataDir, err = dataDir(opts.DataDir); err != nil {
			return nil, err
		}
		if _, runs := opts.running(opts.servers()[0]); !runs {
			if err := checkUnused(opts.DataDir, opts.InMemory); err != nil {
				return nil, err
			}
		}
	}
	if opts.Repaired != nil && opts.InMemory {
		if err := assets.repair(ctx, opts); err != nil {
			return nil, err
		}
	}
	ids := opts.ids
	if ids == nil {
		if ids, err = writeIdentities(opts.Dir); err != nil {
			return nil, err
		}
	}
	for attempt := 1; ; attempt++ {
		instance, err := start(ctx, assets, opts, ids)
		crash, crashed := errors.AsType[*CrashError](err)
		if crashed && unreadable(crash) != nil {
			return nil, unreadable(crash)
		}
		if !crashed || attempt == startAttempts || !strings.Contains(crash.Tail, "address already in use") {
			return instance, explain(err)
		}
	}
}

// dataDir creates a data directory if it does not exist, and returns its path without symbolic links.
func dataDir(path string) (string, error) {
	err := os.MkdirAll(path, 0o700)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", unusableData(err)
	}
	return path, nil
}

func unusableData(err error) error {
	return diagnostic.Because(err, "data directory: "+err.Error(), "choose a writable directory with --data-dir")
}

// repair drops the damaged parts of the data of the in-memory API server, unless the server is running.
func (a Assets) repair(ctx context.Context, opts Options) error {
	if _, runs := opts.running(inMemoryName); runs {
		return nil
	}
	command := a.inMemory("--repair", "--data="+dataOf(opts))
	out, err := exec.CommandContext(ctx, command[0], command[1:]...).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return &diagnostic.Error{Message: "repair of the data: " + strings.TrimSpace(string(failed.Stderr)), Cause: err}
	}
	if report := strings.TrimSpace(string(out)); report != "" {
		opts.Repaired(report)
	}
	return err
}

// checkUnused returns an error if a running server holds the lock on the data in dir, or if the other type of API
// server wrote the data.
func checkUnused(dir string, inMemory bool) error {
	const etcdData, inMemoryData = "member", "objects"
	what, locked, other, hint := "etcd", filepath.Join(etcdData, "snap", "db"), inMemoryData, "add --in-memory"
	if inMemory {
		what, locked, other, hint = "API server in memory", "lock", etcdData, "omit --in-memory"
	}
	if exists(filepath.Join(dir, other)) {
		return diagnostic.New(fmt.Sprintf("the data in %s belongs to another kind of API server", dir),
			hint+", or choose another --data-dir")
	}
	lock := flock.New(filepath.Join(dir, locked), flock.SetFlag(os.O_RDWR))
	defer lock.Close()
	switch unused, err := lock.TryLock(); {
	case unused || errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return unusableData(err)
	}
	return diagnostic.New(fmt.Sprintf("a running %s uses the data in %s", what, dir),
		"stop it, or choose another --data-dir")
}

// unreadable returns an error if an in-memory API server ended because it cannot read its data, and nil otherwise.
func unreadable(crash *CrashError) error {
	lines := strings.Split(crash.Tail, "\n")
	errorLines, ok := strings.CutPrefix(lines[len(lines)-1], "data: ")
	if crash.Component != inMemoryName || !ok {
		return nil
	}
	hint := "restore the file from a copy, or choose another --data-dir"
	switch {
	case strings.Contains(errorLines, "no space left on device"):
		hint = "free some disk space"
	case strings.Contains(errorLines, "is damaged"):
		hint = "restore the file from a copy, or run kctrl env up again with --repair, which drops the damaged lines and " +
			"keeps a copy of the file"
	}
	return &diagnostic.Error{Message: errorLines, Hint: hint, Cause: crash}
}

func portTaken(port int) error {
	return diagnostic.New(fmt.Sprintf("port %d of 127.0.0.1 is taken", port),
		"choose another --port, or omit it for a free one")
}

func portFree(port int) bool {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

// start makes one attempt. If it fails, it stops the parts that it started.
func start(ctx context.Context, assets Assets, opts Options, ids *identities) (instance *Instance, err error) {
	ports, err := opts.choosePorts(ctx)
	if err != nil {
		return nil, err
	}
	instance = &Instance{
		Kubeconfig: filepath.Join(opts.Dir, "kubeconfig"),
		Server:     loopbackURL(ports.API),
		opts:       opts,
		ids:        ids,
		ports:      ports,
		etcd:       loopbackURL(ports.Etcd),
	}
	defer func() {
		if err != nil {
			instance.Stop()
		}
	}()
	if err := writeKubeconfig(instance.Kubeconfig, instance.Server, ids); err != nil {
		return instance, err
	}
	if err := instance.addServers(ctx, assets); err != nil {
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
		if err := instance.add(ctx, controllerManagerName, command); err != nil {
			return instance, err
		}
	}
	if opts.GarbageCollector {
		command, err := garbageCollectorCommand(opts, instance.Kubeconfig)
		if err != nil {
			return instance, err
		}
		return instance, instance.add(ctx, garbageCollectorName, command)
	}
	return instance, nil
}

// addServers starts the parts that serve the API.
func (i *Instance) addServers(ctx context.Context, assets Assets) error {
	if i.opts.InMemory {
		return i.add(ctx, inMemoryName, assets.inMemory(inMemoryFlags(i.opts, i.ports.API)...))
	}
	if err := i.add(ctx, etcdName, assets.etcd(etcdFlags(i.opts, i.etcd, loopbackURL(i.ports.Peer))...)); err != nil {
		return err
	}
	store, err := i.store()
	if err != nil {
		return err
	}
	return i.add(ctx, apiServerName, assets.apiServer(apiServerFlags(i.opts, store, i.ports.API)...))
}

func loopbackURL(port int) string { return fmt.Sprintf("https://127.0.0.1:%d", port) }

// add starts a part, unless it is already running with the same arguments.
func (i *Instance) add(ctx context.Context, name string, command []string) error {
	if old, runs := i.opts.running(name); runs {
		if slices.Equal(old.Args, command) {
			i.kept = append(i.kept, old)
			return nil
		}
		if err := stopProcess(ctx, old); err != nil {
			return err
		}
	}
	c, err := startComponent(name, i.opts.Dir, command, i.opts.Attached)
	if err != nil {
		return err
	}
	i.mu.Lock()
	i.components = append(i.components, c)
	i.mu.Unlock()
	if i.opts.started == nil {
		return nil
	}
	p, _ := processOf(i.opts.Dir, c.cmd.Process.Pid)
	return i.opts.started(Process{Name: name, PID: c.cmd.Process.Pid, Start: p.Start, Log: c.log, Args: command})
}

// waitReady waits until /readyz returns "ok". It verifies the server and presents a certificate.
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
		if len(all) == 0 {
			return err
		}
		last := all[len(all)-1]
		return fmt.Errorf("%w; the end of %s:\n%s", err, last.log, tail(last.log))
	}
	return nil
}

// probe returns a client with the certificate of the kubeconfig, which etcd accepts too.
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

// crashed returns the crash of the first component that has ended without being killed, or nil.
func (i *Instance) crashed() error {
	for _, c := range i.all() {
		if c.ended() && !c.killed.Load() {
			return c.crash()
		}
	}
	for _, p := range i.kept {
		if !p.alive() {
			return &CrashError{Component: p.Name, Reason: "it no longer runs", Log: p.Log, Tail: tail(p.Log)}
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

// Wait blocks until ctx ends, and then returns nil, or until a part of the control plane crashes. It ignores parts that
// [Instance.Kill] ended, also after a restart.
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

// Stop ends all processes, in the reverse order of their start, and waits for them.
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

// freePorts returns loopback ports that are currently free.
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
