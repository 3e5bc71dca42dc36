package metrics_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

func text(t *testing.T, r *metrics.Registry) string {
	t.Helper()
	var text strings.Builder
	if _, err := r.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestASubIsExposedUntilItIsClosed(t *testing.T) {
	r := metrics.NewRegistry()
	a, b := r.Sub(), r.Sub()
	deeper := a.Sub()
	r.Counter("items_total", "Items.", "queue").Inc("main")
	called := false
	a.Gauge("depth", "Depth.", "queue").SetFunc(func() float64 { called = true; return 3 }, "a")
	a.Counter("items_total", "Items.", "queue").Add(2, "a")
	b.Counter("items_total", "Items.", "queue").Add(5, "main") // hidden by the series of r with the same labels
	b.Counter("items_total", "Items.", "queue").Inc("b")
	deeper.Histogram("seconds", "Seconds.", []float64{1}, "queue").Observe(2, "deep")
	const header = "# HELP items_total Items.\n# TYPE items_total counter\n"
	want := "# HELP depth Depth.\n# TYPE depth gauge\ndepth{queue=\"a\"} 3\n" + header +
		"items_total{queue=\"a\"} 2\nitems_total{queue=\"b\"} 1\nitems_total{queue=\"main\"} 1\n" +
		"# HELP seconds Seconds.\n# TYPE seconds histogram\nseconds_bucket{queue=\"deep\",le=\"1\"} 0\n" +
		"seconds_bucket{queue=\"deep\",le=\"+Inf\"} 1\nseconds_sum{queue=\"deep\"} 2\nseconds_count{queue=\"deep\"} 1\n"
	if got := text(t, r); got != want || !called {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	a.Close()
	a.Close()
	r.Close() // closing a registry that is not a Sub has no effect
	called = false
	want = header + "items_total{queue=\"b\"} 1\nitems_total{queue=\"main\"} 1\n"
	if got := text(t, r); got != want || called {
		t.Errorf("after Close, got\n%swant\n%s", got, want)
	}
	a.Counter("items_total", "Items.", "queue").Inc("a") // a closed Sub still counts
	if got := a.Counter("items_total", "Items.", "queue").Value("a"); got != 3 {
		t.Errorf("a closed registry counts to %v", got)
	}
	var none *metrics.Registry
	none.Sub().Counter("items_total", "Items.").Inc()
	none.Sub().Close()
}

func TestMetricsOfOneNameHaveOneShapeInAllSubs(t *testing.T) {
	r := metrics.NewRegistry()
	r.Sub().Counter("items_total", "Items.", "queue")
	defer func() {
		const want = `metrics: items_total asked for as gauge with labels [], but it exists as counter with labels ["queue"]`
		if got := fmt.Sprint(recover()); got != want {
			t.Errorf("got %s", got)
		}
	}()
	r.Sub().Gauge("items_total", "Items.")
}

// A program whose queues come and go, such as one queue per tenant, gives each queue its own registry.
func ExampleRegistry_Sub() {
	all := metrics.NewRegistry()
	tenant := all.Sub()
	tenant.Gauge("depth", "Items that wait.", "queue").Set(2, "tenant-a")
	_, _ = all.WriteTo(os.Stdout)
	tenant.Close()
	_, _ = all.WriteTo(os.Stdout)
	// Output:
	// # HELP depth Items that wait.
	// # TYPE depth gauge
	// depth{queue="tenant-a"} 2
}
