//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// nobody is the unprivileged user and group for commands that must not run as root.
const nobody = 65534

// scriptDenied is `denied N DIR COMMAND...`: it runs a command as another user in a directory that only the owner may
// write, and checks the exit code. Permissions alone are not enough, because root may write everywhere.
func scriptDenied(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 3 {
		ts.Fatalf("usage: denied N folder command...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	dir := ts.MkAbs(args[1])
	ts.Check(os.Chmod(dir, 0o555))
	defer os.Chmod(dir, 0o755)

	command := filepath.Join(filepath.SplitList(ts.Getenv("PATH"))[0], args[2])
	cmd := exec.Command(command, args[3:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, ts.Stdout(), ts.Stderr()
	cmd.Env = []string{"PATH=" + ts.Getenv("PATH"), "HOME=" + dir}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		ts.Check(letThrough(command))
		ts.Check(letThrough(dir))
	}
	err = cmd.Run()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok && failed.ExitCode() != want {
		ts.Fatalf("%q: %v, want exit code %d", args[2:], err, want)
	} else if !ok && (err != nil || want != 0) {
		ts.Fatalf("%q: %v, want exit code %d", args[2:], err, want)
	}
}

// letThrough lets all users enter the directories above path that this test created.
func letThrough(path string) error {
	for dir := filepath.Dir(path); dir != filepath.Clean(os.TempDir()) &&
		dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o711); err != nil {
			return err
		}
	}
	return nil
}
