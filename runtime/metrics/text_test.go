package metrics

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// text returns the registry's metrics in the text format.
func text(t *testing.T, r *Registry) string {
	t.Helper()
	var b strings.Builder
	n, err := r.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Errorf("WriteTo returned %d, %v", n, err)
	}
	return b.String()
}

func wantText(t *testing.T, r *Registry, want string) {
	t.Helper()
	if got := text(t, r); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestMetricsAndSeriesAreSorted(t *testing.T) {
	r := NewRegistry()
	b := r.Counter("b_total", "B.", "x", "y")
	b.Inc("2", "1")
	b.Inc("1", "2")
	b.Add(2.5, "1", "1")
	r.Gauge("c", "C.").Set(-1)
	r.Gauge("a", "A.", "x").Set(1, "1")
	wantText(t, r, `# HELP a A.
# TYPE a gauge
a{x="1"} 1
# HELP b_total B.
# TYPE b_total counter
b_total{x="1",y="1"} 2.5
b_total{x="1",y="2"} 1
b_total{x="2",y="1"} 1
# HELP c C.
# TYPE c gauge
c -1
`)
}

func TestMetricWithoutLabelsIsShownBeforeItIsUsed(t *testing.T) {
	r := NewRegistry()
	r.Counter("a_total", "A.")
	r.Counter("b_total", "B.", "x")
	wantText(t, r, "# HELP a_total A.\n# TYPE a_total counter\na_total 0\n")
}

func TestHelpAndLabelValuesAreEscaped(t *testing.T) {
	r := NewRegistry()
	g := r.Gauge("a", "say \"a\\b\"\nagain", "path")
	g.Set(1, "C:\\dir \"x\"\nü")
	g.Set(2, "bad \xff byte")
	wantText(t, r, `# HELP a say "a\\b"\nagain
# TYPE a gauge
a{path="C:\\dir \"x\"\nü"} 1
a{path="bad `+"\uFFFD"+` byte"} 2
`)
}

func TestLabelValuesThatLookAlikeAreTwoSeries(t *testing.T) {
	g := NewRegistry().Gauge("a", "", "x", "y")
	g.Set(1, `1",y="2`, ``)
	g.Set(2, `1`, `2",y="`)
	if g.Value(`1",y="2`, ``) != 1 || g.Value(`1`, `2",y="`) != 2 {
		t.Error("two lists of label values share a series")
	}
}

func TestBucketsAreCumulativeAndEndAtInfinity(t *testing.T) {
	r := NewRegistry()
	h := r.Histogram("d_seconds", "D.", []float64{0.5, 1, math.Inf(+1)}, "x")
	for _, value := range []float64{0.25, 0.5, 0.75, 1, 2} {
		h.Observe(value, "1")
	}
	wantText(t, r, `# HELP d_seconds D.
# TYPE d_seconds histogram
d_seconds_bucket{x="1",le="0.5"} 2
d_seconds_bucket{x="1",le="1"} 4
d_seconds_bucket{x="1",le="+Inf"} 5
d_seconds_sum{x="1"} 4.5
d_seconds_count{x="1"} 5
`)
	if h.Count("1") != 5 || h.Sum("1") != 4.5 {
		t.Errorf("count %d, sum %v", h.Count("1"), h.Sum("1"))
	}
}

func TestHistogramWithoutLabels(t *testing.T) {
	r := NewRegistry()
	r.Histogram("d", "D.", []float64{1}).Observe(math.NaN())
	wantText(t, r,
		"# HELP d D.\n# TYPE d histogram\nd_bucket{le=\"1\"} 0\nd_bucket{le=\"+Inf\"} 1\nd_sum NaN\nd_count 1\n")
}

func TestNumbersAreWrittenExactly(t *testing.T) {
	for value, want := range map[float64]string{
		0: "0", 1: "1", -3: "-3", 0.1: "0.1", 1e-8: "1e-08", 1786000000: "1786000000", 1 << 52: "4503599627370496",
		1e300: "1e+300", math.Inf(+1): "+Inf", math.Inf(-1): "-Inf",
	} {
		if got := string(appendFloat(nil, value)); got != want {
			t.Errorf("%v is written %s, want %s", value, got, want)
		}
	}
}

func TestRegistryServesTheTextFormat(t *testing.T) {
	r := NewRegistry()
	r.Counter("a_total", "A.").Inc()
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	body, _ := io.ReadAll(w.Result().Body)
	if got := w.Result().Header.Get("Content-Type"); got != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("content type %q", got)
	}
	if !strings.HasSuffix(string(body), "a_total 1\n") {
		t.Errorf("body\n%s", body)
	}
}

func TestScrapesRunBesideWrites(t *testing.T) {
	r := NewRegistry()
	const writers, writes = 4, 500
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := range writes {
				label := fmt.Sprint(i % 10)
				r.Counter("c_total", "", "x").Inc(label)
				r.Gauge("g", "").Add(1)
				r.Histogram("h", "", nil, "x").Observe(float64(i), label)
				r.Gauge("f", "", "x").SetFunc(func() float64 { return float64(len(text(t, NewRegistry()))) }, label)
				if i%50 == w {
					text(t, r)
				}
			}
		})
	}
	writing.Wait()
	if got := r.Gauge("g", "").Value(); got != writers*writes {
		t.Errorf("gauge is %v", got)
	}
	if got := r.Counter("c_total", "", "x").Value("3"); got != writers*writes/10 {
		t.Errorf("counter is %v", got)
	}
	if got := r.Histogram("h", "", nil, "x").Count("3"); got != writers*writes/10 {
		t.Errorf("histogram has %v", got)
	}
}
