package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// shell runs commands in the project directory as a user would, prints them, and measures their time.
type shell struct {
	out        io.Writer
	dir        string
	env        []string
	kubeconfig string
	began      time.Time
	steps      []timing
}

// timing is one line of the summary.
type timing struct {
	what string
	took time.Duration
}

func newShell(out io.Writer, dir, binFolder string) *shell {
	env := append(os.Environ(), "PATH="+binFolder+string(os.PathListSeparator)+os.Getenv("PATH"), "KCTRL=kctrl")
	return &shell{out: out, dir: dir, env: env, began: time.Now()}
}

// run prints and runs a command line. Its output follows.
func (sh *shell) run(ctx context.Context, line string) error {
	fmt.Fprintf(sh.out, "\n$ %s\n", line)
	return sh.step(line, func() error {
		cmd := sh.command(ctx, line)
		cmd.Stdout, cmd.Stderr = sh.out, sh.out
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
		return nil
	})
}

func (sh *shell) command(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.Env = sh.dir, sh.env
	return cmd
}

// background prints a command line and starts it in parallel to the next commands. wait prints its output once.
func (sh *shell) background(ctx context.Context, line string) (wait func() error, err error) {
	fmt.Fprintf(sh.out, "\n$ %s &\n", line)
	output := &held{out: sh.out}
	cmd := sh.command(ctx, line)
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", line, err)
	}
	return sync.OnceValue(func() error {
		fmt.Fprintf(sh.out, "\n$ wait\n")
		return sh.step("wait for "+line, func() error {
			output.release()
			if err := cmd.Wait(); err != nil {
				return fmt.Errorf("%s: %w", line, err)
			}
			return nil
		})
	}), nil
}

// held buffers output until it is released. Afterwards it passes output through.
type held struct {
	mu       sync.Mutex
	out      io.Writer
	kept     []byte
	released bool // if set, kept is empty
}

func (h *held) Write(text []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.released {
		return h.out.Write(text)
	}
	h.kept = append(h.kept, text...)
	return len(text), nil
}

func (h *held) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, _ = h.out.Write(h.kept)
	h.kept, h.released = nil, true
}

// useKubeconfig points later commands at the control plane.
func (sh *shell) useKubeconfig(ctx context.Context) error {
	const line = "kctrl env kubeconfig --path --name " + environment
	fmt.Fprintf(sh.out, "\n$ export KUBECONFIG=$(%s)\n", line)
	path, err := sh.command(ctx, line).Output()
	if err != nil {
		return fmt.Errorf("%s: %w", line, err)
	}
	sh.kubeconfig = strings.TrimSpace(string(path))
	sh.env = append(sh.env, "KUBECONFIG="+sh.kubeconfig)
	return nil
}

// step runs one step and records its duration.
func (sh *shell) step(what string, do func() error) error {
	start := time.Now()
	err := do()
	sh.steps = append(sh.steps, timing{what: what, took: time.Since(start)})
	return err
}

func (sh *shell) summary() {
	fmt.Fprintf(sh.out, "\nObserved through the API server: the sample became Ready for generation 1, again for "+
		"generation 2 after its\n"+
		"spec was changed, and went away when it was deleted. The operator and the API server are stopped.\n\n")
	for _, step := range append(sh.steps, timing{"all of it", time.Since(sh.began)}) {
		fmt.Fprintf(sh.out, "%7.2f s  %s\n", step.took.Seconds(), step.what)
	}
}
