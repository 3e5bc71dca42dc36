package controlplane

import (
	"context"
	"os"
	"time"
)

// lockFile locks path and returns a function that releases it. If another process has the lock, it calls waiting once
// and waits. The kernel releases the lock when the process dies.
func lockFile(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	file, err := openLock(path)
	if err != nil {
		return nil, err
	}
	notified := false
	err = poll(ctx, 100*time.Millisecond, func() bool {
		locked := tryLock(file)
		if !locked && !notified {
			notified = true
			waiting()
		}
		return locked
	})
	if err != nil {
		file.Close()
		return nil, err
	}
	return func() { file.Close() }, nil
}

func openLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, unwritable(path, err)
	}
	return file, nil
}
