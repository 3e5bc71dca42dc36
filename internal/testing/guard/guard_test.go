//go:build unix

package guard

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestGuardKillsProcessesOfKilledTest kills a process that has started another one in its own session. The other
// process has the directory in its command line or as its working directory, and the guard must end it.
func TestGuardKillsProcessesOfKilledTest(t *testing.T) {
	t.Run("named", func(t *testing.T) { killHelper(t, "GUARD_TEST_INSIDE=") })
	if runtime.GOOS == "linux" {
		t.Run("inside", func(t *testing.T) { killHelper(t, "GUARD_TEST_INSIDE=1") })
	}
}

func killHelper(t *testing.T, variable string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "guarded")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	test := exec.Command(os.Args[0], "-test.run=^TestHelper$")
	test.Env = append(os.Environ(), "GUARD_TEST_DIR="+dir, variable)
	out, err := test.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := test.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	started, convErr := strconv.Atoi(strings.TrimSpace(line))
	if err := errors.Join(err, convErr, test.Process.Kill()); err != nil {
		t.Fatal(err)
	}
	_ = test.Wait()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	limit := time.After(time.Minute)
	for {
		_, err := os.Stat(dir)
		if syscall.Kill(started, 0) != nil && errors.Is(err, fs.ErrNotExist) {
			return
		}
		select {
		case <-ticker.C:
		case <-limit:
			t.Fatalf("process %d or its directory still exists: %v", started, err)
		}
	}
}

// TestHelper is the test that TestGuardKillsProcessesOfKilledTest kills.
func TestHelper(t *testing.T) {
	dir := os.Getenv("GUARD_TEST_DIR")
	if dir == "" {
		return
	}
	stop, err := Start(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	started := exec.Command("sh", "-c", "while :; do sleep 60; done", dir)
	if os.Getenv("GUARD_TEST_INSIDE") != "" {
		started.Args, started.Dir = started.Args[:3], dir
	}
	started.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := started.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Println(started.Process.Pid)
	_ = started.Wait()
}

func TestStoppedGuardKeepsTheDirectory(t *testing.T) {
	dir := t.TempDir()
	stop, err := Start(dir)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}
