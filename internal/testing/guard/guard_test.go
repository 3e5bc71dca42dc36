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

// TestGuardKillsWhatAKilledTestHasStarted kills a process that has started another one in its own session: with the
// directory in its command line, or as its working directory.
func TestGuardKillsWhatAKilledTestHasStarted(t *testing.T) {
	t.Run("named", func(t *testing.T) { killHelper(t, "GUARD_TEST_INSIDE=") })
	if runtime.GOOS == "linux" {
		t.Run("inside", func(t *testing.T) { killHelper(t, "GUARD_TEST_INSIDE=1") })
	}
}

func killHelper(t *testing.T, variable string) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "guarded")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	test := exec.Command(os.Args[0], "-test.run=^TestHelper$")
	test.Env = append(os.Environ(), "GUARD_TEST_FOLDER="+folder, variable)
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
		_, err := os.Stat(folder)
		if syscall.Kill(started, 0) != nil && errors.Is(err, fs.ErrNotExist) {
			return
		}
		select {
		case <-ticker.C:
		case <-limit:
			t.Fatalf("process %d or its folder is still there: %v", started, err)
		}
	}
}

// TestHelper is the test that is killed.
func TestHelper(t *testing.T) {
	folder := os.Getenv("GUARD_TEST_FOLDER")
	if folder == "" {
		return
	}
	stop, err := Start(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	started := exec.Command("sh", "-c", "while :; do sleep 60; done", folder)
	if os.Getenv("GUARD_TEST_INSIDE") != "" {
		started.Args, started.Dir = started.Args[:3], folder
	}
	started.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := started.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Println(started.Process.Pid)
	_ = started.Wait()
}

func TestStoppedGuardLeavesTheFolder(t *testing.T) {
	folder := t.TempDir()
	stop, err := Start(folder)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if _, err := os.Stat(folder); err != nil {
		t.Error(err)
	}
}
