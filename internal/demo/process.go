package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"k8s.io/apimachinery/pkg/util/wait"
)

// process is the running operator.
type process struct {
	log  *operatorLog
	stop func() error // ends the process and waits for it; later calls return the first result
}

// start runs a program of the project in the background. Its log is printed as it arrives.
func (sh *shell) start(ctx context.Context, command string) (*process, error) {
	fmt.Fprintf(sh.out, "\n$ %s &\n", command)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	words := strings.Fields(command)
	cmd := exec.CommandContext(ctx, "./"+words[0], words[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = patience
	p := &process{log: &operatorLog{out: sh.out}}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = sh.dir, sh.env, p.log, p.log
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	p.stop = sync.OnceValue(func() error {
		cancel()
		// After cancel, context.Canceled is the error of a process that ends with code 0.
		if err := cmd.Wait(); err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("operator: %w", err)
		}
		return nil
	})
	return p, nil
}

// operatorLog keeps the log of the operator, and prints its lines with a prefix.
type operatorLog struct {
	mu      sync.Mutex
	out     io.Writer
	text    bytes.Buffer
	printed int // bytes of text
}

func (l *operatorLog) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(text)
	for line := range bytes.Lines(l.text.Bytes()[l.printed:]) {
		if bytes.HasSuffix(line, []byte("\n")) {
			fmt.Fprintf(l.out, "  operator | %s", line)
			l.printed += len(line)
		}
	}
	return len(text), nil
}

// waitFor blocks until a line of the log contains text.
func (l *operatorLog) waitFor(ctx context.Context, text string) error {
	err := wait.PollUntilContextTimeout(ctx, pollInterval, patience, true, func(context.Context) (bool, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return strings.Contains(l.text.String(), text), nil
	})
	if err != nil {
		return fmt.Errorf("the operator's log does not contain %q: %w", text, err)
	}
	return nil
}
