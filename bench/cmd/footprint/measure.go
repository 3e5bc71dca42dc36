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
)

// operator is one of the two that are compared.
type operator struct {
	name    string
	folder  string // of its module
	pkg     string // of its main
	figures figures
}

// figures are what is measured of an operator.
type figures struct {
	coldBuild time.Duration
	packages  int
	binary    int64 // bytes, stripped
	idle      int64 // bytes of resident memory
}

const scaffoldRuns = 10

// measure runs everything and prints the table to out. What it does meanwhile goes to standard error.
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
		{name: "kctrl", folder: project, pkg: "./cmd"},
		{name: "controller-runtime", folder: ".", pkg: "./operator"},
	}
	for _, o := range operators {
		if err := o.measureBuild(ctx, work); err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
	}
	if err := measureIdle(ctx, kctrl, project, work, operators); err != nil {
		return err
	}
	printTable(out, operators[0].figures, operators[1].figures)
	fmt.Fprintf(out, "\n`kctrl init` + `kctrl create api`, median of %d: %s\n", scaffoldRuns, scaffolding.Round(time.Millisecond))
	return nil
}

// scaffold makes projects with kctrl and returns the median time, and the last project.
func scaffold(ctx context.Context, kctrl, work string) (time.Duration, string, error) {
	var took []time.Duration
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
		took = append(took, time.Since(start))
	}
	return median(took), project, nil
}

// measureBuild compiles o from an empty build cache, with all modules downloaded before.
func (o *operator) measureBuild(ctx context.Context, work string) error {
	if _, err := command(ctx, o.folder, nil, "go", "mod", "download"); err != nil {
		return err
	}
	list, err := command(ctx, o.folder, nil, "go", "list", "-deps", o.pkg)
	if err != nil {
		return err
	}
	o.figures.packages = len(strings.Fields(list))
	cache := filepath.Join(work, "cache-"+o.name)
	start := time.Now()
	_, err = command(ctx, o.folder, []string{"GOCACHE=" + cache, "CGO_ENABLED=0"},
		"go", "build", "-trimpath", "-ldflags=-s -w", "-o", o.binaryPath(work), o.pkg)
	if err != nil {
		return err
	}
	o.figures.coldBuild = time.Since(start)
	info, err := os.Stat(o.binaryPath(work))
	if err != nil {
		return err
	}
	o.figures.binary = info.Size()
	return os.RemoveAll(cache)
}

func (o *operator) binaryPath(work string) string { return filepath.Join(work, o.name) }

// command runs a program, shows it on standard error, and returns what it printed.
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

func median(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[len(took)/2]
}

func printTable(out io.Writer, kctrl, peer figures) {
	const mebi = 1 << 20
	fmt.Fprintf(out, "| figure | kctrl | controller-runtime v0.25.2 | ratio |\n|---|---|---|---|\n")
	row := func(name, format string, a, b float64) {
		fmt.Fprintf(out, "| %s | "+format+" | "+format+" | %.2f |\n", name, a, b, a/b)
	}
	row("cold build, s", "%.1f", kctrl.coldBuild.Seconds(), peer.coldBuild.Seconds())
	row("packages in `go list -deps`", "%.0f", float64(kctrl.packages), float64(peer.packages))
	row("stripped binary, MiB", "%.1f", float64(kctrl.binary)/mebi, float64(peer.binary)/mebi)
	row("idle RSS, MiB", "%.1f", float64(kctrl.idle)/mebi, float64(peer.idle)/mebi)
}
