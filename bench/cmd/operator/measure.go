package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kctrl-dev/kctrl/bench/cmd/operator/side"
	"github.com/kctrl-dev/kctrl/bench/internal/process"
	"github.com/kctrl-dev/kctrl/bench/internal/table"
	"github.com/kctrl-dev/kctrl/bench/internal/widgets"
)

// idling is the idle time before the memory of an operator without objects is read.
const idling = 20 * time.Second

// measurement measures both operators on one API server.
type measurement struct {
	options
	sides      []*operator
	kubeconfig string
	server     *widgets.Server
}

// measure first measures the operators without objects, if none exist yet. Then it creates the objects and measures the
// other figures.
func (m *measurement) measure(ctx context.Context) error {
	have, err := m.server.Count(ctx)
	if err != nil {
		return err
	}
	for i := 0; i < m.runs && have == 0; i++ {
		if err := m.inTurn(ctx, m.measureIdle); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "creating %d objects\n", m.objects-have)
	if err := m.server.Populate(ctx, m.objects, true); err != nil {
		return err
	}
	for range m.runs {
		if err := m.inTurn(ctx, m.measureLoaded); err != nil {
			return err
		}
		if m.reconciles > 0 {
			if err := m.with(ctx, m.sides[0], m.measureViews, side.ReadEnv+"="+side.ReadView); err != nil {
				return err
			}
		}
	}
	return nil
}

// phase measures a running operator.
type phase func(ctx context.Context, name string, r *running, figures table.Figures) error

func (m *measurement) inTurn(ctx context.Context, measure phase) error {
	for _, o := range m.sides {
		if err := m.with(ctx, o, measure); err != nil {
			return err
		}
	}
	return nil
}

// with runs operator o during a measurement.
func (m *measurement) with(ctx context.Context, o *operator, measure phase, env ...string) error {
	log := ""
	if m.logs != "" {
		log = filepath.Join(m.logs, o.name+".log")
	}
	r, err := o.start(ctx, m.kubeconfig, log, m.workers, env...)
	if err != nil {
		return fmt.Errorf("start %s: %w", o.name, err)
	}
	defer r.stop()
	figures := table.Figures{}
	if err := measure(ctx, o.name, r, figures); err != nil {
		return fmt.Errorf("%s: %w", o.name, err)
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", o.name, figures)
	o.runs.Add(figures)
	return nil
}

func (m *measurement) measureIdle(ctx context.Context, _ string, r *running, figures table.Figures) (err error) {
	if err := sleep(ctx, idling); err != nil {
		return err
	}
	figures[idle], err = r.memory(process.Resident)
	return err
}

// measureLoaded measures an operator after all objects exist.
func (m *measurement) measureLoaded(ctx context.Context, name string, r *running, figures table.Figures) error {
	start, err := r.await(ctx, int64(m.objects))
	if err != nil {
		return fmt.Errorf("first reconciles: %w", err)
	}
	figures[syncCPU] = start.CPU
	if err := sleep(ctx, m.settle); err != nil {
		return err
	}
	for figure, line := range map[string]string{steady: process.Resident, peak: process.Peak} {
		if figures[figure], err = r.memory(line); err != nil {
			return err
		}
	}
	if m.profiles != "" {
		if _, err := r.send("heap", m.profilePath(name, "heap")); err != nil {
			return err
		}
	}
	for _, p := range []struct {
		what    string
		count   int
		measure func() error
	}{
		{"latency", m.changes, func() error { return m.measureLatency(ctx, r, figures) }},
		{"touches", m.touches, func() error { return m.measureTouches(ctx, r, figures) }},
		{"reconciles", m.reconciles, func() error { return m.measureDriven(r, figures, driven) }},
	} {
		if err := m.profiled(name, p.what, r, p.count, p.measure); err != nil {
			return err
		}
	}
	return nil
}

func (m *measurement) measureViews(ctx context.Context, name string, r *running, figures table.Figures) error {
	if _, err := r.await(ctx, int64(m.objects)); err != nil {
		return fmt.Errorf("first reconciles: %w", err)
	}
	return m.profiled(name, "views", r, m.reconciles, func() error { return m.measureDriven(r, figures, viewed) })
}

// profiled calls measure if count is positive. It writes a CPU profile of the call if profiles are enabled.
func (m *measurement) profiled(name, what string, r *running, count int, measure func() error) error {
	if count == 0 {
		return nil
	}
	if m.profiles == "" {
		return measure()
	}
	if _, err := r.send("profile", m.profilePath(name, what)); err != nil {
		return err
	}
	err := measure()
	_, endErr := r.send("profile")
	return errors.Join(err, endErr)
}

func (m *measurement) profilePath(name, what string) string {
	path, err := filepath.Abs(filepath.Join(m.profiles, name+"."+what+".pprof"))
	if err != nil {
		return m.profiles
	}
	return path
}

// measureDriven measures reconciles that find nothing to do. A channel of events triggers them, so neither the server
// nor a connection takes part.
func (m *measurement) measureDriven(r *running, figures table.Figures, figure string) error {
	objects := min(m.objects, 10_000)
	before, err := r.send("drive", m.reconciles/5, objects) // warms up
	if err != nil {
		return err
	}
	after, err := r.send("drive", m.reconciles, objects)
	figures[figure] = perSecond(before, after)
	return err
}

func perSecond(before, after side.Sample) float64 {
	return float64(after.Reconciles-before.Reconciles) / (after.CPU - before.CPU)
}
