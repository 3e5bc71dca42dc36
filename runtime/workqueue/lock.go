package workqueue

import "runtime"

const (
	// lockLooks is how often a goroutine looks at a locked mutex before it lets others run, and lockYields how often it
	// does that before it sleeps.
	lockLooks  = 32
	lockYields = 8
)

// lock locks mu. Nobody holds that for long, so looking again is cheaper than being put to sleep and woken, which also
// makes a mutex with many sleepers hand itself from one to the next, with a switch of goroutines at every step.
func (q *Queue[T]) lock() {
	for range lockYields {
		for range lockLooks {
			if q.mu.TryLock() {
				return
			}
		}
		runtime.Gosched()
	}
	q.mu.Lock()
}
