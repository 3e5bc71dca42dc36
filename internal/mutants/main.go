//go:build unix

// Command mutants measures which mistakes in the code the tests of make test catch. It plants small mistakes, the
// mutants, in the code of the scaffolder, the generators and the runtime, one at a time, and runs the tests that reach
// each mutant. A mutant is caught if a test fails. A mutant has survived if all tests pass, which shows a gap. The
// command works in three steps:
//
//  1. It copies the repository into a temporary directory, finds all possible mutants there (sites.go), and chooses
//     some by a seed. It puts each of them behind a condition (instrument.go), so that it compiles all of them at once.
//  2. It compiles the tests of every package that can reach a mutant. It runs each test alone without an active mutant
//     and records its time and the mutants that it reaches (suite.go). It excludes tests that fail.
//  3. For each mutant it runs the tests that reach it until one fails: first the quick tests of the mutant's own
//     package, then other quick tests, then slow ones.
//
// The choice depends on the seed and on the text of the mutated statements, not on line numbers. So an unrelated change
// of the code keeps the mutants, and -compare lists the mutants that a change of the tests no longer catches:
//
//	go run ./internal/mutants -o before.json              # before the change
//	go run ./internal/mutants -compare before.json        # after it
//
// Tests run as in make test, with the in-memory API server, without the race detector and without fresh seeds.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// area is a part of the code that gets an equal share of the mutants.
type area struct {
	name     string
	patterns []string // package patterns
}

var areas = []area{
	{"scaffold", []string{"./internal/scaffold/..."}},
	{"generate", []string{"./internal/generate/..."}},
	{"informer", []string{"./runtime/informer", "./runtime/reflector"}},
	{"cache", []string{"./runtime/cache"}},
	{"controller", []string{"./runtime/controller"}},
	{"client", []string{"./runtime/client"}},
}

// modules are the directories of the modules whose tests make test runs.
var modules = []string{".", "examples", "examples/cronjob"}

// options are the values of the flags.
type options struct {
	repository string
	seed       uint64
	count      int // 0: every mutant
	areas      []area
	tests      []string // patterns of the packages with tests
	modules    []string
	skip       string // path of a list of tests to skip
	jobs       int
	result     string // path of the result
	compare    string // path of an earlier result
}

func main() {
	opts := options{areas: areas, modules: modules}
	flag.StringVar(&opts.repository, "C", ".", "`directory` of the repository")
	flag.Uint64Var(&opts.seed, "seed", 1, "`seed` that chooses the mutants")
	flag.IntVar(&opts.count, "count", 120, "`number` of mutants, in equal shares for all areas")
	all := flag.Bool("all", false, "run every possible mutant")
	packages := flag.String("packages", "", "comma-separated `patterns` of the packages to mutate, each of them an area")
	tests := flag.String("tests", "", "comma-separated `patterns` of the packages whose tests run, instead of all")
	flag.StringVar(&opts.skip, "skip", "", "`file` with a line \"package pattern\" for each test that make test skips")
	flag.IntVar(&opts.jobs, "jobs", runtime.NumCPU(), "`number` of test programs that run at the same time")
	flag.StringVar(&opts.result, "o", "bin/mutants.json", "`file` for the result")
	flag.StringVar(&opts.compare, "compare", "", "earlier result; exit 1 if a mutant that it caught survives")
	flag.Parse()
	if *all {
		opts.count = 0
	}
	if *packages != "" {
		opts.areas = nil
		for pattern := range strings.SplitSeq(*packages, ",") {
			opts.areas = append(opts.areas, area{pattern, []string{pattern}})
		}
	}
	if opts.tests = []string{"./..."}; *tests != "" {
		opts.tests, opts.modules = strings.Split(*tests, ","), []string{"."}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout, opts)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run measures the mutants and prints the result. It returns an error if the measurement fails, or if a mutant that was
// caught in the earlier result is no longer caught.
func run(ctx context.Context, out io.Writer, opts options) error {
	// Keep the name short: tests create sockets below it, and paths of sockets have a limit.
	work, err := os.MkdirTemp("", "km")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	root := filepath.Join(work, "src")
	if err := copyRepository(ctx, opts.repository, root); err != nil {
		return err
	}
	sites, err := findSites(ctx, root, opts.areas)
	if err != nil {
		return err
	}
	possible := len(sites)
	sites, err = plant(ctx, root, sites, opts)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "seed %d chooses %d of %d possible mutants\n", opts.seed, len(sites), possible)
	s, err := newSuite(ctx, work, root, out, opts, sites)
	if err != nil {
		return err
	}
	if err := s.record(ctx); err != nil {
		return err
	}
	s.measure(ctx, sites)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	res := result{Seed: opts.seed, Mutants: sites, Excluded: s.excluded}
	res.summarize(out)
	return compareAndWrite(out, res, opts)
}

// measure runs the tests of every mutant and sets its Result and By.
func (s *suite) measure(ctx context.Context, sites []*site) {
	var printing sync.Mutex
	start, done := time.Now(), 0
	// Run in random order, which mixes the areas, so that jobs seldom wait for the tests of one package.
	parallel(s.jobs, slices.SortedFunc(slices.Values(sites), func(a, b *site) int {
		return cmp.Compare(a.rank, b.rank)
	}), func(st *site) {
		s.try(ctx, st)
		printing.Lock()
		defer printing.Unlock()
		done++
		if ctx.Err() == nil {
			fmt.Fprintf(s.out, "%4.0fs [%d/%d] %s\n", time.Since(start).Seconds(), done, len(sites), st)
		}
	})
}

// parallel calls f for each item, at most jobs at a time, and returns when all calls have returned.
func parallel[T any](jobs int, items []T, f func(T)) {
	var running sync.WaitGroup
	slots := make(chan struct{}, max(1, jobs))
	for _, item := range items {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			f(item)
		})
	}
	running.Wait()
}
