//go:build linux || darwin

package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// pollInterval is the interval at which untilRest checks the requests of a process.
const pollInterval = 50 * time.Millisecond

// measure runs the program on its own API server until the program is at rest.
func (s *side) measure(ctx context.Context, o Options, m *manifests, work string) (Figures, error) {
	upstream, stop, err := o.Start(ctx)
	if err != nil {
		return Figures{}, err
	}
	defer stop()
	o.Step(fmt.Sprintf("creating %d objects for the operator on %s", o.Objects, s.name))
	if err := m.create(ctx, upstream, o.Objects); err != nil {
		return Figures{}, err
	}
	kubeconfig := filepath.Join(work, "kubeconfig")
	p, err := startProxy(upstream, kubeconfig)
	if err != nil {
		return Figures{}, err
	}
	defer p.stop()
	info, err := os.Stat(s.program)
	if err != nil {
		return Figures{}, err
	}
	o.Step("running the operator on " + s.name)
	figures, err := s.run(ctx, o, p, kubeconfig)
	figures.Binary = info.Size()
	return figures, err
}

func (s *side) run(ctx context.Context, o Options, p *proxy, kubeconfig string) (Figures, error) {
	cmd := exec.CommandContext(ctx, s.program, o.Args...)
	cmd.Dir = o.Dir
	temporary := filepath.Dir(kubeconfig)
	if err := writeServingCertificate(temporary); err != nil {
		return Figures{}, err
	}
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "TMPDIR="+temporary)
	cmd.WaitDelay = 10 * time.Second
	output, err := os.Create(filepath.Join(temporary, "output"))
	if err != nil {
		return Figures{}, err
	}
	defer output.Close()
	cmd.Stdout, cmd.Stderr = output, output
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return Figures{}, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the process, which this function waits for
	figures, err := s.untilRest(ctx, o, p, cmd.Process.Pid, start, ended)
	last, reason := lastLines(output.Name()) // before the operator reports what its end interrupts
	if err == nil {
		_ = cmd.Process.Signal(syscall.SIGTERM)
	} else {
		_ = cmd.Process.Kill()
	}
	select {
	case <-ended:
	case <-time.After(cmd.WaitDelay):
		_ = cmd.Process.Kill()
		<-ended
	}
	if err != nil {
		return figures, s.failed(err, cmp.Or(reason, last))
	}
	if reason != "" {
		o.Step(fmt.Sprintf("the operator on %s may not have reconciled all objects, because it wrote: %s", s.name, reason))
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && figures.PeakMemory == 0 {
		figures.PeakMemory = usage.Maxrss // in bytes on macOS
	}
	figures.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return figures, nil
}

// untilRest waits until the process has sent no request and received no event for o.Quiet.
func (s *side) untilRest(
	ctx context.Context, o Options, p *proxy, pid int, start time.Time, ended chan error,
) (Figures, error) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return Figures{}, context.Cause(ctx)
		case err := <-ended:
			ended <- nil // for the caller
			return Figures{}, fmt.Errorf("it ends before it is at rest: %s", exitStatus(err))
		case now := <-ticker.C:
			if now.Sub(start) > o.Longest {
				return Figures{}, fmt.Errorf("it is not at rest after %s", o.Longest)
			}
			last, quiet := p.quietSince()
			if !quiet || now.Sub(last) < o.Quiet {
				continue
			}
			memory, peak, err := residentMemory(pid)
			return Figures{Start: last.Sub(start), Memory: memory, PeakMemory: peak, Requests: p.requests.Load()}, err
		}
	}
}

func exitStatus(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// lastLines returns the last line in a file with a program's output, and the last one that reports an error. It ignores
// stack traces.
func lastLines(file string) (last, reason string) {
	output, _ := os.ReadFile(file)
	for line := range strings.Lines(string(output)) {
		if line[0] == '\t' || strings.TrimSpace(line) == "" {
			continue
		}
		last = strings.ReplaceAll(strings.TrimSpace(line), "\t", " ")
		for _, certain := range []string{"panic: ", "flag provided but not defined", "unknown flag"} {
			if strings.Contains(last, certain) {
				return last, last
			}
		}
		if lower := strings.ToLower(last); strings.Contains(lower, "error") {
			reason = last
		}
	}
	return last, reason
}

// failed returns an error that contains a line of the program's output, unless the line is empty.
func (s *side) failed(err error, line string) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	message := "the operator on " + s.name + ": " + err.Error()
	if line != "" {
		message += ": " + line
	}
	return &diagnostic.Error{
		Message: message,
		Hint: "pass the arguments that it needs after --, without leader election, and read " +
			"what it writes on the server of kctrl env up",
		Cause: err,
	}
}

// residentMemory returns the resident memory of a process and its peak, in bytes. On macOS the peak is 0, because the
// resource usage of the ended process has it. On Linux that resource usage is not suitable, because it starts at the
// memory of this process.
func residentMemory(pid int) (memory, peak int64, err error) {
	if runtime.GOOS == "linux" {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return 0, 0, err
		}
		for line := range strings.Lines(string(status)) {
			name, value, _ := strings.Cut(line, ":")
			kilobytes, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			switch name {
			case "VmRSS":
				memory = kilobytes * 1024
			case "VmHWM":
				peak = kilobytes * 1024
			}
		}
		return memory, peak, nil
	}
	out, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0, 0, err
	}
	kilobytes, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	return kilobytes * 1024, 0, err
}
