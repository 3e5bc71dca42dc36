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

// cost is the CPU time of a test: the time of its process and of all processes that it started and waited for.
type cost struct {
	Step    int
	Package string  // directory
	Test    string  // with at most one subtest; empty for the whole package
	CPU     float64 // seconds
}

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
	root, err := repository(dir)
	if err != nil {
		return 1, err
	}
	pkg, err := packageOf(root, dir)
	if err != nil {
		return 1, err
	}
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
	if err := m.save(os.Getenv(resultsVariable), index, pkg, total.Seconds()); err != nil {
		return 1, err
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return code, nil
	}
	return 2, nil
}

// repository returns the nearest directory above dir with .ci/run: the root of the repository.
func repository(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, ".ci", "run")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no .ci/run above %s", dir)
		}
	}
}
