// Command controllerruntime runs controller-runtime's own test suites, unmodified, on the executables that `kctrl env assets`
// writes: those of the real control plane, and those of the API server in memory. It prints a Markdown table of both, and fails
// if a spec passes on the real control plane only. Run it from bench/.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

const module = "sigs.k8s.io/controller-runtime"

// options are the flags.
type options struct {
	kctrl, version, packages, skip string
}

func main() {
	var o options
	flag.StringVar(&o.kctrl, "kctrl", "../bin/kctrl", "the kctrl `binary`")
	flag.StringVar(&o.version, "version", "v0.25.2", "`version` of controller-runtime")
	flag.StringVar(&o.packages, "packages", "./pkg/...", "`pattern` of the packages to test")
	flag.StringVar(&o.skip, "skip", "", "`pattern` of the specs to skip")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "controllerruntime:", err)
		os.Exit(1)
	}
}

// result is what the suites of the packages did on one control plane.
type result struct {
	specs  map[string]counts // by package
	failed map[string]bool   // "package: spec", and packages without specs
	took   time.Duration
}

type counts struct{ passed, failed int }

func run(ctx context.Context, out io.Writer, o options) (err error) {
	work, err := os.MkdirTemp("", "controller-runtime-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	source := filepath.Join(work, "source")
	if err := download(ctx, o.version, source); err != nil {
		return err
	}
	results := map[string]result{}
	for name, args := range map[string][]string{"real": nil, "in memory": {"--in-memory"}} {
		assets := filepath.Join(work, strings.ReplaceAll(name, " ", "-"))
		cmd := exec.CommandContext(ctx, o.kctrl, append([]string{"env", "assets", assets}, args...)...)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", cmd, err)
		}
		fmt.Fprintf(os.Stderr, "running the suites on the %s API server\n", name)
		if results[name], err = test(ctx, source, assets, o); err != nil {
			return err
		}
	}
	return report(out, results["real"], results["in memory"])
}

// download copies a version of controller-runtime from the module cache, which is read-only.
func download(ctx context.Context, version, to string) error {
	text, err := exec.CommandContext(ctx, "go", "mod", "download", "-json", module+"@"+version).Output()
	if err != nil {
		return fmt.Errorf("go mod download %s@%s: %w", module, version, err)
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(text, &downloaded); err != nil {
		return err
	}
	if err := os.CopyFS(to, os.DirFS(downloaded.Dir)); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(name string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		return os.Chmod(name, info.Mode()|0o200)
	})
}

// test runs the suites, one package at a time, since several control planes at once slow each other down.
func test(ctx context.Context, source, assets string, o options) (result, error) {
	args := []string{"test", "-json", "-count=1", "-p=1", "-vet=off", "-timeout=30m", o.packages}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stderr = source, os.Stderr
	cmd.Env = append(os.Environ(), "KUBEBUILDER_ASSETS="+assets, "GOFLAGS=", "GOWORK=off", "GINKGO_NO_COLOR=TRUE")
	if o.skip != "" {
		cmd.Args = append(cmd.Args, "-ginkgo.skip="+o.skip)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return result{}, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return result{}, err
	}
	r := result{specs: map[string]counts{}, failed: map[string]bool{}}
	err = r.read(stdout)
	var exit *exec.ExitError
	if waited := cmd.Wait(); waited != nil && !errors.As(waited, &exit) {
		err = errors.Join(err, waited)
	}
	r.took = time.Since(start).Round(time.Second)
	return r, errors.Join(err, ctx.Err())
}

var (
	escapes  = regexp.MustCompile("\x1b\\[[0-9;]*m")
	outcome  = regexp.MustCompile(`(\d+) Passed \| (\d+) Failed`)
	position = regexp.MustCompile(`^\s*\[(?:FAIL|PANICKED!|TIMEDOUT)\] (.*)$`)
)

// read takes the outcome of each package from the output of go test -json.
func (r result) read(in io.Reader) error {
	for decoder := json.NewDecoder(in); ; {
		var e struct{ Action, Package, Test, Output string }
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		pkg := strings.TrimPrefix(e.Package, module+"/")
		line := strings.TrimRight(escapes.ReplaceAllString(e.Output, ""), "\n")
		if m := outcome.FindStringSubmatch(line); m != nil {
			var c counts
			fmt.Sscan(m[1]+" "+m[2], &c.passed, &c.failed)
			r.specs[pkg] = c
		}
		if m := position.FindStringSubmatch(line); m != nil {
			r.failed[pkg+": "+m[1]] = true
		}
		if e.Action == "fail" && e.Test == "" && r.specs[pkg].failed == 0 {
			r.failed[pkg] = true
		}
	}
}

// report prints both results, and fails if something passes on the real control plane only.
func report(out io.Writer, real, memory result) error {
	fmt.Fprintf(out, "| package | specs that pass on the real server | in memory |\n|---|---:|---:|\n")
	var all [2]int
	for _, pkg := range slices.Sorted(maps.Keys(real.specs)) {
		fmt.Fprintf(out, "| %s | %d | %d |\n", pkg, real.specs[pkg].passed, memory.specs[pkg].passed)
		all[0], all[1] = all[0]+real.specs[pkg].passed, all[1]+memory.specs[pkg].passed
	}
	fmt.Fprintf(out, "| **all** (%v, %v) | %d | %d |\n", real.took, memory.took, all[0], all[1])
	var worse []string
	for _, failed := range slices.SortedFunc(maps.Keys(memory.failed), cmp.Compare) {
		if !real.failed[failed] {
			worse = append(worse, failed)
		}
	}
	for _, failed := range slices.Sorted(maps.Keys(real.failed)) {
		fmt.Fprintf(out, "\nFails on the real server: %s\n", failed)
	}
	if len(worse) > 0 {
		return fmt.Errorf("%d specs fail in memory only:\n%s", len(worse), strings.Join(worse, "\n"))
	}
	return nil
}
