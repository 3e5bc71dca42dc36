//go:build unix

// Package guard ends what a test has started when the test process itself cannot, because it was killed.
package guard

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// script waits for the end of its input, which comes with the death of whoever holds the other end, and then kills every
// process that has the folder in its command line or works in it, with the group that it leads. What one of them starts
// meanwhile is killed in the next round. The folder is in the environment: the guard and what it runs must not be found
// by it. Working folders are only looked at where there is a /proc.
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

// Start begins to guard a folder that is this test's alone, such as a temporary one. If this process dies before it calls
// stop, all processes with the folder in their command lines are killed, and the folder is removed. The guard is a process
// in a session of its own, which a signal to the group of the test does not reach.
func Start(folder string) (stop func(), err error) {
	if folder == "" {
		return nil, errors.New("no folder to guard")
	}
	sh := exec.Command("sh", "-c", script)
	sh.Env = append(os.Environ(), "GUARDED="+folder)
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
