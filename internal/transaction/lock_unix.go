//go:build unix

package transaction

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock acquires the lock of a file or directory, or returns errBusy or errNoLocks.
func tryLock(file *os.File, shared bool) error {
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	for {
		switch err := unix.Flock(int(file.Fd()), how|unix.LOCK_NB); {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return errBusy
		case errors.Is(err, unix.EBADF), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.EINVAL),
			errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOTSUP):
			return errNoLocks
		default:
			return err
		}
	}
}
