package transaction

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock acquires the lock of a file, or returns errBusy. For a directory, it returns errNoLocks.
func tryLock(file *os.File, shared bool) error {
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return errNoLocks
	}
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if !shared {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errBusy
	}
	return err
}
