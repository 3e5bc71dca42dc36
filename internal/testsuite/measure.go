package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// measureCommand is the argument with which go test -exec calls this program.
const measureCommand = "measure"

// cost is the CPU time of a test: the time of its process and of all processes that it started and waited for. Without
// a package, it is the cost of a step with a command or, if Step is wholeRun, of all processes of a run.
type cost struct {
	Step    int
	Package string  `json:",omitempty"` // directory
	Test    string  `json:",omitempty"` // with at most one subtest; empty for the whole package
	CPU     float64 // seconds
	Passed  bool    `json:",omitempty"` // the whole package passed; false for a test
}

// wholeRun is the step of the cost of a run.
const wholeRun = -1

// measure runs a test binary with the tests that its step selects, and appends its costs to the results. It returns the
// exit code of the binary.
func measure(args []string) int {
	code, err := measured(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "testsuite: %v\n", err)
		return max(code, 1)
	}
	return code
}

func measured(args []string) (int, error) {
	index, err := strconv.Atoi(os.Getenv(stepVariable))
	if err != nil || index >= len(steps) {
		return 1, fmt.Errorf("%s: %w", stepVariable, err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return 1, err
	}
	pkg, err := filepath.Rel(os.Getenv(rootVariable), dir)
	if err != nil {
		return 1, err
	}
	pkg = filepath.ToSlash(pkg)
	if pattern := skipped(pkg); pattern != "" && os.Getenv(allVariable) == "" {
		args = append(args, "-test.skip="+pattern)
	}
	if pattern := chosen(steps[index], pkg); pattern != "" {
		args = append(args, "-test.run="+pattern)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
	cmd.WaitDelay = 10 * time.Second // another process may keep the output open
	m := &meter{costs: map[string]float64{}}
	cmd.Stdout = m.through(os.Stdout)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, quit)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	m.pid.Store(int64(cmd.Process.Pid))
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case sig := <-signals:
				_ = cmd.Process.Signal(sig) // it may have ended
			case <-ended:
				return
			}
		}
	}()
	waitErr := cmd.Wait()
	close(ended)
	if cmd.ProcessState == nil {
		return 1, waitErr
	}
	total := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	code := cmd.ProcessState.ExitCode()
	if code < 0 {
		code = 2
	}
	whole := cost{Step: index, Package: pkg, CPU: total.Seconds(), Passed: code == 0}
	if err := appendCosts(os.Getenv(resultsVariable), m.all(whole)...); err != nil {
		return 1, err
	}
	return code, nil
}
