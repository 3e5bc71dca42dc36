// Command operator compares an operator on kctrl with the same operator on controller-runtime. Each run measures the
// two operators in turn, on one API server with the same objects. It prints a Markdown table. `make bench` runs it from
// bench/.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/kctrl-dev/kctrl/bench/internal/apiserver"
	"github.com/kctrl-dev/kctrl/bench/internal/table"
	"github.com/kctrl-dev/kctrl/bench/internal/widgets"
)

type options struct {
	kctrl      string
	dataDir    string
	objects    int
	runs       int
	workers    int
	settle     time.Duration
	changes    int
	rate       int
	touches    int
	reconciles int
	logs       string
	profiles   string
}

func main() {
	var o options
	flag.StringVar(&o.kctrl, "kctrl", "../bin/kctrl", "path of kctrl")
	flag.StringVar(&o.dataDir, "data-dir", "", "directory that keeps the objects between runs; with "+
		"existing objects, nothing is measured without objects")
	flag.IntVar(&o.objects, "objects", 50_000, "number of objects on the API server")
	flag.IntVar(&o.runs, "runs", 3, "number of runs, whose medians are printed")
	flag.IntVar(&o.workers, "workers", 4, "number of concurrent reconciles of each operator")
	flag.DurationVar(&o.settle, "settle", 150*time.Second,
		"idle time before the memory is read; Go collects garbage at least every two minutes")
	flag.IntVar(&o.changes, "changes", 5000, "number of spec changes for the latency; 0 skips it")
	flag.IntVar(&o.rate, "rate", 100, "spec changes per second")
	flag.IntVar(&o.touches, "touches", 10_000, "number of annotation changes; 0 skips them")
	flag.IntVar(&o.reconciles, "reconciles", 300_000,
		"number of reconciles without a change of the object; 0 skips them")
	flag.StringVar(&o.logs, "logs", "", "directory for the logs of the operators, which are discarded by default")
	flag.StringVar(&o.profiles, "profiles", "", "directory for profiles of the operators")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	work, err := os.MkdirTemp("", "bench-operator-")
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
	m := &measurement{options: o, sides: sides, kubeconfig: server.Kubeconfig}
	if m.server, err = connect(ctx, server); err != nil {
		return err
	}
	if err := m.measure(ctx); err != nil {
		return err
	}
	fmt.Printf("%d objects, %d workers, %d changes a second.\n\n", o.objects, o.workers, o.rate)
	table.Print(os.Stdout, rows, sides[0].runs.Medians(), sides[1].runs.Medians())
	return nil
}

// connect connects to the server and creates the CRD.
func connect(ctx context.Context, server *apiserver.Server) (*widgets.Server, error) {
	if err := server.ApplyCRD(ctx, widgets.SplitCRD()); err != nil {
		return nil, err
	}
	config, err := server.Config()
	if err != nil {
		return nil, err
	}
	return widgets.Connect(config)
}
