// Command controllerruntime runs the unmodified test suites of controller-runtime. It runs them with the executables of
// `kctrl env assets`, and with the module that replaces controller-runtime. Both runs use the real API server and the
// in-memory one.
//
// It prints a table of passed specs, which -tsv also writes to a file. It fails if a spec of the original passes only
// on the real API server. Run it from bench/.
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

type options struct {
	kctrl, version, packages, skip, runs, module, tsv, logs string
	least                                                   int
}

// side is one run of all suites.
type side struct {
	name   string
	dropin bool
	server string // value of KCTRL_TEST_SERVER
}

var sides = []side{
	{name: "original, real", server: "real"},
	{name: "original, in memory", server: "in-memory"},
	{name: "drop-in, real", dropin: true, server: "real"},
	{name: "drop-in, in memory", dropin: true, server: "in-memory"},
}

func main() {
	var o options
	flag.StringVar(&o.kctrl, "kctrl", "../bin/kctrl", "the kctrl `binary`")
	flag.StringVar(&o.version, "version", "v0.25.2", "`version` of controller-runtime")
	flag.StringVar(&o.packages, "packages", "./pkg/...", "`pattern` of the packages to test")
	flag.StringVar(&o.skip, "skip", "", "`pattern` of the specs to skip")
	flag.StringVar(&o.runs, "run", "", "`pattern` of the runs, such as \"drop-in, in memory\"")
	flag.StringVar(&o.module, "module", "../compat/controller-runtime",
		"`directory` of the module that replaces controller-runtime")
	flag.StringVar(&o.tsv, "tsv", "", "`file` for the results as tab-separated values")
	flag.StringVar(&o.logs, "logs", "", "`directory` for the output of the suites")
	flag.IntVar(&o.least, "least", 0, "least `number` of specs that a run must pass, without a failure; 0 allows failures")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "controllerruntime:", err)
		os.Exit(1)
	}
}

// result is the outcome of the suites on one control plane.
type result struct {
	specs  map[string]counts // by package
	failed map[string]bool   // "package: spec", or the package alone if it fails without a failed spec
	took   time.Duration
}

type counts struct{ passed, failed int }

func run(ctx context.Context, out io.Writer, o options) (err error) {
	only, err := regexp.Compile(o.runs)
	if err != nil {
		return err
	}
	if o.kctrl, err = filepath.Abs(o.kctrl); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "controller-runtime-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	original, dropin := filepath.Join(work, "original"), filepath.Join(work, "drop-in")
	if err := download(ctx, o.version, original); err != nil {
		return err
	}
	var excluded map[string]int
	results := map[string]result{}
	for _, s := range sides {
		if !only.MatchString(s.name) {
			continue
		}
		source := original
		if s.dropin {
			source = dropin
		}
		if s.dropin && excluded == nil {
			if excluded, err = overlay(ctx, original, o.module, dropin, o.selects); err != nil {
				return err
			}
		}
		if results[s.name], err = s.run(ctx, work, source, o); err != nil {
			return err
		}
	}
	if err := report(out, o, results, excluded); err != nil {
		return err
	}
	return errors.Join(
		compare(out, results["original, real"], results["original, in memory"]),
		o.passed(results))
}

// selects reports whether the tests of a directory run.
func (o options) selects(dir string) bool {
	return slices.ContainsFunc(strings.Fields(o.packages), func(pattern string) bool {
		parent, all := strings.CutSuffix(strings.TrimPrefix(pattern, "./"), "/...")
		return dir == parent || all && strings.HasPrefix(dir, parent+"/")
	})
}

// passed returns an error for a run with a failure or with too few specs.
func (o options) passed(results map[string]result) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(results)) {
		if o.least == 0 {
			break
		}
		r, specs := results[name], 0
		for _, c := range r.specs {
			specs += c.passed
		}
		if specs < o.least {
			errs = append(errs, fmt.Errorf("%s: %d specs pass, expected at least %d", name, specs, o.least))
		}
		for _, failed := range slices.Sorted(maps.Keys(r.failed)) {
			errs = append(errs, fmt.Errorf("%s: failed: %s", name, failed))
		}
	}
	return errors.Join(errs...)
}

// run runs the suites of a module.
func (s side) run(ctx context.Context, work, source string, o options) (result, error) {
	env := []string{"KCTRL=" + o.kctrl, "KCTRL_TEST_SERVER=" + s.server}
	if !s.dropin {
		assets := filepath.Join(work, s.server)
		args := []string{"env", "assets", assets}
		if s.server == "in-memory" {
			args = append(args, "--in-memory")
		}
		cmd := exec.CommandContext(ctx, o.kctrl, args...)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return result{}, fmt.Errorf("%s: %w", cmd, err)
		}
		env = append(env, "KUBEBUILDER_ASSETS="+assets)
	}
	fmt.Fprintf(os.Stderr, "running the suites: %s\n", s.name)
	return s.test(ctx, source, env, o)
}

// environment returns the environment of the go command in the copies of the modules. With -trimpath, the
// packages that they import are compiled once for all tests of this repository.
func environment() []string {
	return append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOWORK=off", "GINKGO_NO_COLOR=TRUE")
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

// test runs the suites one package at a time, because several control planes slow each other down.
func (s side) test(ctx context.Context, source string, env []string, o options) (result, error) {
	args := []string{"test", "-json", "-count=1", "-p=1", "-vet=off", "-timeout=30m"}
	cmd := exec.CommandContext(ctx, "go", append(args, strings.Fields(o.packages)...)...)
	cmd.Dir, cmd.Stderr = source, os.Stderr
	cmd.Env = append(environment(), env...)
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
	log := io.Discard
	if o.logs != "" {
		file, err := os.Create(filepath.Join(o.logs, strings.ReplaceAll(s.name, " ", "-")+".log"))
		if err != nil {
			return result{}, err
		}
		defer file.Close()
		log = file
	}
	err = r.read(stdout, log)
	var exit *exec.ExitError
	if waited := cmd.Wait(); waited != nil && !errors.As(waited, &exit) {
		err = errors.Join(err, waited)
	}
	r.took = time.Since(start).Round(time.Second)
	return r, errors.Join(err, ctx.Err())
}

var (
	escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")
	outcome = regexp.MustCompile(`(\d+) Passed \| (\d+) Failed`)
	failure = regexp.MustCompile(`^\s*\[(?:FAIL|PANICKED!|TIMEDOUT)\] (.*)$`)
)

// read adds the outcome of each package in the output of go test -json: its specs, and its tests without specs.
func (r result) read(in io.Reader, log io.Writer) error {
	suites := map[string]bool{} // tests that run specs
	for decoder := json.NewDecoder(in); ; {
		var e struct{ Action, Package, Test, Output string }
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		io.WriteString(log, e.Output)
		pkg := strings.TrimPrefix(e.Package, module+"/")
		line := strings.TrimRight(escapes.ReplaceAllString(e.Output, ""), "\n")
		c := r.specs[pkg]
		if m := outcome.FindStringSubmatch(line); m != nil {
			var passed, failed int
			fmt.Sscan(m[1]+" "+m[2], &passed, &failed)
			c.passed, c.failed = c.passed+passed, c.failed+failed
			suites[e.Package+e.Test] = true
		}
		if m := failure.FindStringSubmatch(line); m != nil {
			r.failed[pkg+": "+m[1]] = true
		}
		single := e.Test != "" && !strings.Contains(e.Test, "/") && !suites[e.Package+e.Test]
		switch {
		case single && e.Action == "pass":
			c.passed++
		case single && e.Action == "fail":
			c.failed++
			r.failed[pkg+": "+e.Test] = true
		case e.Action == "fail" && e.Test == "" && c.failed == 0:
			r.failed[pkg] = true
		}
		if c != (counts{}) {
			r.specs[pkg] = c
		}
	}
}

// report prints the passed specs of each package, and the specs removed for the drop-in module.
func report(out io.Writer, o options, results map[string]result, excluded map[string]int) error {
	packages := map[string]bool{}
	for _, r := range results {
		for pkg := range r.specs {
			packages[pkg] = packages[pkg] || !below(skipped, pkg)
		}
	}
	lines := []string{"package\tspecs"}
	for _, s := range sides {
		if r, ok := results[s.name]; ok {
			lines[0] += "\t" + s.name
			fmt.Fprintf(os.Stderr, "%s: %v\n", s.name, r.took)
		}
	}
	lines[0] += "\tnot run: internals"
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		if !packages[pkg] {
			continue
		}
		line, specs := "", 0
		for _, s := range sides {
			if r, ok := results[s.name]; ok {
				c := r.specs[pkg]
				specs = max(specs, c.passed+c.failed)
				line += fmt.Sprintf("\t%d", c.passed)
			}
		}
		lines = append(lines, fmt.Sprintf("%s\t%d%s\t%d", pkg, specs, line, excluded[pkg]))
	}
	text := strings.Join(lines, "\n") + "\n"
	if o.tsv != "" {
		if err := os.WriteFile(o.tsv, []byte(text), 0o644); err != nil {
			return err
		}
	}
	_, err := io.WriteString(out, text)
	return err
}

// compare fails if a spec of the original passes only on the real API server.
func compare(out io.Writer, real, memory result) error {
	var worse []string
	for _, failed := range slices.SortedFunc(maps.Keys(memory.failed), cmp.Compare) {
		if !real.failed[failed] {
			worse = append(worse, failed)
		}
	}
	for _, failed := range slices.Sorted(maps.Keys(real.failed)) {
		fmt.Fprintf(out, "\nFails on the real server: %s\n", failed)
	}
	if real.specs != nil && memory.specs != nil && len(worse) > 0 {
		return fmt.Errorf("%d specs fail in memory only:\n%s", len(worse), strings.Join(worse, "\n"))
	}
	return nil
}
