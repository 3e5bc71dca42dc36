// Command footprint compares an operator scaffolded with kctrl and the same operator on controller-runtime, in one run
// on one machine. It measures cold builds, packages, binary size, idle memory, and scaffolding time. It prints a
// Markdown table. `make bench` runs it from bench/.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	kctrl := flag.String("kctrl", "../bin/kctrl", "path of kctrl")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := measure(ctx, os.Stdout, *kctrl); err != nil {
		fmt.Fprintln(os.Stderr, "footprint:", err)
		os.Exit(1)
	}
}
