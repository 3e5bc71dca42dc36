package workqueue

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

// sample returns the value of a metric for the queue "crons" as text. The labels match controller-runtime's labels.
func sample(t *testing.T, registry *metrics.Registry, metric string) string {
	t.Helper()
	labels := `name="crons",controller="crons"`
	if metric == "workqueue_depth" {
		labels += `,priority="0"`
	}
	return sampleOf(t, registry, metric, labels)
}

func sampleOf(t *testing.T, registry *metrics.Registry, metric, labels string) string {
	t.Helper()
	var text strings.Builder
	if _, err := registry.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if value, ok := strings.CutPrefix(line, metric+"{"+labels+"} "); ok {
			return strings.TrimSpace(value)
		}
	}
	return "missing"
}

// Q08.
func TestDepthIsCountedByPriority(t *testing.T) {
	registry := metrics.NewRegistry()
	q := New[int](Options{Name: "crons", Metrics: registry})
	want := func(priority, value string) {
		t.Helper()
		labels := `name="crons",controller="crons",priority="` + priority + `"`
		if got := sampleOf(t, registry, "workqueue_depth", labels); got != value {
			t.Errorf("%s items have priority %s, want %s", got, priority, value)
		}
	}
	want("0", "0")
	want("5", "missing")
	q.Add(1, 2)
	q.AddWith(AddOptions{Priority: 5}, 3, 4)
	q.AddWith(AddOptions{Priority: -100}, 5)
	want("0", "2")
	want("5", "2")
	want("-100", "1")
	q.AddWith(AddOptions{Priority: 5}, 1)
	want("0", "1")
	want("5", "3")
	for q.Len() > 0 {
		item, _ := q.Get(t.Context())
		q.Done(item)
	}
	for _, priority := range []string{"0", "5", "-100"} {
		want(priority, "0")
	}
	// The number of series is limited, because dashboards cannot show arbitrarily many.
	for n := range 100 {
		q.AddWith(AddOptions{Priority: n + 10}, n)
	}
	want("10", "1")
	want("109", "missing")
	want("exceeded_cardinality_limit", "78")
}

// Q08.
func TestMetricsFollowAnItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := metrics.NewRegistry()
		q := New[string](Options{Name: "crons", Metrics: registry})
		want := func(when string, values map[string]string) {
			t.Helper()
			for metric, value := range values {
				if got := sample(t, registry, "workqueue_"+metric); got != value {
					t.Errorf("%s: %s is %s, want %s", when, metric, got, value)
				}
			}
		}
		want("new", map[string]string{"depth": "0", "adds_total": "0", "retries_total": "0", "unfinished_work_seconds": "0",
			"longest_running_processor_seconds": "0"})
		q.Add("a", "b", "a")
		want("added", map[string]string{"depth": "2", "adds_total": "2"})
		time.Sleep(3 * time.Second)
		mustGet(t, q, "a")
		mustGet(t, q, "b")
		want("got", map[string]string{"depth": "0", "queue_duration_seconds_sum": "6", "queue_duration_seconds_count": "2"})
		time.Sleep(2 * time.Second)
		want("processing", map[string]string{"unfinished_work_seconds": "4", "longest_running_processor_seconds": "2",
			"work_duration_seconds_count": "missing"})
		q.Done("a")
		time.Sleep(time.Second)
		want("one done", map[string]string{"unfinished_work_seconds": "3", "longest_running_processor_seconds": "3",
			"work_duration_seconds_sum": "2"})
		q.Add("b")
		want("dirty, not ready", map[string]string{"depth": "0", "adds_total": "3"})
		q.Done("b")
		want("ready again", map[string]string{"depth": "1", "work_duration_seconds_sum": "5",
			"work_duration_seconds_count": "2"})
		q.AddRateLimited("c")
		q.AddAfter("d", time.Hour)
		want("waiting", map[string]string{"depth": "1", "adds_total": "3", "retries_total": "2"})
		q.ShutDown()
		got(q)
		want("drained", map[string]string{"depth": "0", "unfinished_work_seconds": "0",
			"longest_running_processor_seconds": "0"})
	})
}

// Q08.
func TestQueueWithoutANameIsNotMeasured(t *testing.T) {
	registry := metrics.NewRegistry()
	q := New[string](Options{Metrics: registry})
	q.Add("a")
	got(q)
	var text strings.Builder
	if n, err := registry.WriteTo(&text); n != 0 || err != nil {
		t.Errorf("got %v and\n%s", err, text.String())
	}
}
