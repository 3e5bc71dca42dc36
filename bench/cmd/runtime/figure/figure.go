// Package figure is what both sides of the measurement have in common: the objects, and how a figure is taken. A side is
// a program of its own, so that it holds the code and the memory of one runtime only.
package figure

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctrl-dev/kctrl/bench/internal/table"
	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
)

// Side is one of the runtimes that are compared.
type Side struct {
	// Sync caches all objects of the API server, with a handler that adds the key of each to a queue, and returns when
	// all are in the queue.
	Sync func(ctx context.Context, config *rest.Config, form Form) (Queue, error)
	// Feed caches objects that come from memory. Each handler is called after the key of an event was added to a queue
	// of its own. It returns when all handlers have seen all objects.
	Feed func(ctx context.Context, objects []*v1.Widget, handlers []func(*v1.Widget)) (*Feed, error)
	// Operator runs a manager with a controller of the objects, with default options but for the form, and logs discarded.
	Operator OperatorOf
}

// Form is how objects are kept in a cache.
type Form int

const (
	// Whole objects are kept as they are.
	Whole Form = iota
	// Masked objects have nothing but metadata and status.conditions.
	Masked
	// Unpacked objects stay decoded, where a side packs them otherwise.
	Unpacked
)

// Queue is the queue of a controller.
type Queue interface {
	Len() int
	// Drain gets all items and marks them as done.
	Drain()
}

// Feed is a cache of objects that come from memory.
type Feed struct {
	// Update sends an event with a new state. It may block.
	Update func(*v1.Widget)
	// List calls visit for all objects that are cached, in the way that costs a reader least.
	List func(visit func(*v1.Widget)) error
}

// Figures are what was measured, by their names.
type Figures = table.Figures

// Main is the main function of a side.
func Main(side Side) {
	what := flag.String("measure", "sync", "what to measure: sync, masked, operator, unpacked, events, list or blocked")
	count := flag.Int("objects", 0, "how many objects the API server of KUBECONFIG has")
	profile := flag.String("cpuprofile", "", "write a CPU profile to this file")
	flag.IntVar(&runtime.MemProfileRate, "memprofilerate", 0,
		"bytes an allocation, on average, that is recorded for -memprofile")
	heap := flag.String("memprofile", "", "write a profile of all allocations to this file at the end")
	flag.Parse()
	err := profiled(*profile, func() error { return run(context.Background(), side, *what, *count) })
	if err == nil && *heap != "" {
		err = writeAllocations(*heap)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// profiled calls work and writes a profile of it, if a path is given.
func profiled(path string, work func() error) error {
	if path == "" {
		return work()
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return err
	}
	err = work()
	pprof.StopCPUProfile()
	return errors.Join(err, file.Close())
}

func writeAllocations(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("allocs").WriteTo(file, 0), file.Close())
}

func run(ctx context.Context, side Side, what string, count int) error {
	measures := map[string]func() (Figures, error){
		"sync":     func() (Figures, error) { return measureSync(ctx, side, count, Whole) },
		"masked":   func() (Figures, error) { return measureSync(ctx, side, count, Masked) },
		"operator": func() (Figures, error) { return measureOperator(ctx, side, count, Whole) },
		"unpacked": func() (Figures, error) { return measureOperator(ctx, side, count, Unpacked) },
		"events":   func() (Figures, error) { return measureEvents(ctx, side) },
		"list":     func() (Figures, error) { return measureList(ctx, side) },
		"blocked":  func() (Figures, error) { return measureBlocked(ctx, side) },
	}
	measure, ok := measures[what]
	if !ok {
		return fmt.Errorf("there is nothing to measure by the name of %q", what)
	}
	figures, err := measure()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(figures)
}

// config returns how to reach the API server, without a limit of the client's own.
func config() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}
