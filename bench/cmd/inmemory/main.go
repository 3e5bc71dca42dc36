// Command inmemory compares the in-memory API server with the real one and with controller-runtime's fake client. It
// prints Markdown tables. `make bench-inmemory` runs it from bench/.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kctrl-dev/kctrl/bench/internal/table"
)

type options struct {
	kctrl string
	runs  int
	least time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.kctrl, "kctrl", "../bin/kctrl", "path of kctrl, which starts the real API server")
	flag.IntVar(&o.runs, "runs", 5, "number of runs, whose medians are printed")
	flag.DurationVar(&o.least, "least", time.Second, "minimum duration of each figure in each run")
	flag.Parse()
	log.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "inmemory:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	sides, stop, err := newSides(ctx, o.kctrl)
	if err != nil {
		return err
	}
	defer stop()
	runs := map[string]table.Runs{}
	for i := range o.runs {
		for j := range sides {
			s := sides[(i+j)%len(sides)]
			figures, err := s.measure(ctx, o.least)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			fmt.Fprintf(os.Stderr, "%s: %v\n", s.name, figures)
			if runs[s.name] == nil {
				runs[s.name] = table.Runs{}
			}
			runs[s.name].Add(figures)
		}
	}
	printSides(runs)
	return printOwn(ctx)
}

// printSides prints the cost of a request on each side.
func printSides(runs map[string]table.Runs) {
	memory, actual, fake := runs["in memory"].Medians(), runs["real"].Medians(), runs["fake"].Medians()
	times := func(a, b float64) string {
		if a == 0 || b == 0 {
			return ""
		}
		return fmt.Sprintf("%.1f", b/a)
	}
	shown := func(µs float64) string {
		if µs == 0 {
			return ""
		}
		return fmt.Sprintf("%.0f", µs)
	}
	for _, kind := range []string{"", cpu} {
		fmt.Printf("| operation%s, µs | in memory | real | times as many | fake client | times as many "+
			"|\n|---|---:|---:|---:|---:|---:|\n", map[string]string{"": "", cpu: ", CPU"}[kind])
		for _, f := range figures {
			a, b, c := memory[f.name+kind], actual[f.name+kind], fake[f.fake+kind]
			fmt.Printf("| %s | %s | %s | %s | %s | %s |\n", f.name, shown(a), shown(b), times(a, b), shown(c), times(a, c))
		}
		fmt.Println()
	}
}
