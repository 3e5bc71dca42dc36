//go:build unix

// Package guard ends the processes that a test has started, in case the test process is killed.
package guard

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// script waits for the end of its input, which ends when the test process dies. It then kills, with its process group,
// every process that has the directory in its command line or as its working directory, and repeats this for new
// processes. The directory is passed in an environment variable, so the guard does not find itself. Working directories
// are checked only on systems with /proc.
const script = `cat
cd /
found() {
	ps -axo pid=,args= | awk 'index($0, ENVIRON["GUARDED"]) { print $1 }'
	for process in /proc/[0-9]*; do
		case $(readlink "$process/cwd") in "$GUARDED" | "$GUARDED"/*) echo "${process#/proc/}" ;; esac
	done
}
quiet=0
while [ $quiet -lt 3 ]; do
	quiet=$((quiet + 1))
	for pid in $(found); do
		kill -KILL -- "-$pid"
		kill -KILL "$pid"
		quiet=0
	done
	sleep 1
done 2>/dev/null
rm -rf "$GUARDED"`

// Start guards a directory that only this test uses, such as a temporary one. If this process dies before it calls
// stop, the guard kills all processes with the directory in their command lines and removes the directory. The guard
// has its own session, so signals to the process group of the test do not reach it.
func Start(dir string) (stop func(), err error) {
	if dir == "" {
		return nil, errors.New("no directory to guard")
	}
	sh := exec.Command("sh", "-c", script)
	sh.Env = append(os.Environ(), "GUARDED="+dir)
	sh.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	alive, err := sh.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := sh.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = syscall.Kill(-sh.Process.Pid, syscall.SIGKILL)
		_ = sh.Wait()
		_ = alive.Close()
	}, nil
}
