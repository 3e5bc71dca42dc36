// Command demo walks the whole path of a new user, from an empty folder to an operator that reconciles, on an API server in
// memory, or on a real one if the environment has SERVER=real. It prints each command as one would type it, and ends with exit code 0 only if everything it claims was
// observed through the API server. `make demo` runs it.
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
