package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/kctrl-dev/kctrl/bench/cmd/operator/side"
	"github.com/kctrl-dev/kctrl/bench/internal/process"
	"github.com/kctrl-dev/kctrl/bench/internal/program"
	"github.com/kctrl-dev/kctrl/bench/internal/table"
)

// operator is one of the compared operators.
type operator struct {
	name   string
	binary string
	flags  []string // in addition to the flags that both have
	runs   table.Runs
}

// build compiles the operators into work. The first one is kctrl's.
func build(ctx context.Context, work string) ([]*operator, error) {
	operators := []*operator{
		{name: "kctrl", flags: []string{"--log-level=info", "--log-format=json"}},
		{name: "peer", flags: []string{"--zap-devel=false", "--zap-log-level=info"}},
	}
	for _, o := range operators {
		o.runs = table.Runs{}
		o.binary = filepath.Join(work, o.name)
		if err := program.Build(ctx, o.binary, "./cmd/operator/"+o.name); err != nil {
			return nil, err
		}
	}
	return operators, nil
}

// running is a process of an operator.
type running struct {
	command  *exec.Cmd
	commands io.WriteCloser
	answers  *bufio.Scanner
	log      *os.File
}

// start runs o with the flags of a deployment and returns when its controllers run. An empty log discards the log.
func (o *operator) start(ctx context.Context, kubeconfig, log string, workers int, env ...string) (*running, error) {
	if log == "" {
		log = os.DevNull
	}
	file, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	flags := append([]string{
		"--leader-elect", "--leader-election-namespace=default", "--metrics-bind-address=127.0.0.1:0",
		"--health-probe-bind-address=127.0.0.1:0", fmt.Sprintf("--max-concurrent-reconciles=%d", workers),
	}, o.flags...)
	r := &running{command: exec.CommandContext(ctx, o.binary, flags...), log: file}
	r.command.Env = append(append(os.Environ(), "KUBECONFIG="+kubeconfig), env...)
	r.command.Stderr = file
	if r.commands, err = r.command.StdinPipe(); err != nil {
		return nil, err
	}
	answers, err := r.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.answers = bufio.NewScanner(answers)
	if err := r.command.Start(); err != nil {
		return nil, err
	}
	if _, err := r.send("sample"); err != nil {
		r.stop()
		return nil, err
	}
	return r, nil
}

// stop ends the process. It ignores the exit status, because the process reports the end of its commands as an error.
func (r *running) stop() {
	r.commands.Close()
	_ = r.command.Wait()
	_ = r.log.Close()
}

// send sends a command and returns the answer.
func (r *running) send(command string, arguments ...any) (side.Sample, error) {
	line := fmt.Sprintln(append([]any{command}, arguments...)...)
	if _, err := io.WriteString(r.commands, line); err != nil {
		return side.Sample{}, err
	}
	if !r.answers.Scan() {
		return side.Sample{}, fmt.Errorf("no answer to %q; -logs shows why", line)
	}
	var sample side.Sample
	return sample, json.Unmarshal(r.answers.Bytes(), &sample)
}

// await returns after a number of reconciles, or fails after a while without progress.
func (r *running) await(ctx context.Context, reconciles int64) (side.Sample, error) {
	const tick, patience = 100 * time.Millisecond, 2 * time.Minute
	var last int64
	for since := time.Now(); ; {
		sample, err := r.send("sample")
		if err != nil || sample.Reconciles >= reconciles {
			return sample, err
		}
		if sample.Reconciles > last {
			last, since = sample.Reconciles, time.Now()
		}
		if time.Since(since) > patience {
			return sample, fmt.Errorf("%d of %d reconciles", last, reconciles)
		}
		if err := sleep(ctx, tick); err != nil {
			return sample, err
		}
	}
}

// memory returns a line of the kernel's memory statistics of the process, in MiB.
func (r *running) memory(line string) (float64, error) {
	return process.Memory(r.command.Process.Pid, line)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
