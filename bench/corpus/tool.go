package corpus

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Tool is a program that accepts the arguments of controller-gen.
type Tool struct {
	Name string
	Path string
	// Verb precedes the arguments.
	Verb []string
	// Env is added to the environment.
	Env []string
}

// Usage is the resource usage of a run, including its child processes.
type Usage struct {
	Wall time.Duration
	CPU  time.Duration // user and system
	RSS  int64         // bytes, of the largest process
	// Longest is the wall time of the longest run.
	Longest time.Duration
}

// Add returns the usage of two consecutive runs.
func (u Usage) Add(other Usage) Usage {
	return Usage{
		Wall: u.Wall + other.Wall, CPU: u.CPU + other.CPU, RSS: max(u.RSS, other.RSS), Longest: max(u.Longest, other.Longest),
	}
}

// Output is the output of a run.
type Output struct{ Stdout, Stderr string }

// Failed is the error of a run with a nonzero exit code.
type Failed struct {
	Tool   string
	Code   int
	Stderr string
}

func (f *Failed) Error() string {
	first, _, _ := strings.Cut(strings.TrimSpace(f.Stderr), "\n")
	return fmt.Sprintf("%s: exit code %d: %s", f.Tool, f.Code, first)
}

// Run calls the tool in dir and waits for it. It returns usage and output even if the run fails.
func (t Tool) Run(ctx context.Context, dir string, args []string) (Usage, Output, error) {
	command := exec.CommandContext(ctx, t.Path, append(append([]string{}, t.Verb...), args...)...)
	command.Dir, command.Env = dir, Environment(t.Env...)
	var stdout, stderr strings.Builder
	command.Stdout, command.Stderr = &stdout, &stderr
	start := time.Now()
	err := command.Run()
	usage := Usage{Wall: time.Since(start)}
	usage.Longest = usage.Wall
	output := Output{stdout.String(), stderr.String()}
	if state := command.ProcessState; state != nil {
		usage.CPU = state.UserTime() + state.SystemTime()
		if resources, ok := state.SysUsage().(*syscall.Rusage); ok {
			usage.RSS = resources.Maxrss << 10
		}
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		return usage, output, &Failed{Tool: t.Name, Code: exit.ExitCode(), Stderr: stderr.String()}
	}
	return usage, output, errors.Join(err, ctx.Err())
}

// ControllerGen builds the controller-gen that bench/go.mod requires into dir. The working directory must be in bench.
func ControllerGen(ctx context.Context, dir string) (Tool, error) {
	path := filepath.Join(dir, "controller-gen")
	build := exec.CommandContext(ctx, "go", "build", "-o", path, "sigs.k8s.io/controller-tools/cmd/controller-gen")
	if out, err := build.CombinedOutput(); err != nil {
		return Tool{}, fmt.Errorf("build controller-gen: %w\n%s", err, out)
	}
	return Tool{Name: "controller-gen", Path: path}, nil
}

// Kctrl returns the kctrl binary at path. Its cache is in the directory cache.
func Kctrl(ctx context.Context, path, cache string) (Tool, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return Tool{}, err
	}
	goCache, err := exec.CommandContext(ctx, "go", "env", "GOCACHE").Output()
	if err != nil {
		return Tool{}, fmt.Errorf("go env GOCACHE: %w", err)
	}
	env := []string{"XDG_CACHE_HOME=" + cache, "GOCACHE=" + strings.TrimSpace(string(goCache))}
	return Tool{Name: "kctrl", Path: path, Verb: []string{"gen"}, Env: env}, nil
}
