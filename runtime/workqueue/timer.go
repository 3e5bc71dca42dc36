package workqueue

import "time"

// scheduleLocked lets the schedule hand out e at wake.
func (q *Queue[T]) scheduleLocked(e *entry[T], wake instant) {
	e.wake = wake
	if e.place != 0 {
		q.schedule.fix(e)
		return
	}
	q.scheduled++
	e.order = q.scheduled
	q.schedule.push(e)
}

// unscheduleLocked takes e out of the schedule, if it is there.
func (q *Queue[T]) unscheduleLocked(e *entry[T]) {
	if e.place != 0 {
		q.schedule.remove(e)
	}
}

// setTimerLocked makes the timer fire no later than the top of the schedule.
func (q *Queue[T]) setTimerLocked(now instant) {
	if q.schedule.len() == 0 {
		return
	}
	wake := q.schedule.top().wake
	if q.alarm != 0 && q.alarm <= wake {
		return
	}
	q.alarm = wake
	if q.timer == nil {
		q.timer = time.AfterFunc(wake.sub(now), q.ring)
	} else {
		q.timer.Reset(wake.sub(now))
	}
}

// ring is called by the timer.
func (q *Queue[T]) ring() {
	if added := q.promote(); added > 0 {
		q.metrics.added(added)
	}
}

// promote marks the items as dirty whose delay has passed, and returns how many became so. It forgets failures that
// have expired.
func (q *Queue[T]) promote() (added int) {
	q.lock()
	defer q.mu.Unlock()
	now := q.now()
	q.alarm = 0
	for q.schedule.len() > 0 && q.schedule.top().wake <= now {
		e := q.schedule.top()
		if e.at == 0 {
			e.failures, e.floor = 0, 0
			q.releaseLocked(e)
			continue
		}
		if now < e.floor {
			e.extra = now
			e.urgent = e.urgent || e.processing
		}
		if q.dirtyLocked(e, e.waitPriority, now) {
			added++
		}
	}
	q.wakeLocked()
	q.setTimerLocked(now)
	return added
}
