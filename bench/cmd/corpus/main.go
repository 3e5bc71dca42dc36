// Command corpus runs controller-gen and kctrl gen on the API packages of well-known operators, with the arguments of
// their Makefiles. It compares the outputs byte for byte, prints a Markdown table, and fails on a difference. Run it
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
	repeat  int
	keep    bool
	tools   string
	compile bool
}

func main() {
	var o options
	flag.StringVar(&o.kctrl, "kctrl", "../bin/kctrl", "path of kctrl")
	flag.StringVar(&o.work, "work", "", "directory of the copies (default: a temporary one)")
	flag.StringVar(&o.project, "project", "", "only projects whose name contains this text")
	flag.IntVar(&o.repeat, "repeat", 1, "number of runs of kctrl, which must all write the same")
	flag.BoolVar(&o.keep, "keep", false, "keep the copies and the output")
	flag.BoolVar(&o.compile, "compile", false, "compile every package with Go code from kctrl; slow with an "+
		"empty build cache")
	flag.StringVar(&o.tools, "controller-tools", "", "compare on the test data of this checkout of controller-tools "+
		"instead of the operators")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	same, err := compareAll(ctx, os.Stdout, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
	}
	if err != nil || !same {
		os.Exit(1)
	}
}
