package testenv

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Part is a process of the control plane.
type Part string

// Parts that can be killed.
const (
	APIServer         Part = "kube-apiserver"
	Etcd              Part = "etcd"
	ControllerManager Part = "kube-controller-manager" // requires WithControllerManager
)

// WithFaults allows the test to kill and restart parts of the control plane, delay its storage, and compact its
// history. Use such a server for a single test, or for tests that do not run in parallel.
func WithFaults() Option {
	return func(o *options) {
		o.faults = true
		o.args = append(o.args, "--control")
	}
}

// Kill kills a part with SIGKILL, like a power failure, and returns when the process has ended. Kill, [Env.Restart],
// [Env.Slow] and [Env.Compact] require [WithFaults].
func (e *Env) Kill(p Part) error { return e.control.ask("kill " + string(p)) }

// Restart starts a killed part again, with the same address and data. It returns when the server is ready, or at once
// if another part is down.
func (e *Env) Restart(p Part) error { return e.control.ask("start " + string(p)) }

// Slow delays all data between the API server and etcd in both directions, including data in transit, until the next
// call. Zero removes the delay. It does not affect reads that the API server answers from memory. With a delay of
// several seconds, requests and connections to etcd time out.
func (e *Env) Slow(delay time.Duration) error { return e.control.ask("slow " + delay.String()) }

// Compact makes etcd drop all states except the current one. The API server itself keeps the latest changes in memory
// until it is restarted. After a restart, a watch that began before the compaction fails as expired.
func (e *Env) Compact() error { return e.control.ask("compact") }

// control sends commands to a running server.
type control struct {
	mu       sync.Mutex
	commands io.Writer
	answers  *bufio.Reader // one line per command
}

func (c *control) ask(command string) (err error) {
	if c == nil {
		return errors.New("the server was not started by testenv.WithFaults")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", command, err)
		}
	}()
	if _, err := fmt.Fprintln(c.commands, command); err != nil {
		return err
	}
	line, err := c.answers.ReadBytes('\n')
	if err != nil {
		return err
	}
	var answer struct{ Error string }
	if err := json.Unmarshal(line, &answer); err != nil || answer.Error == "" {
		return err
	}
	return errors.New(answer.Error)
}
