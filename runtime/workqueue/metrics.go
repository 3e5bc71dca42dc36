package workqueue

import (
	"time"

	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

// queueMetrics are the seven metrics that every Kubernetes work queue has, under their usual names. A nil
// *queueMetrics measures nothing.
type queueMetrics struct {
	name          string
	registry      *metrics.Registry
	adds          *metrics.Counter
	retries       *metrics.Counter
	queueDuration *metrics.Histogram
	workDuration  *metrics.Histogram
}

// measured is what the gauges read at a scrape.
type measured interface {
	Len() int
	unfinished() (total, longest time.Duration)
}

func newQueueMetrics(name string, r *metrics.Registry, q measured) *queueMetrics {
	if name == "" || r == nil {
		return nil
	}
	buckets := metrics.ExponentialBuckets(10e-9, 10, 12)
	m := &queueMetrics{
		name:          name,
		registry:      r,
		adds:          r.Counter("workqueue_adds_total", "Items that became dirty.", "name"),
		retries:       r.Counter("workqueue_retries_total", "Items that were added with a delay.", "name"),
		queueDuration: r.Histogram("workqueue_queue_duration_seconds", "Seconds from when an item became dirty until a worker got it.", buckets, "name"),
		workDuration:  r.Histogram("workqueue_work_duration_seconds", "Seconds that workers took from Get to Done.", buckets, "name"),
	}
	m.adds.Add(0, name)
	m.retries.Add(0, name)
	r.Gauge("workqueue_depth", "Items that are ready.", "name").SetFunc(func() float64 {
		return float64(q.Len())
	}, name)
	r.Gauge("workqueue_unfinished_work_seconds", "Seconds that all items now processing have taken together.", "name").SetFunc(func() float64 {
		total, _ := q.unfinished()
		return total.Seconds()
	}, name)
	r.Gauge("workqueue_longest_running_processor_seconds", "Seconds that the item longest processing has taken.", "name").SetFunc(func() float64 {
		_, longest := q.unfinished()
		return longest.Seconds()
	}, name)
	return m
}

// unfinished returns how long the items that are processing have been so: all together, and the longest.
func (q *Queue[T]) unfinished() (total, longest time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	for e := q.processing.first; e != nil; e = e.next {
		d := now.sub(e.got)
		total += d
		longest = max(longest, d)
	}
	return total, longest
}

// added counts items that have become dirty.
func (m *queueMetrics) added(n int) {
	if m != nil {
		m.adds.Add(float64(n), m.name)
	}
}

// retried counts items that were added with a delay.
func (m *queueMetrics) retried(n int) {
	if m != nil {
		m.retries.Add(float64(n), m.name)
	}
}

// got observes how long an item was dirty before it was got.
func (m *queueMetrics) got(waited time.Duration) {
	if m != nil {
		m.queueDuration.Observe(waited.Seconds(), m.name)
	}
}

// done observes how long an item was processing.
func (m *queueMetrics) done(worked time.Duration) {
	if m != nil {
		m.workDuration.Observe(worked.Seconds(), m.name)
	}
}

// DropMetrics forgets the metrics of the queue, which its registry would keep together with the queue. It is for one that is
// not used any more; an item that is added to it afterwards may be measured again.
func (q *Queue[T]) DropMetrics() {
	if q.metrics == nil {
		return
	}
	for _, metric := range []string{
		"workqueue_adds_total", "workqueue_retries_total", "workqueue_queue_duration_seconds", "workqueue_work_duration_seconds",
		"workqueue_depth", "workqueue_unfinished_work_seconds", "workqueue_longest_running_processor_seconds",
	} {
		q.metrics.registry.Drop(metric, "name", q.metrics.name)
	}
}
