package metrics

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
)

// Registry makes metrics and exposes them. A nil *Registry makes metrics that are not exposed anywhere.
type Registry struct {
	mu sync.RWMutex
	// families holds every metric that was asked for, by name.
	families map[string]*family
	// included have further metrics. The slice is replaced and not changed.
	included []http.Handler
	// parent exposes the metrics until Close; nil for a registry of NewRegistry.
	parent *Registry
	subs   []*Registry // not closed, in the order in which they were made
	// shapes holds the first family of each name, of subs too, in a registry without a parent.
	shapes map[string]*family
}

// NewRegistry returns an empty registry. See [RegisterProcess] for the metrics of the process itself.
func NewRegistry() *Registry {
	return &Registry{families: map[string]*family{}, shapes: map[string]*family{}}
}

// Sub returns a registry for the metrics of one owner, such as a queue or a cluster that comes and goes. r exposes them
// with its own until [Registry.Close]. Where both have a series of the same labels, r exposes its own.
func (r *Registry) Sub() *Registry {
	if r == nil {
		return nil
	}
	sub := NewRegistry()
	sub.parent = r
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subs = append(r.subs, sub)
	return sub
}

// Close ends the exposition of a registry that [Registry.Sub] has made, and releases the functions that its gauges call.
// Its metrics go on to count. It may be called twice, and does nothing for other registries.
func (r *Registry) Close() {
	if r == nil || r.parent == nil {
		return
	}
	r.parent.mu.Lock()
	defer r.parent.mu.Unlock()
	r.parent.subs = slices.DeleteFunc(r.parent.subs, func(sub *Registry) bool { return sub == r })
}

// root returns the registry that exposes r.
func (r *Registry) root() *Registry {
	for r.parent != nil {
		r = r.parent
	}
	return r
}

// mustHaveShape panics if another metric has the name of wanted.
func (r *Registry) mustHaveShape(wanted *family) {
	r.mu.Lock()
	defer r.mu.Unlock()
	existing, ok := r.shapes[wanted.name]
	if !ok {
		r.shapes[wanted.name] = &family{kind: wanted.kind, labels: wanted.labels, buckets: wanted.buckets}
		return
	}
	if !existing.sameShape(wanted) {
		panic(fmt.Sprintf("metrics: %s asked for as %s, but it exists as %s", wanted.name, wanted.shape(), existing.shape()))
	}
}

// Counter returns the counter of that name, which by convention ends in _total, and makes it when it does not exist.
// It panics when the name is taken by another kind of metric or with other labels, and when a name is not valid.
func (r *Registry) Counter(name, help string, labels ...string) *Counter {
	return &Counter{r.family(&family{kind: kindCounter, name: name, help: help, labels: labels})}
}

// Gauge returns the gauge of that name, and makes it when it does not exist. It panics as [Registry.Counter] does.
func (r *Registry) Gauge(name, help string, labels ...string) *Gauge {
	return &Gauge{r.family(&family{kind: kindGauge, name: name, help: help, labels: labels})}
}

// Histogram returns the histogram of that name, and makes it when it does not exist. The buckets are upper bounds in
// ascending order; the last one, +Inf, is implied; no buckets at all means [DefaultBuckets]. It panics as
// [Registry.Counter] does, and when the buckets are not ascending or not those of the existing histogram.
func (r *Registry) Histogram(name, help string, buckets []float64, labels ...string) *Histogram {
	return &Histogram{r.family(&family{kind: kindHistogram, name: name, help: help, labels: labels, buckets: upperBounds(buckets)})}
}

// GaugeFunc exposes what value returns at each scrape as a gauge without labels. A second call for the same name
// replaces the function.
func (r *Registry) GaugeFunc(name, help string, value func() float64) {
	r.Gauge(name, help).SetFunc(value)
}

// CounterFunc is [Registry.GaugeFunc] for a value that only grows.
func (r *Registry) CounterFunc(name, help string, value func() float64) {
	r.Counter(name, help).family.at(nil).setFunc(value)
}

// family returns the metric of the same name and shape as wanted, adding wanted when there is none.
func (r *Registry) family(wanted *family) *family {
	wanted.mustBeValid()
	wanted.labels = slices.Clone(wanted.labels)
	wanted.series, wanted.short = map[string]*series{}, map[shortKey]*series{}
	if len(wanted.labels) == 0 {
		wanted.at(nil) // Shown as zero from the start.
	}
	if r == nil {
		return wanted
	}
	r.root().mustHaveShape(wanted)
	r.mu.Lock()
	defer r.mu.Unlock()
	if existing, ok := r.families[wanted.name]; ok {
		return existing
	}
	r.families[wanted.name] = wanted
	return wanted
}
