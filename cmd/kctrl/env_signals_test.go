//go:build linux || darwin

package main

import (
	"context"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// TestBrokenConnectionEndsNothing checks that the context of untilTerminated survives a write to a socket whose other
// end is closed, and still ends with a terminating signal.
func TestBrokenConnectionEndsNothing(t *testing.T) {
	ctx, stop := untilTerminated(t.Context())
	defer stop()
	raised := make(chan os.Signal, 1)
	signal.Notify(raised, syscall.SIGPIPE)
	defer signal.Stop(raised)
	writeUntilBroken(t)
	<-raised
	if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if cause := context.Cause(ctx).Error(); !strings.Contains(cause, syscall.SIGUSR1.String()) {
		t.Errorf("it ended because of: %s", cause)
	}
}

// writeUntilBroken writes to a connection whose other end is closed.
func writeUntilBroken(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = client.Write([]byte("x"))
	}
}
