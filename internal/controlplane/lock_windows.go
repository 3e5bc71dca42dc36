package controlplane

import (
	"os"

	"golang.org/x/sys/windows"
)

// tryLock reports whether it locked a file. Closing the file unlocks it.
func tryLock(file *os.File) bool {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, &windows.Overlapped{}) == nil
}
