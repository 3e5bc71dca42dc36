// Command footprint scaffolds an operator with kctrl and measures it beside the same operator on controller-runtime, in
// one run on one machine: cold build, packages, binary size, idle memory, and the time of scaffolding itself. It
// prints a Markdown table. Run it from bench/, as `make bench` does.
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
	kctrl := flag.String("kctrl", "../bin/kctrl", "the kctrl binary")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := measure(ctx, os.Stdout, *kctrl); err != nil {
		fmt.Fprintln(os.Stderr, "footprint:", err)
		os.Exit(1)
	}
}
