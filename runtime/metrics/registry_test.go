package metrics

import (
	"math"
	"strings"
	"testing"
)

func TestAskingTwiceGivesTheSameMetric(t *testing.T) {
	r := NewRegistry()
	r.Counter("a_total", "A.", "x").Inc("1")
	r.Counter("a_total", "Other words.", "x").Inc("1")
	r.Histogram("b", "", []float64{1, 2}).Observe(1)
	r.Histogram("b", "", []float64{1, 2, math.Inf(+1)}).Observe(1)
	if a, b := r.Counter("a_total", "", "x").Value("1"), r.Histogram("b", "", []float64{1, 2}).Count(); a != 2 || b != 2 {
		t.Errorf("counter is %v, histogram has %v", a, b)
	}
}

func TestFunctionsAreReadAtEachScrape(t *testing.T) {
	r := NewRegistry()
	value := 1.0
	r.GaugeFunc("a", "A.", func() float64 { return value })
	r.CounterFunc("b_total", "B.", func() float64 { return 10 * value })
	value = 2
	wantText(t, r, "# HELP a A.\n# TYPE a gauge\na 2\n# HELP b_total B.\n# TYPE b_total counter\nb_total 20\n")
	r.GaugeFunc("a", "A.", func() float64 { return 7 })
	if got := r.Gauge("a", "").Value(); got != 7 {
		t.Errorf("got %v from the second function", got)
	}
	r.Gauge("a", "").Set(8)
	if got := r.Gauge("a", "").Value(); got != 8 {
		t.Errorf("got %v after Set", got)
	}
}

func TestNilRegistryGivesMetricsThatWork(t *testing.T) {
	var r *Registry
	c := r.Counter("a_total", "", "x")
	c.Inc("1")
	if c.Value("1") != 1 || r.Counter("a_total", "", "x").Value("1") != 0 {
		t.Error("the metric does not count, or a nil registry keeps it")
	}
	r.GaugeFunc("b", "", func() float64 { return 1 })
	RegisterProcess(r)
	wantText(t, r, "")
}

func TestNilMetricsDoNothing(t *testing.T) {
	var c *Counter
	var g *Gauge
	var h *Histogram
	c.Inc()
	g.Set(1)
	g.Add(1)
	g.SetFunc(func() float64 { return 1 })
	h.Observe(1)
	if c.Value() != 0 || g.Value() != 0 || h.Count() != 0 || h.Sum() != 0 {
		t.Error("a nil metric has a value")
	}
}

func TestMistakesPanicWithTheReason(t *testing.T) {
	r := NewRegistry()
	r.Counter("a_total", "", "x")
	r.Histogram("h", "", []float64{1})
	for want, mistake := range map[string]func(){
		`metrics: a_total asked for as gauge with labels ["x"], but it exists as counter with labels ["x"]`: func() {
			r.Gauge(
				"a_total", "", "x")
		},
		`metrics: a_total asked for as counter with labels [], but it exists as counter with labels ["x"]`: func() { r.Counter("a_total", "") },
		`but it exists as histogram with labels [] and buckets [1]`:                                        func() { r.Histogram("h", "", []float64{2}) },
		`metrics: a_total has 1 labels ["x"], got the values ["1" "2"]`:                                    func() { r.Counter("a_total", "", "x").Inc("1", "2") },
		`metrics: a_total: a counter cannot be changed by -1`:                                              func() { r.Counter("a_total", "", "x").Add(-1, "1") },
		`metrics: "1a" is not a metric name`: func() {
			r.Gauge(
				"1a", "")
		},
		`metrics: "" is not a metric name`:            func() { r.Gauge("", "") },
		`metrics: b: "x:y" is not a label name`:       func() { r.Gauge("b", "", "x:y") },
		`metrics: b: "__x" is not a label name`:       func() { r.Gauge("b", "", "__x") },
		`metrics: b: "le" is not a label name`:        func() { r.Histogram("b", "", nil, "le") },
		`metrics: b: label "x" twice`:                 func() { r.Gauge("b", "", "x", "x") },
		`metrics: b: buckets [1 1] are not ascending`: func() { r.Histogram("b", "", []float64{1, 1}) },
		`metrics: exponential buckets from 0 by 2`:    func() { ExponentialBuckets(0, 2, 3) },
	} {
		func() {
			defer func() {
				if got, _ := recover().(string); !strings.Contains(got, want) {
					t.Errorf("panicked with %q, want %q", got, want)
				}
			}()
			mistake()
		}()
	}
}

func TestExponentialBuckets(t *testing.T) {
	got := ExponentialBuckets(1, 10, 4)
	if len(got) != 4 || got[0] != 1 || got[3] != 1000 {
		t.Errorf("got %v", got)
	}
}
