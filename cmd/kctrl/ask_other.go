//go:build !unix

package main

import (
	"context"
	"io"
)

// interruptible reads from a terminal. Here, a read that has begun cannot be ended.
type interruptible struct {
	ctx context.Context
	io.Reader
}

// Read fails once ctx has ended.
func (r interruptible) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}
