// Command replay measures how much CPU time and memory a list and a watch cost the client, for kctrl and for
// controller-runtime. It renders the response bodies of an API server once and serves them from memory, without a
// server or a connection. It prints Markdown tables. `make bench-runtime` runs it from bench/.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/kctrl-dev/kctrl/bench/internal/table"
)

type options struct {
	sizes []int
	runs  int
	// job is the job that this process measures; empty in the parent.
	job string
	dir string
}

func main() {
	var o options
	sizes := flag.String("sizes", "1000,10000,100000", "numbers of objects, in ascending order")
	flag.IntVar(&o.runs, "runs", 3, "number of runs, whose medians are printed")
	flag.StringVar(&o.job, "job", "", "measure one job in this process; the command calls itself with it")
	flag.StringVar(&o.dir, "bodies", "", "directory of the bodies of -job")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := o.parseSizes(*sizes)
	if err == nil && o.job != "" {
		err = runJob(ctx, o.job, o.dir)
	} else if err == nil {
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(1)
	}
}

func (o *options) parseSizes(text string) error {
	for _, size := range strings.Split(text, ",") {
		n, err := strconv.Atoi(size)
		if err != nil || n < 1 {
			return fmt.Errorf("-sizes: invalid number of objects %q", size)
		}
		o.sizes = append(o.sizes, n)
	}
	return nil
}

// run measures each job in its own process, so that jobs do not affect each other's memory.
func run(ctx context.Context, o options) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	results := map[job]table.Runs{}
	for _, size := range o.sizes {
		for _, format := range formats {
			dir, err := os.MkdirTemp("", "bench-replay-")
			if err != nil {
				return err
			}
			err = format.render(dir, size)
			for range o.runs {
				for _, j := range jobs(format, size) {
					if err == nil {
						err = measure(ctx, self, dir, j, results)
					}
				}
			}
			if removeErr := os.RemoveAll(dir); err == nil {
				err = removeErr
			}
			if err != nil {
				return err
			}
		}
	}
	medians := map[job]table.Figures{}
	for j, runs := range results {
		medians[j] = runs.Medians()
	}
	printTables(os.Stdout, o.sizes, medians)
	return nil
}

func measure(ctx context.Context, self, dir string, j job, results map[job]table.Runs) error {
	cmd := exec.CommandContext(ctx, self, "-job", j.String(), "-bodies", dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", j, err, stderr.String())
	}
	figures := table.Figures{}
	if err := json.Unmarshal(out, &figures); err != nil {
		return fmt.Errorf("%s: %w", j, err)
	}
	fmt.Fprintf(os.Stderr, "%s: %s", j, out)
	if results[j] == nil {
		results[j] = table.Runs{}
	}
	results[j].Add(figures)
	return nil
}
