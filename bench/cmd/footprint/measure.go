package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kctrl-dev/kctrl/bench/internal/table"
)

// operator is one of the compared operators.
type operator struct {
	name    string
	dir     string // of its module
	pkg     string // of its main package
	figures table.Figures
}

const scaffoldRuns = 10

// measure runs all measurements and prints the table to out. Progress goes to standard error.
func measure(ctx context.Context, out io.Writer, kctrl string) error {
	kctrl, err := filepath.Abs(kctrl)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "footprint-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	scaffolding, project, err := scaffold(ctx, kctrl, work)
	if err != nil {
		return err
	}
	operators := []*operator{
		{name: "kctrl", dir: project, pkg: "./cmd", figures: table.Figures{}},
		{name: "controller-runtime", dir: ".", pkg: "./operator", figures: table.Figures{}},
	}
	for _, o := range operators {
		if err := o.measureBuild(ctx, work); err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
	}
	if err := measureIdle(ctx, kctrl, project, work, operators); err != nil {
		return err
	}
	table.Print(out, rows, operators[0].figures, operators[1].figures)
	fmt.Fprintf(out, "\n`kctrl init` + `kctrl create api`, median of %d: %.0f ms\n", scaffoldRuns, scaffolding*1000)
	return nil
}

// scaffold makes projects with kctrl. It returns the median time in seconds, and the last project.
func scaffold(ctx context.Context, kctrl, work string) (float64, string, error) {
	var took []float64
	var project string
	for i := range scaffoldRuns {
		project = filepath.Join(work, fmt.Sprintf("project%d", i), "guestbook")
		if err := os.MkdirAll(project, 0o755); err != nil {
			return 0, "", err
		}
		start := time.Now()
		for _, args := range [][]string{
			{"init", "--domain", "example.com", "--repo", "example.com/guestbook"},
			{"create", "api", "--group", "webapp", "--version", "v1", "--kind", "Guestbook", "--resource", "--controller"},
		} {
			if _, err := command(ctx, project, nil, kctrl, args...); err != nil {
				return 0, "", err
			}
		}
		took = append(took, time.Since(start).Seconds())
	}
	return table.Median(took), project, nil
}

// measureBuild compiles o with an empty build cache, after all modules were downloaded.
func (o *operator) measureBuild(ctx context.Context, work string) error {
	if _, err := command(ctx, o.dir, nil, "go", "mod", "download"); err != nil {
		return err
	}
	list, err := command(ctx, o.dir, nil, "go", "list", "-deps", o.pkg)
	if err != nil {
		return err
	}
	o.figures["packages"] = float64(len(strings.Fields(list)))
	cache := filepath.Join(work, "cache-"+o.name)
	start := time.Now()
	_, err = command(ctx, o.dir, []string{"GOCACHE=" + cache, "CGO_ENABLED=0"},
		"go", "build", "-trimpath", "-ldflags=-s -w", "-o", o.binaryPath(work), o.pkg)
	if err != nil {
		return err
	}
	o.figures["cold build"] = time.Since(start).Seconds()
	info, err := os.Stat(o.binaryPath(work))
	if err != nil {
		return err
	}
	o.figures["binary"] = float64(info.Size()) / (1 << 20)
	return os.RemoveAll(cache)
}

func (o *operator) binaryPath(work string) string { return filepath.Join(work, o.name) }

// command runs a program, echoes it to standard error, and returns its output.
func command(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	fmt.Fprintln(os.Stderr, "+", strings.Join(append(append(slices.Clone(env), filepath.Base(name)), args...), " "))
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, stderr.String())
	}
	return string(out), nil
}

var rows = []table.Row{
	{Figure: "cold build", Title: "cold build, s", Format: "%.1f", Limit: 0.3},
	{Figure: "packages", Title: "packages in `go list -deps`", Format: "%.0f", Limit: 0.36},
	{Figure: "binary", Title: "stripped binary, MiB", Format: "%.1f", Limit: 0.3},
	{Figure: "idle", Title: "idle RSS, MiB", Format: "%.1f", Limit: 0.4},
}
