// Package figure contains the objects and the measurements that both sides share. Each side is its own program, so that
// its code and memory belong to one runtime only.
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

// Side is one of the compared runtimes.
type Side struct {
	// Sync caches all objects of the API server, with a handler that adds each key to a queue. It returns when all keys
	// are in the queue.
	Sync func(ctx context.Context, config *rest.Config, form Form) (Queue, error)
	// Feed caches objects from memory. It calls each handler after it has added the key of an event to that handler's
	// queue, and returns when all handlers have received all objects.
	Feed func(ctx context.Context, objects []*v1.Widget, handlers []func(*v1.Widget)) (*Feed, error)
	// Operator runs a manager with a controller of the objects. All options except the form have their defaults, and logs
	// are discarded.
	Operator OperatorOf
}

// Form selects the cached form of objects.
type Form int

const (
	// Whole objects are cached unchanged.
	Whole Form = iota
	// Masked objects have only metadata and status.conditions.
	Masked
	// Unpacked objects stay decoded in caches that otherwise pack them.
	Unpacked
)

type Queue interface {
	Len() int
	// Drain gets all items and marks them as done.
	Drain()
}

// Feed is a cache of objects from memory.
type Feed struct {
	// Update sends an event with a new state. It may block.
	Update func(*v1.Widget)
	// List calls visit for all cached objects, in the cheapest way that the cache offers.
	List func(visit func(*v1.Widget)) error
}

// Figures are measured values by name.
type Figures = table.Figures

// Main is the main function of a side.
func Main(side Side) {
	what := flag.String("measure", "sync", "measurement: sync, masked, operator, unpacked, events, list or blocked")
	count := flag.Int("objects", 0, "number of objects on the API server of KUBECONFIG")
	profile := flag.String("cpuprofile", "", "file for a CPU profile")
	flag.IntVar(&runtime.MemProfileRate, "memprofilerate", 0,
		"average number of bytes between the allocations that -memprofile records")
	heap := flag.String("memprofile", "", "file for a profile of all allocations")
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

// profiled calls work, and writes a profile of it if the path is set.
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
		return fmt.Errorf("unknown measurement %q", what)
	}
	figures, err := measure()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(figures)
}

// config returns the client configuration of the API server, without a rate limit.
func config() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}
