package simulator

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// start starts a process of the operator.
func (r *run) start(name string) {
	p := &process{name: name, run: r, user: r.operator.User, faulty: true, began: time.Now(), seen: map[string]string{}}
	p.ctx, p.crash = context.WithCancel(r.ctx)
	r.mu.Lock()
	r.living[name] = p
	r.mu.Unlock()
	logger := slog.New(&logHandler{lines: r.logs, alive: p.ctx})
	r.processes.Go(func() {
		err := r.operator.run(p, logger, r.plan.Replicas)
		if p.ctx.Err() != nil {
			return
		}
		r.mu.Lock()
		if p.leaseless.IsZero() { // otherwise, the process ends because it has lost its lease
			r.ends = append(r.ends, fmt.Sprintf("%s: %v", name, err))
		}
		stop := len(r.ends) > mostEnds
		r.mu.Unlock()
		if !stop {
			r.restart(p)
		}
	})
}

// restart crashes a process, and starts it again later.
func (r *run) restart(p *process) {
	p.crash()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || r.living[p.name] != p {
		return
	}
	r.living[p.name] = nil
	r.processes.Go(func() {
		if sleep(r.ctx, r.pace.restart); r.ctx.Err() == nil {
			r.start(p.name)
		}
	})
}

// restartAll restarts the processes of the operator.
func (r *run) restartAll() {
	r.gate.touch()
	r.mu.Lock()
	var all []*process
	for _, p := range r.living {
		if p != nil {
			all = append(all, p)
		}
	}
	r.mu.Unlock()
	for _, p := range all {
		r.restart(p)
	}
}
