// Command testsuite runs the tests of this repository, step by step, and reports progress and costs.
//
// make test calls it without flags. It runs all tests except those in [nightly]. Each entry there has a reason, and
// names a test in make test that protects the same guarantee. make test-all calls the program with -all, which also
// runs the nightly tests, the nightly steps and more seeds of each property.
//
// To measure the CPU seconds of each test, go test runs each test binary through this program (see measure). A test
// that uses more than [limit] fails the run unless [expensive] has a reason for it. With -update it writes the costs to
// docs/CONTRIBUTING.md. On systems without Linux's /proc it measures only the costs of packages.
//
// The program gets packages and files from the go command, and imports no other package of kctrl.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == measureCommand {
		os.Exit(measure(os.Args[2:]))
	}
	all := flag.Bool("all", false, "run the nightly tests and steps too, with more seeds")
	update := flag.Bool("update", false, "write the costs to docs/CONTRIBUTING.md")
	only := flag.String("step", "", "run only the step with this name")
	resume := flag.String("resume", "", "keep results in this directory, and skip packages that passed in them")
	skips := flag.Bool("skipped", false, "print the package and pattern of each nightly test, and run nothing")
	flag.Parse()
	if *skips {
		for _, t := range nightly {
			fmt.Fprintln(os.Stdout, t.pkg, t.pattern)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *all, *update, *only, *resume); err != nil {
		fmt.Fprintf(os.Stderr, "testsuite: %v\n", err)
		os.Exit(1)
	}
}

// run runs the steps and reports their results. It returns an error if a test failed or cost too much. If a run was
// interrupted, the next run with the same resume directory continues it.
func run(ctx context.Context, all, update bool, only, resume string) error {
	if resume == "" {
		scratch, err := os.MkdirTemp("", "testsuite")
		if err != nil {
			return err
		}
		defer os.RemoveAll(scratch)
		resume = scratch
	}
	results, err := filepath.Abs(filepath.Join(resume, "costs")) // a test binary runs in the directory of its package
	if err != nil {
		return err
	}
	s := &suite{all: all, start: time.Now(), results: results, out: os.Stdout, failed: map[string]bool{}}
	if s.kept, err = openResults(results); err != nil {
		return err
	}
	if err := s.plan(ctx, only); err != nil {
		return err
	}
	var interrupted error
	for _, p := range s.planned {
		if interrupted = s.runStep(ctx, p); interrupted != nil {
			break
		}
	}
	spent, known := childrenCPU()
	err = appendCosts(results, cost{Step: wholeRun, CPU: spent, Passed: true})
	if err := errors.Join(interrupted, err); err != nil {
		return err
	}
	costs, err := readCosts(results)
	if err != nil {
		return err
	}
	total := totalOf(costs)
	s.summarize(costs, total, known)
	if update && only == "" {
		err = writeTable(filepath.FromSlash("docs/CONTRIBUTING.md"), costs, total, all)
	}
	return errors.Join(err, s.verdict(costs))
}
