//go:build unix

package main

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// interruptible reads from a terminal until ctx ends.
type interruptible struct {
	ctx context.Context
	io.Reader
}

// Read waits for input as long as ctx lasts.
func (r interruptible) Read(p []byte) (int, error) {
	file, ok := r.Reader.(*os.File)
	for ok {
		if r.ctx.Err() != nil {
			return 0, context.Cause(r.ctx)
		}
		const wait = 100 // milliseconds: a signal ends the wait, but may come just before it
		ready, err := unix.Poll([]unix.PollFd{{Fd: int32(file.Fd()), Events: unix.POLLIN}}, wait)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return 0, err
		}
		if ready > 0 {
			break
		}
	}
	return r.Reader.Read(p)
}
