package workqueue

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// names is the number of different object names in the keys.
const names = 1 << 12

var objects = func() []types.NamespacedName {
	objects := make([]types.NamespacedName, names)
	for i := range objects {
		objects[i] = types.NamespacedName{Namespace: fmt.Sprintf("namespace-%d", i%50), Name: fmt.Sprintf("guestbook-%d", i)}
	}
	return objects
}()

func keyOf(number int) key { return key{objects[number%names], number} }

// load is work for a queue, done by several goroutines.
type load struct {
	name string
	// run passes the items in [from, to) through q.
	run func(q queue, goroutines, from, to int)
}

// each makes each goroutine add an item, get one, and call Done.
func each(q queue, goroutines, from, to int) {
	var running sync.WaitGroup
	for g := range goroutines {
		running.Go(func() {
			for i := from + g; i < to; i += goroutines {
				q.Add(keyOf(i))
				q.Done(q.get())
			}
		})
	}
	running.Wait()
}

// burst adds a batch of items at once, like the start of a controller, while goroutines get them.
func burst(q queue, goroutines, from, to int) {
	var running sync.WaitGroup
	for g := range goroutines {
		running.Go(func() {
			for i := from + g; i < to; i += goroutines {
				q.Done(q.get())
			}
		})
	}
	const size = 1000
	for ; from < to; from += size {
		batch := make([]key, 0, size)
		for i := from; i < min(from+size, to); i++ {
			batch = append(batch, keyOf(i))
		}
		q.addAll(batch)
	}
	running.Wait()
}

var loads = []load{{"AddGetDone", each}, {"Burst", burst}}

var goroutineCounts = []int{1, 8, 64}

func BenchmarkQueue(b *testing.B) {
	for _, l := range loads {
		for _, metrics := range []string{"", "bench"} {
			for _, goroutines := range goroutineCounts {
				for _, p := range peers {
					b.Run(fmt.Sprintf("%s/metrics=%t/goroutines=%d/%s", l.name, metrics != "", goroutines, p.name),
						func(b *testing.B) {
							q := p.make(metrics)
							defer q.ShutDown()
							b.ReportAllocs()
							b.ResetTimer()
							l.run(q, goroutines, 0, b.N)
						})
				}
			}
		}
	}
}

// BenchmarkRatio reports the time per item of each queue, and the ratios of kctrl's times to the other queues' times.
func BenchmarkRatio(b *testing.B) {
	for _, l := range loads {
		for _, metrics := range []string{"", "bench"} {
			for _, goroutines := range goroutineCounts {
				b.Run(fmt.Sprintf("%s/metrics=%t/goroutines=%d", l.name, metrics != "", goroutines), func(b *testing.B) {
					ratio(b, l, metrics, goroutines)
				})
			}
		}
	}
}

func ratio(b *testing.B, l load, metrics string, goroutines int) {
	queues := make([]queue, len(peers))
	for i, p := range peers {
		queues[i] = p.make(metrics)
		defer queues[i].ShutDown()
	}
	took := make([]time.Duration, len(peers))
	const round = 5000
	b.ResetTimer()
	for from := 0; from < b.N; from += round {
		for i, q := range queues {
			start := time.Now()
			l.run(q, goroutines, from, min(from+round, b.N))
			took[i] += time.Since(start)
		}
	}
	b.ReportMetric(0, "ns/op")
	for i, p := range peers {
		b.ReportMetric(float64(took[i].Nanoseconds())/float64(b.N), p.name+"-ns/item")
		if i > 0 {
			b.ReportMetric(float64(took[0])/float64(took[i]), "ratio-to-"+p.name)
		}
	}
}
