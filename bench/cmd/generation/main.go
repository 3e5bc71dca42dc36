// Command generation compares kctrl gen and controller-gen in one run on one machine. It measures whole processes on
// the API packages of well-known operators, and on projects of 10 and of 1,000 kinds. The scenarios are:
//
//	all output is missing
//	all output is up to date
//	one type was edited
//	the Go build cache is empty
//
// Like a Makefile, it calls each tool once for deep copies and once for manifests. It prints Markdown tables. Run it
// from bench/.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

type options struct {
	kctrl   string
	work    string
	project string
	runs    int
	cold    int
	kinds   int
}

func main() {
	var o options
	flag.StringVar(&o.kctrl, "kctrl", "../bin/kctrl", "path of kctrl")
	flag.StringVar(&o.work, "work", "", "directory of the copies (default: a temporary one, removed at the end)")
	flag.StringVar(&o.project, "project", "", "only projects whose name contains this text")
	flag.IntVar(&o.runs, "runs", 5, "number of runs, whose medians are printed")
	flag.IntVar(&o.cold, "cold", 1, "number of runs with an empty Go build cache")
	flag.IntVar(&o.kinds, "kinds", 1000, "number of kinds of the larger generated project; 0 skips both")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := measure(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "generation:", err)
		os.Exit(1)
	}
}
