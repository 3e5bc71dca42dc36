package workqueue

import (
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

// queueMetrics holds the seven metrics of every Kubernetes work queue. The zero value records nothing.
type queueMetrics struct {
	// labels are the values of the labels name and controller, which are the same, so that dashboards can use either.
	labels        []string
	queue         measured
	adds          *metrics.Counter
	retries       *metrics.Counter
	depth         *metrics.Gauge
	queueDuration *metrics.Histogram
	workDuration  *metrics.Histogram

	mu sync.Mutex // held while shown is replaced
	// shown is the set of priorities that have a depth series of their own. The map is replaced, never modified.
	shown atomic.Pointer[map[priority]struct{}]
	full  atomic.Bool // all further priorities share one series
}

const (
	// maxPriorities is the number of priorities with a series of their own.
	maxPriorities = 25
	// otherPriorities is the label of all further priorities.
	otherPriorities = "exceeded_cardinality_limit"
)

// measured is a queue whose values the gauges read at each scrape.
type measured interface {
	// readyItems returns the number of ready items for whose priority counted returns true.
	readyItems(counted func(priority) bool) int
	unfinished() (total, longest time.Duration)
}

func newQueueMetrics(name string, r *metrics.Registry, q measured) *queueMetrics {
	if name == "" || r == nil {
		return &queueMetrics{}
	}
	const byName, byController = "name", "controller"
	buckets := metrics.ExponentialBuckets(10e-9, 10, 12)
	m := &queueMetrics{
		labels:  []string{name, name},
		queue:   q,
		adds:    r.Counter("workqueue_adds_total", "Items added to the queue, without duplicates.", byName, byController),
		retries: r.Counter("workqueue_retries_total", "Items added with a delay.", byName, byController),
		depth:   r.Gauge("workqueue_depth", "Items that wait for a worker, by priority.", byName, byController, "priority"),
		queueDuration: r.Histogram("workqueue_queue_duration_seconds",
			"Seconds that items waited in the queue for a worker.", buckets, byName, byController),
		workDuration: r.Histogram("workqueue_work_duration_seconds", "Seconds that workers needed to process an item.",
			buckets, byName, byController),
	}
	m.adds.Add(0, name, name)
	m.retries.Add(0, name, name)
	m.shown.Store(&map[priority]struct{}{})
	m.show(0)
	r.Gauge("workqueue_unfinished_work_seconds", "Total processing time in seconds of the items in progress.",
		byName, byController).SetFunc(func() float64 {
		total, _ := q.unfinished()
		return total.Seconds()
	}, name, name)
	r.Gauge("workqueue_longest_running_processor_seconds", "Processing time in seconds of the oldest item in progress.",
		byName, byController).SetFunc(func() float64 {
		_, longest := q.unfinished()
		return longest.Seconds()
	}, name, name)
	return m
}

// show adds a depth series for a priority before any item has it.
func (m *queueMetrics) show(p priority) {
	if m.labels == nil || m.isShown(p) || m.full.Load() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isShown(p) || m.full.Load() {
		return
	}
	shown := maps.Clone(*m.shown.Load())
	label, counted := strconv.Itoa(int(p)), func(q priority) bool { return q == p }
	if len(shown) < maxPriorities {
		shown[p] = struct{}{}
	} else {
		m.full.Store(true)
		label, counted = otherPriorities, func(q priority) bool { return !m.isShown(q) }
	}
	m.depth.SetFunc(func() float64 { return float64(m.queue.readyItems(counted)) }, m.labels[0], m.labels[1], label)
	m.shown.Store(&shown)
}

func (m *queueMetrics) isShown(p priority) bool {
	_, shown := (*m.shown.Load())[p]
	return shown
}

// readyItems returns the number of ready items for whose priority counted returns true.
func (q *Queue[T]) readyItems(counted func(priority) bool) (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for p, l := range q.ready.levels {
		if counted(p) {
			n += l.entries.count
		}
	}
	return n
}

// unfinished returns how long items have been processing: the sum over all items, and the longest time.
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
