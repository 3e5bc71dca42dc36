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

// Part is a program of the control plane.
type Part string

// The parts that can be killed.
const (
	APIServer         Part = "kube-apiserver"
	Etcd              Part = "etcd"
	ControllerManager Part = "kube-controller-manager" // where there is one, see WithControllerManager
)

// WithFaults lets the test kill and restart parts of the server, slow its storage down, and compact its history. Such a
// server is for one test, or for tests that do not run in parallel.
func WithFaults() Option {
	return func(o *options) {
		o.faults = true
		o.args = append(o.args, "--control")
	}
}

// Kill ends a part as a power failure would (SIGKILL), and returns when it is gone. It takes a server of [WithFaults],
// as do [Env.Restart], [Env.Slow] and [Env.Compact].
func (e *Env) Kill(p Part) error { return e.control.ask("kill " + string(p)) }

// Restart starts a part that was killed once more, at the same address and with the data it had. It returns when the
// server is ready, or at once while the other part is still down.
func (e *Env) Restart(p Part) error { return e.control.ask("start " + string(p)) }

// Slow makes everything between the API server and etcd take that much longer in either direction, what is on its way
// included, until it is called again. Zero is as fast as it was. A read that the API server answers from its memory is not
// slower. At more than some seconds the API server gives requests up, and its connections to etcd too.
func (e *Env) Slow(delay time.Duration) error { return e.control.ask("slow " + delay.String()) }

// Compact makes etcd forget all states but the present one. The API server itself remembers the last changes until it is
// restarted; then a watch from before the compaction is refused as expired.
func (e *Env) Compact() error { return e.control.ask("compact") }

// control is how a running server is told what to do.
type control struct {
	mu       sync.Mutex
	commands io.Writer
	answers  *bufio.Reader // a line for each command
}

func (c *control) ask(command string) error {
	if c == nil {
		return errors.New("the server was not started by testenv.WithFaults")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := fmt.Fprintln(c.commands, command); err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	line, err := c.answers.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	var answer struct{ Error string }
	if err := json.Unmarshal(line, &answer); err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	if answer.Error != "" {
		return fmt.Errorf("%s: %s", command, answer.Error)
	}
	return nil
}
