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
	// families holds every metric by name.
	families map[string]*family
	// included are handlers that serve further metrics. The slice is replaced, never modified.
	included []http.Handler
	// parent is the registry that exposes the metrics until Close. It is nil for a registry that NewRegistry returned.
	parent *Registry
	subs   []*Registry // not closed, in order of creation
	// shapes has the shape of each metric, including the metrics of subs. It is used only in a registry without a parent.
	shapes map[string]string
}

// NewRegistry returns an empty registry. [RegisterProcess] adds the metrics of the process.
func NewRegistry() *Registry {
	return &Registry{families: map[string]*family{}, shapes: map[string]string{}}
}

// Sub returns a registry for the metrics of one owner with a limited lifetime, such as a queue or a cluster. r exposes
// these metrics together with its own until [Registry.Close]. If both registries have a series with the same name and
// labels, r exposes its own.
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

// Close ends the exposure of a registry that [Registry.Sub] returned, and releases the functions of its gauges. Its
// metrics can still be used. Further calls, and calls on other registries, do nothing.
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
	shape := wanted.shape()
	if existing, ok := r.shapes[wanted.name]; ok && existing != shape {
		panic(fmt.Sprintf("metrics: %s asked for as %s, but it exists as %s", wanted.name, shape, existing))
	}
	r.shapes[wanted.name] = shape
}

// Counter returns the counter of that name, and creates it if necessary. By convention, the name ends in _total.
// Counter panics if the name is invalid, or belongs to a metric of another type or with other labels.
func (r *Registry) Counter(name, help string, labels ...string) *Counter {
	return &Counter{r.family(&family{kind: kindCounter, name: name, help: help, labels: labels})}
}

// Gauge returns the gauge of that name, and creates it if necessary. It panics in the same cases as [Registry.Counter].
func (r *Registry) Gauge(name, help string, labels ...string) *Gauge {
	return &Gauge{r.family(&family{kind: kindGauge, name: name, help: help, labels: labels})}
}

// Histogram returns the histogram of that name, and creates it if necessary. The buckets are upper bounds in ascending
// order. The last bound, +Inf, is implied. Without buckets, the bounds are [DefaultBuckets]. Histogram panics in the
// same cases as [Registry.Counter], and if the buckets are not ascending or differ from the buckets of the existing
// histogram.
func (r *Registry) Histogram(name, help string, buckets []float64, labels ...string) *Histogram {
	return &Histogram{r.family(&family{kind: kindHistogram, name: name, help: help, labels: labels,
		buckets: upperBounds(buckets)})}
}

// GaugeFunc exposes the result of value at each scrape as a gauge without labels. Another call replaces the function.
func (r *Registry) GaugeFunc(name, help string, value func() float64) {
	r.Gauge(name, help).SetFunc(value)
}

// CounterFunc is [Registry.GaugeFunc] for a value that only increases.
func (r *Registry) CounterFunc(name, help string, value func() float64) {
	r.Counter(name, help).family.at(nil).value.Store(&value)
}

// family returns the metric with the name and shape of wanted. If there is none, it adds wanted.
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
