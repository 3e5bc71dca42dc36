// Command runtime compares kctrl's runtime with controller-runtime. One run measures both in separate programs, with
// the same objects: on the same API server, and in memory. It prints a Markdown table. `make bench-runtime` runs it
// from bench/.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/kctrl-dev/kctrl/bench/internal/apiserver"
	"github.com/kctrl-dev/kctrl/bench/internal/table"
	"github.com/kctrl-dev/kctrl/bench/internal/widgets"
)

type options struct {
	kctrl   string
	objects int
	runs    int
	dataDir string
	only    string
}

func main() {
	var o options
	flag.StringVar(&o.kctrl, "kctrl", "../bin/kctrl", "path of kctrl")
	flag.IntVar(&o.objects, "objects", 50_000, "number of objects on the API server")
	flag.IntVar(&o.runs, "runs", 3, "number of runs, whose medians are printed")
	flag.StringVar(&o.dataDir, "data-dir", "", "directory that keeps the objects between runs")
	flag.StringVar(&o.only, "only", "", "only this measurement: "+strings.Join(measures, ", "))
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "runtime:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	work, err := os.MkdirTemp("", "bench-runtime-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	sides, err := build(ctx, work)
	if err != nil {
		return err
	}
	server, err := apiserver.Start(o.kctrl, o.dataDir)
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := server.Stop(); err == nil {
			err = stopErr
		}
	}()
	if err := populate(ctx, server, o.objects); err != nil {
		return err
	}
	if err := measure(ctx, sides, server.Kubeconfig, o); err != nil {
		return err
	}
	fmt.Printf("%d objects.\n\n", o.objects)
	table.Print(os.Stdout, rows, sides[0].runs.Medians(), sides[1].runs.Medians())
	return nil
}

// populate creates the objects.
func populate(ctx context.Context, server *apiserver.Server, count int) error {
	if err := server.ApplyCRD(ctx, widgets.CRD); err != nil {
		return err
	}
	config, err := server.Config()
	if err != nil {
		return err
	}
	objects, err := widgets.Connect(config)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "creating %d objects\n", count)
	return objects.Populate(ctx, count, false)
}
