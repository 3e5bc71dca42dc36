package metrics

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Counter is a number that only increases, such as a number of errors. A nil *Counter ignores all calls.
type Counter struct{ family *family }

// Inc adds one to the series with those label values, which are in the order of the label names. Like all methods with
// label values, it panics if their number is wrong.
func (c *Counter) Inc(labelValues ...string) { c.Add(1, labelValues...) }

// Add adds delta to the series with those label values. It panics if delta is negative.
func (c *Counter) Add(delta float64, labelValues ...string) {
	if c == nil {
		return
	}
	if !(delta >= 0) {
		panic(fmt.Sprintf("metrics: %s: a counter cannot be changed by %v", c.family.name, delta))
	}
	c.family.at(labelValues).add(delta)
}

// Value returns the count of the series with those label values, or zero if the series does not exist.
func (c *Counter) Value(labelValues ...string) float64 {
	if c == nil {
		return 0
	}
	return c.family.at(labelValues).read()
}

// Gauge is a number that can increase and decrease, such as the length of a queue. A nil *Gauge ignores all calls.
type Gauge struct{ family *family }

// Set sets the value of the series with those label values.
func (g *Gauge) Set(value float64, labelValues ...string) {
	if g != nil {
		s := g.family.at(labelValues)
		s.value.Store(nil)
		s.bits.Store(math.Float64bits(value))
	}
}

// Add adds delta to the series with those label values. It has no visible effect on a series set by [Gauge.SetFunc].
func (g *Gauge) Add(delta float64, labelValues ...string) {
	if g != nil {
		g.family.at(labelValues).add(delta)
	}
}

// SetFunc makes the series with those label values expose the result of value at each scrape, until the next call of
// Set or SetFunc. The goroutines of scrapes call value concurrently.
func (g *Gauge) SetFunc(value func() float64, labelValues ...string) {
	if g != nil {
		g.family.at(labelValues).value.Store(&value)
	}
}

// Value returns the value of the series with those label values, or zero if it has not been set.
func (g *Gauge) Value(labelValues ...string) float64 {
	if g == nil {
		return 0
	}
	return g.family.at(labelValues).read()
}

// Histogram counts observations by size, such as durations in seconds. A nil *Histogram ignores all calls.
type Histogram struct{ family *family }

// Observe counts value in the series with those label values.
func (h *Histogram) Observe(value float64, labelValues ...string) {
	if h != nil {
		h.family.at(labelValues).distribution.observe(value, h.family.buckets)
	}
}

// ObserveSince observes the time that has passed since start, in seconds.
func (h *Histogram) ObserveSince(start time.Time, labelValues ...string) {
	h.Observe(time.Since(start).Seconds(), labelValues...)
}

// Count returns the number of observations of the series with those label values.
func (h *Histogram) Count(labelValues ...string) uint64 {
	if h == nil {
		return 0
	}
	counts, _ := h.family.at(labelValues).distribution.snapshot()
	var total uint64
	for _, count := range counts {
		total += count
	}
	return total
}

// Sum returns the sum of the values observed in the series with those label values.
func (h *Histogram) Sum(labelValues ...string) float64 {
	if h == nil {
		return 0
	}
	_, sum := h.family.at(labelValues).distribution.snapshot()
	return sum
}

// DefaultBuckets returns bounds for durations of network requests, from 0.005 to 10 seconds. The caller owns the slice.
func DefaultBuckets() []float64 {
	return []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
}

// ExponentialBuckets returns count bounds. The first is start, and each further one is factor times the previous one.
// It panics unless start is positive and factor is greater than one.
func ExponentialBuckets(start, factor float64, count int) []float64 {
	if !(start > 0 && factor > 1) {
		panic(fmt.Sprintf("metrics: exponential buckets from %v by %v", start, factor))
	}
	bounds := make([]float64, count)
	for i := range bounds {
		bounds[i] = start
		start *= factor
	}
	return bounds
}

// upperBounds returns the finite bounds for the given buckets.
func upperBounds(buckets []float64) []float64 {
	if len(buckets) == 0 {
		return DefaultBuckets()
	}
	if last := len(buckets) - 1; math.IsInf(buckets[last], +1) {
		buckets = buckets[:last]
	}
	return slices.Clone(buckets)
}
