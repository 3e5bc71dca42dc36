// Command demo follows the path of a new user, from an empty directory to an operator that reconciles. It runs on an
// in-memory API server, or on a real one if SERVER=real is set. It prints each command as a user would type it. It
// exits with code 0 only if it has observed every claim through the API server. `make demo` runs it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := tour(ctx, os.Stdout, os.Getenv("KCTRL"), os.Getenv("SERVER")); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}
