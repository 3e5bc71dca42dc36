package metrics

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
)

// Registry creates metrics and exposes them. The metrics of a nil *Registry are not exposed.
type Registry struct {
	mu sync.RWMutex
	// families has every metric by name.
	families map[string]*family
	// included have further metrics. The slice is replaced, never modified.
	included []http.Handler
	// parent exposes the metrics until Close. It is nil for a registry of NewRegistry.
	parent *Registry
	subs   []*Registry // not closed, in order of creation
	// shapes has the first family of each name, including those of subs, in a registry without a parent.
	shapes map[string]*family
}

// NewRegistry returns an empty registry. See [RegisterProcess] for the metrics of the process itself.
func NewRegistry() *Registry {
	return &Registry{families: map[string]*family{}, shapes: map[string]*family{}}
}

// Sub returns a registry for the metrics of one owner with a limited lifetime, such as a queue or a cluster. r exposes
// them with its own until [Registry.Close]. If both have a series with the same labels, r exposes its own.
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

// Close ends the exposition of a registry from [Registry.Sub], and releases the functions of its gauges. Its metrics
// continue to count. Further calls, and calls on other registries, do nothing.
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

// Counter returns the counter of that name, which by convention ends in _total, and creates it if needed. It panics if
// the name belongs to another type of metric or one with other labels, and for an invalid name.
func (r *Registry) Counter(name, help string, labels ...string) *Counter {
	return &Counter{r.family(&family{kind: kindCounter, name: name, help: help, labels: labels})}
}

// Gauge returns the gauge of that name, and creates it if needed. It panics as [Registry.Counter] does.
func (r *Registry) Gauge(name, help string, labels ...string) *Gauge {
	return &Gauge{r.family(&family{kind: kindGauge, name: name, help: help, labels: labels})}
}

// Histogram returns the histogram of that name, and creates it if needed. The buckets are upper bounds in ascending
// order; the last one, +Inf, is implied; no buckets mean [DefaultBuckets]. It panics as [Registry.Counter] does, and if
// the buckets are not ascending or differ from those of the existing histogram.
func (r *Registry) Histogram(name, help string, buckets []float64, labels ...string) *Histogram {
	return &Histogram{r.family(&family{kind: kindHistogram, name: name, help: help, labels: labels,
		buckets: upperBounds(buckets)})}
}

// GaugeFunc exposes the result of value at each scrape as a gauge without labels. A second call for the same name
// replaces the function.
func (r *Registry) GaugeFunc(name, help string, value func() float64) {
	r.Gauge(name, help).SetFunc(value)
}

// CounterFunc is [Registry.GaugeFunc] for a value that only increases.
func (r *Registry) CounterFunc(name, help string, value func() float64) {
	r.Counter(name, help).family.at(nil).setFunc(value)
}

// family returns the metric with the name and shape of wanted. It adds wanted if there is none.
func (r *Registry) family(wanted *family) *family {
	wanted.mustBeValid()
	wanted.labels = slices.Clone(wanted.labels)
	wanted.series, wanted.short = map[string]*series{}, map[shortKey]*series{}
	if len(wanted.labels) == 0 {
		wanted.at(nil) // Exposed as zero from the start.
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
