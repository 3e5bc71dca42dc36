package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is the running operator. Its log is printed as it arrives.
type process struct {
	cmd  *exec.Cmd
	stop func() error // ends the process by its pid and waits for it; later calls return the first result

	mu    sync.Mutex
	lines []string
	grown chan struct{} // closed and replaced when a line is added
}

// start runs a command of the project in the background.
func (sh *shell) start(command string) (*process, error) {
	fmt.Fprintf(sh.out, "\n$ %s &\n", command)
	p := &process{grown: make(chan struct{})}
	words := strings.Fields(command)
	p.cmd = exec.Command("./"+words[0], words[1:]...)
	p.cmd.Dir, p.cmd.Env = sh.dir, sh.env
	reader, writer := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = writer, writer
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		p.readLog(reader, sh.out)
	}()
	p.stop = sync.OnceValue(func() error {
		err := p.terminate()
		writer.Close()
		<-copied
		return err
	})
	return p, nil
}

func (p *process) terminate() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop operator: %w", err)
	}
	kill := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("operator: %w", err)
	}
	return nil
}

func (p *process) readLog(log io.Reader, out io.Writer) {
	for scanner := bufio.NewScanner(log); scanner.Scan(); {
		fmt.Fprintf(out, "  operator | %s\n", scanner.Text())
		p.mu.Lock()
		p.lines = append(p.lines, scanner.Text())
		close(p.grown)
		p.grown = make(chan struct{})
		p.mu.Unlock()
	}
}

// waitLog blocks until a line of the operator's log contains text.
func (p *process) waitLog(ctx context.Context, text string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for seen := 0; ; {
		p.mu.Lock()
		lines, grown := p.lines[seen:], p.grown
		seen = len(p.lines)
		p.mu.Unlock()
		for _, line := range lines {
			if strings.Contains(line, text) {
				return nil
			}
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return fmt.Errorf("the operator's log never contained %q: %w", text, ctx.Err())
		}
	}
}
