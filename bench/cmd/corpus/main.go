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
	flag.StringVar(&o.kctrl, "kctrl", "../bin/kctrl", "the kctrl binary")
	flag.StringVar(&o.work, "work", "", "folder for the copies (default: a temporary one)")
	flag.StringVar(&o.project, "project", "", "compare only projects whose name contains this")
	flag.IntVar(&o.repeat, "repeat", 1, "how often kctrl runs; it has to write the same every time")
	flag.BoolVar(&o.keep, "keep", false, "leave the copies and what was written there")
	flag.BoolVar(&o.compile, "compile", false, "compile every package that kctrl writes Go into; takes long with an "+
		"empty build cache")
	flag.StringVar(&o.tools, "controller-tools", "", "compare on the test data in this checkout of controller-tools, in "+
		"place of the operators")
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
