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

// The ways in which objects come.
const (
	listed   = "LIST"      // one list
	streamed = "WatchList" // the initial events of a watch
	changed  = "events"    // an event for each object that was listed before
)

var ways = []string{listed, streamed, changed}

// The figures, each for one object.
const (
	cpuFigure         = "CPU, ns"
	allocationsFigure = "allocations"
	bytesFigure       = "bytes"
)

// job is one thing to measure.
type job struct {
	side, format, way string
	size              int
}

func (j job) String() string { return fmt.Sprintf("%s/%s/%s/%d", j.side, j.format, j.way, j.size) }

// jobs are those that have the bodies of a format and a size.
func jobs(f format, size int) []job {
	var all []job
	for _, way := range ways {
		for _, side := range []string{kctrlSide, peerSide} {
			all = append(all, job{side, f.name, way, size})
		}
	}
	return all
}

// follow makes what caches all objects of a server, with a handler that calls seen for each event, and returns how that
// is started. It ends with ctx.
type follow func(ctx context.Context, server *server, seen func()) (start func() error, err error)

// runJob measures a job and prints the figures as JSON.
func runJob(ctx context.Context, text, folder string) error {
	var j job
	if _, err := fmt.Sscanf(strings.ReplaceAll(text, "/", " "), "%s %s %s %d", &j.side, &j.format, &j.way,
		&j.size); err != nil {
		return fmt.Errorf("job %q: %w", text, err)
	}
	f, err := formatOf(j.format)
	if err != nil {
		return err
	}
	bodies, err := f.open(folder)
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
		count = 0 // the handler rests until the events come
		before = take()
		s.begin()
		if err := await(ctx, events, s); err != nil {
			return nil, err
		}
	}
	figures := take().since(before, j.size)
	if streams, lists := s.streams.Load(), s.lists.Load(); (streams == 1) != (j.way == streamed) || streams+lists != 1 {
		return nil, fmt.Errorf("%s: %d streaming lists and %d others were read", j, streams, lists)
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

// usage is what this process has used so far.
type usage struct {
	cpu, allocations, bytes float64
}

func take() usage {
	cpu := process.CPU()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return usage{float64(cpu), float64(stats.Mallocs), float64(stats.TotalAlloc)}
}

// since returns what was used for each of count objects.
func (u usage) since(before usage, count int) table.Figures {
	n := float64(count)
	return table.Figures{
		cpuFigure:         (u.cpu - before.cpu) / n,
		allocationsFigure: (u.allocations - before.allocations) / n,
		bytesFigure:       (u.bytes - before.bytes) / n,
	}
}
