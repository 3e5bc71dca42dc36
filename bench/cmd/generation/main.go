// Command generation measures kctrl gen beside controller-gen, in one run on one machine: whole processes on the API
// packages of well known operators, with everything to do, with nothing to do, after one type was edited, and with an empty
// Go build cache; and on projects of 10 and of 1,000 kinds. controller-gen is called as a Makefile calls it, once for deep
// copies and once for manifests, and so is kctrl. It prints Markdown tables. Run it from bench/.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// options are the flags.
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
	flag.StringVar(&o.kctrl, "kctrl", "../bin/kctrl", "the kctrl binary")
	flag.StringVar(&o.work, "work", "", "folder for the copies (default: a temporary one, removed at the end)")
	flag.StringVar(&o.project, "project", "", "measure only projects whose name contains this")
	flag.IntVar(&o.runs, "runs", 5, "how often everything is run; medians are printed")
	flag.IntVar(&o.cold, "cold", 1, "how often everything is run with an empty Go build cache")
	flag.IntVar(&o.kinds, "kinds", 1000, "how many kinds the larger of the generated projects has; 0 leaves both out")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := measure(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "generation:", err)
		os.Exit(1)
	}
}
