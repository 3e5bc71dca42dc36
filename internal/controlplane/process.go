//go:build linux || darwin

package controlplane

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

const (
	stopGrace    = 10 * time.Second // from SIGTERM to SIGKILL
	logTailLines = 20
)

// component is one process of a control plane.
type component struct {
	name string
	args []string
	log  string // output of the process

	cmd    *exec.Cmd
	done   chan struct{} // closed when the process has ended and was waited for
	err    error         // result of the process; set before done is closed
	killed atomic.Bool   // true if this program ended the process
}

// The parts of a control plane.
const (
	etcdName              = "etcd"
	apiServerName         = "kube-apiserver"
	controllerManagerName = "kube-controller-manager"
	inMemoryName          = "in-memory-apiserver"
	garbageCollectorName  = "garbage-collector"
)

// parts are the processes that an instance may run, in start order. Each has the flag that identifies its process: the
// value of the flag is the path of the certificate authority of the instance.
var parts = []part{
	{etcdName, "--trusted-ca-file"},
	{apiServerName, "--client-ca-file"},
	{controllerManagerName, "--root-ca-file"},
	{inMemoryName, "--clients"},
	{garbageCollectorName, "--certificate-authority"},
}

type part struct{ name, authorityFlag string }

func (p part) flag(dir string) string { return p.authorityFlag + "=" + authorityPath(dir) }

func authorityPath(dir string) string { return filepath.Join(dir, "ca.crt") }

func logOf(dir, name string) string { return filepath.Join(dir, name+".log") }

// partOf returns the name of the part of the instance in dir that a command line runs, or "".
func partOf(dir string, command []string) string {
	for _, part := range parts {
		if slices.Contains(command, part.flag(dir)) {
			return part.name
		}
	}
	return ""
}

func inStartOrder(list []Process) []Process {
	rank := func(p Process) int {
		return slices.IndexFunc(parts, func(part part) bool { return part.name == p.Name })
	}
	slices.SortStableFunc(list, func(a, b Process) int { return cmp.Compare(rank(a), rank(b)) })
	return list
}

// startComponent starts binary with args. If attached is set, the kernel kills the process when this one dies.
// Otherwise, the process has its own session and outlives this one.
func startComponent(name, dir string, command []string, attached bool) (*component, error) {
	c := &component{name: name, args: command, log: logOf(dir, name), done: make(chan struct{})}
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, unwritable(dir, err)
	}
	defer log.Close()
	c.cmd = exec.Command(command[0], command[1:]...)
	c.cmd.Dir = dir
	c.cmd.Stdout, c.cmd.Stderr = log, log
	c.cmd.SysProcAttr = processAttributes(attached)
	if err := c.cmd.Start(); err != nil {
		return nil, diagnostic.Because(err, fmt.Sprintf("start %s: %v", name, err),
			"if the program is damaged, remove it: kctrl compiles its own programs again")
	}
	go func() {
		c.err = c.cmd.Wait()
		close(c.done)
	}()
	return c, nil
}

// stop ends the process and waits for it.
func (c *component) stop() {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(stopGrace, func() { _ = c.cmd.Process.Kill() })
	<-c.done
	kill.Stop()
}

// kill sends SIGKILL to the process and waits until it has ended.
func (c *component) kill() error {
	c.killed.Store(true)
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-c.done
	return nil
}

func (c *component) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// crash returns an error for a component that ended unexpectedly, with the end of its log.
func (c *component) crash() error {
	reason := "it ended"
	if c.err != nil {
		reason = c.err.Error()
	}
	return &CrashError{Component: c.name, Reason: reason, Log: c.log, Tail: tail(c.log)}
}

// CrashError reports that a part of a control plane ended unexpectedly.
type CrashError struct {
	Component string // such as kube-apiserver
	Reason    string // result of the process, such as "exit status 1"
	Log       string // the path of its log
	Tail      string // the last lines of its log
}

// Error returns the crash in one line, followed by the end of the log.
func (e *CrashError) Error() string {
	return fmt.Sprintf("%s crashed: %s; the end of %s:\n%s", e.Component, e.Reason, e.Log, e.Tail)
}

// crashes are the crashes that a user can fix, identified by text in the log of a part.
var crashes = []struct{ says, hint string }{
	{"no space left on device", "free some disk space"},
	{"Failed to validate schema", "the data directory belongs to a newer Kubernetes: choose its version with " +
		"--kubernetes, or another --data-dir"},
}

// explain adds a hint to a crash, if one is known.
func explain(err error) error {
	crash, ok := errors.AsType[*CrashError](err)
	if !ok {
		return err
	}
	for _, known := range crashes {
		if strings.Contains(crash.Tail, known.says) {
			return &diagnostic.Error{Message: crash.Error(), Hint: known.hint, Cause: crash}
		}
	}
	return err
}

func hinted(err error) bool {
	d, ok := errors.AsType[*diagnostic.Error](err)
	return ok && d.Hint != ""
}

// tail returns the last lines of a file, or "" if it cannot be read.
func tail(path string) string {
	const most = 16 << 10
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	if size, err := file.Seek(0, io.SeekEnd); err == nil {
		_, _ = file.Seek(max(0, size-most), io.SeekStart)
	}
	content, _ := io.ReadAll(io.LimitReader(file, most))
	// A panicking program prints its message above the stacks of its goroutines.
	if stacks := bytes.Index(content, []byte("\ngoroutine ")); stacks > 0 {
		content = content[:stacks]
	}
	lines := strings.Split(string(bytes.TrimSpace(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-logTailLines):], "\n")
}

// stopProcess ends a process of an environment and waits until it has ended. The process need not be a child of this
// one. stopProcess never ends another process that has reused the pid.
func stopProcess(ctx context.Context, p Process) error {
	// Get the handle before the check. If the kernel supports it, the handle refers to the same process even if its pid is
	// reused.
	handle, err := os.FindProcess(p.PID)
	if err != nil || !p.alive() {
		return nil
	}
	defer handle.Release()
	failed := func(err error) error { return fmt.Errorf("stop %s (pid %d): %w", p.Name, p.PID, err) }
	if err := handle.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return failed(err)
	}
	deadline := time.Now().Add(stopGrace)
	err = poll(ctx, 20*time.Millisecond, func() bool {
		if p.alive() && time.Now().After(deadline) {
			_ = handle.Kill()
		}
		return !p.alive()
	})
	if err != nil {
		return failed(err)
	}
	return nil
}
