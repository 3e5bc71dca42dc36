package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/kctrl-dev/kctrl/bench/internal/process"
	"github.com/kctrl-dev/kctrl/bench/internal/table"
)

// The ways in which a client receives objects.
const (
	listed   = "LIST"      // one list
	streamed = "WatchList" // the initial events of a watch
	changed  = "events"    // one event for each object of the previous list
)

var ways = []string{listed, streamed, changed}

// The figures, per object.
const (
	cpuFigure         = "CPU, ns"
	allocationsFigure = "allocations"
	bytesFigure       = "bytes"
)

// job is one measurement.
type job struct {
	side, format, way string
	size              int
}

func (j job) String() string { return fmt.Sprintf("%s/%s/%s/%d", j.side, j.format, j.way, j.size) }

// jobs returns the jobs that replay the bodies of a format and a size.
func jobs(f format, size int) []job {
	var all []job
	for _, way := range ways {
		for _, side := range []string{kctrlSide, peerSide} {
			all = append(all, job{side, f.name, way, size})
		}
	}
	return all
}

// follow prepares a cache of all objects of a server, whose handler calls seen for each event. It returns the function
// that starts the cache. The cache ends with ctx.
type follow func(ctx context.Context, server *server, seen func()) (start func() error, err error)

// runJob runs a job and prints the figures as JSON.
func runJob(ctx context.Context, text, dir string) error {
	var j job
	if _, err := fmt.Sscanf(strings.ReplaceAll(text, "/", " "), "%s %s %s %d", &j.side, &j.format, &j.way,
		&j.size); err != nil {
		return fmt.Errorf("job %q: %w", text, err)
	}
	f, err := formatOf(j.format)
	if err != nil {
		return err
	}
	bodies, err := f.open(dir)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	figures, err := j.measure(ctx, f, newServer(ctx, f, bodies, j.way))
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(figures)
}

func (j job) measure(ctx context.Context, f format, s *server) (table.Figures, error) {
	follow := f.kctrl
	if j.side == peerSide {
		follow = f.peer
	}
	events := make(chan struct{}, 1)
	count, want := 0, j.size
	seen := func() {
		if count++; count == want {
			events <- struct{}{}
		}
	}
	start, err := follow(ctx, s, seen)
	if err != nil {
		return nil, err
	}
	before := take()
	if err := start(); err != nil {
		return nil, err
	}
	if err := await(ctx, events, s); err != nil {
		return nil, err
	}
	if j.way == changed {
		count = 0 // the handler is idle until the events arrive
		before = take()
		s.begin()
		if err := await(ctx, events, s); err != nil {
			return nil, err
		}
	}
	figures := take().since(before, j.size)
	if streams, lists := s.streams.Load(), s.lists.Load(); (streams == 1) != (j.way == streamed) || streams+lists != 1 {
		return nil, fmt.Errorf("%s: client read %d streaming lists and %d other lists", j, streams, lists)
	}
	return figures, nil
}

func await(ctx context.Context, events <-chan struct{}, s *server) error {
	select {
	case <-events:
		return nil
	case err := <-s.failed:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// usage is the resource usage of this process.
type usage struct {
	cpu, allocations, bytes float64
}

func take() usage {
	cpu := process.CPU()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return usage{float64(cpu), float64(stats.Mallocs), float64(stats.TotalAlloc)}
}

// since returns the usage per object since an earlier sample.
func (u usage) since(before usage, count int) table.Figures {
	n := float64(count)
	return table.Figures{
		cpuFigure:         (u.cpu - before.cpu) / n,
		allocationsFigure: (u.allocations - before.allocations) / n,
		bytesFigure:       (u.bytes - before.bytes) / n,
	}
}
