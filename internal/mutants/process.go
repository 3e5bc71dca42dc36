//go:build unix

package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// outcome is the result of a run.
type outcome struct {
	failed   string // the test that failed, empty if all passed
	timedOut bool
	seconds  float64
	subtests []string // Test/subtest, of all tests that ran
	reached  map[int]bool
	output   []string // the last lines
}

// run runs tests of a package with a mutant until one fails. With mutant 0 it runs all of them without a mutant, and
// returns the mutants that they reach.
func (s *suite) run(
	ctx context.Context, timeout time.Duration, p *testPackage, pattern string, mutant int,
) (o outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	dir := filepath.Join(s.work, strconv.FormatInt(s.runs.Add(1), 10))
	defer os.RemoveAll(dir)
	marked := filepath.Join(dir, marker+strconv.Itoa(mutant))
	env, err := prepareRun(dir, marked)
	if err != nil {
		return outcome{failed: err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// Limit the memory of mutants that allocate without end.
	cmd := exec.CommandContext(ctx, "sh", "-c", `ulimit -d 8000000; exec "$0" "$@"`, p.binary, "-test.v=test2json",
		"-test.paniconexit0", "-test.timeout=0", "-test.run="+pattern, "-test.skip="+p.skip)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = p.dir, slices.Concat(s.env, env), &syscall.SysProcAttr{Setpgid: true}
	kill := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel, cmd.WaitDelay = kill, 10*time.Second // a process that a test started may keep the output open
	read, write := io.Pipe()
	cmd.Stdout = write
	running := make(chan string)
	go func() {
		last := ""
		for output := bufio.NewReader(read); ; {
			line, err := output.ReadString('\n')
			o.output = append(o.output[max(0, len(o.output)-keptLines):], line)
			switch match := testLine.FindStringSubmatch(line); {
			case match == nil:
			case match[1] == "=== RUN":
				last = match[2]
				o.add(last)
			case o.failed == "":
				o.failed = match[2]
				if mutant > 0 {
					_ = kill()
				}
			}
			if err != nil {
				running <- last
				return
			}
		}
	}()
	start := time.Now()
	err = cmd.Run()
	o.seconds = time.Since(start).Seconds()
	_ = write.Close()
	last := <-running
	if cmd.Process != nil {
		_ = kill() // kills processes that the tests started
	}
	o.timedOut = ctx.Err() != nil
	switch {
	case o.timedOut:
		o.failed = last + " (timeout)"
	case err != nil && o.failed == "":
		o.failed = last + " (" + err.Error() + ")"
	}
	o.reached = reachedIn(marked)
	return o
}

// testLine matches lines of test output about the start and the failure of a test.
var testLine = regexp.MustCompile(`\x16\s*(=== RUN|--- FAIL):?\s+(\S+)`)

// keptLines is the number of output lines to keep for a test that fails without a mutant.
const keptLines = 40

// add records a started test.
func (o *outcome) add(test string) {
	if parts := strings.SplitN(test, "/", 3); len(parts) > 1 {
		if sub := parts[0] + "/" + parts[1]; !slices.Contains(o.subtests, sub) {
			o.subtests = append(o.subtests, sub)
		}
	}
}

// prepareRun creates the directories of a run, and returns the environment variables for them. Each run has its own
// cache, because a mutant may write wrong results to it, but shares the compiled control planes.
func prepareRun(dir, marked string) ([]string, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	cache := filepath.Join(dir, "cache", "kctrl")
	for _, name := range []string{marked, cache, filepath.Join(dir, "tmp"), filepath.Join(user, "kctrl", "controlplane")} {
		if err := os.MkdirAll(name, 0o755); err != nil {
			return nil, err
		}
	}
	return []string{
		"PATH=" + os.Getenv("PATH") + string(filepath.ListSeparator) + marked, "TMPDIR=" + filepath.Join(dir, "tmp"),
		"XDG_CACHE_HOME=" + filepath.Dir(cache),
	}, os.Symlink(filepath.Join(user, "kctrl", "controlplane"), filepath.Join(cache, "controlplane"))
}

// reachedIn returns the mutants that have a file in a directory.
func reachedIn(dir string) map[int]bool {
	reached := map[int]bool{}
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if n, err := strconv.Atoi(entry.Name()); err == nil {
			reached[n] = true
		}
	}
	return reached
}
