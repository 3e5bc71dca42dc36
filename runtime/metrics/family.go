package metrics

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

type kind string

const (
	kindCounter   kind = "counter"
	kindGauge     kind = "gauge"
	kindHistogram kind = "histogram"
)

// family is one metric: a name, and one series per list of label values in use.
type family struct {
	kind    kind
	name    string
	help    string
	labels  []string
	buckets []float64

	mu sync.RWMutex
	// series is keyed by the labels in the text format, which is unique per list of values.
	series map[string]*series
	// short has the same series by label values, if they fit into a shortKey.
	short map[shortKey]*series
}

// shortKey is a list of at most two label values.
type shortKey [2]string

// series holds the value or the distribution for one list of label values.
type series struct {
	// bits is the float64 of a counter or gauge.
	bits atomic.Uint64
	// value, if set, is called instead of reading bits.
	value atomic.Pointer[func() float64]
	// values are the label values.
	values []string
	// distribution is set only in histograms.
	distribution *distribution
}

// distribution counts observations by bucket.
type distribution struct {
	mu sync.Mutex
	// counts has one element per bound and one for +Inf, not cumulative.
	counts []uint64
	sum    float64
}

// at returns the series with those label values, and creates it if necessary.
func (f *family) at(values []string) *series {
	if len(values) != len(f.labels) {
		panic(fmt.Sprintf("metrics: %s has %d labels %q, got the values %q", f.name, len(f.labels), f.labels, values))
	}
	var few shortKey
	if copy(few[:], values) == len(values) {
		f.mu.RLock()
		s, ok := f.short[few]
		f.mu.RUnlock()
		if ok {
			return s
		}
	}
	return f.atText(values, few)
}

// atText is like at, but finds the series by the labels as text. If few has all values, it adds the series to short.
func (f *family) atText(values []string, few shortKey) *series {
	var space [128]byte
	key := appendLabels(space[:0], f.labels, values)
	f.mu.RLock()
	s, ok := f.series[string(key)]
	f.mu.RUnlock()
	if ok {
		return s
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s, ok := f.series[string(key)]; ok {
		return s
	}
	s = &series{values: slices.Clone(values)}
	if f.kind == kindHistogram {
		s.distribution = &distribution{counts: make([]uint64, len(f.buckets)+1)}
	}
	f.series[string(key)] = s
	if len(values) <= len(few) {
		f.short[few] = s
	}
	return s
}

func (s *series) add(delta float64) {
	for {
		old := s.bits.Load()
		if s.bits.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+delta)) {
			return
		}
	}
}

func (s *series) read() float64 {
	if value := s.value.Load(); value != nil {
		return (*value)()
	}
	return math.Float64frombits(s.bits.Load())
}

// observe counts one observation in the first bucket whose bound is not below value. NaN is above every bound.
func (d *distribution) observe(value float64, bounds []float64) {
	bucket := len(bounds)
	if !math.IsNaN(value) {
		bucket, _ = slices.BinarySearch(bounds, value)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts[bucket]++
	d.sum += value
}

// snapshot returns a consistent copy of the counts and the sum.
func (d *distribution) snapshot() ([]uint64, float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.counts), d.sum
}

// shape describes the properties that two metrics of the same name must share.
func (f *family) shape() string {
	text := fmt.Sprintf("%s with labels %q", f.kind, f.labels)
	if f.kind == kindHistogram {
		text += fmt.Sprintf(" and buckets %v", f.buckets)
	}
	return text
}

func (f *family) mustBeValid() {
	if !validName(f.name, true) {
		panic(fmt.Sprintf("metrics: %q is not a metric name", f.name))
	}
	for i, label := range f.labels {
		switch {
		case !validName(label, false), strings.HasPrefix(label, "__"), f.kind == kindHistogram && label == "le":
			panic(fmt.Sprintf("metrics: %s: %q is not a label name", f.name, label))
		case slices.Contains(f.labels[:i], label):
			panic(fmt.Sprintf("metrics: %s: label %q twice", f.name, label))
		}
	}
	for i, bound := range f.buckets {
		if math.IsNaN(bound) || i > 0 && bound <= f.buckets[i-1] {
			panic(fmt.Sprintf("metrics: %s: buckets %v are not ascending", f.name, f.buckets))
		}
	}
}

// validName reports whether name is valid in the text format: it consists of letters, digits and underscores and does
// not begin with a digit. If colons is set, as for metrics, it may also contain colons.
func validName(name string, colons bool) bool {
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || colons && c == ':'
		digit := c >= '0' && c <= '9'
		if !letter && (!digit || i == 0) {
			return false
		}
	}
	return name != ""
}
