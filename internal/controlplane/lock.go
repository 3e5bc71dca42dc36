package controlplane

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockFile takes the lock of path and returns what gives it back. It calls waiting once when somebody else has it. The
// kernel gives it back when the process dies.
func lockFile(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, unwritable(path, err)
	}
	told := false
	err = poll(ctx, 100*time.Millisecond, func() bool {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err != nil && !told {
			told = true
			waiting()
		}
		return err == nil
	})
	if err != nil {
		file.Close()
		return nil, err
	}
	return func() { file.Close() }, nil
}
