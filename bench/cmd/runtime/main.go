// Command runtime measures kctrl's runtime beside controller-runtime: in one run, in programs that hold one of them
// each, with the same objects on the same API server, and in memory. It prints a Markdown table. Run it from bench/, as
// `make bench-runtime` does.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

type options struct {
	kctrl   string
	objects int
	runs    int
	dataDir string
}

func main() {
	var o options
	flag.StringVar(&o.kctrl, "kctrl", "../bin/kctrl", "the kctrl binary")
	flag.IntVar(&o.objects, "objects", 50_000, "how many objects the API server has")
	flag.IntVar(&o.runs, "runs", 3, "how often everything is measured; the median counts")
	flag.StringVar(&o.dataDir, "data-dir", "", "keep the objects in this folder, and use those that are there")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "runtime:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	kctrl, err := filepath.Abs(o.kctrl)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "bench-runtime-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	sides, err := build(ctx, work)
	if err != nil {
		return err
	}
	plane, err := startControlPlane(ctx, kctrl, o.dataDir, o.objects)
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := plane.stop(); err == nil {
			err = stopErr
		}
	}()
	if err := measure(ctx, sides, plane.kubeconfig, o); err != nil {
		return err
	}
	printTable(os.Stdout, o.objects, sides[0].medians(), sides[1].medians())
	return nil
}
