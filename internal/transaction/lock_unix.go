//go:build unix

package transaction

import (
	"os"

	"golang.org/x/sys/unix"
)

// tryLock acquires the lock of a file or directory, or returns errBusy or errNoLocks.
func tryLock(file *os.File, shared bool) error {
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	err := unix.Flock(int(file.Fd()), how|unix.LOCK_NB)
	switch err {
	case unix.EWOULDBLOCK, unix.EINTR:
		return errBusy
	case unix.EBADF, unix.ENOLCK, unix.EINVAL, unix.ENOSYS, unix.ENOTSUP:
		return errNoLocks
	}
	return err
}
