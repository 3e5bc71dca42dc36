package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The environment variables that the suite sets for measuring processes.
const (
	resultsVariable = "KCTRL_TESTSUITE_RESULTS" // the file to which costs are appended
	rootVariable    = "KCTRL_TESTSUITE_ROOT"    // the root of the repository
	stepVariable    = "KCTRL_TESTSUITE_STEP"    // the index of the step in steps
	allVariable     = "KCTRL_TESTSUITE_ALL"     // set if nightly tests run
)

// suite is the state of one run.
type suite struct {
	all     bool
	start   time.Time
	kept    map[part]bool // what passed in earlier runs
	results string        // path of the file with costs
	out     io.Writer
	planned []planned

	done, packages int             // test packages, over all steps
	passed         int             // top-level tests
	failed         map[string]bool // "package test", or a command
}

// planned is a step to run, with its test packages.
type planned struct {
	step
	index    int
	packages []string
}

// plan selects the steps to run and counts their test packages, so that the progress has a total.
func (s *suite) plan(ctx context.Context, only string) error {
	var errs []error
	for i, st := range steps {
		if st.nightly && !s.all || only != "" && st.name != only {
			continue
		}
		p := planned{step: st, index: i}
		if len(st.command) == 0 {
			list, err := testPackages(ctx, st)
			errs = append(errs, err)
			p.packages = slices.DeleteFunc(list, func(pkg string) bool { return s.kept[part{i, directory(pkg)}] })
			if len(p.packages) == 0 {
				continue
			}
		} else if s.kept[part{i, ""}] {
			continue
		}
		s.packages += len(p.packages)
		s.planned = append(s.planned, p)
	}
	if len(s.planned) == 0 && len(s.kept) == 0 {
		errs = append(errs, fmt.Errorf("unknown step %q", only))
	}
	return errors.Join(errs...)
}

// testPackages returns the packages of a step that have tests.
func testPackages(ctx context.Context, st step) ([]string, error) {
	if len(st.patterns) > 0 {
		var list []string
		for _, p := range st.patterns {
			list = append(list, modulePath+"/"+p.pkg)
		}
		slices.Sort(list)
		return slices.Compact(list), nil
	}
	args := []string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"}
	for _, arg := range st.args {
		if strings.HasPrefix(arg, ".") {
			args = append(args, arg)
		}
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env, cmd.Stderr = st.dir, append(os.Environ(), st.env...), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmd, err)
	}
	return slices.DeleteFunc(strings.Fields(string(out)), func(pkg string) bool {
		return slices.ContainsFunc(st.except, func(dir string) bool {
			return short(pkg) == dir ||
				strings.HasPrefix(short(pkg), dir+"/")
		})
	}), nil
}

const modulePath = "github.com/kctrl-dev/kctrl"

// runStep runs one step. It records a failed test and continues. It returns an error if the step could not run.
func (s *suite) runStep(ctx context.Context, p planned) error {
	fmt.Fprintf(s.out, "\n== %s (%s)\n", p.name, s.elapsed())
	cmd := exec.CommandContext(ctx, "go", "test")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Dir, cmd.Env, cmd.Stderr = p.dir, append(os.Environ(), p.env...), os.Stderr
	if s.all {
		cmd.Env = append(cmd.Env, manySeeds, allVariable+"=1")
	}
	if len(p.command) > 0 {
		cmd.Path, cmd.Args, cmd.Stdout = p.command[0], p.command, s.out
		if resolved, err := exec.LookPath(p.command[0]); err == nil {
			cmd.Path = resolved
		}
		if err := cmd.Run(); err != nil {
			s.failed[strings.Join(p.command, " ")] = true
			fmt.Fprintf(s.out, "FAIL %s: %v\n", strings.Join(p.command, " "), err)
			return ctx.Err()
		}
		return errors.Join(appendCosts(s.results, cost{Step: p.index, Passed: true}), ctx.Err())
	}
	self, err := os.Executable()
	root, rootErr := os.Getwd()
	if err := errors.Join(err, rootErr); err != nil {
		return err
	}
	cmd.Args = append(cmd.Args, "-json", "-vet=off", "-exec", self+" "+measureCommand)
	if p.race &&
		goEnv("CGO_ENABLED") == "1" { // the race detector requires a C compiler; without one, the go command disables cgo
		cmd.Args = append(cmd.Args, "-race")
	}
	for _, arg := range p.args {
		if !strings.HasPrefix(arg, ".") {
			cmd.Args = append(cmd.Args, arg)
		}
	}
	cmd.Args = append(cmd.Args, p.packages...)
	// Programs that are built with -trimpath do not contain GOROOT, but tests read the source there.
	cmd.Env = append(cmd.Env, "GOROOT="+goEnv("GOROOT"), rootVariable+"="+root, resultsVariable+"="+s.results,
		stepVariable+"="+strconv.Itoa(p.index))
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", cmd, err)
	}
	s.report(out)
	if err := cmd.Wait(); err != nil && len(s.failed) == 0 {
		s.failed[p.name] = true
		fmt.Fprintf(s.out, "FAIL %s: %v\n", p.name, err)
	}
	return ctx.Err()
}

// event is a line of the output of go test -json.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// slow is the time in seconds from which a test gets its own line in the output.
const slow = 15

// report prints the results of packages and slow tests when they arrive, and the output of failed tests. While no test
// ends, it prints the running tests every half minute.
func (s *suite) report(out io.Reader) {
	var mu sync.Mutex // guards running and s.out
	running := map[string]time.Time{}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(30 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				mu.Lock()
				fmt.Fprintf(s.out, "%s   running: %s\n", s.elapsed(), strings.Join(leaves(running), ", "))
				mu.Unlock()
			}
		}
	}()
	defer func() { close(stop); <-stopped }()

	output := map[string]*bytes.Buffer{} // of running packages and tests
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var e event
		mu.Lock()
		if json.Unmarshal(line, &e) != nil {
			s.out.Write(line)
		} else {
			s.handle(e, running, output)
		}
		mu.Unlock()
	}
}

func (s *suite) handle(e event, running map[string]time.Time, output map[string]*bytes.Buffer) {
	name := strings.TrimSpace(short(e.Package) + " " + e.Test)
	switch e.Action {
	case "build-output":
		fmt.Fprint(s.out, e.Output)
	case "run", "cont":
		running[name] = time.Now()
	case "pause":
		delete(running, name)
	case "output":
		if output[name] == nil {
			output[name] = &bytes.Buffer{}
		}
		output[name].WriteString(e.Output)
	case "pass", "skip", "fail":
		if e.Action == "fail" {
			s.failed[name] = true
			if e.Test == "" {
				s.printUnended(name, running, output)
			}
			if b := output[name]; b != nil {
				s.out.Write(b.Bytes())
			}
		}
		s.ended(e, name)
		delete(running, name)
		delete(output, name)
	}
}

// printUnended prints the output of tests that were running when the test binary of a package ended, such as a panic.
func (s *suite) printUnended(pkg string, running map[string]time.Time, output map[string]*bytes.Buffer) {
	for _, name := range slices.Sorted(maps.Keys(output)) {
		if strings.HasPrefix(name, pkg+" ") {
			s.out.Write(output[name].Bytes())
			delete(output, name)
		}
	}
	maps.DeleteFunc(running, func(name string, _ time.Time) bool { return strings.HasPrefix(name, pkg+" ") })
}

// ended prints the result of a package or of a slow test.
func (s *suite) ended(e event, name string) {
	result := map[string]string{"pass": "ok", "skip": "no tests", "fail": "FAIL"}[e.Action]
	if e.Test != "" {
		if !strings.Contains(e.Test, "/") && e.Action == "pass" {
			s.passed++
		}
		if e.Elapsed >= slow || e.Action == "fail" {
			fmt.Fprintf(s.out, "%s   %-4s %s  %.0fs\n", s.elapsed(), result, name, e.Elapsed)
		}
		return
	}
	if e.Action != "skip" {
		s.done++
	}
	fmt.Fprintf(s.out, "%s [%d/%d] %-4s %s  %.1fs\n", s.elapsed(), s.done, s.packages, result, name, e.Elapsed)
}

func (s *suite) elapsed() string {
	d := time.Since(s.start).Round(time.Second)
	return fmt.Sprintf("%02d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}

// directory returns the directory of a package, as in costs.
func directory(pkg string) string {
	if pkg == modulePath {
		return "."
	}
	if below, ok := strings.CutPrefix(pkg, replacedPath); ok {
		return "compat/controller-runtime" + below
	}
	return strings.TrimPrefix(pkg, modulePath+"/")
}

// replacedPath is the path of the module in compat/controller-runtime.
const replacedPath = "sigs.k8s.io/controller-runtime"

// short returns the path of a package relative to the module.
func short(pkg string) string {
	if pkg == modulePath {
		return "(root)"
	}
	return strings.TrimPrefix(pkg, modulePath+"/")
}

// leaves returns the running tests that have no running subtest, with their times.
func leaves(running map[string]time.Time) []string {
	var found []string
	names := slices.Sorted(maps.Keys(running))
	for i, name := range names {
		if i+1 < len(names) && strings.HasPrefix(names[i+1], name+"/") {
			continue
		}
		found = append(found, fmt.Sprintf("%s (%.0fs)", name, time.Since(running[name]).Seconds()))
	}
	if len(found) == 0 {
		return []string{"compiling"}
	}
	return found
}

// summarize prints the totals.
func (s *suite) summarize(costs []cost, total float64, known bool) {
	fmt.Fprintf(s.out, "\n%s", s.elapsed())
	if known {
		tests := 0.0
		for _, c := range costs {
			if c.Test == "" && c.Package != "" {
				tests += c.CPU
			}
		}
		fmt.Fprintf(s.out, "   %.0f CPU seconds: %.0f in tests, %.0f for compiling", total, tests, total-tests)
	}
	fmt.Fprintf(s.out, "\n%d passed, %d failed\n", s.passed, len(s.failed))
}

// verdict returns an error for failures and for tests that cost too much.
func (s *suite) verdict(costs []cost) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.failed)) {
		errs = append(errs, fmt.Errorf("failed: %s", name))
	}
	if !s.all {
		errs = append(errs, tooExpensive(costs)...)
	}
	return errors.Join(errs...)
}
