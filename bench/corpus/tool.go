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

// Tool is a program that takes the arguments of controller-gen.
type Tool struct {
	Name string
	Path string
	// Verb comes before the arguments.
	Verb []string
	// Env is added to the environment.
	Env []string
}

// Usage is what a run took, with that of the commands it ran.
type Usage struct {
	Wall time.Duration
	CPU  time.Duration // user and system
	RSS  int64         // bytes, of the process that had most
	// Longest is the wall time of the run that took longest.
	Longest time.Duration
}

// Add returns what two runs took one after the other.
func (u Usage) Add(other Usage) Usage {
	return Usage{
		Wall: u.Wall + other.Wall, CPU: u.CPU + other.CPU, RSS: max(u.RSS, other.RSS), Longest: max(u.Longest, other.Longest),
	}
}

// Output is what a run printed.
type Output struct{ Stdout, Stderr string }

// Failed is a run that ended with another exit code than 0.
type Failed struct {
	Tool   string
	Code   int
	Stderr string
}

func (f *Failed) Error() string {
	first, _, _ := strings.Cut(strings.TrimSpace(f.Stderr), "\n")
	return fmt.Sprintf("%s: exit code %d: %s", f.Tool, f.Code, first)
}

// Run calls the tool in dir and waits for it. A run that fails still says what it took, and what it printed.
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

// ControllerGen builds the controller-gen that bench/go.mod requires into dir. The working folder must be in bench.
func ControllerGen(ctx context.Context, dir string) (Tool, error) {
	path := filepath.Join(dir, "controller-gen")
	build := exec.CommandContext(ctx, "go", "build", "-o", path, "sigs.k8s.io/controller-tools/cmd/controller-gen")
	if out, err := build.CombinedOutput(); err != nil {
		return Tool{}, fmt.Errorf("build controller-gen: %w\n%s", err, out)
	}
	return Tool{Name: "controller-gen", Path: path}, nil
}

// Kctrl is the kctrl at path. It keeps its cache in the folder cache.
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
