package simulator

import (
	"slices"
	"time"
)

// faultAt returns the kind of the fault at a call, or "", and marks the fault as fired.
func (r *run) faultAt(target string, number int) Kind {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.plan.Faults {
		if f.At == target && f.Number == number && !slices.Contains(r.fired, f) {
			r.fired = append(r.fired, f)
			return f.Kind
		}
		if f.At == target && f.Kind == Reject && number > f.Number {
			return f.Kind
		}
	}
	return ""
}

// eventAt numbers an event, and returns the fault at it, or the zero value.
func (r *run) eventAt(e *Event) Fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[e.Target]++
	e.Number = r.counts[e.Target]
	for _, f := range r.plan.Faults {
		if f.At == e.Target && f.Number == e.Number && !slices.Contains(r.fired, f) {
			r.fired = append(r.fired, f)
			e.Fault = string(f.Kind)
			if f.Kind == Cut || f.Kind == Hide {
				r.events = append(r.events, e)
				e.Time = time.Since(r.began)
			}
			return f
		}
	}
	return Fault{}
}

// hide makes the watches of a kind wait for a while, and then fail once with 410 Gone.
func (r *run) hide(p *process, kind string, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hidden[p.name+" "+kind] = time.Now().Add(d)
}

// isGone reports whether a watch was hidden and must fail with 410 Gone. It first waits until the end of that time.
func (r *run) isGone(p *process, c *Call) bool {
	r.mu.Lock()
	key := p.name + " " + c.resource.kind()
	until, hidden := r.hidden[key]
	delete(r.hidden, key)
	r.mu.Unlock()
	if hidden {
		sleep(p.ctx, time.Until(until))
	}
	return hidden
}
